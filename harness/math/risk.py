"""Calibration-estimation risk of a function that predicts products of residuals.

The residual of a sample is u = f - Y (scalars) or f - e_Y (vectors), with prediction f and label Y.
Let u, u' be the residuals of two independent samples with predictions p, p', and C(p) the true
conditional mean. The regression of `<u, u'>` on (p, p') is (gruber2025, Section 3)

    h*(p, p') = <p - C(p), p' - C(p')>

The risk of a function h is `E (<u, u'> - h(p, p'))^2`. It is smallest for h = h*, and E h*(p, p) is
the squared calibration error. Estimators that provide such a function can therefore be compared and
tuned on held-out samples.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harness.errors import UndefinedError
from harness.math.notions import one_hot

BLOCK_ENTRIES = 4_000_000  # number of entries of an n x n matrix in memory at a time (32 MB)


@dataclass(frozen=True)
class ResidualGram:
    """Predicted residual products h(p_i, p_j) = features_i' core features_j at m points.

    p_i is the prediction at point i, and C(p) the true conditional mean of the outcome.

    Parameters
    ----------
    features : ndarray of shape (m, r)
        One row per point. If `core` is None, the rows are the estimates of p - C(p).
    core : ndarray of shape (r, r) or (r,), optional
        Symmetric matrix, or its diagonal. None means the identity.
    diagnostics : dict of str to float, optional
        Numbers that describe the fit.
    """

    features: np.ndarray
    core: np.ndarray | None = None
    diagnostics: dict[str, float] | None = None

    def diagonal(self) -> np.ndarray:
        """Return h(p_i, p_i) for every point, shape (m,).

        Over held-out points, the mean of these values estimates the squared calibration error
        (gruber2025, eq. 21).
        """
        return np.einsum("ij,ij->i", self.weighted(), self.features)

    def weighted(self, rows: slice = slice(None)) -> np.ndarray:
        """Return features @ core for the selected rows, shape (rows, r).

        The matrix of all products h is weighted() @ features'.
        """
        features = self.features[rows]
        if self.core is None:
            return features
        return features * self.core if self.core.ndim == 1 else features @ self.core


def residuals(p: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return prediction minus outcome: p - y for scalars, p minus one-hot y for vectors.

    `y` (n,) holds labels. The result has shape (n, 1) for p (n,), and (n, k) for p (n, k).
    """
    return (p - y)[:, None] if p.ndim == 1 else p - one_hot(y, p.shape[1])


def risk(u: np.ndarray, products: ResidualGram) -> float:
    """Return the unbiased estimate of the risk E (<u, u'> - h)^2 on n samples.

        1 / (n (n - 1)) sum_{i != j} (<u_i, u_j> - h(p_i, p_j))^2     (gruber2025, eq. 20)

    `u` (n, d) holds the residuals at the points of `products`, which describes h by r features.
    Fewer than two samples raise UndefinedError. No n x n matrix is stored. If r <= n, sums over all
    pairs come from r x r and d x d moments, O(n r (r + d) + r^3). Otherwise they come from blocks
    of rows.
    """
    n, r = products.features.shape
    if n < 2:
        raise UndefinedError(f"the risk needs at least 2 samples, but the number of samples is {n}")
    weighted, features = products.weighted(), products.features
    on_diagonal = np.einsum("ij,ij->i", u, u) - np.einsum("ij,ij->i", weighted, features)
    total = (_by_moments if r <= n else _by_blocks)(u, weighted, features)
    return float((total - on_diagonal @ on_diagonal) / (n * (n - 1)))


def _by_moments(u: np.ndarray, weighted: np.ndarray, features: np.ndarray) -> float:
    """Return the sum of (<u_i, u_j> - h_ij)^2 over all pairs i, j, from moments of the features.

    With U = u, W = weighted and F = features, h = W F' and the sum is

        ||U'U||^2 - 2 tr(U'W F'U) + tr(F'W F'W)
    """
    uu, fw = u.T @ u, features.T @ weighted
    return (uu * uu).sum() - 2.0 * ((u.T @ weighted) * (u.T @ features)).sum() + (fw * fw.T).sum()


def _by_blocks(u: np.ndarray, weighted: np.ndarray, features: np.ndarray) -> float:
    """Return the sum of (<u_i, u_j> - h_ij)^2 over all pairs i, j, by blocks of rows."""
    n, total = len(u), 0.0
    step = max(1, BLOCK_ENTRIES // n)
    for start in range(0, n, step):
        rows = slice(start, start + step)
        gap = u[rows] @ u.T
        gap -= weighted[rows] @ features.T
        total += np.vdot(gap, gap)
    return total
