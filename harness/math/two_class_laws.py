"""Exact calibration metrics of a law on finitely many predictions of two classes.

With weights w (m,), predictions p = Q(Y = 1), c = P(Y = 1 given p), the difference of the
conditional means d_i = (p_i - c_i)(1, -1), and M = W^(1/2) K W^(1/2), W = diag(w),

    CKCE(ridge) = tr(B' M B), B = (M + ridge I)^-1 W^(1/2) d     (eq. 5, ridge of eq. 4)
    JKCE        = tr(d' W K W d)                                 (eq. 7)
    ECE         = sum_i w_i ||d_i||_1                            (eq. 6)

CKCE is the distance of the regularised operators. References: Moskvichev and Sejdinovic, 2025
(moskvichev2025).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

Kernel = Callable[[np.ndarray], np.ndarray]


def linear_and_gaussian(gamma: float) -> Kernel:
    """Return the kernel p . q + exp(-||p - q||^2 / (2 gamma^2)) on two columns (Section 3.2)."""

    def kernel(p: np.ndarray) -> np.ndarray:
        vectors = np.column_stack([1.0 - p, p])
        # ||p - q||^2 over two columns is twice that of one column.
        gram: np.ndarray = vectors @ vectors.T + np.exp(-((p[:, None] - p) ** 2) / gamma**2)
        return gram

    return kernel


def same(p: np.ndarray) -> np.ndarray:
    """Evaluate the kernel 1{p = q}.

    Examples
    --------
    >>> same(np.array([0.3, 0.6])).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    return np.asarray(p[:, None] == p, dtype=float)


def difference(p: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Return p - c on both columns: (1 - p) - (1 - c) and p - c, shape (m, 2)."""
    return np.column_stack([c - p, p - c])


def ckce(
    w: np.ndarray, p: np.ndarray, c: np.ndarray, kernel: Kernel, ridges: Sequence[float]
) -> list[float]:
    """Return CKCE at every ridge, from one eigendecomposition.

    Examples
    --------
    >>> law = np.array([0.5, 0.5]), np.array([0.3, 0.6]), np.array([0.5, 0.5])
    >>> [round(value, 4) for value in ckce(*law, same, [0.0, 0.5])]
    [0.1, 0.025]
    """
    root = np.sqrt(w)
    values, vectors = np.linalg.eigh(root[:, None] * kernel(p) * root)
    values = np.maximum(values, 0.0)
    along = ((vectors.T @ (root[:, None] * difference(p, c))) ** 2).sum(axis=1)
    return [float((values / (values + ridge) ** 2 * along).sum()) for ridge in ridges]


def jkce(w: np.ndarray, p: np.ndarray, c: np.ndarray, kernel: Kernel) -> float:
    """Return JKCE of the law."""
    d = w[:, None] * difference(p, c)
    return float((d * (kernel(p) @ d)).sum())


def ece(w: np.ndarray, p: np.ndarray, c: np.ndarray) -> float:
    """Return ECE of the law."""
    return float(w @ np.abs(difference(p, c)).sum(axis=1))


def binned_ece(w: np.ndarray, p: np.ndarray, c: np.ndarray, bins: int) -> float:
    """Return the limit of the binned estimator with `bins` intervals per class.

    It takes the mean within a bin before the distance.
    """
    first, second = (np.minimum(np.floor(bins * v), bins - 1) for v in (1.0 - p, p))
    d = w[:, None] * difference(p, c)
    total = 0.0
    for a in range(bins):
        for b in range(bins):
            total += np.abs(d[(first == a) & (second == b)].sum(axis=0)).sum()
    return float(total)


def median_distance(w: np.ndarray, p: np.ndarray) -> float:
    """Return the population median of ||q - q'||_2 over independent predictions on two columns."""
    distance = np.sqrt(2.0) * np.abs(p[:, None] - p).ravel()
    order = np.argsort(distance)
    mass = np.cumsum(np.outer(w, w).ravel()[order])
    return float(distance[order][np.searchsorted(mass, 0.5)])
