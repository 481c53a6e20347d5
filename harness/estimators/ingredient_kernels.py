"""Isotonic regression without each fold and on all samples in one pass each, and what a map moves."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True)
def isotonic_folds(p: np.ndarray, hits: np.ndarray, fold: np.ndarray, folds: int) -> np.ndarray:
    """(2, n): held-out and in-sample levels at every sample of p (n,), in order, for outcomes `hits` (n,) in {0, 1}.

    Between places where it was fitted a regression is linear, beyond them constant. Levels are quotients of counts, without the
    rounding of means of means, so that they equal a prediction where they should."""
    n = len(p)
    out = np.empty((2, n))
    place, fitted = np.empty(n), np.empty(n)
    size, hit, end = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    for left_out in range(folds + 1):
        places, blocks, i = 0, 0, 0
        while i < n:
            e, own_size, own_hit = i, 0, 0
            while e < n and p[e] == p[i]:
                if fold[e] != left_out:
                    own_size += 1
                    own_hit += hits[e]
                e += 1
            if own_size > 0:
                place[places] = p[i]
                while blocks > 0 and hit[blocks - 1] * own_size >= own_hit * size[blocks - 1]:
                    blocks -= 1
                    own_size += size[blocks]
                    own_hit += hit[blocks]
                size[blocks], hit[blocks], end[blocks] = own_size, own_hit, places
                blocks += 1
                places += 1
            i = e
        j = 0
        for block in range(blocks):
            level = hit[block] / size[block]
            while j <= end[block]:
                fitted[j] = level
                j += 1
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
            else:
                slope = (fitted[j + 1] - fitted[j]) / (place[j + 1] - place[j])
                out[row, i] = slope * (x - place[j]) + fitted[j]
    return out


@njit(cache=True)
def isotonic_columns(
    p: np.ndarray, y: np.ndarray, fold: np.ndarray, folds: int, orders: np.ndarray
) -> np.ndarray:
    """(2, n, k): `isotonic_folds` of every column of p (n, k) against 1{y = j}, divided by the row's sum (1/k where all are 0).
    orders (k, n): of each column."""
    n, k = p.shape
    out = np.empty((2, n, k))
    ordered, hits, own = np.empty(n), np.empty(n, np.int64), np.empty(n, np.int64)
    for j in range(k):
        for i in range(n):
            at = orders[j, i]
            ordered[i], hits[i], own[i] = p[at, j], y[at] == j, fold[at]
        levels = isotonic_folds(ordered, hits, own, folds)
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
def moved(q: np.ndarray, p: np.ndarray, r: np.ndarray) -> np.ndarray:
    """Sums over rows of |d|_1, <sign d, r>, |d|^2, <d, r>, |d|, <d / |d|, r> for d = q - p; all (n, k)."""
    found = np.zeros(6)
    for i in range(len(p)):
        square, product = 0.0, 0.0
        for j in range(p.shape[1]):
            d = q[i, j] - p[i, j]
            square += d * d
            product += d * r[i, j]
            found[0] += abs(d)
            found[1] += np.sign(d) * r[i, j]
        norm = np.sqrt(square)
        found[2] += square
        found[3] += product
        found[4] += norm
        if norm > 1e-12:
            found[5] += product / norm
    return found
