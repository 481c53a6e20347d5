"""Upper bound of the L1 error from mean labels over windows of neighbouring scores."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from harness.estimators.base import Estimate, check_integer
from harness.estimators.certified.base import (
    VariationBound,
    deviation_width,
    sort_by_score,
    transfer_bound,
)
from harness.estimators.certified.rank_window_kernels import smooth_ranks


@dataclass(frozen=True)
class BVWindow(VariationBound):
    """Upper bound of the L1 error for bounded variation, by smoothing over neighbouring scores.

    The bound assumes that the total variation of eta(s) = E[Y given S = s] is at most V, the field
    `variation`. It is

        kl+( mean_j |etahat_j - s_j| + V max_t A_t + sqrt(ln(1/delta_1) sum_i c_i^2 / 2),
             ln(1/delta_2) / n )

    with delta_1 = delta_2 = (1 - level) / 2. s_j are the n scores in ascending order. kl+(q, c) is
    the largest a with kl(q || a) <= c. The three terms are:

    * The empirical term. etahat_j is the mean label in the window of point j: all points whose rank
      differs by at most `window`, and the point itself. Equal scores are one group, which is never
      divided. A group of more than `window` points is a window of its own, and no part of others.
    * The bias. t is a boundary between two neighbouring scores. For each point j, take the share of
      its window beyond t; A_t is the mean of these shares. A jump of eta at t biases the smoother
      by A_t times the jump, on average. The jumps sum to at most V.
    * The deviation. c_i is the sum of the weights of label i in all etahat_j, divided by n.

    By Jensen's inequality the noise of etahat can only raise the empirical term, so that no further
    term is needed for it.

    Parameters
    ----------
    window : int or None
        Largest difference of ranks in a window. None takes (0.8 r n / (sqrt 2 V))^(2/3), where r is
        the mean over the scores s of sqrt(max(s (1 - s), 0.01)).

    Notes
    -----
    Estimand: l1. Direction: the bound is above l1 with probability `level`, at every n. Rate:
    n^(-1/3). Determinism: rounding. Cost: O(n) after a sort.

    References
    ----------
    Derived for this project (experiments/ciosek2026/NOTES.md). `TVKfold` makes the same assumption.

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
        scores, labels = sort_by_score(p, y)
        n, half_delta = len(p), (1.0 - self.level) / 2.0
        window = int(self.window or n)
        if self.window is None and variation > 0:
            spread = float(np.sqrt(np.maximum(scores * (1.0 - scores), 0.01)).mean())
            best = min(n**1.5, 0.8 * spread * n / (math.sqrt(2.0) * variation)) ** (2.0 / 3.0)
            window = max(1, round(best))
        empirical, largest, squares = smooth_ranks(scores, labels, int(min(window, n)))
        more = {"window": window, "largest_share": largest, "variation": variation}
        bias, deviation = min(1.0, variation * largest), deviation_width(squares, half_delta)
        return transfer_bound(
            self.level, n, empirical, bias, deviation, half_delta, half_delta, **more
        )
