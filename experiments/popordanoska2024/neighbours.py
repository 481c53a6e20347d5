"""Lower bound of the sharpness from nearest neighbours."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harness.errors import UndefinedError
from harness.estimators.base import Estimate
from harness.math.notions import checked, one_hot


@dataclass(frozen=True)
class NeighbourSharpness:
    """Lower bound of the sharpness: the variance of the outcome that nearest neighbours explain.

        sharpness_l2_squared = sum_j s_j (1 - s_j) - mean_i ||e_{y_i} - m_i||^2

    y_i is the label of sample i and e_{y_i} its one-hot vector. s_j is the share of class j among
    the labels. m_i is the mean of the one-hot vectors over the neighbours of sample i.

    The distance of two samples is the 2-norm of the difference of their log-odds against the last
    class. Equally distant samples are chosen by the order of the rows.

    Parameters
    ----------
    neighbours : int
        Number of neighbours.
    max_rows : int
        Only the first `max_rows` samples are used.

    Notes
    -----
    No prediction from p has a smaller expected Brier score than E[Y given p]. So the expectation is
    at most the sharpness. UndefinedError if there are no more than `neighbours` samples. Cost:
    O(max_rows^2 k) for k classes.

    Examples
    --------
    >>> p = np.array([[0.9, 0.1], [0.8, 0.2], [0.2, 0.8], [0.1, 0.9]])
    >>> e = NeighbourSharpness(neighbours=1)(p, np.array([0, 0, 1, 1]))["sharpness_l2_squared"]
    >>> round(e.value, 4)
    0.5
    """

    neighbours: int = 20
    max_rows: int = 2000

    notions = ("canonical",)
    estimands = ("sharpness_l2_squared",)
    determinism = "rounding"
    seconds = 0.3

    def __call__(self, p: np.ndarray, y: np.ndarray, rng: object = None) -> dict[str, Estimate]:
        p, y = (a[: self.max_rows] for a in checked(p, y))
        if len(y) <= self.neighbours:
            raise UndefinedError(
                f"a sample needs {self.neighbours} neighbours; there are {len(y) - 1} other samples"
            )
        log_p = np.log(np.maximum(p, np.finfo(float).tiny))
        z = log_p[:, :-1] - log_p[:, -1:]
        squares = (z**2).sum(axis=1)
        distance = squares[:, None] + squares - 2.0 * z @ z.T
        np.fill_diagonal(distance, np.inf)
        nearest = np.argpartition(distance, self.neighbours, axis=1)[:, : self.neighbours]
        hits = one_hot(y, p.shape[1])
        score = ((hits - hits[nearest].mean(axis=1)) ** 2).sum(axis=1).mean()
        sharpness = float(1.0 - (hits.mean(axis=0) ** 2).sum() - score)
        return {"sharpness_l2_squared": Estimate(sharpness)}
