"""Compiled loops over dyadic bins, for T-Cal and the interval calibration error."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True)
def squared_sums(
    r: np.ndarray,
    starts: np.ndarray,
    ends: np.ndarray,
    weights: np.ndarray,
    levels: np.ndarray,
    totals: np.ndarray,
) -> None:
    """Set totals[i, l] to the sum over bins b of level l of weights_b (sum over the bin of r_i)^2.

    r: (rows, n), which is overwritten; starts, ends, weights: (bins,) of all levels, those of level
    l from levels[l] to levels[l + 1]; totals: (rows, len(levels) - 1). O(n + bins) per row.
    """
    rows, n = r.shape
    for i in range(rows):
        row = r[i]
        last = 0.0
        for j in range(n):  # sums of the preceding residuals, in place
            last, row[j] = last + row[j], last
        for level in range(len(levels) - 1):
            total = 0.0
            for b in range(levels[level], levels[level + 1]):
                bin_sum = (row[ends[b]] if ends[b] < n else last) - row[starts[b]]
                total += weights[b] * bin_sum * bin_sum
            totals[i, level] = total


@njit(cache=True)
def shifted_error(p: np.ndarray, sums: np.ndarray, width: float) -> float:
    """Return sum_j (t_(j+1) - t_j) |sum of the residuals of p in [t_j, t_j + width)|.

    The t are the places where a p enters or leaves the window. p: (n,), sorted; sums: (n + 1,), of
    the first residuals. O(n).
    """
    n = len(p)
    entered, left = 0, 0
    total, last = 0.0, p[0] - width
    while left < n:
        place = p[left]
        if entered < n and p[entered] - width <= place:
            place = p[entered] - width
        total += abs(sums[entered] - sums[left]) * (place - last)
        if entered < n and p[entered] - width == place:
            entered += 1
        else:
            left += 1
        last = place
    return total
