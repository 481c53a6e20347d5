"""Exact calibration metrics of a discrete distribution of predictions for two classes.

The distribution ("law") consists of m predictions:

* w_i is the probability of prediction i; `w` has shape (m,).
* p_i is the predicted probability of Y = 1; `p` has shape (m,).
* c_i = P(Y = 1 given p_i) is the true probability; `c` has shape (m,).
* d_i = (p_i - c_i)(1, -1) is the error on both columns.

K is the kernel matrix of the predictions, W = diag(w), and M = W^(1/2) K W^(1/2). The metrics are

    CKCE(ridge) = tr(B' M B), B = (M + ridge I)^-1 W^(1/2) d     (eq. 5, ridge of eq. 4)
    JKCE        = tr(d' W K W d)                                 (eq. 7)
    ECE         = sum_i w_i ||d_i||_1                            (eq. 6)

CKCE is a distance between conditional mean operators that are regularised with the ridge.
Reference: Moskvichev and Sejdinovic, 2025 (moskvichev2025).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

Kernel = Callable[[np.ndarray], np.ndarray]


def linear_and_gaussian(gamma: float) -> Kernel:
    """Return the kernel k(p, q) = p . q + exp(-||p - q||^2 / (2 gamma^2)) (Section 3.2).

    p and q are probability vectors with two columns. The returned function takes the probabilities
    of the second class, shape (m,), and returns the kernel matrix, shape (m, m).
    """

    def kernel(p: np.ndarray) -> np.ndarray:
        vectors = np.column_stack([1.0 - p, p])
        # ||p - q||^2 of the vectors is twice (p - q)^2 of the second column.
        gram: np.ndarray = vectors @ vectors.T + np.exp(-((p[:, None] - p) ** 2) / gamma**2)
        return gram

    return kernel


def same(p: np.ndarray) -> np.ndarray:
    """Return the matrix (m, m) of the kernel 1{p_i = p_j} for predictions p of shape (m,).

    Examples
    --------
    >>> same(np.array([0.3, 0.6])).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    return np.asarray(p[:, None] == p, dtype=float)


def difference(p: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Return prediction minus truth on both columns, shape (m, 2).

    `p` and `c` are the predicted and the true probability of the second class. The columns are (1 -
    p) - (1 - c) and p - c.
    """
    return np.column_stack([c - p, p - c])


def ckce(
    w: np.ndarray, p: np.ndarray, c: np.ndarray, kernel: Kernel, ridges: Sequence[float]
) -> list[float]:
    """Return the conditional kernel calibration error (CKCE) for every ridge.

    The law has weights `w`, predictions `p` and true probabilities `c` of the second class, each of
    shape (m,). `kernel` maps predictions to their kernel matrix (m, m). All ridges share one
    eigendecomposition, O(m^3).

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
    """Return the joint kernel calibration error (JKCE) of a law of m predictions.

    The law has weights `w`, predictions `p` and true probabilities `c` of the second class, each of
    shape (m,). `kernel` maps predictions to their kernel matrix (m, m).
    """
    d = w[:, None] * difference(p, c)
    return float((d * (kernel(p) @ d)).sum())


def ece(w: np.ndarray, p: np.ndarray, c: np.ndarray) -> float:
    """Return the expected calibration error sum_i w_i ||d_i||_1 of a law of m predictions.

    The law has weights `w`, predictions `p` and true probabilities `c` of the second class, each of
    shape (m,). The norm is taken over both columns, so the result is 2 sum_i w_i |p_i - c_i|.
    """
    return float(w @ np.abs(difference(p, c)).sum(axis=1))


def binned_ece(w: np.ndarray, p: np.ndarray, c: np.ndarray, bins: int) -> float:
    """Return the limit of the binned ECE as the sample size grows.

    Both columns 1 - p and p are cut into `bins` intervals. Predictions with the same interval in
    both columns share a bin. `w`, `p` and `c` are the weights, predictions and true probabilities
    of the law, each of shape (m,). Errors are averaged within each bin before their absolute values
    are taken, so the result is at most `ece`.
    """
    first, second = (np.minimum(np.floor(bins * column), bins - 1) for column in (1.0 - p, p))
    d = w[:, None] * difference(p, c)
    total = 0.0
    for a in range(bins):
        for b in range(bins):
            total += np.abs(d[(first == a) & (second == b)].sum(axis=0)).sum()
    return float(total)


def median_distance(w: np.ndarray, p: np.ndarray) -> float:
    """Return the median distance ||q - q'||_2 of two independent predictions of a law.

    `w` and `p` are the weights and the predicted probabilities of the second class, each of shape
    (m,). The distance is taken between vectors (1 - p, p).
    """
    distance = np.sqrt(2.0) * np.abs(p[:, None] - p).ravel()
    order = np.argsort(distance)
    mass = np.cumsum(np.outer(w, w).ravel()[order])
    return float(distance[order][np.searchsorted(mass, 0.5)])
