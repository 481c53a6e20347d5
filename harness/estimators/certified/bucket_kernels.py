"""Compiled sums over buckets of equal width of the score."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True)
def smooth_buckets(
    scores: np.ndarray, labels: np.ndarray, buckets: int, slope: float
) -> tuple[float, float]:
    """Return means over the points of |etahat - s| and of the bias bound, for equal-width buckets.

    etahat is the label mean of the bucket. The bias bound of a point is min(1, slope x mean
    distance to the points of its bucket).
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
    """Return sums of y - s by epoch and equal-width bucket of the score, (epochs, buckets)."""
    sums = np.zeros((epochs, buckets))
    for i in range(len(scores)):
        sums[epoch[i], min(int(scores[i] * buckets), buckets - 1)] += labels[i] - scores[i]
    return sums
