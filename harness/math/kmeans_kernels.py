"""Compiled loops of k-means for `harness.math.kmeans`.

The squared distance of a point x to a centre c is computed as |c|^2 - 2 <x, c> + |x|^2, in
scikit-learn's order of operations. |x|^2 is left out where only the centres of one point are
compared.
"""

from __future__ import annotations

import numpy as np
from numba import njit

ROWS = 256  # number of points whose distances to all centres are in memory at a time


@njit(cache=True)
def spread(x: np.ndarray, norms: np.ndarray, first: int, uniforms: np.ndarray) -> np.ndarray:
    """Return initial centres (bins, d) chosen by greedy k-means++.

    The first centre is the point with index `first`. Each step draws candidate points with
    probability proportional to their squared distance to the nearest centre. The candidate that
    lowers the sum of squared distances most becomes the next centre.

    `x` (n, d) holds the points, `norms` (n,) their squared norms, and `uniforms` (bins - 1, trials)
    the random numbers, one row per step.
    """
    n, d = x.shape
    steps, trials = uniforms.shape
    centres = np.empty((steps + 1, d))
    _copy(x[first], centres[0])
    ones = np.ones(n)
    nearest = np.empty(n)
    distances, products = np.empty((trials, n)), np.empty((trials, n))
    drawn, chosen = np.empty(trials, dtype=np.int64), np.empty((trials, d))
    sums = np.empty(n)
    _copy(x[first], chosen[0])
    _products(chosen[:1], x, products[:1])
    for i in range(n):
        nearest[i] = max(-2.0 * products[0, i] + norms[first] + norms[i], 0.0)
    total = np.dot(nearest, ones)
    for step in range(steps):
        last = 0.0
        for i in range(n):
            last += nearest[i]
            sums[i] = last
        for t in range(trials):
            drawn[t] = min(np.searchsorted(sums, uniforms[step, t] * total), n - 1)
            _copy(x[drawn[t]], chosen[t])
        _products(chosen, x, products)
        for t in range(trials):
            norm = norms[drawn[t]]
            for i in range(n):
                distances[t, i] = min(nearest[i], max(-2.0 * products[t, i] + norm + norms[i], 0.0))
        totals = np.dot(distances, ones)
        best = np.argmin(totals)
        total = totals[best]
        _copy(distances[best], nearest)
        _copy(chosen[best], centres[step + 1])
    return centres


@njit(cache=True)
def _copy(row: np.ndarray, target: np.ndarray) -> None:
    """Copy a row. An assignment of slices takes numba seconds to compile."""
    for i in range(len(row)):
        target[i] = row[i]


@njit(cache=True)
def _products(a: np.ndarray, x: np.ndarray, out: np.ndarray) -> None:
    """Write the products a x' of a (t, d) and x (n, d) into `out` (t, n)."""
    if x.shape[1] == 1:
        for t in range(len(a)):
            for i in range(len(x)):
                out[t, i] = a[t, 0] * x[i, 0]
    else:
        np.dot(a, x.T, out)


@njit(cache=True)
def update(
    x: np.ndarray, centres: np.ndarray, norms: np.ndarray, labels: np.ndarray, sizes: np.ndarray
) -> tuple[np.ndarray, bool, float]:
    """Run one iteration of Lloyd's algorithm and return the new centres.

    `x` (n, d) holds the points, `centres` (bins, d) the centres and `norms` (bins,) their squared
    norms. `labels` (n,) is set to the nearest centre of each point, and `sizes` (bins,) to the
    cluster sizes.

    Returns the means of the clusters (0 for an empty cluster), True if a label changed, and the sum
    of the squared shifts of the centres.
    """
    n, d = x.shape
    changed = nearest(x, centres, norms, labels)
    means = np.zeros(centres.shape)
    sizes[:] = 0
    for i in range(n):
        j = labels[i]
        sizes[j] += 1
        for c in range(d):
            means[j, c] += x[i, c]
    moved = 0.0
    for j in range(len(centres)):
        share = 1.0 / max(sizes[j], 1)
        for c in range(d):
            means[j, c] *= share
            moved += (means[j, c] - centres[j, c]) ** 2
    return means, changed, moved


@njit(cache=True)
def nearest(x: np.ndarray, centres: np.ndarray, norms: np.ndarray, labels: np.ndarray) -> bool:
    """Set `labels` (n,) to the index of the nearest centre of each point; return True on a change.

    `x` (n, d) holds the points, `centres` (bins, d) the centres and `norms` (bins,) their squared
    norms. Ties go to the smallest index.
    """
    n, d = x.shape
    bins = len(centres)
    least, best = np.empty(ROWS), np.empty(ROWS, dtype=np.int32)
    buffer = np.empty(bins * ROWS)
    changed = False
    for start in range(0, n, ROWS):
        m = min(ROWS, n - start)
        products = buffer[: bins * m].reshape(bins, m)
        _products(centres, x[start : start + m], products)
        least[:m] = np.inf
        best[:m] = 0
        for j in range(bins):
            norm = norms[j]
            for i in range(m):
                distance = norm - 2.0 * products[j, i]
                nearer = distance < least[i]
                least[i] = distance if nearer else least[i]
                best[i] = j if nearer else best[i]
        for i in range(m):
            changed |= best[i] != labels[start + i]
            labels[start + i] = best[i]
    return changed
