"""The authors' ground truth: a class-wise error, given the whole vector of probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from harness.errors import UndefinedError
from harness.estimators.base import Estimate


@dataclass(frozen=True)
class TruthOfVector:
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

    notions = ("classwise",)
    estimands = ("kl", "l2_squared")
    wants = ("problem",)
    takes_classwise = True
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
