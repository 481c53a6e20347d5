"""Models that are compared: one draw for all of them, and the model that knows the class frequencies alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from harness.errors import BadInputError
from harness.problems.base import ProblemSpec, Truth


@dataclass(frozen=True)
class Paired:
    """`problem`, drawn from the random stream called `stream` instead of its own (harness.common.seeds.problem_rng).

    In one replication all problems of a stream start from the same generator: files with equally many rows give the same rows,
    generators that differ in what they make of the same variables (TemperedDirichlet with other powers, CovariateShift with other
    slopes, Uniform of them) share the variables, and so the labels. Everything else is the problem's own: its truths do not
    change. A family of problems becomes the family of its members, each paired.
    """

    problem: Any
    stream: str

    fingerprint = None

    def __post_init__(self):
        if not isinstance(self.stream, str) or not self.stream:
            raise BadInputError(f"stream is {self.stream!r}; a name is needed.")
        inside = ProblemSpec.of(self.problem)
        if inside.stream is not None:
            raise BadInputError(f"the problem has the stream {inside.stream!r} already; give one that draws from its own.")
        if inside.replication_rng is not None:
            raise BadInputError("the problem draws from a seed of its own making, and can share no stream with others.")

    @property
    def version(self):
        """Raised with the problem's: its draws are these."""
        return (1, getattr(self.problem, "version", 0))

    def members(self):
        """{id: configuration}, each member paired; None if the problem is no family."""
        if not hasattr(self.problem, "members"):
            return None
        wrapped = {"_target_": "harness.problems.Paired", "stream": self.stream}
        return {name: {**wrapped, "problem": member} for name, member in self.problem.members().items()}

    def __getattr__(self, name):
        """Notions, truths, the posterior and whatever else it has are the problem's."""
        if name == "problem" or name.startswith("__"):  # not there yet, while an instance is being unpickled
            raise AttributeError(name)
        return getattr(self.problem, name)


@dataclass(frozen=True)
class Uniform:
    """p = (1/k, ..., 1/k) for every sample of `problem`, y as drawn there (moskvichev2025, Appendix C.1: "marginal").

    `balanced: true` says that the classes of `problem` are equally likely. Then E[Y given p] = E Y = p: the model is calibrated,
    every calibration error is 0, and what is left are the scores, E||f - Y||^2 = 1 - 1/k and -E log f_Y = log k. Without it
    nothing is claimed.
    """

    problem: Any
    balanced: bool = False

    fingerprint = None

    @property
    def version(self):
        return (1, getattr(self.problem, "version", 0))

    @property
    def unavailable(self):
        return getattr(self.problem, "unavailable", None)

    @property
    def classes(self):
        return self.problem.classes

    @property
    def notions(self):
        return self.problem.notions

    @property
    def default_notions(self):
        return self.problem.default_notions

    @property
    def n_max(self):
        return self.problem.n_max

    @property
    def default_n(self):
        return self.problem.default_n

    @property
    def default_reps(self):
        return self.problem.default_reps

    def sample(self, n, rng):
        p, y = self.problem.sample(n, rng)
        if p.ndim == 1 and "binary" not in self.notions:
            raise BadInputError(
                "problem holds confidences alone; probabilities of all classes are needed to replace them by 1/k."
            )
        return np.full(p.shape, 1.0 / (p.shape[1] if p.ndim == 2 else 2)), y

    def truth(self, estimand, notion=None):
        """0 for every calibration error of balanced classes, whatever the notion; canonical scores by closed form."""
        from harness.math import estimands

        if not self.balanced:
            return None
        notion, k = notion or self.default_notions[0], self.classes
        estimands.check_name(estimand, notion)
        if not estimands.has_truth(estimand):
            return None
        if estimand not in estimands.SCORES:
            return Truth(0.0, 0.0, "calibrated by construction")
        if notion != "canonical":
            return None
        values = {
            "brier": 1.0 - 1.0 / k,
            "refinement_l2_squared": 1.0 - 1.0 / k,
            "logloss": np.log(k),
            "refinement_kl": np.log(k),
        }
        return Truth(float(values.get(estimand, 0.0)), 0.0, "closed form")
