"""Box-kernel smoothers that slide over sorted scores: label means, what is known of their error, and how far one label reaches.

Scores go in ascending, labels as uint8, folds as uint8 (a fold number). Moments of a window are sums of integers, scores being
rounded to multiples of GRID, so that no rounding error builds up over 10^7 slides; the rounding itself is charged to the bias.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

GRID = (
    2.0**-22
)  # rounded scores, squared and summed over a window of half-width 1/8, stay below 2^63 for 3e7 points
BLOCK = 16  # points between two entries of the table of sums


@njit(cache=True, inline="always")
def bias_bound(
    left: float,
    right: float,
    squares: float,
    count: int,
    slope: float,
    curvature: float,
    grid: float,
) -> float:
    """The bias bound beta = min {1, L1 mean |d|, L1 |mean d| + L2 mean d^2 / 2}, d the distances in the window, each known to
    within `grid`. left, right: sums of |d| on either side, squares: sum of d^2; slope and curvature: L1 and L2."""
    apart = slope * ((left + right) / count + grid)
    root = math.sqrt(squares / count) + grid
    bent = slope * (abs(right - left) / count + grid) + 0.5 * curvature * root * root
    return min(1.0, apart, bent)


@njit(cache=True)
def smooth_self(
    scores: np.ndarray,
    labels: np.ndarray,
    bandwidth: float,
    slope: float,
    curvature: float,
    reach: np.ndarray,
) -> tuple[float, float]:
    """Box smoother that includes the point itself: means over the points of |etahat - s| and of the bias bound, and into reach
    (n,) the column sums of its weights."""
    n = len(scores)
    reach[:] = 0.0
    gap, bias = 0.0, 0.0
    lo, hi = 0, 0
    hits = 0
    count_left, count_right = 0, 0  # points in [s - b, s) and [s, s + b], by position
    sum_left, sum_right, squares_left, squares_right = 0, 0, 0, 0  # of the rounded scores
    for j in range(n):
        s = scores[j]
        while hi < n and scores[hi] - s <= bandwidth:
            a = int(scores[hi] / GRID + 0.5)
            count_right += 1
            sum_right += a
            squares_right += a * a
            hits += labels[hi]
            hi += 1
        while s - scores[lo] > bandwidth:
            a = int(scores[lo] / GRID + 0.5)
            count_left -= 1
            sum_left -= a
            squares_left -= a * a
            hits -= labels[lo]
            lo += 1
        at = int(s / GRID + 0.5)
        count = hi - lo
        left = float(count_left * at - sum_left) * GRID
        right = float(sum_right - count_right * at) * GRID
        second = squares_left + squares_right - 2 * at * (sum_left + sum_right) + count * at * at
        gap += abs(hits / count - s)
        bias += bias_bound(left, right, float(second) * GRID * GRID, count, slope, curvature, GRID)
        reach[lo] += 1.0 / count
        if hi < n:
            reach[hi] -= 1.0 / count
        count_left += 1
        sum_left += at
        squares_left += at * at
        count_right -= 1
        sum_right -= at
        squares_right -= at * at
    running = 0.0
    for i in range(n):
        running += reach[i]
        reach[i] = running
    return gap / n, bias / n


@njit(cache=True)
def smooth_held_out(
    scores: np.ndarray,
    labels: np.ndarray,
    fold: np.ndarray,
    chosen: np.ndarray,
    bandwidth: float,
    slope: float,
    curvature: float,
    reach: np.ndarray,
) -> tuple[float, float]:
    """Box smoother of the other folds at the points whose fold is chosen (folds,): sums over them of |etahat - s| and of the
    error bound min {1, sqrt(bias^2 + 1 / (4 N))} (1/2 without a neighbour, etahat being 1/2). Adds to reach (n,) the column sums
    of the weights."""
    n, folds = len(scores), len(chosen)
    share = np.zeros(n)  # 1 / N of a query
    own = np.zeros(
        (folds, 6), np.int64
    )  # of the window: counts left and right, sums left and right, squares, hits, by fold
    count_left, count_right, sum_left, sum_right, squares, hits = 0, 0, 0, 0, 0, 0
    gap, error = 0.0, 0.0
    lo, hi = 0, 0
    for j in range(n):
        s = scores[j]
        while hi < n and scores[hi] - s <= bandwidth:
            a = int(scores[hi] / GRID + 0.5)
            mine = own[fold[hi]]
            count_right += 1
            sum_right += a
            squares += a * a
            hits += labels[hi]
            mine[1] += 1
            mine[3] += a
            mine[4] += a * a
            mine[5] += labels[hi]
            hi += 1
        while s - scores[lo] > bandwidth:
            a = int(scores[lo] / GRID + 0.5)
            mine = own[fold[lo]]
            count_left -= 1
            sum_left -= a
            squares -= a * a
            hits -= labels[lo]
            mine[0] -= 1
            mine[2] -= a
            mine[4] -= a * a
            mine[5] -= labels[lo]
            lo += 1
        at = int(s / GRID + 0.5)
        mine = own[fold[j]]
        if chosen[fold[j]]:
            count = hi - lo - mine[0] - mine[1]
            if count == 0:
                gap += abs(0.5 - s)
                error += 0.5
            else:
                total_left, total_right = sum_left - mine[2], sum_right - mine[3]
                left = float((count_left - mine[0]) * at - total_left) * GRID
                right = float(total_right - (count_right - mine[1]) * at) * GRID
                second = squares - mine[4] - 2 * at * (total_left + total_right) + count * at * at
                bias = bias_bound(
                    left, right, float(second) * GRID * GRID, count, slope, curvature, GRID
                )
                gap += abs((hits - mine[5]) / count - s)
                error += min(1.0, math.sqrt(bias * bias + 0.25 / count))
                share[j] = 1.0 / count
        count_left += 1  # the point itself passes from the right to the left
        count_right -= 1
        sum_left += at
        sum_right -= at
        mine[0] += 1
        mine[1] -= 1
        mine[2] += at
        mine[3] -= at
    lo, hi = 0, 0
    running, of_fold = 0.0, np.zeros(folds)
    for i in range(n):
        s = scores[i]
        while hi < n and scores[hi] - s <= bandwidth:
            running += share[hi]
            of_fold[fold[hi]] += share[hi]
            hi += 1
        while s - scores[lo] > bandwidth:
            running -= share[lo]
            of_fold[fold[lo]] -= share[lo]
            lo += 1
        reach[i] += running - of_fold[fold[i]]
    return gap, error


@njit(cache=True)
def block_sums(scores: np.ndarray, fold: np.ndarray, folds: int) -> np.ndarray:
    """(blocks + 1, folds, 3): by fold, how many points come before every BLOCK-th one, and the sums of their rounded scores and
    of those squared (which may wrap round: differences over a window fit)."""
    n = len(scores)
    sums = np.zeros((n // BLOCK + 1, folds, 3), np.int64)
    running = np.zeros((folds, 3), np.int64)
    for i in range(n):
        a = int(scores[i] / GRID + 0.5)
        mine = running[fold[i]]
        mine[0] += 1
        mine[1] += a
        mine[2] += a * a
        if (i + 1) % BLOCK == 0:
            sums[(i + 1) // BLOCK] = running
    return sums


@njit(cache=True)
def members(fold: np.ndarray, sums: np.ndarray, k: int, ranks: np.ndarray) -> np.ndarray:
    """Positions of the points of fold k with these ranks among them (ascending)."""
    found = np.empty(len(ranks), np.int64)
    block = 0
    for q, rank in enumerate(ranks):
        while block + 1 < len(sums) and sums[block + 1, k, 0] <= rank:
            block += 1
        left, i = rank - sums[block, k, 0], block * BLOCK
        while fold[i] != k or left > 0:
            left -= fold[i] == k
            i += 1
        found[q] = i
    return found


@njit(cache=True)
def _before(
    scores: np.ndarray, fold: np.ndarray, sums: np.ndarray, position: int, left_out: int
) -> tuple[int, int, int]:
    """Count, sum and sum of squares of the points before a position whose fold is not the one left out."""
    block = position // BLOCK
    count, first, second = 0, 0, 0
    for k in range(sums.shape[1]):
        if k != left_out:
            count += sums[block, k, 0]
            first += sums[block, k, 1]
            second += sums[block, k, 2]
    for i in range(block * BLOCK, position):
        if fold[i] != left_out:
            a = int(scores[i] / GRID + 0.5)
            count += 1
            first += a
            second += a * a
    return count, first, second


@njit(cache=True)
def mean_cost(
    scores: np.ndarray,
    fold: np.ndarray,
    sums: np.ndarray,
    queries: np.ndarray,
    slope: float,
    curvature: float,
    left_out: int,
    bandwidth: float,
) -> float:
    """What a bandwidth is chosen by: a mean over the points at the positions `queries`. It is the error bound of the smoother of
    all folds but one or, where none is left out (left_out < 0), bias bound + 0.8 sqrt(max(s (1 - s), 0.01) / N), as the mean of
    |N(0, 1)| is about 0.8."""
    total = 0.0
    for q in queries:
        s = scores[q]
        lo, l1, l2 = _before(
            scores, fold, sums, np.searchsorted(scores, s - bandwidth, side="left"), left_out
        )
        hi, r1, r2 = _before(
            scores, fold, sums, np.searchsorted(scores, s + bandwidth, side="right"), left_out
        )
        m, m1, _ = _before(scores, fold, sums, q, left_out)
        count = hi - lo
        if count == 0:
            total += 0.5
            continue
        at = int(s / GRID + 0.5)
        left = float((m - lo) * at - (m1 - l1)) * GRID
        right = float((r1 - m1) - (hi - m) * at) * GRID
        second = r2 - l2 - 2 * at * (r1 - l1) + count * at * at
        bias = bias_bound(left, right, float(second) * GRID * GRID, count, slope, curvature, GRID)
        if left_out >= 0:
            total += min(1.0, math.sqrt(bias * bias + 0.25 / count))
        else:
            total += bias + 0.8 * math.sqrt(max(s * (1.0 - s), 0.01) / count)
    return total / len(queries)
