"""Compiled sums over buckets of equal width of the score."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True)
def smooth_buckets(
    scores: np.ndarray, labels: np.ndarray, buckets: int, slope: float
) -> tuple[float, float]:
    """Return two means over the points: of |etahat - score|, and of the bias bound of etahat.

    etahat is the mean label in the point's bucket. The buckets divide [0, 1] into equal widths. The
    bias bound is min(1, slope d), where d is the mean distance of the point from the points of its
    bucket. `scores` must ascend.
    """
    n = len(scores)
    gap, bias = 0.0, 0.0
    i = 0
    while i < n:
        bucket = min(int(scores[i] * buckets), buckets - 1)
        end, hits, total = i, 0, 0.0
        while end < n and min(int(scores[end] * buckets), buckets - 1) == bucket:
            hits += labels[end]
            total += scores[end] - scores[i]
            end += 1
        count, below = end - i, 0.0
        for j in range(i, end):
            s = scores[j] - scores[i]
            distance = (j - i) * s - below + (total - below) - (end - j) * s
            below += s
            gap += abs(hits / count - scores[j])
            bias += min(1.0, slope * distance / count)
        i = end
    return gap / n, bias / n


@njit(cache=True)
def epoch_sums(
    scores: np.ndarray, labels: np.ndarray, epoch: np.ndarray, epochs: int, buckets: int
) -> np.ndarray:
    """Return the sum of label - score in each epoch and bucket, (epochs, buckets).

    The buckets divide [0, 1] into equal widths. `epoch` (n,) numbers the epoch of each point.
    """
    sums = np.zeros((epochs, buckets))
    for i in range(len(scores)):
        sums[epoch[i], min(int(scores[i] * buckets), buckets - 1)] += labels[i] - scores[i]
    return sums
