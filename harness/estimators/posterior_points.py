"""Predictions of a sample with the true probabilities there, for a figure of a problem."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from harness.estimators.base import Estimate, posterior


@dataclass(frozen=True)
class PosteriorPoints:
    """First predictions f of a sample, and the true probabilities c = P(Y = 1 given f) there.

        l2_squared = 1/m sum_{i < m} (f_i - c_i)^2

    Parameters
    ----------
    count : int
        The number m of predictions that are kept; fewer if the sample is smaller.

    Notes
    -----
    Estimand: l2_squared, unbiased, without using y. The diagnostics `f <i>` and `c <i>` are the
    points of a plot of the true recalibration map. Needs a problem that knows its posterior. Cost
    O(m).

    Examples
    --------
    >>> import harness
    >>> problem = harness.load_problem("beta_overconfident")
    >>> p, y = problem.sample(100, np.random.default_rng(0))
    >>> sorted(PosteriorPoints(count=2)(p, y, problem=problem)["l2_squared"].diagnostics)
    ['c 0', 'c 1', 'f 0', 'f 1']
    """

    count: int = 500

    notions = ("binary",)
    estimands = ("l2_squared",)
    determinism = "exact"
    revision = 1
    wants = ("problem",)
    needs_posterior = True

    def __call__(
        self, p: np.ndarray, y: np.ndarray, rng: object = None, problem: Any = None
    ) -> dict[str, Estimate]:
        """Return the points of predictions p (n,) that `problem` drew."""
        f = np.asarray(p[: self.count])
        c = posterior(problem, f)
        points = {
            f"{name} {i}": float(v)
            for name, values in (("f", f), ("c", c))
            for i, v in enumerate(values)
        }
        return {"l2_squared": Estimate(float(((f - c) ** 2).mean()), diagnostics=points)}
