"""Compiled loops over bins of many widths, for `TCal` and `IntervalCE`."""

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
    """Write weighted sums of the squared sums of residuals in bins to `totals`.

        totals[i, l] = sum over the bins b of level l of weights[b] (sum of r[i] in bin b)^2

    Parameters
    ----------
    r : array (rows, n)
        Residuals, which are overwritten.
    starts, ends, weights : arrays (bins,)
        Bin b consists of the columns starts[b] to ends[b] - 1 of r.
    levels : array (number of levels + 1,)
        The bins levels[l] to levels[l + 1] - 1 form level l.
    totals : array (rows, number of levels)
        The result.

    Notes
    -----
    Cost: O(n + bins) per row.
    """
    rows, n = r.shape
    for i in range(rows):
        row = r[i]
        last = 0.0
        for j in range(n):  # replace each residual by the sum of the residuals before it
            last, row[j] = last + row[j], last
        for level in range(len(levels) - 1):
            total = 0.0
            for b in range(levels[level], levels[level + 1]):
                bin_sum = (row[ends[b]] if ends[b] < n else last) - row[starts[b]]
                total += weights[b] * bin_sum * bin_sum
            totals[i, level] = total


@njit(cache=True)
def shifted_error(p: np.ndarray, sums: np.ndarray, width: float) -> float:
    """Return the integral over t of |sum of the residuals of the p in [t, t + width)|.

    p (n,) is sorted, and sums[i] is the sum of the first i residuals, for i = 0, ..., n. The
    integrand changes only where a p enters or leaves the window. Cost: O(n).
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
