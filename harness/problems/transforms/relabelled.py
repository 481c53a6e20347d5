"""One class of a problem with several, judged by itself; a problem whose labels are drawn from its own predictions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from harness.errors import BadInputError
from harness.math import estimands
from harness.problems.base import ProblemSpec, Truth, Wrapper, members_of


@dataclass(frozen=True)
class OneClass(Wrapper):
    """One class of a problem with several, as a binary problem by itself.

        (p_j, 1{y = j}),  j = label

    The classwise notion averages over these.

    Parameters
    ----------
    problem : Problem
        Where predictions and labels come from.
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
    Truth: none; `problem` knows only the mean over its classes.

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
                f"label is {self.label!r}; the number of a class, counted from 0, is needed."
            )

    def sample(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        p, y = self.problem.sample(n, rng)
        p = np.column_stack([1.0 - p, p]) if p.ndim == 1 else p
        if self.label >= p.shape[1]:
            raise BadInputError(
                f"label is {self.label}, but the problem has {p.shape[1]} classes, counted from 0."
            )
        return p[:, self.label], (y == self.label).astype(np.int64)


@dataclass(frozen=True)
class EachClass:
    """A family of problems: every class of a problem, or of every member of a family, as a OneClass by itself.

    Parameters
    ----------
    problem : Problem or Family
        One that cannot be run here gives one member, for class 0, whose cells are skipped.
    name : str
        Ids are `<name>/class<j>`; for the members of a family `<id>/class<j>`.

    Examples
    --------
    >>> from harness.problems import Dirichlet
    >>> list(EachClass(Dirichlet(3), "letters").members())
    ['letters/class0', 'letters/class1', 'letters/class2']
    """

    problem: Any
    name: str = "each"

    def members(self) -> dict[str, Any]:
        """{id: OneClass}."""
        members = members_of(self.problem)
        found = {}
        for name, one in ({self.name: self.problem} if members is None else members).items():
            spec = ProblemSpec.of(one)
            for j in range(1 if spec.unavailable else spec.classes):
                found[f"{name}/class{j}"] = OneClass(one, j)
        return found


@dataclass(frozen=True)
class Relabelled(Wrapper):
    """The predictions of a problem with labels that are drawn from them: what a calibrated model with these predictions gives.

        y given p ~ p

    One-dimensional p is P(Y = 1); of confidences, the probability of being right. Rows are taken as they are, whatever their sums
    within the tolerance of harness.math.notions.

    Parameters
    ----------
    problem : Problem
        Where the predictions come from.

    Examples
    --------
    >>> from harness.problems import Beta
    >>> from harness.problems.maps import LogitAffine
    >>> Relabelled(Beta(map=LogitAffine(0.4, 0.3))).truth("kl").value
    0.0

    Notes
    -----
    Every calibration error is 0, so that the mean of an estimator is its bias.
    """

    problem: Any

    @property
    def default_reps(self) -> int:
        return max(
            self.wrapped.default_reps, 10
        )  # the labels are new in every rep, though the rows of a file are not

    def sample(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        rng_p, rng_y = rng.spawn(2)
        p, _ = self.problem.sample(n, rng_p)
        u = rng_y.random(n)
        if p.ndim == 1:
            return p, (u < p).astype(np.int64)
        edges = np.cumsum(p, axis=1)
        return p, (u[:, None] * edges[:, -1:] > edges[:, :-1]).sum(axis=1)

    def posterior(self, p: np.ndarray) -> np.ndarray:
        """C = p."""
        return p

    def truth(self, estimand: str, notion: str | None = None) -> Truth | None:
        estimands.check_name(estimand, notion)
        return (
            Truth(0.0, 0.0, "calibrated by construction")
            if estimands.is_distance(estimand)
            else None
        )
