"""Calibrator by class shares in the bins of a k-means partition."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harness.calibrators.base import CalibrationMap, refuse_masked_sample
from harness.calibrators.logits import in_columns
from harness.common.seeds import as_seed
from harness.math import kmeans
from harness.math.notions import one_hot


@dataclass(frozen=True)
class Partition:
    """Class shares in the bins of a k-means partition of the predictions.

        q(x) = mean of y_i over the samples i in the bin of x     (1/k for an empty bin)

    y_i is the label, or the one-hot label for vectors of k classes.

    Parameters
    ----------
    bins, vector_bins : int
        Number of bins for scalars and for vectors. With fewer samples than bins, there is a single
        bin. With fewer distinct predictions than bins, each distinct prediction is a bin.
    random_state : int or None
        Seed of k-means (42 in berta2026); None draws it from the random stream of the estimator.

    Notes
    -----
    k-means is that of scikit-learn with one k-means++ start. If a class is absent from a bin, it
    gets probability 0 there. Determinism: exact with a `random_state`, else statistical. Cost: O(n
    bins k) per iteration of k-means.

    References
    ----------
    berta2026, Section 4 (PartitionWise).

    Examples
    --------
    >>> import numpy as np
    >>> p, y = np.array([0.1, 0.12, 0.8, 0.82, 0.84, 0.86]), np.array([0, 0, 1, 1, 0, 1])
    >>> Partition(bins=2, random_state=0).fit(p, y)(np.array([0.2, 0.7]))
    array([0.  , 0.75])
    """

    bins: int = 15
    vector_bins: int = 30
    random_state: int | None = None

    # The kl of vectors is biased most: a class that is absent from a bin gets probability 0 there,
    # and held-out samples of this class have a large log-loss.
    null_bias = 0.15

    @property
    def determinism(self) -> str:
        return "statistical" if self.random_state is None else "exact"

    def fit(
        self, p: np.ndarray, y: np.ndarray, rng: np.random.Generator | int | None = None
    ) -> CalibrationMap:
        refuse_masked_sample(p, y)
        points = in_columns(p)
        hits = y[:, None].astype(np.float64) if p.ndim == 1 else one_hot(y, p.shape[1])
        seed = as_seed(rng) if self.random_state is None else self.random_state
        assign_bins, count = kmeans.fit(
            points, self.bins if p.ndim == 1 else self.vector_bins, seed
        )
        index = assign_bins(points)
        sizes = np.bincount(index, minlength=count)
        sums = np.column_stack([np.bincount(index, h, minlength=count) for h in hits.T])
        uniform = 0.5 if p.ndim == 1 else 1.0 / p.shape[1]
        means = np.divide(
            sums, sizes[:, None], out=np.full_like(sums, uniform), where=sizes[:, None] > 0
        )

        def q(x: np.ndarray) -> np.ndarray:
            values = means[assign_bins(in_columns(x))]
            return values[:, 0] if x.ndim == 1 else values

        return q
