"""The draw order of the authors' synthetic scripts, by NumPy's legacy generator: published runs, digit by digit."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from harness.errors import BadInputError
from harness.math import estimands
from harness.problems.beta import Beta
from harness.problems.dirichlet import Dirichlet

GRID = (200, 264, 350, 462, 612, 809, 1069, 1414, 1870, 2473, 3270, 4324, 5719, 7562, 10000)


@dataclass(frozen=True)
class LegacyStream:
    """`problem` drawn as berta2026's scripts draw it (checked against the published per-run values).

    np.random.seed(rep); 100,000 predictions for their Monte Carlo truth (twice for vectors: L1, then L2); then for each n of
    the grid n predictions followed by n labels. Vector labels are one multinomial per row, of C divided by its row sum.
    `sample(n, rng)` takes for rng the authors' integer seed, which a run gives as the rep.
    """

    problem: Any = field(default_factory=Beta)

    version = 1
    default_reps = 10
    default_n = GRID
    sizes = GRID
    n_max = GRID[-1]
    fingerprint = None

    @property
    def notions(self):
        return self.problem.notions

    @property
    def default_notions(self):
        return self.problem.default_notions

    @property
    def classes(self):
        return self.problem.classes

    def replication_rng(self, rep):
        """The authors seed their generator with the number of the replication."""
        return rep

    def sample(self, n, rng):
        if not isinstance(rng, (int, np.integer)):
            raise BadInputError(f"rng is a {type(rng).__name__}; the legacy stream takes the authors' integer seed.")
        if n not in GRID:
            raise BadInputError(f"n is {n}; the legacy stream exists for n in {', '.join(map(str, GRID))}.")
        p, y = _chain(self.problem, int(rng))[n]
        return p.copy(), y.copy()

    def posterior(self, p):
        return self.problem.posterior(p)

    def truth(self, estimand, notion=None):
        return self.problem.truth(estimand, notion or self.default_notions[0])

    def authors_truth(self, estimand: str, seed: int) -> float:
        """The Monte Carlo truth that the authors' script computed at this seed (their TRUE column): l1, or l2 for vectors."""
        return _authors_truths(self.problem, int(seed))[estimand]


def _truth_of_draws(problem, p):
    c = problem.posterior(p)
    return c if c.ndim == 1 else c / c.sum(axis=1, keepdims=True)


def _truth_draws(problem, stream):
    """{estimand: the predictions that the script averages for its truth}, the first draws of a seed."""
    if isinstance(problem, Dirichlet):
        return {name: stream.dirichlet(np.full(problem.classes, problem.alpha), 100_000) for name in ("l1", "l2")}
    return {"l1": stream.beta(problem.a, problem.b, 100_000)}


@lru_cache(maxsize=4)
def _authors_truths(problem, seed):
    notion = problem.default_notions[0]
    draws = _truth_draws(problem, np.random.RandomState(seed))
    return {name: estimands.value(name, f, _truth_of_draws(problem, f), notion) for name, f in draws.items()}


@lru_cache(maxsize=2)
def _chain(problem, seed):
    """All draws of one seed after the truth's: {n: (p, y)}."""
    stream = np.random.RandomState(seed)
    _truth_draws(problem, stream)
    draws = {}
    for n in GRID:
        if isinstance(problem, Dirichlet):
            p = stream.dirichlet(np.full(problem.classes, problem.alpha), n)
            y = np.array([stream.multinomial(1, c).argmax() for c in _truth_of_draws(problem, p)])
        else:
            p = stream.beta(problem.a, problem.b, n)
            y = stream.binomial(1, problem.posterior(p))
        draws[n] = (p, y)
    return draws
