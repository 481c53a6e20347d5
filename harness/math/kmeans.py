"""k-means with one k-means++ start: scikit-learn's algorithm without its checks at every call.

Random numbers, arithmetic and convergence rules are those of `sklearn.cluster.KMeans(bins,
random_state=seed)`, so that the same seed gives the same clusters, except for ties that rounding
decides. At a few hundred points nine tenths of the library's time go into validation and into numpy
calls on small arrays.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from harness.math import kmeans_kernels

MAX_ITERATIONS = 300
# Sum of the squared shifts of the centres, relative to the mean variance of a column.
TOLERANCE = 1e-4


def fit(points: np.ndarray, bins: int, seed: int) -> tuple[Callable[[np.ndarray], np.ndarray], int]:
    """Fit k-means; return a function from points (m, d) to cluster numbers (m,), and their count.

    points: (n, d). With fewer points than `bins` there is one cluster; with fewer distinct points
    there is one per distinct point.
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
    """Return the fitted centres (bins, d)."""
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
    # A centre without points has to move to the point farthest from its own centre. This is rare
    # enough to be left to the library.
    from sklearn.cluster import KMeans  # slow to import

    return KMeans(n_clusters=bins, random_state=seed, n_init=1).fit(points).cluster_centers_


def _lloyd(x: np.ndarray, centres: np.ndarray, tolerance: float) -> np.ndarray | None:
    """Return the centres after Lloyd's iterations; None if one of them loses all its points.

    Iterations end when no label changes or the centres hardly move.
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
    """Return |x|^2 of every row of x (n, d).

    numpy's summation order is needed: its last bit decides ties of points on a lattice.
    """
    return np.einsum("ij,ij->i", x, x)
