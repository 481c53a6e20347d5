"""Exact values for tempered Dirichlet problems: limits of kernel estimators, a class-wise error."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.special import expit, gammaln, rel_entr

from harness.errors import UndefinedError
from harness.estimators.base import Estimate
from harness.math.kernels import PREDICTION_FLOOR
from harness.math.quadrature import gauss_legendre


@dataclass(frozen=True)
class _ProblemProperty:
    """Base of estimators whose values depend on the problem only, not on the sample."""

    notions = ("classwise",)
    estimands = ("kl", "l2_squared")
    wants = ("problem",)
    takes_classwise = True


@dataclass(frozen=True)
class KernelLimit(_ProblemProperty):
    """Limit of `DirichletKernel` with a fixed bandwidth as n grows, for two classes.

        direct:  E D_F(r_h(f), f)
        risk:    E D_F(r_h(f), f) - E <grad F(f), C - r_h(f)>
        r_h(g) = E[k_h(g; f) C] / E[k_h(g; f)]

    f is a random prediction, C = E[Y given f], and k_h the Dirichlet kernel with the bandwidth h.
    D_F is the Bregman divergence of F: the squared norm for l2_squared, the negative entropy for
    kl.

    Parameters
    ----------
    form : {"direct", "risk"}
        Which of the two formulas.
    bandwidth : float
        h, positive.

    Notes
    -----
    The kernel regression of `DirichletKernel` tends to r_h, a smoothed version of C. The limit is
    therefore not the calibration error. The squared error is the sum over both columns (1 - f, f),
    which is twice the error of one column.

    The problem must be a tempered draw of Dir(1, 1); any other problem raises UndefinedError. The
    log-odds of Dir(1, 1) have a logistic law, over which the expectations are computed by Gauss
    quadrature of order 4. The cost does not depend on n.

    Examples
    --------
    >>> from harness.problems import TemperedDirichlet
    >>> problem = TemperedDirichlet(2, truth_power=1.0, prediction_power=2.0)
    >>> round(KernelLimit("direct", 0.01)(None, None, problem=problem)["kl"].value, 6)
    0.058169

    References
    ----------
    popordanoska2024, equations (9) and (14).
    """

    form: str
    bandwidth: float

    def __call__(
        self, p: object, y: object, rng: object = None, problem: Any = None
    ) -> dict[str, Estimate]:
        if not hasattr(problem, "prediction_power") or problem.classes != 2 or problem.alpha != 1.0:
            raise UndefinedError(
                "the limit is known only for problems that are tempered draws of Dir(1, 1)"
            )
        values = compute_limits(problem.truth_power, problem.prediction_power, self.bandwidth)
        return {name: Estimate(float(values[self.form, name])) for name in self.estimands}


@lru_cache(maxsize=64)
def compute_limits(
    truth_power: float,
    prediction_power: float,
    bandwidth: float,
    panels: int = 600,
    reach: float = 22.0,
) -> dict[tuple[str, str], float]:
    """Return {(form, estimand): value of `KernelLimit`} by quadrature over the log-odds.

    `truth_power` and `prediction_power` are fields of the problem. The quadrature divides the
    log-odds from -reach to reach into `panels` panels.
    """
    x, weights = gauss_legendre(np.linspace(-reach, reach, panels + 1), 4)
    weights = weights * expit(x) * expit(-x)
    c = expit(truth_power * x)
    g = np.clip(expit(prediction_power * x), PREDICTION_FLOOR, 1 - PREDICTION_FLOOR)
    r = np.empty_like(g)
    constant = -gammaln(g / bandwidth + 1) - gammaln((1 - g) / bandwidth + 1)
    for rows in np.array_split(np.arange(len(g)), max(1, len(g) ** 2 >> 20)):
        kernel = (
            np.log(g[rows, None]) * (g / bandwidth)
            + np.log1p(-g[rows, None]) * ((1 - g) / bandwidth)
            + constant
        )
        kernel = np.exp(kernel - kernel.max(axis=1, keepdims=True)) * weights
        r[rows] = kernel @ c / kernel.sum(axis=1)
    gradients = {"kl": np.log(g) - np.log1p(-g), "l2_squared": 2 * (2 * g - 1)}
    direct = {
        "kl": weights @ (rel_entr(r, g) + rel_entr(1 - r, 1 - g)),
        "l2_squared": weights @ (2 * (r - g) ** 2),
    }
    risk = {
        name: direct[name] - weights @ ((c - r) * gradient) for name, gradient in gradients.items()
    }
    forms = {"direct": direct, "risk": risk}
    return {(form, name): x for form, values in forms.items() for name, x in values.items()}


@dataclass(frozen=True)
class TruthOfVector(_ProblemProperty):
    """Class-wise error against the probability given the whole vector, instead of one column.

        (1 / k) sum_j E d(f_j, C_j),   C_j = P(Y = j given f)

    f = (f_1, ..., f_k) is a random prediction, and d is the distance that defines the estimand.

    Notes
    -----
    The class-wise notion uses P(Y = j given f_j) instead of C_j. Its errors are smaller, and equal
    for two classes. The squared error is the sum over both columns (1 - f_j, f_j), which is twice
    the error of one column. The diagnostic `error` is the error of the quadrature. A problem that
    is not a tempered Dirichlet problem raises UndefinedError. The cost does not depend on n.

    Examples
    --------
    >>> from harness.problems import TemperedDirichlet
    >>> problem = TemperedDirichlet(2, truth_power=1.0, prediction_power=2.0)
    >>> round(TruthOfVector()(None, None, problem=problem)["l2_squared"].value, 6)
    0.022861

    References
    ----------
    popordanoska2024, Section 7.1, where this is the ground truth.
    """

    seconds = 0.05

    def __call__(
        self, p: object, y: object, rng: object = None, problem: Any = None
    ) -> dict[str, Estimate]:
        if not hasattr(problem, "truth_of_vector"):
            raise UndefinedError(
                "the truth given the whole vector is known only for tempered Dirichlet problems"
            )
        estimates = {}
        for name, columns in (("kl", 1.0), ("l2_squared", 2.0)):
            truth = problem.truth_of_vector(name)
            diagnostics = {"error": columns * truth.error}
            estimates[name] = Estimate(columns * truth.value, diagnostics=diagnostics)
        return estimates
