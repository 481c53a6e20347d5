"""Sliding windows over sorted scores: box-kernel smoothers, what is known of their error, and how far one label reaches.

Scores go in ascending, labels as uint8, folds as uint8 (a fold number). Moments of a window are sums of integers, scores being
rounded to multiples of GRID, so that no rounding error builds up over 10^7 slides; the rounding itself is charged to the bias.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

GRID = 2.0**-22  # rounded scores, squared and summed over a window of half-width 1/8, stay below 2^63 for 3e7 points


@njit(cache=True, inline="always")
def _bias(left, right, squares, count, slope, curvature, grid):
    """min {1, L1 mean |d|, L1 |mean d| + L2 mean d^2 / 2} of the window's distances d, each known to within `grid`.
    left, right: sums of |d| on either side, squares: sum of d^2."""
    apart = slope * ((left + right) / count + grid)
    root = math.sqrt(squares / count) + grid
    bent = slope * (abs(right - left) / count + grid) + 0.5 * curvature * root * root
    return min(1.0, apart, bent)


@njit(cache=True)
def smooth_self(scores, labels, bandwidth, slope, curvature, reach):
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
        bias += _bias(left, right, float(second) * GRID * GRID, count, slope, curvature, GRID)
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
def smooth_held_out(scores, labels, fold, chosen, bandwidth, slope, curvature, reach):
    """Box smoother of the other folds at the points whose fold is chosen (folds,): sums over them of |etahat - s| and of the
    error bound min {1, sqrt(bias^2 + 1 / (4 N))} (1/2 without a neighbour, etahat being 1/2). Adds to reach (n,) the column sums
    of the weights."""
    n, folds = len(scores), len(chosen)
    share = np.zeros(n)  # 1 / N of a query
    own = np.zeros((folds, 6), np.int64)  # of the window: counts left and right, sums left and right, squares, hits, by fold
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
                bias = _bias(left, right, float(second) * GRID * GRID, count, slope, curvature, GRID)
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


BLOCK = 16


@njit(cache=True)
def block_sums(scores, fold, folds):
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
def members(fold, sums, k, ranks):
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
def _before(scores, fold, sums, position, left_out):
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
def mean_cost(scores, fold, sums, queries, slope, curvature, left_out, bandwidth):
    """Mean over the points at the positions `queries` of what a bandwidth is chosen by: the error bound of the smoother of all
    folds but one, or, where none is left out (left_out < 0), bias bound + 0.8 sqrt(max(s (1 - s), 0.01) / N), as E|N(0, 1)| is
    about 0.8."""
    total = 0.0
    for q in queries:
        s = scores[q]
        lo, l1, l2 = _before(scores, fold, sums, np.searchsorted(scores, s - bandwidth, side="left"), left_out)
        hi, r1, r2 = _before(scores, fold, sums, np.searchsorted(scores, s + bandwidth, side="right"), left_out)
        m, m1, _ = _before(scores, fold, sums, q, left_out)
        count = hi - lo
        if count == 0:
            total += 0.5
            continue
        at = int(s / GRID + 0.5)
        left = float((m - lo) * at - (m1 - l1)) * GRID
        right = float((r1 - m1) - (hi - m) * at) * GRID
        second = r2 - l2 - 2 * at * (r1 - l1) + count * at * at
        bias = _bias(left, right, float(second) * GRID * GRID, count, slope, curvature, GRID)
        if left_out >= 0:
            total += min(1.0, math.sqrt(bias * bias + 0.25 / count))
        else:
            total += bias + 0.8 * math.sqrt(max(s * (1.0 - s), 0.01) / count)
    return total / len(queries)


@njit(cache=True)
def groups(scores):
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
def rank_windows(scores, half):
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
def smooth_ranks(scores, labels, half):
    """Mean over rank windows: means over the points of |etahat - s|, the largest A_t and the sum of squared column sums of the
    weights. A_t, for a boundary t between neighbouring distinct scores, is the mean over the points of the share of their window
    that lies beyond t: a jump of eta at t biases the smoother by A_t times the jump, on average."""
    n = len(scores)
    low, high = rank_windows(scores, half)
    hits = np.zeros(n + 1, np.int32)
    for i in range(n):
        hits[i + 1] = hits[i] + labels[i]
    reach = np.zeros(n + 1)
    rise, jump = np.zeros(n + 2), np.zeros(n + 2)  # A_t in ramps: changes of its slope and of its height
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
    square, running, slope, height, most = 0.0, 0.0, 0.0, 0.0, 0.0
    for t in range(n):
        running += reach[t]
        square += running * running
        slope += rise[t]
        height += slope + jump[t]
        if t and scores[t] != scores[t - 1]:
            most = max(most, height)
    return gap / n, most / n, square / n / n


@njit(cache=True)
def cell_sums(scores, labels, bits):
    """Prefix sums over 2^bits equal cells a of [0, 1]: of the counts, of a, of a^2 and of the labels. No order is needed."""
    cells = 1 << bits
    table = np.zeros(cells, np.int64)
    for i in range(len(scores)):  # count and label in one number: the cache is missed once
        table[min(int(scores[i] * cells), cells - 1)] += 1 + (np.int64(labels[i]) << 32)
    sums = np.empty((cells + 1, 4), np.int64)
    sums[0] = 0
    for a in range(cells):
        count = table[a] & 0xFFFFFFFF
        sums[a + 1, 0] = sums[a, 0] + count
        sums[a + 1, 1] = sums[a, 1] + a * count
        sums[a + 1, 2] = sums[a, 2] + a * a * count
        sums[a + 1, 3] = sums[a, 3] + (table[a] >> 32)
    return sums


@njit(cache=True)
def _cell_window(sums, a, half, slope, curvature):
    """Count, hits and bias bound of the window of cells [a - half, a + half]; any two of its scores are known to within a
    cell."""
    cells = len(sums) - 1
    lo, hi = max(a - half, 0), min(a + half + 1, cells)
    count = sums[hi, 0] - sums[lo, 0]
    left = a * (sums[a, 0] - sums[lo, 0]) - (sums[a, 1] - sums[lo, 1])
    right = sums[hi, 1] - sums[a, 1] - a * (sums[hi, 0] - sums[a, 0])
    squares = sums[hi, 2] - sums[lo, 2] - 2 * a * (sums[hi, 1] - sums[lo, 1]) + count * a * a
    bias = _bias(left / cells, right / cells, squares / cells / cells, count, slope, curvature, 1.0 / cells)
    return count, sums[hi, 3] - sums[lo, 3], bias


@njit(cache=True)
def cell_cost(sums, chosen, half, slope, curvature):
    """Mean over the chosen cells of what the half-width is chosen by, as in `mean_cost`."""
    total = 0.0
    for a in chosen:
        count, _, bias = _cell_window(sums, a, half, slope, curvature)
        s = (a + 0.5) / (len(sums) - 1)
        total += bias + 0.8 * math.sqrt(max(s * (1.0 - s), 0.01) / count)
    return total / len(chosen)


@njit(cache=True)
def smooth_cells(sums, half, slope, curvature):
    """`smooth_self` on cells: means over the points of |etahat - s|, at most (a score is known to within half a cell), and of the
    bias bound, and the sum of squared column sums."""
    cells = len(sums) - 1
    n = sums[cells, 0]
    gap, mean_bias = 0.0, 0.0
    shares = np.empty(cells + 1)
    shares[0] = 0.0  # prefix sums of what the points of a cell give to each point of their window
    for a in range(cells):
        here = sums[a + 1, 0] - sums[a, 0]
        shares[a + 1] = shares[a]
        if here:
            count, hits, bias = _cell_window(sums, a, half, slope, curvature)
            gap += here * abs(hits / count - (a + 0.5) / cells)
            mean_bias += here * bias
            shares[a + 1] += here / count
    square = 0.0
    for a in range(cells):
        here = sums[a + 1, 0] - sums[a, 0]
        if here:
            column = shares[min(a + half + 1, cells)] - shares[max(a - half, 0)]
            square += here * column * column
    return gap / n + 0.5 / cells, mean_bias / n, square / n / n


@njit(cache=True)
def smooth_buckets(scores, labels, buckets, slope):
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
def epoch_sums(scores, labels, epoch, epochs, buckets):
    """Sums of y - s by epoch and equal-width bucket of the score, (epochs, buckets)."""
    sums = np.zeros((epochs, buckets))
    for i in range(len(scores)):
        sums[epoch[i], min(int(scores[i] * buckets), buckets - 1)] += labels[i] - scores[i]
    return sums
