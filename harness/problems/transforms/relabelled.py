"""One class of a problem with several, judged by itself; a problem whose labels are drawn from its own predictions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from harness.errors import BadInputError
from harness.math import estimands
from harness.problems.base import Truth


@dataclass(frozen=True)
class OneClass:
    """(p_j, 1{y = j}) of the class j = `label` of `problem`: the binary problem of which the class-wise notion averages over j
    (popordanoska2024, Table 5). Truth: none; `problem` knows only the mean over its classes."""

    problem: Any
    label: int = 0

    notions = default_notions = ("binary",)
    classes = 2
    fingerprint = None

    def __post_init__(self):
        if not isinstance(self.label, int) or isinstance(self.label, bool) or self.label < 0:
            raise BadInputError(f"label is {self.label!r}; the number of a class, counted from 0, is needed.")

    @property
    def version(self):
        """Raised with that of `problem`, whose draws these are."""
        return (1, getattr(self.problem, "version", 0))

    @property
    def unavailable(self):
        return getattr(self.problem, "unavailable", None)

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
        p = np.column_stack([1.0 - p, p]) if p.ndim == 1 else p
        if self.label >= p.shape[1]:
            raise BadInputError(f"label is {self.label}, but the problem has {p.shape[1]} classes, counted from 0.")
        return p[:, self.label], (y == self.label).astype(np.int64)

    def truth(self, estimand, notion=None):
        return None


@dataclass(frozen=True)
class EachClass:
    """A family of problems: every class of `problem`, or of every member of a family of problems, as a OneClass by itself.

    Ids are <name>/class<j>, for the members of a family <id>/class<j>. What is not available here is one member, for class 0.
    """

    problem: Any
    name: str = "each"

    def members(self) -> dict[str, dict]:
        from harness.runs.components import build

        found = {}
        inner = self.problem.members() if hasattr(self.problem, "members") else {self.name: self.problem}
        for name, one in inner.items():
            made = build("problem", name, one) if isinstance(one, dict) else one
            classes = 1 if getattr(made, "unavailable", None) else made.classes
            for j in range(classes):
                found[f"{name}/class{j}"] = {"_target_": "harness.problems.OneClass", "problem": one, "label": j}
        return found


@dataclass(frozen=True)
class Relabelled:
    """p of `problem`, y drawn from p: what a perfectly calibrated model with these very predictions would give. Every calibration
    error is 0, so that an estimator's mean is its bias there. Rows are taken as they are, whatever their sum within the tolerance
    of `harness.math.notions`. One-dimensional p is P(Y = 1), of confidences that of being right."""

    problem: Any

    fingerprint = None

    @property
    def version(self):
        """Raised with that of `problem`, whose predictions these are."""
        return (1, getattr(self.problem, "version", 0))

    @property
    def unavailable(self):
        return getattr(self.problem, "unavailable", None)

    @property
    def notions(self):
        return self.problem.notions

    @property
    def default_notions(self):
        return self.problem.default_notions

    @property
    def classes(self):
        return self.problem.classes

    @property
    def n_max(self):
        return self.problem.n_max

    @property
    def default_n(self):
        return self.problem.default_n

    @property
    def default_reps(self):
        return max(self.problem.default_reps, 10)  # the labels are new in every rep, though the rows of a file are not

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
