"""Upper bound by label means over rank windows."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from harness.estimators.base import Estimate, check_integer
from harness.estimators.certified.base import (
    VariationBound,
    deviation_width,
    in_order,
    transferred,
)
from harness.estimators.certified.rank_window_kernels import smooth_ranks


@dataclass(frozen=True)
class BVWindow(VariationBound):
    """Upper bound by label means over rank windows [D]. Assumes TV(eta) <= variation.

        kl+( mean_j |etahat_j - s_j| + V max_t A_t + sqrt(ln(1/delta_1) sum_i c_i^2 / 2),
             ln(1/delta_2) / n )

    delta_1 = delta_2 = delta / 2. etahat_j is the label mean over all points within `window` ranks
    of j's group of equal scores, j included. Groups stay whole, and a group of more than `window`
    points is its own window and in no other's.

    A_t is the mean over j of the share of j's window that lies beyond the boundary t between
    neighbouring scores. The jumps of eta sum to at most V and so bias the smoother by at most V max
    A_t on average. c_i are the column sums of the weights over n. By Jensen's inequality the noise
    of etahat only raises the first term, so that no term is needed for it.

    Parameters
    ----------
    window : int or None
        Half the window's width in ranks. None: (0.8 sbar n / (sqrt 2 V))^(2/3), sbar = mean
        sqrt(max(s (1 - s), 0.01)).

    Notes
    -----
    Estimand: l1. Direction: above it with probability `level`, at every n. Rate n^(-1/3).
    Determinism: rounding. Cost: O(n) after a sort.

    References
    ----------
    Derived for this project (experiments/ciosek2026/NOTES.md), under the assumption of `TVKfold`.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(10_000)
    >>> y = (rng.random(10_000) < p**2).astype(int)  # CE = E |p^2 - p| = 1/6
    >>> round(BVWindow()(p, y)["l1"].high, 2)
    0.21
    """

    window: int | None = None

    revision = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.window is not None:
            check_integer("window", self.window)

    def bound(
        self, p: np.ndarray, y: np.ndarray, rng: np.random.Generator | None, variation: float
    ) -> dict[str, Estimate]:
        scores, labels = in_order(p, y)
        n, half_delta = len(p), (1.0 - self.level) / 2.0
        window = int(self.window or n)
        if self.window is None and variation > 0:
            spread = float(np.sqrt(np.maximum(scores * (1.0 - scores), 0.01)).mean())
            best = min(n**1.5, 0.8 * spread * n / (math.sqrt(2.0) * variation)) ** (2.0 / 3.0)
            window = max(1, round(best))
        empirical, largest, squares = smooth_ranks(scores, labels, int(min(window, n)))
        more = {"window": window, "largest_share": largest, "variation": variation}
        bias, deviation = min(1.0, variation * largest), deviation_width(squares, half_delta)
        return transferred(
            self.level, n, empirical, bias, deviation, half_delta, half_delta, **more
        )
