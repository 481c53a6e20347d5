"""How far a perturbation moves the scores of a problem: the most by which it can change their calibration error."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from harness.errors import UndefinedError
from harness.estimators.base import Estimate


@dataclass(frozen=True)
class MeanShift:
    """The mean distance between a problem's perturbed scores and its scores as they are, whatever the sample.

        l1 = E|S - S0|

    Notes
    -----
    The most by which the perturbation can change the L1 calibration error. The diagnostic `h` is the perturbation's width.
    UndefinedError where the problem is not perturbed. It takes the problem and no sample, so that its cost does not depend on n.

    Examples
    --------
    >>> import harness
    >>> round(MeanShift()(None, None, problem=harness.load_problem("score_sine_perturbed"))["l1"].value, 6)
    0.017903
    """

    estimands = ("l1",)
    wants = ("problem",)

    def __call__(
        self, p: object, y: object, rng: object = None, problem: Any = None
    ) -> dict[str, Estimate]:
        found = problem.mean_shift() if hasattr(problem, "mean_shift") else None
        if found is None:
            raise UndefinedError("the problem does not say how far its scores are moved")
        return {"l1": Estimate(found.value, diagnostics={"h": problem.perturbation})}
