"""Predictions of a sample with their true probabilities, for a figure of a problem."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from harness.estimators.base import Estimate, posterior


@dataclass(frozen=True)
class PosteriorPoints:
    """The first predictions of a sample, with their true probabilities.

        l2_squared = 1/m sum_{i < m} (f_i - c_i)^2,   c_i = P(Y = 1 given f_i)

    Parameters
    ----------
    count : int
        Number m of predictions that are kept, or fewer if the sample is smaller.

    Notes
    -----
    Estimand: l2_squared. Unbiased; the labels are not used. The arrays `f` and `c` (m,) are the
    predictions and the true probabilities, for a plot of the true recalibration map. The problem
    must know its posterior. Cost: O(m).

    Examples
    --------
    >>> import harness
    >>> problem = harness.load_problem("beta_overconfident")
    >>> p, y = problem.sample(100, np.random.default_rng(0))
    >>> PosteriorPoints(count=2)(p, y, problem=problem)["l2_squared"].arrays["f"] == p[:2]
    array([ True,  True])
    """

    count: int = 500

    notions = ("binary",)
    estimands = ("l2_squared",)
    determinism = "exact"
    revision = 2
    wants = ("problem",)
    needs_posterior = True

    def __call__(
        self, p: np.ndarray, y: np.ndarray, rng: object = None, problem: Any = None
    ) -> dict[str, Estimate]:
        """Return l2_squared and the points, for predictions p (n,) that `problem` drew."""
        f = np.asarray(p[: self.count])
        c = posterior(problem, f)
        return {"l2_squared": Estimate(float(((f - c) ** 2).mean()), arrays={"f": f, "c": c})}
