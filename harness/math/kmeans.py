"""Fit k-means with one k-means++ start, many times faster on small samples than scikit-learn.

Random numbers, arithmetic and convergence rules are those of `sklearn.cluster.KMeans(bins,
random_state=seed)`. The same seed therefore gives the same clusters, except for ties that rounding
decides. At a few hundred points, the library spends nine tenths of its time on validation and on
numpy calls with small arrays. This module avoids both.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from harness.math import kmeans_kernels

MAX_ITERATIONS = 300
# Sum of the squared shifts of the centres, relative to the mean variance of a column.
TOLERANCE = 1e-4


def fit(points: np.ndarray, bins: int, seed: int) -> tuple[Callable[[np.ndarray], np.ndarray], int]:
    """Fit k-means to points (n, d); return an assignment function and the number of clusters.

    The function maps points (m, d) to cluster numbers (m,). With fewer points than `bins`, there is
    one cluster. With fewer distinct points than `bins`, each distinct point is a cluster.
    """
    # Copied, because read-only arrays would trigger another compilation.
    x = np.array(points, dtype=np.float64, order="C")
    bins = min(bins, len(np.unique(x, axis=0))) if len(x) >= bins > 1 else 1
    if bins == 1:
        return lambda x: np.zeros(len(x), dtype=np.int32), 1
    centres = _centres(x, bins, seed)

    def assign_bins(x: np.ndarray) -> np.ndarray:
        labels = np.zeros(len(x), dtype=np.int32)
        kmeans_kernels.nearest(
            np.array(x, dtype=np.float64, order="C"), centres, _squares(centres), labels
        )
        return labels

    return assign_bins, bins


def _centres(points: np.ndarray, bins: int, seed: int) -> np.ndarray:
    """Return the fitted cluster centres, shape (bins, d), of points (n, d)."""
    n, mean = len(points), points.mean(axis=0)
    x = points - mean
    tolerance = TOLERANCE * np.mean((x * x).sum(axis=0) / n)
    shares = np.cumsum(np.full(n, 1.0 / n))
    trials = 2 + int(np.log(bins))
    drawn = np.random.RandomState(seed).random_sample(1 + (bins - 1) * trials)
    first = np.searchsorted(shares / shares[-1], drawn[0], side="right")
    start = kmeans_kernels.spread(x, _squares(x), first, drawn[1:].reshape(bins - 1, trials))
    centres = _lloyd(x, start, tolerance)
    if centres is not None:
        return centres + mean
    # A centre without points has to move to the point that is farthest from its nearest centre.
    # This is rare enough to be left to the library.
    from sklearn.cluster import KMeans  # slow to import

    return KMeans(n_clusters=bins, random_state=seed, n_init=1).fit(points).cluster_centers_


def _lloyd(x: np.ndarray, centres: np.ndarray, tolerance: float) -> np.ndarray | None:
    """Return the centres after Lloyd's iterations, or None if a centre loses all its points.

    Iterations stop when no label changes, when the sum of squared shifts of the centres is at most
    `tolerance`, or after 300 iterations.
    """
    labels, sizes = np.full(len(x), -1, dtype=np.int32), np.empty(len(centres), dtype=np.int64)
    for _ in range(MAX_ITERATIONS):
        centres, changed, moved = kmeans_kernels.update(
            x, centres, _squares(centres), labels, sizes
        )
        if not sizes.all():
            return None
        if not changed or moved <= tolerance:
            break
    return centres


def _squares(x: np.ndarray) -> np.ndarray:
    """Return the squared norm of every row of x (n, d).

    The summation order of `einsum` is needed: the last bit decides ties between points on a
    lattice.
    """
    return np.einsum("ij,ij->i", x, x)
