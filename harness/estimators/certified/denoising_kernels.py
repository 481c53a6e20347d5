"""Exact total-variation denoising in one dimension, with one forward and one backward pass.

    minimise over v   sum_j (c_j / 2) (y_j - v_j)^2 + strength sum_j |v_{j+1} - v_j|

Dynamic programming on the derivative of the value function (Johnson, 2013; weights are immediate).
The derivative of the best cost of y_1..y_j as a function of v_j is piecewise linear. It stays so
when clipped to [-strength, strength], and the points of clipping give the range of v_j whatever
follows. O(n) amortised: a knot is pushed and popped once.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True)
def denoise(sums: np.ndarray, weights: np.ndarray, strength: float, n: int) -> np.ndarray:
    """Return the minimiser v (n,) of the first n entries; sums = weights * y. Nothing is checked.

    It lies in the range of y, whatever strength (ciosek2026, TV denoising, whose lambda is strength
    / sum of weights; its box [0, 1] is never active).
    """
    v = np.empty(n)
    if strength == 0.0 or n == 1:
        for j in range(n):
            v[j] = sums[j] / weights[j]
        return v
    # Knots of the clipped derivative, at[first..last] from left to right. Beyond them it is
    # constant, -strength and +strength.
    knot, slope, shift = np.empty(2 * n), np.empty(2 * n), np.empty(2 * n)
    low, high = np.empty(n), np.empty(n)
    c, s = weights[0], sums[0]
    low[0], high[0] = (s - strength) / c, (s + strength) / c
    first, last = n - 1, n
    knot[first], slope[first], shift[first] = low[0], c, strength - s
    knot[last], slope[last], shift[last] = high[0], -c, strength + s
    for j in range(1, n):
        c, s = weights[j], sums[j]
        # Follow the line left of the first knot to the point where it reaches -strength (for the
        # last point 0, its minimum).
        aim = -strength if j < n - 1 else 0.0
        a, b = c, -strength - s
        i = first
        while i <= last and a * knot[i] + b <= aim:
            a += slope[i]
            b += shift[i]
            i += 1
        if j == n - 1:
            v[j] = -b / a
            break
        d, e = -c, s - strength
        k = last
        while k >= i and -d * knot[k] - e >= strength:
            d += slope[k]
            e += shift[k]
            k -= 1
        low[j], high[j] = (-strength - b) / a, (strength + e) / -d
        first, last = i - 1, k + 1
        knot[first], slope[first], shift[first] = low[j], a, b + strength
        knot[last], slope[last], shift[last] = high[j], d, e + strength
    for j in range(n - 2, -1, -1):
        v[j] = min(max(v[j + 1], low[j]), high[j])
    return v


@njit(cache=True)
def split(
    scores: np.ndarray,
    labels: np.ndarray,
    fold: np.ndarray,
    held_out: int,
    rest_scores: np.ndarray,
    rest_labels: np.ndarray,
    held_scores: np.ndarray,
) -> int:
    """Copy points into (n + 1,) arrays by fold: the other folds' points, and the fold's scores.

    Returns the number of points of the other folds. There is no branch, because folds are random
    and a processor would predict them wrongly.
    """
    rest, in_fold = 0, 0
    for i in range(len(scores)):
        rest_scores[rest] = scores[i]
        rest_labels[rest] = labels[i]
        held_scores[in_fold] = scores[i]
        out = fold[i] == held_out
        in_fold += out
        rest += not out
    return rest


@njit(cache=True)
def runs(
    scores: np.ndarray, labels: np.ndarray, n: int, starts: np.ndarray, sums: np.ndarray
) -> tuple[int, int]:
    """Return the numbers of runs and of distinct scores of the first n points, in ascending order.

    Equal scores are one group, and neighbouring groups of equal label mean are one run, because
    their denoised values are equal. (If v rose between them, optimality would put one value at or
    above their mean and the other at or below.) Writes into starts and sums, (n + 1,) int32, the
    position of a run's first point (and at last n) and its sum of labels.
    """
    run, distinct = -1, 0
    first, total = 0, np.int64(-1)
    i = 0
    while i < n:
        opening, score, s = i, scores[i], np.int64(labels[i])
        i += 1
        while i < n and scores[i] == score:
            s += labels[i]
            i += 1
        distinct += 1
        same = total * (i - opening) == s * (opening - first) and run >= 0
        run += not same
        first = first if same else opening
        total = total + s if same else s
        starts[run] = first
        sums[run] = total
    starts[run + 1] = n
    return run + 1, distinct


@njit(cache=True)
def denoise_runs(starts: np.ndarray, sums: np.ndarray, strength: float, count: int) -> np.ndarray:
    """Return the denoised values of runs."""
    weights, totals = np.empty(count), np.empty(count)
    for j in range(count):
        weights[j] = starts[j + 1] - starts[j]
        totals[j] = sums[j]
    return denoise(totals, weights, strength, count)


@njit(cache=True)
def held_out_gaps(
    queries: np.ndarray, scores: np.ndarray, starts: np.ndarray, v: np.ndarray
) -> tuple[float, float]:
    """Return mean and sample variance of |v(s) - s| over the queries (ascending).

    v is a step function that jumps midway between the neighbouring scores of different runs.
    """
    total, squares = 0.0, 0.0
    r, last = 0, len(v) - 1
    shift = abs(v[0] - queries[0])
    for x in queries:
        while (
            r < last
            and x > scores[starts[r + 1] - 1]
            and 0.5 * (scores[starts[r + 1] - 1] + scores[starts[r + 1]]) <= x
        ):
            # The midpoint of neighbouring floats rounds to one of them, hence the first comparison.
            r += 1
        z = abs(v[r] - x) - shift
        total += z
        squares += z * z
    mean = total / len(queries)
    variance = (squares - total * mean) / (len(queries) - 1) if len(queries) > 1 else 0.0
    return mean + shift, max(variance, 0.0)


@njit(cache=True)
def own_gaps(scores: np.ndarray, starts: np.ndarray, v: np.ndarray) -> float:
    """Return the mean of |v(s) - s| over the points that v was fitted to."""
    total = 0.0
    for r in range(len(v)):
        for i in range(starts[r], starts[r + 1]):
            total += abs(v[r] - scores[i])
    return total / len(scores)


@njit(cache=True)
def variation_and_pieces(v: np.ndarray) -> tuple[float, int]:
    """Return sum |v_{j+1} - v_j| and the number of pieces on which v is constant."""
    total, pieces = 0.0, 1
    for j in range(1, len(v)):
        total += abs(v[j] - v[j - 1])
        pieces += v[j] != v[j - 1]
    return total, pieces
