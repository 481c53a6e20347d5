"""Problems with changed labels: one class against all others, and labels drawn from p."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from harness.errors import BadInputError
from harness.math import estimands
from harness.problems.base import CALIBRATED, ProblemSpec, Truth, Wrapper, list_members


@dataclass(frozen=True)
class OneClass(Wrapper):
    """One class of a problem, as a binary problem.

        (p_j, 1{y = j}),  j = label

    The class-wise notion is the average over these problems.

    Parameters
    ----------
    problem : Problem
        Gives the predictions and labels.
    label : int
        The class j, counted from 0.

    Examples
    --------
    >>> import numpy as np
    >>> from harness.problems import Dirichlet
    >>> p, y = OneClass(Dirichlet(3), label=1).sample(5, np.random.default_rng(0))
    >>> p.shape, y.shape
    ((5,), (5,))

    Notes
    -----
    There is no truth, because `problem` knows only the mean over its classes.

    References
    ----------
    popordanoska2024, Table 5.
    """

    problem: Any
    label: int = 0

    notions = default_notions = ("binary",)
    classes = 2

    def __post_init__(self) -> None:
        if not isinstance(self.label, int) or isinstance(self.label, bool) or self.label < 0:
            raise BadInputError(
                f"label is {self.label!r}; give the number of a class, counted from 0."
            )

    def sample(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        p, y = self.problem.sample(n, rng)
        p = np.column_stack([1.0 - p, p]) if p.ndim == 1 else p
        if self.label >= p.shape[1]:
            raise BadInputError(
                f"label is {self.label}; the problem has classes 0 to {p.shape[1] - 1}."
            )
        return p[:, self.label], (y == self.label).astype(np.int64)


@dataclass(frozen=True)
class EachClass:
    """Family with one OneClass problem for each class of a problem, or of each member of a family.

    Parameters
    ----------
    problem : Problem or Family
        If a problem cannot run here, its only member is that of class 0, which runs skip.
    name : str
        Ids are `<name>/class<j>` for a problem, and `<id>/class<j>` for the members of a family.

    Examples
    --------
    >>> from harness.problems import Dirichlet
    >>> list(EachClass(Dirichlet(3), "letters").members())
    ['letters/class0', 'letters/class1', 'letters/class2']
    """

    problem: Any
    name: str = "each"

    def members(self) -> dict[str, Any]:
        """Return {id: OneClass problem}."""
        members = list_members(self.problem)
        problems = {}
        for name, problem in ({self.name: self.problem} if members is None else members).items():
            spec = ProblemSpec.of(problem)
            for j in range(1 if spec.unavailable else spec.classes):
                problems[f"{name}/class{j}"] = OneClass(problem, j)
        return problems


@dataclass(frozen=True)
class Relabelled(Wrapper):
    """Predictions of a problem, with labels drawn from them as if the model were calibrated.

        y given p ~ p

    One-dimensional p is P(Y = 1); for confidences it is the probability that the predicted class is
    right. Rows need to sum to 1 only within the tolerance of harness.math.notions.

    Parameters
    ----------
    problem : Problem
        Gives the predictions.

    Examples
    --------
    >>> from harness.problems import Beta
    >>> from harness.problems.maps import LogitAffine
    >>> Relabelled(Beta(map=LogitAffine(0.4, 0.3))).truth("kl").value
    0.0

    Notes
    -----
    Every calibration error is 0, so the mean of an estimator over replications is its bias.
    """

    problem: Any

    @property
    def default_reps(self) -> int:
        # Every replication draws new labels, also for a file.
        return max(self.wrapped.default_reps, 10)

    def sample(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        rng_p, rng_y = rng.spawn(2)
        p, _ = self.problem.sample(n, rng_p)
        u = rng_y.random(n)
        if p.ndim == 1:
            return p, (u < p).astype(np.int64)
        edges = np.cumsum(p, axis=1)
        return p, (u[:, None] * edges[:, -1:] > edges[:, :-1]).sum(axis=1)

    def posterior(self, p: np.ndarray) -> np.ndarray:
        """Return C = E[Y given p], which is p itself."""
        return p

    def truth(self, estimand: str, notion: str | None = None) -> Truth | None:
        estimands.check_name(estimand, notion)
        return Truth(0.0, 0.0, CALIBRATED) if estimands.is_distance(estimand) else None
