"""A template of an estimator: calharness check estimator.MeanGap, then
calharness experiment=smoke +estimator.mine._target_=estimator.MeanGap"""

from dataclasses import dataclass

import numpy as np

from harness import Estimate
from harness.math.notions import checked_scalars


@dataclass(frozen=True)
class MeanGap:
    """|mean p - mean y|, the error of the mean prediction ("calibration in the large").

    At most the L1 calibration error in the limit: errors of opposite sign at different p cancel.
    Biased upwards by about 0.8 / sqrt(n) times the standard deviation of y - p where predictions
    are calibrated. O(n).
    """

    notions = (
        "binary",
        "top_label",
        "classwise",
    )  # what it can judge: with these, p is (n,) and y is 0 or 1
    estimands = ("l1",)  # what it returns
    determinism = "rounding"  # exact | rounding | statistical
    revision = 1  # raise it when its numbers change: its cells are then computed anew
    null_bias = 0.05  # largest |mean estimate| on calibrated samples of 2,000 that is normal for it

    def __call__(self, p, y, rng=None):
        p, y = checked_scalars(p, y)  # refuses NaN, and vectors that nobody has reduced
        # an estimate with its own interval is still a point: Estimate(value, low, high, level=0.95)
        return {"l1": Estimate(float(abs(np.mean(p) - np.mean(y))))}
