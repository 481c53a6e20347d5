"""k-means with one k-means++ start: scikit-learn's, without what it checks at every call.

The random numbers, the arithmetic and the rules of convergence are those of `sklearn.cluster.KMeans(bins, random_state=seed)`, so
that the same seed gives the same clusters but for ties that rounding decides. At a few hundred points, nine tenths of the time of
the class go into validation and into numpy calls on small arrays.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

MOST, TOLERANCE = (
    300,
    1e-4,
)  # iterations; sum of the squared shifts of the centres, relative to the mean variance of a column


def fitted(
    points: np.ndarray, bins: int, seed: int
) -> tuple[Callable[[np.ndarray], np.ndarray], int]:
    """The function from points (m, d) to the numbers (m,) of their nearest centre, and the number of centres.

    points: (n, d). With fewer points than `bins` there is one centre, with fewer distinct points there are as many as these."""
    from harness.math import kmeans_kernels  # numba: slow to import

    x = np.array(
        points, dtype=np.float64, order="C"
    )  # a copy, for read-only arrays would have to be compiled for anew
    bins = kmeans_kernels.distinct(x, bins) if len(x) >= bins > 1 else 1
    if bins == 1:
        return lambda x: np.zeros(len(x), dtype=np.int32), 1
    centres = _centres(x, bins, seed)

    def bin_of(x: np.ndarray) -> np.ndarray:
        labels = np.zeros(len(x), dtype=np.int32)
        kmeans_kernels.nearest(
            np.array(x, dtype=np.float64, order="C"), centres, _squares(centres), labels
        )
        return labels

    return bin_of, bins


def _centres(points: np.ndarray, bins: int, seed: int) -> np.ndarray:
    """The centres (bins, d)."""
    from harness.math import kmeans_kernels  # numba: slow to import

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
    # a centre without points is moved to the point that is farthest from its own: rare enough to be left to the library
    from sklearn.cluster import KMeans  # slow to import

    return KMeans(n_clusters=bins, random_state=seed, n_init=1).fit(points).cluster_centers_


def _lloyd(x: np.ndarray, centres: np.ndarray, tolerance: float) -> np.ndarray | None:
    """The centres after Lloyd's iterations, until no label changes or the centres hardly move; None where one has no points."""
    from harness.math import kmeans_kernels  # numba: slow to import

    labels, sizes = np.full(len(x), -1, dtype=np.int32), np.empty(len(centres), dtype=np.int64)
    for _ in range(MOST):
        centres, changed, moved = kmeans_kernels.update(
            x, centres, _squares(centres), labels, sizes
        )
        if not sizes.all():
            return None
        if not changed or moved <= tolerance:
            break
    return centres


def _squares(x: np.ndarray) -> np.ndarray:
    """|x|^2 of every row (n, d). By the library's own sum: its last bit decides ties of points on a lattice."""
    return np.einsum("ij,ij->i", x, x)
