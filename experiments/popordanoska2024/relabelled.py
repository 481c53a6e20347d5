"""Problem with labels that are drawn from the predictions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from harness.math import estimands
from harness.problems.base import CALIBRATED, Truth, Wrapper


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

    shares_rows = False  # every replication draws new labels, also for a file

    @property
    def default_reps(self) -> int:
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
