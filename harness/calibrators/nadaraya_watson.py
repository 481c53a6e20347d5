"""Calibrator by Nadaraya-Watson kernel regression with a Gaussian kernel."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harness.calibrators.base import CalibrationMap, refuse_masked_sample
from harness.math.blocks import row_blocks
from harness.math.notions import one_hot

BLOCK = 4_000_000  # number of kernel entries in memory at a time (32 MB)
DENSE = 200_000  # up to this many kernel entries, direct sums are faster than the expansion
# The expansion is exact to rounding if its degree is at least this number divided by the bandwidth.
DEGREE_PER_WIDTH = 7.5
# If the mean kernel value is above this, the rounding error of the expansion is below 1e-12.
LEAST_EXPANDED = 1e-2


@dataclass(frozen=True)
class NadarayaWatson:
    """Kernel regression of the label on the prediction, with a Gaussian kernel K.

        q(x) = sum_i K(x, p_i) y_i / sum_i K(x, p_i)
        K(x, x') = exp(-||x - x'||^2 / (2 bandwidth^2))

    p_i is a prediction, and y_i its label or one-hot label. A denominator below 1e-12 is replaced
    by 1e-12. If all entries of a row of q are 0, the row becomes uniform.

    Parameters
    ----------
    bandwidth : float
        Standard deviation of the kernel, in units of probability.

    Notes
    -----
    q is smooth, and biased towards the mean of its neighbourhood by O(bandwidth^2). Rows of q sum
    to less than 1 far from all samples. Determinism: exact.

    Cost for n samples and m points: O(n m k) for vectors of k classes, O((n + m) / bandwidth) for
    scalars. The scalar kernel on [0, 1] is expanded in Chebyshev polynomials of both arguments,
    exact to rounding. At points with a small denominator, where rounding would matter, the sums are
    computed directly.

    References
    ----------
    Nadaraya (1964); Watson (1964). berta2026, Section 4, with bandwidth 0.1.

    Examples
    --------
    >>> import numpy as np
    >>> q = NadarayaWatson(bandwidth=0.1).fit(np.array([0.2, 0.3, 0.7]), np.array([0, 1, 1]))
    >>> q(np.array([0.25, 0.7])).round(3)
    array([0.5, 1. ])
    """

    bandwidth: float = 0.1
    determinism = "exact"

    def fit(
        self, p: np.ndarray, y: np.ndarray, rng: np.random.Generator | int | None = None
    ) -> CalibrationMap:
        refuse_masked_sample(p, y)
        if p.ndim == 1:
            return lambda x: self._scalar(x, p, y.astype(np.float64))
        hits = one_hot(y, p.shape[1])

        def q(x: np.ndarray) -> np.ndarray:
            total, weighted = self._dense(x, p, hits)
            scores = np.minimum(weighted / np.maximum(total, 1e-12)[:, None], 1.0)
            rows = scores.sum(axis=1, keepdims=True)
            return np.where(rows > 0, scores, 1.0 / p.shape[1])

        return q

    def _scalar(self, x: np.ndarray, p: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return q at points x (m,), for samples p (n,) with labels y (n,)."""
        degree = int(np.ceil(DEGREE_PER_WIDTH / self.bandwidth)) + 20
        if len(x) * len(p) <= DENSE or len(x) + len(p) < 2 * degree:
            total, weighted = self._dense(x, p, y)
        else:
            total, weighted = self._expanded(x, p, y, degree)
            small = total < LEAST_EXPANDED * len(p)
            if small.any():
                total[small], weighted[small] = self._dense(x[small], p, y)
        # The expansion misses 0 and 1 by rounding where all labels are equal.
        q = (weighted / np.maximum(total, 1e-12)).clip(0.0, 1.0)
        return np.where(total > 0, q, 0.5)

    def _expanded(
        self, x: np.ndarray, p: np.ndarray, y: np.ndarray, degree: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return denominator and numerator of q at points x (m,), by a Chebyshev expansion.

            K(x, x') = sum_ab T_a(2x - 1) M_ab T_b(2x' - 1)

        T_a are the Chebyshev polynomials below `degree`. The matrix M follows from the values of K
        at Chebyshev nodes.
        """
        nodes = np.cos(np.pi * (np.arange(degree) + 0.5) / degree)
        to_coefficients = np.polynomial.chebyshev.chebvander(nodes, degree - 1).T * (2.0 / degree)
        to_coefficients[0] /= 2.0
        kernel = np.exp(-((nodes[:, None] - nodes) ** 2) / (8.0 * self.bandwidth**2))
        mixing = to_coefficients @ kernel @ to_coefficients.T
        sums = np.zeros((degree, 2))
        for rows in _blocks(len(p), degree):
            basis = np.polynomial.chebyshev.chebvander(2.0 * p[rows] - 1.0, degree - 1)
            sums += basis.T @ np.column_stack([np.ones(len(basis)), y[rows]])
        coefficients = mixing @ sums
        values = np.concatenate(
            [
                np.polynomial.chebyshev.chebvander(2.0 * x[rows] - 1.0, degree - 1) @ coefficients
                for rows in _blocks(len(x), degree)
            ]
        )
        return values[:, 0].copy(), values[:, 1].copy()

    def _dense(
        self, x: np.ndarray, p: np.ndarray, hits: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return denominator and numerator of q at points x, by direct sums.

        `hits` holds the labels or one-hot labels.
        """
        scale = -0.5 / self.bandwidth**2
        total = np.empty(len(x))
        weighted = np.empty((len(x), *hits.shape[1:]))
        for rows in _blocks(len(x), len(p)):
            if p.ndim == 1:
                distance = (x[rows, None] - p) ** 2
            else:
                distance = (
                    (x[rows] ** 2).sum(axis=1)[:, None] + (p**2).sum(axis=1) - 2.0 * (x[rows] @ p.T)
                )
                np.maximum(distance, 0.0, out=distance)
            kernel = np.exp(distance * scale)
            total[rows] = kernel.sum(axis=1)
            weighted[rows] = kernel @ hits
        return total, weighted


def _blocks(n: int, width: int) -> list[slice]:
    """Return slices of n rows; a block of rows of the given width has at most BLOCK entries."""
    return row_blocks(n, max(1, BLOCK // max(1, width)))
