"""Compiled box-kernel smoother over a histogram of the scores, for `NWJensen`."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from harness.estimators.certified.smoothing_kernels import bias_bound


@njit(cache=True)
def bin_sums(scores: np.ndarray, labels: np.ndarray, bits: int) -> np.ndarray:
    """Return prefix sums over the 2^bits bins of equal width of [0, 1], shape (bins + 1, 4).

    For the points in the bins 0 to a - 1, row a holds their number, the sum of their bin numbers,
    the sum of the squares of these, and the sum of their labels.
    """
    bins = 1 << bits
    table = np.zeros(bins, np.int64)
    # One number holds the count and the sum of labels of a bin: one cache miss instead of two.
    for i in range(len(scores)):
        table[min(int(scores[i] * bins), bins - 1)] += 1 + (np.int64(labels[i]) << 32)
    sums = np.empty((bins + 1, 4), np.int64)
    sums[0] = 0
    for a in range(bins):
        count = table[a] & 0xFFFFFFFF
        sums[a + 1, 0] = sums[a, 0] + count
        sums[a + 1, 1] = sums[a, 1] + a * count
        sums[a + 1, 2] = sums[a, 2] + a * a * count
        sums[a + 1, 3] = sums[a, 3] + (table[a] >> 32)
    return sums


@njit(cache=True)
def _bin_window(
    sums: np.ndarray, a: int, half: int, slope: float, curvature: float
) -> tuple[int, int, float]:
    """Return (number of points, sum of labels, bias bound) of the bins a - half to a + half.

    `sums` is the result of `bin_sums`. The bias bound allows for the width of a bin, because the
    histogram gives distances only up to that width.
    """
    bins = len(sums) - 1
    lo, hi = max(a - half, 0), min(a + half + 1, bins)
    count = sums[hi, 0] - sums[lo, 0]
    left = a * (sums[a, 0] - sums[lo, 0]) - (sums[a, 1] - sums[lo, 1])
    right = sums[hi, 1] - sums[a, 1] - a * (sums[hi, 0] - sums[a, 0])
    squares = sums[hi, 2] - sums[lo, 2] - 2 * a * (sums[hi, 1] - sums[lo, 1]) + count * a * a
    bias = bias_bound(
        left / bins, right / bins, squares / bins / bins, count, slope, curvature, 1.0 / bins
    )
    return count, sums[hi, 3] - sums[lo, 3], bias


@njit(cache=True)
def bin_cost(
    sums: np.ndarray, chosen: np.ndarray, half: int, slope: float, curvature: float
) -> float:
    """Return the mean over the bins `chosen` of the criterion that selects a bandwidth.

    The criterion is bias bound + 0.8 sqrt(max(s (1 - s), 0.01) / N), where s is the middle of the
    bin, and N the number of points in the bins up to `half` bins away.
    """
    total = 0.0
    for a in chosen:
        count, _, bias = _bin_window(sums, a, half, slope, curvature)
        s = (a + 0.5) / (len(sums) - 1)
        total += bias + 0.8 * math.sqrt(max(s * (1.0 - s), 0.01) / count)
    return total / len(chosen)


@njit(cache=True)
def smooth_bins(
    sums: np.ndarray, half: int, slope: float, curvature: float
) -> tuple[float, float, float]:
    """Return (empirical term, mean bias bound, sum of c_i^2) of the smoother over a histogram.

    The smoother etahat of a point is the mean label in the bins up to `half` bins away. The
    empirical term is the mean over the points of |etahat - score|, plus half the width of a bin.
    c_i is the sum of the weights of label i in all etahat, divided by the number of points.
    """
    bins = len(sums) - 1
    n = sums[bins, 0]
    gap, mean_bias = 0.0, 0.0
    shares = np.empty(bins + 1)
    shares[0] = 0.0  # prefix sums of the weight that the points of a bin give to their window
    for a in range(bins):
        in_bin = sums[a + 1, 0] - sums[a, 0]
        shares[a + 1] = shares[a]
        if in_bin:
            count, hits, bias = _bin_window(sums, a, half, slope, curvature)
            gap += in_bin * abs(hits / count - (a + 0.5) / bins)
            mean_bias += in_bin * bias
            shares[a + 1] += in_bin / count
    square = 0.0
    for a in range(bins):
        in_bin = sums[a + 1, 0] - sums[a, 0]
        if in_bin:
            column = shares[min(a + half + 1, bins)] - shares[max(a - half, 0)]
            square += in_bin * column * column
    return gap / n + 0.5 / bins, mean_bias / n, square / n / n
