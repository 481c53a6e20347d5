"""Loess: local quadratic regression of outcomes on predictions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harness.math.bin_sums import mass_edges, width_edges
from harness.math.blocks import row_blocks

MAX_VALUES = 1000  # with more distinct predictions, groups of them stand for their samples
GROUPS = 500  # groups share one of so many bins of equal width and one of equal mass
RANK = 1e-12  # relative size below which an eigenvalue of the normal equations counts as 0
BLOCK = 64  # places whose weights are computed together; larger blocks leave the cache


def loess(p: np.ndarray, y: np.ndarray, span: float) -> np.ndarray:
    """Return the loess curve of outcomes y at the predictions p, both (n,).

    At x, the curve is the value of the quadratic polynomial in p that fits y best by least squares
    with the tricube weights max(0, 1 - (|p_i - x| / h)^3)^3. The bandwidth h is the distance of x
    from the q-th nearest prediction, with q = max(1, floor(n span)) and 0 < span <= 1.

    This is `loess` of R with degree 2, the family "gaussian" and surface = "direct" (Cleveland and
    Grosse 1991). If fewer than three distinct predictions have a positive weight, the coefficients
    of the smallest norm are taken. If h = 0, the curve is the mean outcome at x.

    With more than 1,000 distinct predictions, p and y are first averaged over up to 1,000 groups
    of close predictions, and the curve is linear between the means of p.

    Examples
    --------
    >>> x = np.arange(6) / 5
    >>> loess(x, x**2, 0.75).round(9).tolist()
    [0.0, 0.04, 0.16, 0.36, 0.64, 1.0]
    """
    smoother = Loess.of(p, span)
    return np.interp(p, smoother.values, smoother.fit(y))


@dataclass(frozen=True)
class Loess:
    """Loess as a linear smoother: the curve at `values` (m,) is S times the mean outcomes there.

    Parameters
    ----------
    values, sizes : ndarray (m,)
        The distinct predictions in ascending order, or the means of groups of them, and the
        numbers of samples there.
    index : ndarray (n,)
        The position of each sample in `values`.
    nearest : int
        Number of samples within the bandwidth.
    """

    values: np.ndarray
    sizes: np.ndarray
    index: np.ndarray
    nearest: int

    @classmethod
    def of(cls, p: np.ndarray, span: float) -> Loess:
        """Return the smoother of predictions p (n,), whose bandwidth holds the share `span`."""
        values, index = np.unique(p, return_inverse=True)
        if len(values) > MAX_VALUES:
            ends = np.nextafter(values[0], 1.0), values[-1]  # the first and last value stay alone
            edges = np.concatenate([width_edges(GROUPS), mass_edges(p, GROUPS), ends])
            group = np.searchsorted(np.unique(edges), p, side="right")
            _, index = np.unique(group, return_inverse=True)
            values = np.bincount(index, p) / np.bincount(index)
        nearest = max(1, int(np.floor(len(p) * span + 1e-5)))  # the 1e-5 is Cleveland's
        return cls(values, np.bincount(index), index, nearest)

    def fit(self, y: np.ndarray) -> np.ndarray:
        """Return the curve (m,) at `values`, for outcomes y (n,)."""
        return self._smooth((np.bincount(self.index, y) / self.sizes)[:, None])[:, 0]

    def matrix(self) -> np.ndarray:
        """Return S (m, m).

        >>> smoother = Loess.of(np.arange(6) / 5, 0.75)
        >>> y = np.array([0, 1, 0, 1, 1, 1])
        >>> np.allclose(smoother.matrix() @ y, smoother.fit(y))
        True
        """
        return self._smooth(np.eye(len(self.values)))

    def _smooth(self, means: np.ndarray) -> np.ndarray:
        """Return the curves (m, r) for mean outcomes (m, r)."""
        blocks = [
            _curve(self.values[rows], self.values, self.sizes, means, self.nearest)
            for rows in row_blocks(len(self.values), BLOCK)
        ]
        return np.concatenate(blocks)


def _curve(
    x: np.ndarray, values: np.ndarray, sizes: np.ndarray, means: np.ndarray, nearest: int
) -> np.ndarray:
    """Return the local quadratic fits at the places x, which are some of `values`.

    `values` (m,), increasing, have the numbers of samples `sizes` and the mean outcomes `means`
    (m, r), a column for each fit.
    `nearest` is the number of samples within the bandwidth.
    """
    # The nearest samples of x are a run of values. h is the smallest reach of a run of that size.
    upto = np.cumsum(sizes)
    last = np.searchsorted(upto, upto - sizes + nearest)
    runs = last < len(values)
    low, high = values[runs], values[last[runs]]
    h = np.maximum(x[:, None] - low, high - x[:, None]).min(axis=1)
    with np.errstate(over="ignore"):  # h may be 1e-320
        u = (values - x[:, None]) / np.where(h > 0.0, h, 1.0)[:, None]
    u = np.clip(u, -1.0, 1.0)  # values farther than h have the weight 0
    weights = sizes * (1.0 - np.abs(u) ** 3) ** 3
    moments, products = [], []
    for power in range(5):
        moments.append(weights.sum(axis=1))
        if power < 3:
            products.append(weights @ means)
        weights = weights * u
    normal = np.array([[moments[i + j] for j in range(3)] for i in range(3)]).transpose(2, 0, 1)
    inverse = np.linalg.pinv(normal, rcond=RANK, hermitian=True)
    fits = np.einsum("ij,jir->ir", inverse[:, 0], np.array(products))
    return np.where(h[:, None] > 0.0, fits, means[np.searchsorted(values, x)])
