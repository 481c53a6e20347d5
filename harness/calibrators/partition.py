"""Cell means over a k-means partition."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harness.common.seeds import as_seed
from harness.math.notions import one_hot


@dataclass(frozen=True)
class Partition:
    """q(x) = mean outcome of the cell of x; cells are those of k-means on p (scikit-learn, one k-means++ start), an empty cell
    says 1/k. `cells` for scalars, `vector_cells` for vectors; with fewer samples than cells, one cell. `random_state` fixes
    the k-means seed (42 in berta2026), None draws it. O(n cells k) per iteration. berta2026, Section 4 (PartitionWise)."""

    cells: int = 15
    vector_cells: int = 30
    random_state: int | None = None

    null_bias = 0.15  # kl of vectors: a cell that lacks a class says 0, which held-out samples punish

    @property
    def determinism(self):
        return "statistical" if self.random_state is None else "exact"

    def fit(self, p, y, rng=None):
        points = p[:, None] if p.ndim == 1 else p
        hits = y[:, None].astype(np.float64) if p.ndim == 1 else one_hot(y, p.shape[1])
        seed = as_seed(rng) if self.random_state is None else self.random_state
        cell_of, count = kmeans(points, self.cells if p.ndim == 1 else self.vector_cells, seed)
        cell = cell_of(points)
        sizes = np.bincount(cell, minlength=count)
        sums = np.column_stack([np.bincount(cell, h, minlength=count) for h in hits.T])
        blank = 0.5 if p.ndim == 1 else 1.0 / p.shape[1]
        means = np.divide(sums, sizes[:, None], out=np.full_like(sums, blank), where=sizes[:, None] > 0)

        def q(x):
            values = means[cell_of(x[:, None] if x.ndim == 1 else x)]
            return values[:, 0] if x.ndim == 1 else values

        return q


def kmeans(points, cells, seed):
    """Fit k-means; return (points -> cell index, number of cells). Fewer points than cells: one cell; fewer distinct points:
    as many cells as there are distinct points."""
    from sklearn.cluster import KMeans

    if len(points) < cells:
        return lambda x: np.zeros(len(x), dtype=np.int64), 1
    distinct = len(np.unique(points[: 50 * cells], axis=0))
    if distinct < cells:
        distinct = len(np.unique(points, axis=0))
    cells = min(cells, distinct)
    if cells == 1:
        return lambda x: np.zeros(len(x), dtype=np.int64), 1
    fitted = KMeans(n_clusters=cells, random_state=seed, n_init="auto").fit(points)
    return fitted.predict, cells
