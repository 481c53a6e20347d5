"""Area under the ROC curve: how well predictions order the outcomes. It is no calibration error."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from harness.errors import UndefinedError
from harness.estimators.base import Estimate
from harness.math.notions import checked_scalars
from harness.math.weights import weighted_rows


@dataclass(frozen=True)
class Auroc:
    """Area under the ROC curve.

        auroc = P(p > p') + P(p = p') / 2

    p is the prediction of a random sample with y = 1, and p' that of a random sample with y = 0.

    Notes
    -----
    This is the statistic of Mann and Whitney. It is 1/2 for uninformative predictions, and 1 if
    every sample with y = 1 has a larger prediction than every sample with y = 0.

    Under the top-label notion, y is 1 if the predicted label was right. Under the class-wise notion
    the result is the mean over the classes, each against all others.

    Unbiased. UndefinedError unless both outcomes occurred. Cost: O(n log n).

    Examples
    --------
    >>> Auroc()([0.1, 0.4, 0.4, 0.9], [0, 0, 1, 1])["auroc"].value
    0.875
    """

    notions = ("binary", "top_label", "classwise")
    estimands = ("auroc",)
    determinism = "exact"
    revision = 1
    null_bias = 1.0

    def __call__(
        self,
        p: np.ndarray,
        y: np.ndarray,
        rng: np.random.Generator | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> dict[str, Estimate]:
        """Return the area. With `sample_weight` (n,), pairs count by the product of weights."""
        p, y = checked_scalars(p, y)
        p, y, w = weighted_rows(p, y, sample_weight)
        ones = int(y.sum())
        zeros = len(y) - ones
        if not (ones and zeros):
            raise UndefinedError(
                f"all {len(y)} labels are {y[0]}; the area under the ROC curve needs both outcomes"
            )
        _, group, counts = np.unique(p, return_inverse=True, return_counts=True)
        if w is not None:
            events = np.bincount(group, w * y)
            others = np.bincount(group, w * (1 - y))
            below = np.cumsum(others) - others / 2.0
            return {"auroc": Estimate(float(events @ below / (events.sum() * others.sum())))}
        # Equal p share their mean rank. Twice that rank is an integer, so that nothing is rounded.
        twice_rank = 2 * np.cumsum(counts) - counts + 1
        wins = int(twice_rank[group][y == 1].sum()) - ones * (ones + 1)
        return {"auroc": Estimate(wins / (2 * ones * zeros))}
