"""Exact total-variation denoising in one dimension, with one forward and one backward pass.

    minimise over v   sum_j (c_j / 2) (y_j - v_j)^2 + strength sum_j |v_{j+1} - v_j|

y_j are the values, c_j their weights and v_j the denoised values. The method is dynamic programming
(Johnson, 2013), here with weights:

* Forward: the derivative of the smallest cost of y_1, ..., y_j, as a function of v_j, is piecewise
  linear. It remains so after clipping to [-strength, strength]. The two points where clipping
  begins bound v_j, whatever values follow.
* Backward: v_j is v_{j+1}, clipped to these bounds.

Every knot of the derivative is pushed and popped at most once, so that the cost is O(n).
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True)
def denoise(sums: np.ndarray, weights: np.ndarray, strength: float, n: int) -> np.ndarray:
    """Return the denoised values v (n,) of the first n values y = sums / weights.

    v minimises the cost in the docstring of this module. Arguments are not checked. The v_j lie in
    the range of y, so that the box [0, 1] of ciosek2026 is never active. The lambda of ciosek2026
    is strength / sum of the weights.
    """
    v = np.empty(n)
    if strength == 0.0 or n == 1:
        for j in range(n):
            v[j] = sums[j] / weights[j]
        return v
    # Knots of the clipped derivative are knot[first..last], from left to right. Left of them the
    # derivative is -strength, right of them +strength.
    knot, slope, shift = np.empty(2 * n), np.empty(2 * n), np.empty(2 * n)
    low, high = np.empty(n), np.empty(n)
    c, s = weights[0], sums[0]
    low[0], high[0] = (s - strength) / c, (s + strength) / c
    first, last = n - 1, n
    knot[first], slope[first], shift[first] = low[0], c, strength - s
    knot[last], slope[last], shift[last] = high[0], -c, strength + s
    for j in range(1, n):
        c, s = weights[j], sums[j]
        # From the left, find where the derivative reaches -strength; for the last point, where it
        # reaches 0, which is the minimum.
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
    """Separate the points of fold `held_out` from the points of the other folds.

    The scores and labels of the other folds are written to `rest_scores` and `rest_labels`, the
    scores of the fold to `held_scores`; all three have shape (n + 1,). Returns the number of points
    of the other folds. The loop has no branch, because a processor cannot predict random folds.
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
    """Collect the first n points into runs of equal denoised value.

    `scores` must ascend. Points of equal score form a group. Neighbouring groups of equal mean
    label form a run, because their denoised values are equal.

    Writes the position of the first point of each run to `starts`, followed by n, and the sum of
    its labels to `sums`; both arrays are (n + 1,) of int32. Returns the number of runs and the
    number of groups.
    """
    # Why neighbouring groups of equal mean have equal values: if v rose between them, optimality
    # would require v <= mean in the higher group and v >= mean in the lower one.
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
    """Return the denoised values (count,) of the first `count` runs, as collected by `runs`."""
    weights, totals = np.empty(count), np.empty(count)
    for j in range(count):
        weights[j] = starts[j + 1] - starts[j]
        totals[j] = sums[j]
    return denoise(totals, weights, strength, count)


@njit(cache=True)
def held_out_gaps(
    queries: np.ndarray, scores: np.ndarray, starts: np.ndarray, v: np.ndarray
) -> tuple[float, float]:
    """Return the mean and the sample variance of |v(x) - x| over the ascending scores `queries`.

    v is a step function with the value v[r] on run r of `scores` (see `runs`). It jumps midway
    between the neighbouring scores of two runs.
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
            # The midpoint of two adjacent floats rounds to one of them, so x is compared with the
            # last score of the run, too.
            r += 1
        z = abs(v[r] - x) - shift
        total += z
        squares += z * z
    mean = total / len(queries)
    variance = (squares - total * mean) / (len(queries) - 1) if len(queries) > 1 else 0.0
    return mean + shift, max(variance, 0.0)


@njit(cache=True)
def fitted_gaps(scores: np.ndarray, starts: np.ndarray, v: np.ndarray) -> float:
    """Return the mean of |v[r] - score| over all points, where r is the run of the point."""
    total = 0.0
    for r in range(len(v)):
        for i in range(starts[r], starts[r + 1]):
            total += abs(v[r] - scores[i])
    return total / len(scores)


@njit(cache=True)
def variation_and_pieces(v: np.ndarray) -> tuple[float, int]:
    """Return the total variation sum_j |v_{j+1} - v_j|, and the number of constant pieces of v."""
    total, pieces = 0.0, 1
    for j in range(1, len(v)):
        total += abs(v[j] - v[j - 1])
        pieces += v[j] != v[j - 1]
    return total, pieces
