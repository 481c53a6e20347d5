"""Problems of several classes whose truth depends on the whole probability vector."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from harness.errors import BadInputError
from harness.math import estimands
from harness.problems.base import Generated, Truth, draw_labels
from harness.problems.classwise_truths import classwise_truth
from harness.problems.maps import LabelNoise
from harness.problems.top_law import TopLaw
from harness.problems.vector_laws import DirichletLaw, Points, VoteLaw, points, sets_of_points

METHODS = {
    DirichletLaw: "scrambled Sobol sets",
    TopLaw: "sets of largest entries, with points of the other entries",
    VoteLaw: "sum over all vectors of votes",
}
BLOCK = 1 << 17  # points in memory at a time
EXACT = 1e-12  # error of a sum over all vectors
MAIN = ("l1", "l2_squared", "rms")  # computed together, because most runs need no others


@dataclass(frozen=True)
class VectorProblem(Generated):
    """Probability vectors with any calibration map g* of the whole vector.

        p ~ law,  P(Y = j given p) = g*(p)_j

    Parameters
    ----------
    law : DirichletLaw, VoteLaw or TopLaw
        Distribution of the predictions. A TopLaw must have neither atoms nor float32.
    map : harness.problems.maps
        The calibration map g*, from vectors (n, k) to vectors (n, k).

    Examples
    --------
    >>> import numpy as np
    >>> from harness.problems.maps import LabelNoise
    >>> problem = VectorProblem(VoteLaw(3, 1.0, 25), LabelNoise(3 / 28))
    >>> p, y = problem.sample(100, np.random.default_rng(0))
    >>> p.shape, [round(problem.truth("l1", notion).value, 6) for notion in problem.notions]
    ((100, 3), [0.067253, 0.031502, 0.022417])

    Notes
    -----
    Canonical truths are means over points that represent the law: 16 scrambled Sobol sets of 2^14
    points for DirichletLaw, all vectors of votes for VoteLaw. The error is the standard error over
    the sets.

    Top-label truths need E[C_top given the confidence t]. VoteLaw and TopLaw provide many points
    with the same t, and the mean over them estimates it. A set of TopLaw has 512 values of t for
    three classes and 256 for more. Under DirichletLaw, all values of t differ, and the top-label
    notion is not available.

    Class-wise truths are means over draws in bins (harness.problems.classwise_truths).

    An infinite value gives None.
    """

    law: Any = field(default_factory=DirichletLaw)
    map: Any = field(default_factory=LabelNoise)

    def __post_init__(self) -> None:
        if type(self.law) not in METHODS:
            raise BadInputError(
                f"law is {self.law!r}; a DirichletLaw, a VoteLaw or a TopLaw is needed."
            )
        if isinstance(self.law, TopLaw) and (self.law.atoms or self.law.float32):
            raise BadInputError("law is a TopLaw with atoms or float32; remove them.")
        corners = np.eye(self.classes)
        c = self.map(np.concatenate([corners, np.full((1, self.classes), 1.0 / self.classes)]))
        if c.shape != (self.classes + 1, self.classes):
            raise BadInputError(f"map does not return vectors of {self.classes} classes.")
        if c.min() < -1e-12 or np.abs(c.sum(axis=1) - 1.0).max() > 1e-9:
            raise BadInputError("map does not return probabilities with the sum 1.")

    @property
    def classes(self) -> int:
        return self.law.classes

    @property
    def notions(self) -> tuple[str, ...]:
        return (*self.default_notions, "classwise")

    @property
    def default_notions(self) -> tuple[str, ...]:
        return ("canonical",) if isinstance(self.law, DirichletLaw) else ("canonical", "top_label")

    def sample(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        rng_p, rng_y = rng.spawn(2)
        p = self.law.draw(n, rng_p)
        return p, draw_labels(self.posterior(p), rng_y)

    def posterior(self, p: np.ndarray) -> np.ndarray:
        """Return C = E[one-hot Y given p] = g*(p), (n, k)."""
        return np.clip(self.map(p), 0.0, 1.0)  # rounding only

    def compute_truth(self, estimand: str, notion: str) -> Truth | None:
        if not estimands.has_truth(estimand) or (estimand == "linf" and notion != "canonical"):
            return None
        if notion == "classwise":
            return classwise_truth(self, estimand)
        others = tuple(name for name in estimands.names(notion) if name not in MAIN)
        group = next((names for names in (MAIN, others) if estimand in names), (estimand,))
        return _truths(self, notion, group).get(estimand)


@lru_cache(maxsize=128)
def _truths(problem: VectorProblem, notion: str, wanted: tuple[str, ...]) -> dict[str, Truth]:
    """Return the truths of the estimands `wanted`, all from the same points.

    Infinite values are left out.
    """
    sets = sets_of_points(problem.law)
    per_set = np.array([_values(problem, notion, wanted, r) for r in range(sets)])
    method = METHODS[type(problem.law)]
    errors = np.full(len(wanted), EXACT)
    if sets > 1:
        with np.errstate(invalid="ignore"):
            errors += per_set.std(axis=0, ddof=1) / np.sqrt(sets)
        method = f"{sets} {method}"
    return {
        name: Truth(float(values.mean()), float(error), method)
        for name, values, error in zip(wanted, per_set.T, errors)
        if np.isfinite(values).all()
    }


def _values(problem: VectorProblem, notion: str, wanted: tuple[str, ...], r: int) -> list[float]:
    """Return the estimands `wanted` on set number r of points."""
    sample = points(problem.law, r)
    blocks = range(0, len(sample.p), BLOCK)
    c = np.concatenate([problem.posterior(sample.p[i : i + BLOCK]) for i in blocks])
    f, weight = sample.p, sample.weight
    if notion == "top_label":
        f, c, weight = _given_confidence(sample, c)
    with np.errstate(all="ignore"):
        return [estimands.value(name, f, c, notion, weight) for name in wanted]


def _given_confidence(sample: Points, c: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the confidences of the groups of points, E[C_top given it] and their weights."""
    rows, top = np.arange(len(c)), sample.p.argmax(axis=1)
    assert sample.group is not None  # VectorProblem has no such notion otherwise
    weight = np.bincount(sample.group, sample.weight)
    f, mean = (
        np.bincount(sample.group, sample.weight * x[rows, top]) / weight for x in (sample.p, c)
    )
    return f, mean, weight
