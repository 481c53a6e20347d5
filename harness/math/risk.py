"""Calibration-estimation risk: how well a function h(p, p') predicts products of residuals.

With the residual u = f - Y (scalars) or f - e_Y (vectors), `h*(p, p') = <p - C(p), p' - C(p')>` is
the regression of `<u, u'>` on two independent predictions (gruber2025, Section 3). `E (<u, u'> -
h)^2` is therefore smallest at `h*`, and E h(f, f) there is the squared calibration error.
Estimators that provide such an h can be compared, and tuned, on held-out samples.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harness.errors import UndefinedError
from harness.math.notions import one_hot

BLOCK_ENTRIES = 4_000_000  # entries of an n x n matrix held at a time (32 MB)


@dataclass(frozen=True)
class ResidualGram:
    """Residual products h(p_i, p_j) = features_i' core features_j at m points.

    Parameters
    ----------
    features : ndarray of shape (m, r)
        With `core` None these are the estimated p - C(p).
    core : ndarray of shape (r, r) or (r,), optional
        Symmetric matrix, or its diagonal; None is the identity.
    diagnostics : dict of str to float, optional
        Numbers that describe the fit.
    """

    features: np.ndarray
    core: np.ndarray | None = None
    diagnostics: dict[str, float] | None = None

    def diagonal(self) -> np.ndarray:
        """Return h(p_i, p_i), shape (m,).

        Its mean over held-out points estimates the squared calibration error (eq. 21).
        """
        return np.einsum("ij,ij->i", self.weighted(), self.features)

    def weighted(self, rows: slice = slice(None)) -> np.ndarray:
        """Return features @ core, shape (m, r); all products h are weighted() @ features'."""
        features = self.features[rows]
        if self.core is None:
            return features
        return features * self.core if self.core.ndim == 1 else features @ self.core


def residuals(p: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return u = p - y, or p - e_y for vectors, shape (n, 1) or (n, k)."""
    return (p - y)[:, None] if p.ndim == 1 else p - one_hot(y, p.shape[1])


def risk(u: np.ndarray, products: ResidualGram) -> float:
    """Return 1 / (n (n - 1)) sum_{i != j} (<u_i, u_j> - h(p_i, p_j))^2 (gruber2025, eq. 20).

    It is unbiased for E (<u, u'> - h)^2. u: (n, d) residuals at the points of `products`. No n x n
    matrix is held: sums over all pairs come from r x r and d x d moments, O(n r (r + d) + r^3), or
    from blocks of rows if r > n. UndefinedError for fewer than two samples.
    """
    n, r = products.features.shape
    if n < 2:
        raise UndefinedError(f"the risk needs at least 2 samples, and there is {n}")
    weighted, features = products.weighted(), products.features
    on_diagonal = np.einsum("ij,ij->i", u, u) - np.einsum("ij,ij->i", weighted, features)
    total = (_by_moments if r <= n else _by_blocks)(u, weighted, features)
    return float((total - on_diagonal @ on_diagonal) / (n * (n - 1)))


def _by_moments(u: np.ndarray, weighted: np.ndarray, features: np.ndarray) -> float:
    """Sum (<u_i, u_j> - h_ij)^2 over all i, j with h = W F'.

    ||U'U||^2 - 2 tr(U'W F'U) + tr(F'W F'W)
    """
    uu, fw = u.T @ u, features.T @ weighted
    return (uu * uu).sum() - 2.0 * ((u.T @ weighted) * (u.T @ features)).sum() + (fw * fw.T).sum()


def _by_blocks(u: np.ndarray, weighted: np.ndarray, features: np.ndarray) -> float:
    """Sum (<u_i, u_j> - h_ij)^2 over all i, j in blocks of rows."""
    n, total = len(u), 0.0
    step = max(1, BLOCK_ENTRIES // n)
    for start in range(0, n, step):
        rows = slice(start, start + step)
        gap = u[rows] @ u.T
        gap -= weighted[rows] @ features.T
        total += np.vdot(gap, gap)
    return total
