"""Compiled box-kernel smoothers that slide over sorted scores.

They compute three things: the mean label etahat in a window around every score, a bound of the bias
of etahat, and the weight of each label in all etahat.

Scores must ascend. Labels are 0 or 1 and folds are numbers from 0, both of type uint8. Scores are
rounded to multiples of GRID, and the moments of a window are sums of integers. So no rounding
error accumulates when a window moves 10^7 times. The bias bound allows for the rounding of scores.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

# With this grid, sums of squared distances in a window of half-width 1/8 stay below 2^63 for up to
# 3e7 points.
GRID = 2.0**-22
BLOCK = 16  # number of points between two entries of the table of `block_sums`


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
    """Return a bound of the bias of the mean label in a window.

    The bound is min {1, L1 mean |d|, L1 |mean d| + L2 mean d^2 / 2}. d are the signed distances of
    the `count` points in the window from its centre, each known up to an error of `grid`. `left`
    and `right` are the sums of |d| on either side, and `squares` is the sum of d^2. `slope` is L1
    and `curvature` is L2, bounds of the first and second derivative of E[Y given score].
    """
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
    """Return two means over the points: of |etahat - score|, and of the bias bound of etahat.

    etahat is the mean label of all points at a distance of at most `bandwidth`, the point itself
    included. Writes the sum of the weights of each label in all etahat to `reach` (n,).
    """
    n = len(scores)
    reach[:] = 0.0
    gap, bias = 0.0, 0.0
    lo, hi = 0, 0
    hits = 0
    count_left, count_right = 0, 0  # points in [s - b, s) and [s, s + b], by position
    sum_left, sum_right, squares_left, squares_right = 0, 0, 0, 0  # sums of the rounded scores
    for j in range(n):
        s = scores[j]
        # Move the window [lo, hi) to the points within the bandwidth of s.
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
        # Moments of the distances to s, from the moments of the scores.
        centre = int(s / GRID + 0.5)
        count = hi - lo
        left = float(count_left * centre - sum_left) * GRID
        right = float(sum_right - count_right * centre) * GRID
        second = (
            squares_left
            + squares_right
            - 2 * centre * (sum_left + sum_right)
            + count * centre * centre
        )
        gap += abs(hits / count - s)
        bias += bias_bound(left, right, float(second) * GRID * GRID, count, slope, curvature, GRID)
        reach[lo] += 1.0 / count
        if hi < n:
            reach[hi] -= 1.0 / count
        # The point itself passes from the right to the left.
        count_left += 1
        sum_left += centre
        squares_left += centre * centre
        count_right -= 1
        sum_right -= centre
        squares_right -= centre * centre
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
    """Return two sums over the points of some folds: of |etahat - score|, and of its error bound.

    `chosen` (folds,) marks these folds. etahat is the mean label of the N points of the other folds
    at a distance of at most `bandwidth`. The error bound is min {1, sqrt(bias^2 + 1 / (4 N))}. If
    N = 0, etahat and its error bound are 1/2. Adds the sum of the weights of each label in these
    etahat to `reach` (n,).
    """
    n, folds = len(scores), len(chosen)
    share = np.zeros(n)  # 1 / N of each point
    # Moments of the window for each fold: counts left and right, sums left and right, sum of
    # squares, sum of labels.
    by_fold = np.zeros((folds, 6), np.int64)
    count_left, count_right, sum_left, sum_right, squares, hits = 0, 0, 0, 0, 0, 0
    gap, error = 0.0, 0.0
    lo, hi = 0, 0
    for j in range(n):
        s = scores[j]
        while hi < n and scores[hi] - s <= bandwidth:
            a = int(scores[hi] / GRID + 0.5)
            moments = by_fold[fold[hi]]
            count_right += 1
            sum_right += a
            squares += a * a
            hits += labels[hi]
            moments[1] += 1
            moments[3] += a
            moments[4] += a * a
            moments[5] += labels[hi]
            hi += 1
        while s - scores[lo] > bandwidth:
            a = int(scores[lo] / GRID + 0.5)
            moments = by_fold[fold[lo]]
            count_left -= 1
            sum_left -= a
            squares -= a * a
            hits -= labels[lo]
            moments[0] -= 1
            moments[2] -= a
            moments[4] -= a * a
            moments[5] -= labels[lo]
            lo += 1
        centre = int(s / GRID + 0.5)
        moments = by_fold[fold[j]]
        if chosen[fold[j]]:
            count = hi - lo - moments[0] - moments[1]
            if count == 0:
                gap += abs(0.5 - s)
                error += 0.5
            else:
                total_left, total_right = sum_left - moments[2], sum_right - moments[3]
                left = float((count_left - moments[0]) * centre - total_left) * GRID
                right = float(total_right - (count_right - moments[1]) * centre) * GRID
                second = (
                    squares
                    - moments[4]
                    - 2 * centre * (total_left + total_right)
                    + count * centre * centre
                )
                bias = bias_bound(
                    left, right, float(second) * GRID * GRID, count, slope, curvature, GRID
                )
                gap += abs((hits - moments[5]) / count - s)
                error += min(1.0, math.sqrt(bias * bias + 0.25 / count))
                share[j] = 1.0 / count
        count_left += 1  # the point itself passes from the right to the left
        count_right -= 1
        sum_left += centre
        sum_right -= centre
        moments[0] += 1
        moments[1] -= 1
        moments[2] += centre
        moments[3] -= centre
    lo, hi = 0, 0
    running, fold_running = 0.0, np.zeros(folds)
    for i in range(n):
        s = scores[i]
        while hi < n and scores[hi] - s <= bandwidth:
            running += share[hi]
            fold_running[fold[hi]] += share[hi]
            hi += 1
        while s - scores[lo] > bandwidth:
            running -= share[lo]
            fold_running[fold[lo]] -= share[lo]
            lo += 1
        reach[i] += running - fold_running[fold[i]]
    return gap, error


@njit(cache=True)
def block_sums(scores: np.ndarray, fold: np.ndarray, folds: int) -> np.ndarray:
    """Return prefix sums for each fold before every BLOCK-th point, (blocks + 1, folds, 3).

    The last axis holds the number of points, the sum of their rounded scores, and the sum of the
    squares of these. The sums of squares may overflow, but their differences over a window are
    correct.
    """
    n = len(scores)
    sums = np.zeros((n // BLOCK + 1, folds, 3), np.int64)
    running = np.zeros((folds, 3), np.int64)
    for i in range(n):
        a = int(scores[i] / GRID + 0.5)
        moments = running[fold[i]]
        moments[0] += 1
        moments[1] += a
        moments[2] += a * a
        if (i + 1) % BLOCK == 0:
            sums[(i + 1) // BLOCK] = running
    return sums


@njit(cache=True)
def fold_positions(fold: np.ndarray, sums: np.ndarray, k: int, ranks: np.ndarray) -> np.ndarray:
    """Return the positions of the points of fold k that have the given ranks.

    The rank of a point is the number of points of fold k before it. `ranks` must ascend. `sums` is
    the result of `block_sums`.
    """
    positions = np.empty(len(ranks), np.int64)
    block = 0
    for q, rank in enumerate(ranks):
        while block + 1 < len(sums) and sums[block + 1, k, 0] <= rank:
            block += 1
        remaining, i = rank - sums[block, k, 0], block * BLOCK
        while fold[i] != k or remaining > 0:
            remaining -= fold[i] == k
            i += 1
        positions[q] = i
    return positions


@njit(cache=True)
def _before(
    scores: np.ndarray, fold: np.ndarray, sums: np.ndarray, position: int, left_out: int
) -> tuple[int, int, int]:
    """Return (count, sum, sum of squares) of the rounded scores before a position.

    Points of the fold `left_out` do not count.
    """
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
    """Return the mean of a criterion for the bandwidth, over the points at positions `queries`.

    N is the number of points at a distance of at most `bandwidth` from a score s, without those of
    the fold `left_out`. With left_out >= 0 the criterion is the error bound of `smooth_held_out`.
    With left_out < 0, no fold is left out, and the criterion is

        bias bound + 0.8 sqrt(max(s (1 - s), 0.01) / N)

    where 0.8 is about the mean of |N(0, 1)|.
    """
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
        centre = int(s / GRID + 0.5)
        left = float((m - lo) * centre - (m1 - l1)) * GRID
        right = float((r1 - m1) - (hi - m) * centre) * GRID
        second = r2 - l2 - 2 * centre * (r1 - l1) + count * centre * centre
        bias = bias_bound(left, right, float(second) * GRID * GRID, count, slope, curvature, GRID)
        if left_out >= 0:
            total += min(1.0, math.sqrt(bias * bias + 0.25 / count))
        else:
            total += bias + 0.8 * math.sqrt(max(s * (1.0 - s), 0.01) / count)
    return total / len(queries)
