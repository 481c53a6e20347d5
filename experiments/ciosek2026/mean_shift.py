"""Mean distance between the perturbed and the original scores of a problem."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from harness.errors import UndefinedError
from harness.estimators.base import Estimate


@dataclass(frozen=True)
class MeanShift:
    """Mean distance between a problem's perturbed scores and its original scores.

        l1 = E|S - S0|

    S is the perturbed score and S0 the original score.

    Notes
    -----
    The distance bounds the change of the L1 calibration error by the perturbation. The diagnostic
    `h` is the bandwidth of the perturbation. A problem without perturbed scores raises
    UndefinedError. The value depends on the problem only, so that the cost does not depend on n.

    Examples
    --------
    >>> import harness
    >>> problem = harness.load_problem("score_sine_perturbed")
    >>> round(MeanShift()(None, None, problem=problem)["l1"].value, 6)
    0.017903
    """

    estimands = ("l1",)
    wants = ("problem",)

    def __call__(
        self, p: object, y: object, rng: object = None, problem: Any = None
    ) -> dict[str, Estimate]:
        shift = problem.mean_shift() if hasattr(problem, "mean_shift") else None
        if shift is None:
            raise UndefinedError("the problem has no perturbed scores with a known mean shift")
        return {"l1": Estimate(shift.value, diagnostics={"h": problem.perturbation})}
