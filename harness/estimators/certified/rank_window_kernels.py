"""Compiled mean labels over windows of neighbouring scores, for `BVWindow`."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True)
def groups(scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return, for every point, the position where its group begins and the position after its end.

    A group consists of all points of equal score. `scores` must ascend.
    """
    n = len(scores)
    opens, closes = np.empty(n, np.int32), np.empty(n, np.int32)
    i = 0
    while i < n:
        end = i + 1
        while end < n and scores[end] == scores[i]:
            end += 1
        opens[i:end] = i
        closes[i:end] = end
        i = end
    return opens, closes


@njit(cache=True)
def rank_windows(scores: np.ndarray, half: int) -> tuple[np.ndarray, np.ndarray]:
    """Return (low, high): the window of point i consists of the positions low[i] to high[i] - 1.

    A window consists of whole groups of equal scores, up to `half` positions from the point's
    group. A group of more than `half` points is a window of its own, and no part of other windows.
    """
    n = len(scores)
    opens, closes = groups(scores)
    low, high = np.empty(n, np.int32), np.empty(n, np.int32)
    barrier = 0  # where the last large group ended
    i = 0
    while i < n:
        e = closes[i]
        if e - i > half:
            barrier = e
            first = i
        else:
            first = max(barrier, i - half)
            if first < i and opens[first] < first:  # the window would divide this group
                first = closes[first]
        low[i:e] = first
        i = e
    barrier = n
    while i > 0:
        a = opens[i - 1]
        if i - a > half:
            barrier = a
            end = i
        else:
            end = min(barrier, i + half)
            if end > i and closes[end - 1] > end:
                end = opens[end - 1]
        high[a:i] = end
        i = a
    return low, high


@njit(cache=True)
def smooth_ranks(scores: np.ndarray, labels: np.ndarray, half: int) -> tuple[float, float, float]:
    """Return (mean of |etahat - score|, max_t A_t, sum of c_i^2) for means over rank windows.

    etahat is the mean label in the window of a point (`rank_windows`).

    A_t belongs to a boundary t between neighbouring distinct scores. It is the mean over the points
    of the share of their window beyond t. A jump of E[Y given score] at t biases etahat by A_t
    times the jump, on average.

    c_i is the sum of the weights of label i in all etahat, divided by the number of points.
    """
    n = len(scores)
    low, high = rank_windows(scores, half)
    hits = np.zeros(n + 1, np.int32)
    for i in range(n):
        hits[i + 1] = hits[i] + labels[i]
    reach = np.zeros(n + 1)
    # A_t is piecewise linear in t: collect the changes of its slope and of its height.
    rise, jump = np.zeros(n + 2), np.zeros(n + 2)
    gap = 0.0
    i = 0
    while i < n:
        lo, hi = low[i], high[i]
        count = hi - lo
        mean = (hits[hi] - hits[lo]) / count
        score = scores[i]
        end = i
        while end < n and scores[end] == score:
            end += 1
        gap += (end - i) * abs(mean - score)
        weight = (end - i) / count
        reach[lo] += weight
        reach[hi] -= weight
        rise[lo + 1] += weight
        rise[i + 1] -= weight
        jump[i + 1] -= (i - lo) * weight
        jump[end] += (hi - end + 1) * weight
        rise[end] -= weight
        rise[hi + 1] += weight
        i = end
    square, running, slope, height, largest = 0.0, 0.0, 0.0, 0.0, 0.0
    for t in range(n):
        running += reach[t]
        square += running * running
        slope += rise[t]
        height += slope + jump[t]
        if t and scores[t] != scores[t - 1]:
            largest = max(largest, height)
    return gap / n, largest / n, square / n / n
