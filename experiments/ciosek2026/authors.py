"""What exists only for the items of ciosek2026."""

from dataclasses import dataclass

from harness.errors import UndefinedError
from harness.estimators.base import Estimate


@dataclass(frozen=True)
class MeanShift:
    """E|S - S0| of a perturbed problem, whatever the sample: the most by which the perturbation can change its L1 calibration
    error. The diagnostic `h` is the perturbation's width; undefined where the problem is not perturbed."""

    estimands = ("l1",)
    wants = ("problem",)

    def __call__(self, p, y, rng=None, problem=None):
        found = problem.mean_shift() if hasattr(problem, "mean_shift") else None
        if found is None:
            raise UndefinedError("the problem does not say how far its scores are moved")
        return {"l1": Estimate(found.value, diagnostics={"h": problem.perturbation})}
