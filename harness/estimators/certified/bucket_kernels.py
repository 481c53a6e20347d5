"""Sums over buckets of equal width of the score."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True)
def smooth_buckets(
    scores: np.ndarray, labels: np.ndarray, buckets: int, slope: float
) -> tuple[float, float]:
    """Label means of equal-width buckets: means over the points of |etahat - s| and of min(1, slope x mean distance to the points
    of the bucket)."""
    n = len(scores)
    gap, bias = 0.0, 0.0
    i = 0
    while i < n:
        bucket = min(int(scores[i] * buckets), buckets - 1)
        e, hits, total = i, 0, 0.0
        while e < n and min(int(scores[e] * buckets), buckets - 1) == bucket:
            hits += labels[e]
            total += scores[e] - scores[i]
            e += 1
        count, below = e - i, 0.0
        for j in range(i, e):
            s = scores[j] - scores[i]
            distance = (j - i) * s - below + (total - below) - (e - j) * s
            below += s
            gap += abs(hits / count - scores[j])
            bias += min(1.0, slope * distance / count)
        i = e
    return gap / n, bias / n


@njit(cache=True)
def epoch_sums(
    scores: np.ndarray, labels: np.ndarray, epoch: np.ndarray, epochs: int, buckets: int
) -> np.ndarray:
    """Sums of y - s by epoch and equal-width bucket of the score, (epochs, buckets)."""
    sums = np.zeros((epochs, buckets))
    for i in range(len(scores)):
        sums[epoch[i], min(int(scores[i] * buckets), buckets - 1)] += labels[i] - scores[i]
    return sums
