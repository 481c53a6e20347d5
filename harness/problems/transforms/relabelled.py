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
    """(p_j, 1{y = j}) of the class j = `label` of `problem`: the binary problem of which the class-wise notion averages over j
    (popordanoska2024, Table 5). Truth: none; `problem` knows only the mean over its classes."""

    problem: Any
    label: int = 0

    notions = default_notions = ("binary",)
    classes = 2

    def __post_init__(self):
        if not isinstance(self.label, int) or isinstance(self.label, bool) or self.label < 0:
            raise BadInputError(f"label is {self.label!r}; the number of a class, counted from 0, is needed.")

    def sample(self, n, rng):
        p, y = self.problem.sample(n, rng)
        p = np.column_stack([1.0 - p, p]) if p.ndim == 1 else p
        if self.label >= p.shape[1]:
            raise BadInputError(f"label is {self.label}, but the problem has {p.shape[1]} classes, counted from 0.")
        return p[:, self.label], (y == self.label).astype(np.int64)


@dataclass(frozen=True)
class EachClass:
    """A family of problems: every class of `problem`, or of every member of a family of problems, as a OneClass by itself.

    Ids are <name>/class<j>, for the members of a family <id>/class<j>. What is not available here is one member, for class 0.
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
    """p of `problem`, y drawn from p: what a perfectly calibrated model with these very predictions would give. Every calibration
    error is 0, so that an estimator's mean is its bias there. Rows are taken as they are, whatever their sum within the tolerance
    of `harness.math.notions`. One-dimensional p is P(Y = 1), of confidences that of being right."""

    problem: Any

    @property
    def default_reps(self):
        return max(self.wrapped.default_reps, 10)  # the labels are new in every rep, though the rows of a file are not

    def sample(self, n, rng):
        rng_p, rng_y = rng.spawn(2)
        p, _ = self.problem.sample(n, rng_p)
        u = rng_y.random(n)
        if p.ndim == 1:
            return p, (u < p).astype(np.int64)
        edges = np.cumsum(p, axis=1)
        return p, (u[:, None] * edges[:, -1:] > edges[:, :-1]).sum(axis=1)

    def posterior(self, p):
        """C = p."""
        return p

    def truth(self, estimand, notion=None):
        estimands.check_name(estimand, notion)
        return Truth(0.0, 0.0, "calibrated by construction") if estimands.is_distance(estimand) else None
