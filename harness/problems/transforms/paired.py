"""Models that are compared: one draw for all of them, and the model that knows the class frequencies alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from harness.errors import BadInputError
from harness.math import estimands
from harness.problems.base import ProblemSpec, Truth, Wrapper, members_of, truth_of


@dataclass(frozen=True)
class Paired(Wrapper):
    """A problem that is drawn from a random stream which other problems share.

    In one replication all problems of a stream start from the same generator: files with equally many rows give the same rows,
    and generators that differ in what they make of the same variables (TemperedDirichlet with other powers, CovariateShift with
    other slopes, Uniform of them) share the variables, and so the labels.

    Parameters
    ----------
    problem : Problem or Family
        Everything but the stream is its own; its truths do not change. A family becomes the family of its members, each paired.
    stream : str
        The name of the stream (harness.common.seeds.problem_rng).

    Examples
    --------
    >>> from harness.problems import Beta
    >>> problem = Paired(Beta(), "models")
    >>> problem.stream, problem.truth("l1").value
    ('models', 0.0)
    """

    problem: Any
    stream: str

    def __post_init__(self) -> None:
        if not isinstance(self.stream, str) or not self.stream:
            raise BadInputError(f"stream is {self.stream!r}; a name is needed.")
        inside = ProblemSpec.of(self.problem)
        if inside.stream is not None:
            raise BadInputError(
                f"the problem has the stream {inside.stream!r} already; give one that draws from its own."
            )
        if inside.replication_rng is not None:
            raise BadInputError(
                "the problem draws from a seed of its own making, and can share no stream with others."
            )

    def members(self) -> dict[str, Paired] | None:
        """Of a family its members, each paired; None of a single problem."""
        members = members_of(self.problem)
        return (
            None
            if members is None
            else {name: type(self)(one, self.stream) for name, one in members.items()}
        )

    def sample(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        return self.problem.sample(n, rng)

    def truth(self, estimand: str, notion: str | None = None) -> Truth | None:
        return truth_of(self.problem, estimand, notion or self.default_notions[0])

    def __getattr__(self, name: str) -> Any:
        """Whatever else the problem has, such as a posterior: pairing changes none of it."""
        if name == "problem" or name.startswith(
            "__"
        ):  # not there yet, while an instance is being unpickled
            raise AttributeError(name)
        return getattr(self.problem, name)


@dataclass(frozen=True)
class Uniform(Wrapper):
    """The model that knows no more than the number of classes: every prediction is (1/k, ..., 1/k), y as `problem` draws it.

    Parameters
    ----------
    problem : Problem
        Its labels are kept, its predictions replaced.
    balanced : bool
        Whether the classes of `problem` are equally likely. Then E[Y given p] = E Y = p, every calibration error is 0, and the
        scores are E ||f - Y||^2 = 1 - 1/k and -E log f_Y = log k. Otherwise no truth is claimed.

    Examples
    --------
    >>> from harness.problems import Dirichlet
    >>> Uniform(Dirichlet(4), balanced=True).truth("brier").value
    0.75

    References
    ----------
    moskvichev2025, Appendix C.1, "marginal".
    """

    problem: Any
    balanced: bool = False

    def sample(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        p, y = self.problem.sample(n, rng)
        if p.ndim == 1 and "binary" not in self.notions:
            raise BadInputError(
                "problem holds confidences alone; probabilities of all classes are needed to replace them by 1/k."
            )
        return np.full(p.shape, 1.0 / (p.shape[1] if p.ndim == 2 else 2)), y

    def truth(self, estimand: str, notion: str | None = None) -> Truth | None:
        """0 for every calibration error of balanced classes, whatever the notion; canonical scores by closed form."""
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
