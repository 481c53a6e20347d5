"""Label means over rank windows of sorted scores, in which groups of equal scores stay whole."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True)
def groups(scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """First position of every point's group of equal scores, and the position after its last."""
    n = len(scores)
    opens, closes = np.empty(n, np.int32), np.empty(n, np.int32)
    i = 0
    while i < n:
        e = i + 1
        while e < n and scores[e] == scores[i]:
            e += 1
        opens[i:e] = i
        closes[i:e] = e
        i = e
    return opens, closes


@njit(cache=True)
def rank_windows(scores: np.ndarray, half: int) -> tuple[np.ndarray, np.ndarray]:
    """Every point's window of positions [low, high): whole groups of equal scores within `half` ranks of the point's group; a
    group of more than `half` points is a window of its own and no part of others'."""
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
            if first < i and opens[first] < first:  # a group that is only partly within reach
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
    """Mean over rank windows: means over the points of |etahat - s|, the largest A_t and the sum of squared column sums of the
    weights. A_t, for a boundary t between neighbouring distinct scores, is the mean over the points of the share of their window
    that lies beyond t: a jump of eta at t biases the smoother by A_t times the jump, on average."""
    n = len(scores)
    low, high = rank_windows(scores, half)
    hits = np.zeros(n + 1, np.int32)
    for i in range(n):
        hits[i + 1] = hits[i] + labels[i]
    reach = np.zeros(n + 1)
    rise, jump = (
        np.zeros(n + 2),
        np.zeros(n + 2),
    )  # A_t in ramps: changes of its slope and of its height
    gap = 0.0
    i = 0
    while i < n:
        lo, hi = low[i], high[i]
        count = hi - lo
        mean = (hits[hi] - hits[lo]) / count
        score = scores[i]
        e = i
        while e < n and scores[e] == score:
            e += 1
        gap += (e - i) * abs(mean - score)
        weight = (e - i) / count
        reach[lo] += weight
        reach[hi] -= weight
        rise[lo + 1] += weight
        rise[i + 1] -= weight
        jump[i + 1] -= (i - lo) * weight
        jump[e] += (hi - e + 1) * weight
        rise[e] -= weight
        rise[hi + 1] += weight
        i = e
    square, running, slope, height, largest = 0.0, 0.0, 0.0, 0.0, 0.0
    for t in range(n):
        running += reach[t]
        square += running * running
        slope += rise[t]
        height += slope + jump[t]
        if t and scores[t] != scores[t - 1]:
            largest = max(largest, height)
    return gap / n, largest / n, square / n / n
