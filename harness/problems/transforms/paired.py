"""Problems for comparing models: a shared random stream, and uniform predictions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from harness.errors import BadInputError
from harness.math import estimands
from harness.problems.base import (
    CALIBRATED,
    ProblemSpec,
    Truth,
    Wrapper,
    find_truth,
    list_members,
)


@dataclass(frozen=True)
class Paired(Wrapper):
    """A problem that shares its random stream with other problems.

    In each replication, all problems of a stream start from the same random generator. Files with
    equally many rows then give the same rows. Generated problems transform the same random numbers.
    If only their predictions differ, they also have the same labels. Examples are TemperedDirichlet
    with another prediction_power, and CovariateShift with another model_slope.

    Parameters
    ----------
    problem : Problem or Family
        Only its stream changes; its truths stay. A family becomes a family of paired members.
    stream : str
        Name of the stream (harness.common.seeds.problem_rng).

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
                f"the problem already has the stream {inside.stream!r}; give a problem without one."
            )
        if inside.replication_rng is not None:
            raise BadInputError(
                "the problem defines its own seeds (replication_rng), so it cannot share a stream; "
                "give a problem without replication_rng."
            )

    def members(self) -> dict[str, Paired] | None:
        """Return {id: paired member}, or None if the problem is not a family."""
        members = list_members(self.problem)
        if members is None:
            return None
        return {name: type(self)(member, self.stream) for name, member in members.items()}

    def sample(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        return self.problem.sample(n, rng)

    def truth(self, estimand: str, notion: str | None = None) -> Truth | None:
        return find_truth(self.problem, estimand, notion or self.default_notions[0])

    def __getattr__(self, name: str) -> Any:
        """Return any other attribute of the inner problem, such as its posterior."""
        # While an instance is unpickled, the field `problem` is not set yet.
        if name == "problem" or name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.problem, name)


@dataclass(frozen=True)
class Uniform(Wrapper):
    """Uniform predictions (1/k, ..., 1/k) with the labels of another problem.

    Parameters
    ----------
    problem : Problem
        Problem whose labels are used.
    balanced : bool
        True if the k classes of `problem` are equally likely. Predictions p are then calibrated:
        E[Y given p] = E Y = p. The Brier score is 1 - 1/k, and the log-loss is log k. If False,
        there is no truth.

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
                "problem gives only confidences; give a problem with probabilities of all classes."
            )
        return np.full(p.shape, 1.0 / (p.shape[1] if p.ndim == 2 else 2)), y

    def truth(self, estimand: str, notion: str | None = None) -> Truth | None:
        """Return the truth for balanced classes, else None.

        Every calibration error is 0 for all notions. Canonical scores have a closed form.
        """
        if not self.balanced:
            return None
        notion, k = notion or self.default_notions[0], self.classes
        estimands.check_name(estimand, notion)
        if not estimands.has_truth(estimand):
            return None
        if estimand not in estimands.SCORES:
            return Truth(0.0, 0.0, CALIBRATED)
        if notion != "canonical":
            return None
        values = {
            "brier": 1.0 - 1.0 / k,
            "refinement_l2_squared": 1.0 - 1.0 / k,
            "logloss": np.log(k),
            "refinement_kl": np.log(k),
        }
        return Truth(float(values.get(estimand, 0.0)), 0.0, "closed form")
