"""Compiled isotonic regressions, and statistics of a recalibration map, for `Best`."""

from __future__ import annotations

import numpy as np
from numba import njit

EQUAL = 1e-290  # places that differ by less have no finite slope between them


@njit(cache=True)
def isotonic_folds(p: np.ndarray, hits: np.ndarray, fold: np.ndarray, folds: int) -> np.ndarray:
    """Return held-out and in-sample isotonic regressions of `hits` (n,) on sorted p (n,).

    Row 0 of the result (2, n) has the held-out values: at p_i, the regression on all folds but that
    of sample i. Row 1 has the in-sample values, of the regression on all samples. A regression is
    linear between the p that it was fitted to and constant beyond them.

    Each value is computed as a quotient of two counts. Otherwise rounding errors could make a value
    differ from a prediction that it should equal.
    """
    n = len(p)
    out = np.empty((2, n))
    place, fitted = np.empty(n), np.empty(n)
    size, hit, end = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    for left_out in range(folds + 1):
        # Pool the groups of equal p outside the fold into blocks of increasing mean.
        places, blocks, i = 0, 0, 0
        while i < n:
            stop, group_size, group_hit = i, 0, 0
            while stop < n and p[stop] == p[i]:
                if fold[stop] != left_out:
                    group_size += 1
                    group_hit += hits[stop]
                stop += 1
            if group_size > 0:
                place[places] = p[i]
                while blocks > 0 and hit[blocks - 1] * group_size >= group_hit * size[blocks - 1]:
                    blocks -= 1
                    group_size += size[blocks]
                    group_hit += hit[blocks]
                size[blocks], hit[blocks], end[blocks] = group_size, group_hit, places
                blocks += 1
                places += 1
            i = stop
        # Give every place the mean of its block.
        j = 0
        for block in range(blocks):
            level = hit[block] / size[block]
            while j <= end[block]:
                fitted[j] = level
                j += 1
        # Interpolate at the points of the fold. The last pass is in-sample: all points count.
        row = 0 if left_out < folds else 1
        j = 0
        for i in range(n):
            if row == 0 and fold[i] != left_out:
                continue
            x = p[i]
            while j < places - 1 and place[j + 1] <= x:
                j += 1
            if x <= place[j] or j == places - 1:
                out[row, i] = fitted[j]
            elif place[j + 1] - place[j] < EQUAL:
                out[row, i] = fitted[j + 1]
            else:
                slope = (fitted[j + 1] - fitted[j]) / (place[j + 1] - place[j])
                out[row, i] = slope * (x - place[j]) + fitted[j]
    return out


@njit(cache=True)
def isotonic_columns(
    p: np.ndarray, y: np.ndarray, fold: np.ndarray, folds: int, orders: np.ndarray
) -> np.ndarray:
    """Return held-out and in-sample isotonic regressions (2, n, k) of every class against the rest.

    Column j of p (n, k) is regressed on 1{y = j} by `isotonic_folds`. Each resulting vector is
    divided by its sum; a vector of zeros becomes 1/k. orders[j] (n,) sorts column j.
    """
    n, k = p.shape
    out = np.empty((2, n, k))
    ordered, hits, folds_in_order = np.empty(n), np.empty(n, np.int64), np.empty(n, np.int64)
    for j in range(k):
        for i in range(n):
            row_number = orders[j, i]
            ordered[i], hits[i], folds_in_order[i] = (
                p[row_number, j],
                y[row_number] == j,
                fold[row_number],
            )
        levels = isotonic_folds(ordered, hits, folds_in_order, folds)
        for i in range(n):
            out[0, orders[j, i], j] = levels[0, i]
            out[1, orders[j, i], j] = levels[1, i]
    for row in range(2):
        for i in range(n):
            total = 0.0
            for j in range(k):
                total += out[row, i, j]
            for j in range(k):
                out[row, i, j] = out[row, i, j] / total if total > 1e-12 else 1.0 / k
    return out


@njit(cache=True)
def displacement_sums(q: np.ndarray, p: np.ndarray, r: np.ndarray) -> np.ndarray:
    """Return six sums over the rows of d = q - p and of residuals r, for q, p and r (n, k).

    The sums are of |d|_1, <sign d, r>, |d|^2, <d, r>, |d| and <d / |d|, r>, in this order, where
    |.| is the 2-norm.
    """
    sums = np.zeros(6)
    for i in range(len(p)):
        square, product = 0.0, 0.0
        for j in range(p.shape[1]):
            d = q[i, j] - p[i, j]
            square += d * d
            product += d * r[i, j]
            sums[0] += abs(d)
            sums[1] += np.sign(d) * r[i, j]
        norm = np.sqrt(square)
        sums[2] += square
        sums[3] += product
        sums[4] += norm
        if norm > 1e-12:
            sums[5] += product / norm
    return sums
