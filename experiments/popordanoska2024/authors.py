"""What exists only for popordanoska2024: population values behind its figures, and a bound beside them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import expit, gammaln, rel_entr

from harness.errors import UndefinedError
from harness.estimators.base import Estimate
from harness.math.notions import checked, one_hot
from harness.problems.powered import TemperedDirichlet, classwise_of_vector


@dataclass(frozen=True)
class TruthOfVector:
    """What the authors' code takes for the class-wise truth: the mean over classes of d(f_j, C_j), C_j given the whole vector f.

    Of the problem alone, whatever the sample; the squared error on two columns, and so twice ours. The diagnostic `error` is
    that of the quadrature. Undefined but for tempered Dirichlet problems. Popordanoska et al. (2024), Section 7.1.
    """

    notions = ("classwise",)
    estimands = ("kl", "l2_squared")
    wants = ("problem",)
    takes_classwise = True
    seconds = 0.05

    def __call__(self, p, y, rng=None, problem=None):
        if not isinstance(problem, TemperedDirichlet):
            raise UndefinedError("the truth given the whole vector is known for tempered Dirichlet problems alone")
        found = {name: (classwise_of_vector(problem, name), 2.0 if name == "l2_squared" else 1.0) for name in self.estimands}
        return {
            name: Estimate(columns * t.value, diagnostics={"error": columns * t.error}) for name, (t, columns) in found.items()
        }


@dataclass(frozen=True)
class KernelLimit:
    """What the kernel estimator of a fixed bandwidth tends to as n goes to infinity, two classes, on two columns.

    With n, r(g) becomes the smoothed truth r_h(g) = E[k(g; f) C] / E[k(g; f)], so that the direct form tends to
    E D_F(r_h(f), f) and the form via the risk to that less E <grad F(f), C - r_h(f)>. Of the problem alone, whatever the sample;
    Gauss quadrature of order 4 over the log-odds of s, whose law for Dir(1, 1) is logistic.
    """

    form: str
    bandwidth: float

    notions = ("classwise",)
    estimands = ("kl", "l2_squared")
    wants = ("problem",)
    takes_classwise = True

    def __call__(self, p, y, rng=None, problem=None):
        if not isinstance(problem, TemperedDirichlet) or problem.classes != 2 or problem.alpha != 1.0:
            raise UndefinedError("the limit is known for tempered draws of Dir(1, 1) alone")
        found = limits(problem, self.bandwidth)
        return {name: Estimate(float(found[self.form, name])) for name in self.estimands}


@lru_cache(maxsize=64)
def limits(problem, bandwidth, panels=600, reach=22.0):
    """{(form, estimand): limit of `KernelLimit`}."""
    x, w = np.polynomial.legendre.leggauss(4)
    edges = np.linspace(-reach, reach, panels + 1)
    mid, half = (edges[1:] + edges[:-1]) / 2, np.diff(edges) / 2
    x, weights = (mid[:, None] + half[:, None] * x).ravel(), (half[:, None] * w).ravel()
    weights = weights * expit(x) * expit(-x)
    floor = 1e-7  # as the authors clip
    c, g = expit(problem.truth_power * x), np.clip(expit(problem.prediction_power * x), floor, 1 - floor)
    r = np.empty_like(g)
    constant = -gammaln(g / bandwidth + 1) - gammaln((1 - g) / bandwidth + 1)
    for rows in np.array_split(np.arange(len(g)), max(1, len(g) ** 2 >> 20)):
        kernel = np.log(g[rows, None]) * (g / bandwidth) + np.log1p(-g[rows, None]) * ((1 - g) / bandwidth) + constant
        kernel = np.exp(kernel - kernel.max(axis=1, keepdims=True)) * weights
        r[rows] = kernel @ c / kernel.sum(axis=1)
    kl = weights @ (rel_entr(r, g) + rel_entr(1 - r, 1 - g))
    l2 = weights @ (2 * (r - g) ** 2)
    return {
        ("direct", "kl"): kl,
        ("direct", "l2_squared"): l2,
        ("risk", "kl"): kl - weights @ ((c - r) * (np.log(g) - np.log1p(-g))),
        ("risk", "l2_squared"): l2 - weights @ (2 * (c - r) * (2 * g - 1)),
    }


@dataclass(frozen=True)
class NeighbourSharpness:
    """Variance of the outcome that its nearest neighbours explain, a lower bound of the sharpness that needs no bandwidth.

        sum_j ybar_j (1 - ybar_j) - mean_i || e(y_i) - mean of e(y_l) over the neighbours l of i ||^2

    Neighbours are nearest in the log-odds against the last class: the activations themselves, where p is a softmax of them and
    of a 0. No prediction has a smaller expected Brier score than E[Y | layer], so in expectation the difference is at most the
    sharpness. Of equally near samples the order of the rows decides. The first `max_rows` rows; O(max_rows^2 k).
    """

    neighbours: int = 20
    max_rows: int = 2000

    notions = ("canonical",)
    estimands = ("sharpness_l2_squared",)
    determinism = "rounding"
    seconds = 0.3

    def __call__(self, p, y, rng=None):
        p, y = (a[: self.max_rows] for a in checked(p, y))
        if len(y) <= self.neighbours:
            raise UndefinedError(f"{self.neighbours} neighbours of a sample are needed; there are {len(y) - 1} others")
        log_p = np.log(np.maximum(p, np.finfo(float).tiny))
        z = log_p[:, :-1] - log_p[:, -1:]
        squares = (z**2).sum(axis=1)
        distance = squares[:, None] + squares - 2.0 * z @ z.T
        np.fill_diagonal(distance, np.inf)
        nearest = np.argpartition(distance, self.neighbours, axis=1)[:, : self.neighbours]
        hits = one_hot(y, p.shape[1])
        score = ((hits - hits[nearest].mean(axis=1)) ** 2).sum(axis=1).mean()
        return {"sharpness_l2_squared": Estimate(float(1.0 - (hits.mean(axis=0) ** 2).sum() - score))}
