"""What exists only for the items of moskvichev2025: population values of its metrics on two classes, by sums over nodes.

With weights w (m,), predictions p = Q(Y = 1), c = P(Y = 1 given p), d_i = (p_i - c_i)(1, -1), the difference of the conditional
means, and M = W^(1/2) K W^(1/2), W = diag(w),

    CKCE(ridge) = tr(B' M B), B = (M + ridge I)^-1 W^(1/2) d     the regularised operators' distance (eq. 5, ridge of eq. 4)
    JKCE        = tr(d' W K W d)                                 (eq. 7)
    ECE         = sum_i w_i ||d_i||_1                            (eq. 6)

The paper defines CKCE without the ridge and estimates it with n^(-1/4).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.special import expit

from harness.errors import UndefinedError
from harness.estimators import Estimate, ReliabilityBins

SIZES = (100, 1000, 10_000, 10**6, 10**8)  # whose ridges Appendix A is computed with
RIDGES, GAMMA = (0.1, 0.01, 1e-4, 1e-6, 1e-8), 0.5  # of Figure 4a
PIECES = 24  # of the quadrature of Figure 4a
THIRDS = np.array([-1.0, 1.0]) * np.log(2.0) / 5.0  # where sigma(5 x) is 1/3 and 2/3


def linear_and_gaussian(gamma):
    """Kernel of two-column predictions: p . q + exp(-||p - q||^2 / (2 gamma^2)) (Section 3.2)."""

    def kernel(p):
        vectors = np.column_stack([1.0 - p, p])
        return vectors @ vectors.T + np.exp(-((p[:, None] - p) ** 2) / gamma**2)  # ||p - q||^2 is twice that of one column

    return kernel


def same(p):
    """The kernel 1{p = q} of Appendix A."""
    return (p[:, None] == p).astype(float)


def difference(p, c):
    return np.column_stack([c - p, p - c])


def ckce(w, p, c, kernel, ridges):
    """CKCE at every ridge, from one eigendecomposition."""
    root = np.sqrt(w)
    values, vectors = np.linalg.eigh(root[:, None] * kernel(p) * root)
    values = np.maximum(values, 0.0)
    along = ((vectors.T @ (root[:, None] * difference(p, c))) ** 2).sum(axis=1)
    return [float((values / (values + ridge) ** 2 * along).sum()) for ridge in ridges]


def jkce(w, p, c, kernel):
    d = w[:, None] * difference(p, c)
    return float((d * (kernel(p) @ d)).sum())


def ece(w, p, c):
    return float(w @ np.abs(difference(p, c)).sum(axis=1))


def ece_of_thirds(w, p, c):
    """What the estimator with three intervals per class converges to: the mean within a bin is taken before the distance."""
    first, second = (np.minimum(np.floor(3 * v), 2) for v in (1.0 - p, p))
    d = w[:, None] * difference(p, c)
    return float(sum(np.abs(d[(first == a) & (second == b)].sum(axis=0)).sum() for a in range(3) for b in range(3)))


def median_distance(w, p):
    """Population median of ||q - q'||_2 for two independent predictions on two columns, by pairs of nodes."""
    distance = np.sqrt(2.0) * np.abs(p[:, None] - p).ravel()
    order = np.argsort(distance)
    mass = np.cumsum(np.outer(w, w).ravel()[order])
    return float(distance[order][np.searchsorted(mass, 0.5)])


@lru_cache(maxsize=64)
def of_points(problem, n):
    """{column of Appendix A: population value} of a law on points; n is not asked for, the ridges being those of `SIZES`."""
    law = problem.arrays()
    plain = linear_and_gaussian(np.sqrt(2.0) * np.ptp(problem.predictions))  # their distance
    values = {"CKCE": ckce(*law, same, [0.0])[0], "JKCE": jkce(*law, same), "ECE": ece(*law)}
    values |= {f"CKCE, ridge of n = {m:,}": v for m, v in zip(SIZES, ckce(*law, same, [m**-0.25 for m in SIZES]))}
    with_ridge, without = ckce(*law, plain, [1000**-0.25, 0.0])
    section = "CKCE, kernel of Section 3.2"
    return {**values, f"{section}, ridge of n = 1,000": with_ridge, f"{section}, no ridge": without}


@lru_cache(maxsize=64)
def of_shift(problem, n):
    """{column of Figure 4a: population value} at one location: metrics with the ridge of n and the population's median distance,
    CKCE by ridge at a fixed bandwidth. ECE is the true one, 'ECE, thirds' what the estimator's bins make of it."""
    x, w = problem.nodes(PIECES, THIRDS)
    p, c = expit(problem.model_slope * x), expit(problem.truth_slope * x)
    own, fixed = (linear_and_gaussian(g) for g in (median_distance(w, p), GAMMA))
    values = {"CKCE": ckce(w, p, c, own, [n**-0.25])[0], "JKCE": jkce(w, p, c, own)}
    values |= {"ECE": ece(w, p, c), "ECE, thirds": ece_of_thirds(w, p, c)}
    return values | {f"CKCE, ridge {r:g}": value for r, value in zip(RIDGES, ckce(w, p, c, fixed, RIDGES))}


@dataclass(frozen=True)
class PopulationMetrics:
    """The metrics of the law that a sample is from, not of the sample: of a law on points the columns of Appendix A, of a
    covariate shift those of Figure 4a at this n. l1 is their ECE; the diagnostics hold every column. Undefined for other laws."""

    notions = ("canonical",)
    estimands = ("l1",)
    determinism = "rounding"
    revision = 1
    wants = ("problem",)

    def __call__(self, p, y, rng=None, problem: Any = None):
        of = of_points if hasattr(problem, "arrays") else of_shift if hasattr(problem, "nodes") else None
        if of is None:
            raise UndefinedError("population values are known for laws on points and for covariate shifts")
        values = of(problem, len(y))
        return {"l1": Estimate(values["ECE"], diagnostics=values)}


@dataclass(frozen=True)
class BinsOfFirstClass(ReliabilityBins):
    """`ReliabilityBins` of the probability of class 0 in place of every class: what Figure 1 draws."""

    bins: int = 10

    notions = ("canonical",)

    def __call__(self, p, y, rng=None):
        return super().__call__(p[:, 0], y == 0)


@dataclass(frozen=True)
class UniformModel:
    """The marginal model of ImageNet's validation images, which needs no file: equally many rows of each of k classes, and every
    prediction (1/k, ..., 1/k). The residuals sum to 0, so that CKCE = ECE = 0 and JKCE = -(1 + 1/k)(1 - 1/k) / (n - 1)."""

    classes: int = 1000
    rows: int = 50_000

    notions = ("canonical",)
    version = 1
    default_reps = 1

    @property
    def n_max(self):
        return self.rows

    default_n = n_max

    def sample(self, n, rng):
        return np.broadcast_to(1.0 / self.classes, (n, self.classes)), np.arange(n) % self.classes

    def truth(self, estimand, notion):
        return None
