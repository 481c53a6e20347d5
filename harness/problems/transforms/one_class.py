"""Problems in which one class is judged against all others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from harness.errors import BadInputError
from harness.problems.base import ProblemSpec, Wrapper, list_members


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
