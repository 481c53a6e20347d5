"""Calibrator by histogram binning."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from harness.calibrators.base import CalibrationMap, refuse_masked_sample
from harness.calibrators.logits import on_columns
from harness.calibrators.newton import normalised
from harness.errors import BadInputError
from harness.math.weights import kept_rows

RULES = ("mass", "width")


@dataclass(frozen=True)
class HistogramBinning:
    """Smoothed share of ones in the bin of the prediction; one-versus-rest for vectors.

        q(p) = (ones in the bin of p + s) / (samples in the bin of p + k s)

    s is the smoothing, and k the number of classes (2 for scalars). An empty bin gives 1/k. For
    more than two classes, one map q_j per class is fitted on bins of p_j against 1{y = j}. Each row
    is then divided by its sum.

    Parameters
    ----------
    bins : int
        Number B of bins. "mass" uses at most as many bins as there are distinct predictions.
    rule : {"mass", "width"}
        "mass": bins hold equally many fitted samples; equal p stay together, and no bin is empty.
        "width": bins are [j/B, (j+1)/B), and the last bin includes 1.
    smoothing : float
        Number of samples of every class that are added to every bin. 1 is Laplace's rule. With 0, a
        bin may give a class probability 0.

    Notes
    -----
    q is constant within bins. A variational estimate misses the variation of E[Y given p] within
    bins. The noise of the bins lowers the estimate of the squared error by up to bins / (4 n). Both
    are a bias downwards. Determinism: exact. Cost: O(k n log n).

    References
    ----------
    Zadrozny and Elkan (2001), Obtaining calibrated probability estimates from decision
    trees and naive Bayesian classifiers. Guo et al. (2017), Section 4.1; one-versus-rest in Section
    4.2.

    Examples
    --------
    >>> import numpy as np
    >>> p, y = np.array([0.1, 0.2, 0.3, 0.7, 0.8, 0.9]), np.array([0, 0, 0, 1, 1, 0])
    >>> HistogramBinning(bins=2).fit(p, y)(np.array([0.0, 0.69, 0.7]))
    array([0.2, 0.2, 0.6])
    """

    bins: int = 15
    rule: str = "mass"
    smoothing: float = 1.0

    determinism = "exact"

    def __post_init__(self) -> None:
        if self.rule not in RULES:
            raise BadInputError(f"rule is {self.rule!r}; allowed are {', '.join(RULES)}.")
        if int(self.bins) != self.bins or self.bins < 1:
            raise BadInputError(f"bins is {self.bins}; an integer of at least 1 is needed.")
        if not 0.0 <= self.smoothing < np.inf:
            raise BadInputError(f"smoothing is {self.smoothing}; a number of at least 0 is needed.")

    def fit(
        self,
        p: np.ndarray,
        y: np.ndarray,
        rng: np.random.Generator | int | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> CalibrationMap:
        """Fit the map. With weights, samples are counted by their weights.

        Bins of equal mass hold equal sums of weights. The smoothing has the unit of the weights.
        """
        refuse_masked_sample(p, y)
        w = None
        if sample_weight is not None:
            p, y, w = kept_rows(p, y, sample_weight)
        if p.ndim == 2 and p.shape[1] == 2:
            return on_columns(self, p, y, rng, w)
        if p.ndim == 1:
            edges, sizes = self._bins(p[None], w)
            index = np.searchsorted(edges[0], p[y == 1], side="right")
            share = self._shares(sizes, index, 2, None if w is None else w[y == 1])
            return lambda x: share[0][np.searchsorted(edges[0], x, side="right")]
        k = p.shape[1]
        edges, sizes = self._bins(p.T, w)
        outcome, index = p[np.arange(len(y)), y], y * self.bins
        for edge in edges.T:
            index += outcome >= edge[y]
        share = self._shares(sizes, index, k, w)

        def q(x: np.ndarray) -> np.ndarray:
            index = np.empty(x.shape, dtype=np.intp)
            for j in range(k):
                index[:, j] = np.searchsorted(edges[j], x[:, j], side="right")
            return normalised(share[np.arange(k), index])

        return q

    def _bins(
        self, columns: np.ndarray, weights: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return inner edges (d, bins - 1) and bin sizes (d, bins) for columns (d, n).

        The columns hold predictions. An edge is the smallest prediction of its bin. An edge that
        equals the previous edge, or the smallest prediction, leaves an empty bin. With `weights`
        (n,), the sizes are sums of weights.
        """
        if weights is not None:
            return self._weighted_bins(columns, weights)
        inner, n = np.arange(1, self.bins), columns.shape[1]
        points = np.sort(columns, axis=1)
        if self.rule == "width":
            edges = np.tile(inner / self.bins, (len(points), 1))
        else:
            edges = points[:, inner * n // self.bins]
            edges[edges == points[:, :1]] = -np.inf
        below = np.zeros((len(points), self.bins + 1), dtype=np.intp)
        below[:, -1] = n
        for j, x in enumerate(points):
            below[j, 1:-1] = x.searchsorted(edges[j])
        return edges, below[:, 1:] - below[:, :-1]

    def _weighted_bins(
        self, columns: np.ndarray, weights: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return edges and sums of weights, as `_bins` does for samples that repeat."""
        inner = np.arange(1, self.bins)
        edges = np.tile(inner / self.bins, (len(columns), 1))
        if self.rule == "mass":
            for j, x in enumerate(columns):
                order = np.argsort(x)
                total = np.cumsum(weights[order])
                place = np.searchsorted(total, inner * (total[-1] / self.bins), side="right")
                edges[j] = x[order[place.clip(max=len(x) - 1)]]
                edges[j, edges[j] == x[order[0]]] = -np.inf
        sizes = [
            np.bincount(np.searchsorted(edge, x, side="right"), weights, self.bins)
            for edge, x in zip(edges, columns)
        ]
        return edges, np.array(sizes)

    def _shares(
        self, sizes: np.ndarray, index: np.ndarray, classes: int, weights: np.ndarray | None
    ) -> np.ndarray:
        """Return the smoothed shares of label 1 in the bins, (d, bins).

        `sizes` (d, bins) holds the number of samples of each bin. `index` holds the bin of each
        sample with label 1, numbered over all columns. `weights` are those of these samples.
        """
        ones = np.bincount(index, weights, sizes.size).reshape(sizes.shape) + self.smoothing
        sizes = sizes + classes * self.smoothing
        return np.divide(ones, sizes, out=np.full(sizes.shape, 1.0 / classes), where=sizes > 0)
