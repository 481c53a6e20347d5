"""Ingredients of `Best` that see an error in few rows: fits by segments, and a scan of intervals.

Predictions are put into bins of neighbours. Every statistic uses sums over bins: of the residuals
r = y - p, of rows, and of the variance p (1 - p) that calibrated outcomes have. An interval I of
bins has the sums S_I, m_I and V_I.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from harness.estimators.certified.denoising_kernels import denoise
from harness.estimators.ingredient_members import sum_other_folds

LARGEST_BINS, BIN_ROWS = 128, 4  # largest number of bins, and rows per bin below it
# Gain of a segment in log-likelihood, in units of log n, from which a fit moves its predictions.
PENALTIES = (1.0, 2.5)
STRENGTH = 0.5  # of the fit with a small total variation, in standard deviations of all residuals
FLOOR = 1.0  # added to V_I: a single outcome establishes no error where p is near 0 or 1
FEW_ROWS = 1e-6  # weight of a bin without rows


def bin_edges(p: np.ndarray, first: np.ndarray) -> np.ndarray:
    """Return the bin of each sample, (n,), for ascending p (n,).

    Half of the mass of a sample is its row, and half its variance p (1 - p), so that rare events
    and predictions near 0 or 1 have bins. Bins have equal mass. `first` (n,) is the rank of the
    first sample with an equal p, so that equal p are in one bin.
    """
    n = len(p)
    bins = int(np.clip(n // BIN_ROWS, 1, LARGEST_BINS))
    spread = p * (1.0 - p)
    total = spread.sum()
    rank = first / n
    below = np.append(0.0, np.cumsum(spread))[first] / total if total > 0.0 else rank
    return np.minimum((0.5 * (rank + below) * bins).astype(np.int16), bins - 1)


def fitted_moves(
    sums: np.ndarray, sizes: np.ndarray, variances: np.ndarray, n: int, v: float
) -> list[np.ndarray]:
    """Return the moves q - p of three members, each (K + 1, bins).

    The arguments are sums over the bins of each of K folds, (K, bins): of residuals, rows and
    variances. v is the mean squared residual of all n samples. The moves are fitted to the samples
    outside each fold, and at last to all samples.

    Two members move p in segments by their mean residual, see `segment_moves`. The third one has
    the moves d with the smallest

        sum over bins of (m / 2) (S / m - d)^2 + STRENGTH sqrt(v n) * total variation of d
    """
    total, size = sum_other_folds(sums, sizes)
    variance = sum_other_folds(variances, variances)[0]
    moves = [
        segment_moves(total, size, variance, 2.0 * penalty * np.log(n)) for penalty in PENALTIES
    ]
    strength = STRENGTH * np.sqrt(max(v, 1e-9) * n)
    smooth = [denoise(s, m + FEW_ROWS, strength, len(s)) for s, m in zip(total, size)]
    return [*moves, np.array(smooth)]


@njit(cache=True)
def segment_moves(
    sums: np.ndarray, sizes: np.ndarray, variances: np.ndarray, penalty: float
) -> np.ndarray:
    """Return piecewise constant moves (fits, bins), 0 where the residuals show no error.

    The arguments are (fits, bins). The segments I that move have the largest

        sum over I of S_I^2 / (V_I + FLOOR) - penalty

    They move by S_I / (m_I + 1). Dynamic programming finds them in O(bins^2).
    """
    count, bins = sums.shape
    moves = np.zeros((count, bins))
    gain, start = np.zeros(bins + 1), np.zeros(bins + 1, np.int64)
    for f in range(count):
        for end in range(1, bins + 1):
            gain[end], start[end] = gain[end - 1], -1
            s, v = 0.0, FLOOR
            for i in range(end - 1, -1, -1):
                s += sums[f, i]
                v += variances[f, i]
                value = gain[i] + s * s / v - penalty
                if value > gain[end]:
                    gain[end], start[end] = value, i
        stop = bins
        while stop > 0:
            first = start[stop]
            if first < 0:
                stop -= 1
                continue
            move = sums[f, first:stop].sum() / (sizes[f, first:stop].sum() + 1.0)
            moves[f, first:stop] = move
            stop = first
    return moves


@njit(cache=True)
def scan(sums: np.ndarray, variances: np.ndarray) -> tuple[float, float]:
    """Return the largest excess and the largest significant sum over intervals of bins.

    With L_I = sqrt(2 log(e bins / length of I)), the null level of Duembgen and Spokoiny (2001),
    they are the maxima over I of |S_I| / sqrt(V_I + FLOOR) - L_I and of
    |S_I| - L_I sqrt(V_I + FLOOR), at least 0.
    """
    bins = len(sums)
    excess, largest = -np.inf, 0.0
    for first in range(bins):
        s, v = 0.0, FLOOR
        for last in range(first, bins):
            s += sums[last]
            v += variances[last]
            level = np.sqrt(2.0 * (1.0 + np.log(bins / (last - first + 1.0))))
            excess = max(excess, abs(s) / np.sqrt(v) - level)
            largest = max(largest, abs(s) - level * np.sqrt(v))
    return excess, largest
