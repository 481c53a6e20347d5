"""Solvers for the equations of `CKCE`: by Cholesky, by a low rank, and by random features.

All compute ckce = tr(R' A K A R) with A = (K + c I)^-1. The docstring of `CKCE` defines K, R and c,
and the decomposition of K into F F' + E.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.linalg.lapack import dpotri

from harness.estimators.residual_kernels import kernel_product, rbf_rate
from harness.math.kernels import TILE_ROWS, rbf
from harness.math.low_rank import LowRank, pivoted_cholesky

NOISE_FLOOR_MAX_N = 2000  # number of samples up to which the noise floor may cost another O(n^3)
MAX_PIVOTS = 256
# With at most 30 classes, a product with K costs no more than the pivots from 151 to 256.
FEW_CLASSES, FEW_PIVOTS = 30, 150
MAX_PRODUCTS = 50
BLOCK_ROWS = 4096
# If the trace of E is below this share of c, one product with K usually corrects the result.
SMALL_REST = 0.005
NEGLIGIBLE_SHARE = 1e-12  # absolute accuracy, relative to the largest value ||R||^2 / (4 c)


@dataclass(frozen=True)
class System:
    """The matrix F F' + c I with F = `features` (n, d), inverted in d dimensions."""

    features: np.ndarray
    c: float

    @cached_property
    def _cholesky(self) -> tuple[np.ndarray, bool]:
        inner = self.features.T @ self.features
        inner.flat[:: len(inner) + 1] += self.c
        return cho_factor(inner, overwrite_a=True, check_finite=False)

    def _inner(self, b: np.ndarray) -> np.ndarray:
        return cho_solve(self._cholesky, b, check_finite=False)

    def solve(self, b: np.ndarray) -> np.ndarray:
        """Return (F F' + c I)^-1 b for the features F of this object."""
        return (b - self.features @ self._inner(self.features.T @ b)) / self.c

    def primal(self, r: np.ndarray) -> float:
        """Return ckce of residuals r for the kernel matrix F F', ||(F' F + c I)^-1 F' r||^2."""
        return float((self._inner(self.features.T @ r) ** 2).sum())

    def trace(self, weights: np.ndarray) -> float:
        """Return tr(A F F' A diag(w)) for A = (F F' + c I)^-1 and weights w (n,) >= 0.

        It is computed as tr(M^-1 F' diag(w) F M^-1) with M = F' F + c I.
        """
        d = self.features.shape[1]
        gram = np.zeros((d, d))
        for start in range(0, len(weights), BLOCK_ROWS):
            rows = slice(start, start + BLOCK_ROWS)
            weighted = np.sqrt(np.maximum(weights[rows], 0.0))[:, None] * self.features[rows]
            gram += weighted.T @ weighted
        return float(np.trace(self._inner(self._inner(gram).T)))


def solve_by_cholesky(
    q: np.ndarray, r: np.ndarray, gamma: float, c: float, spread: np.ndarray
) -> tuple[float, dict[str, float]]:
    """Return ckce and its diagnostics, by decomposing K + c I.

    This needs memory for one n x n matrix, and for a second one if the noise floor is computed.
    q and r (n, k) are predictions and residuals. `spread` (n,) is E[||r||^2 given the prediction]
    for a calibrated model.
    """
    n = len(q)
    matrix = np.empty((n, n))
    for start in range(0, n, TILE_ROWS):
        rows = slice(start, start + TILE_ROWS)
        matrix[rows] = rbf(q[rows], q, rbf_rate(gamma))
        matrix[rows] += q[rows] @ q.T
    matrix.flat[:: n + 1] += c
    factor = cho_factor(matrix.T, lower=True, overwrite_a=True, check_finite=False)
    w = cho_solve(factor, r, check_finite=False)
    # The equal expression w'(r - c w) would lose digits where c is large.
    value = np.vdot(w, kernel_product(q, gamma, w))
    diagnostics = {"rank": n, "residual": 0.0}
    if n <= NOISE_FLOOR_MAX_N:
        lower = np.tril(dpotri(factor[0], lower=1)[0])
        squares = (lower * lower).sum(axis=0) + (np.tril(lower, -1) ** 2).sum(axis=1)
        diagnostics["noise_floor"] = float((lower.diagonal() - c * squares) @ spread)
    return float(value), diagnostics


def solve_by_low_rank(
    q: np.ndarray,
    r: np.ndarray,
    gamma: float,
    c: float,
    spread: np.ndarray,
    accuracy: float,
    low: LowRank | None = None,
) -> tuple[float | None, dict[str, float]]:
    """Return ckce and its diagnostics, by a low rank (see `CKCE`).

    The value is None if the relative error `accuracy` is not reached. `low` is the pivoted Cholesky
    decomposition of the Gaussian part of K; None computes it. q and r (n, k) are predictions and
    residuals. `spread` (n,) is E[||r||^2 given the prediction] for a calibrated model.
    """
    if low is None:
        max_rank = FEW_PIVOTS if q.shape[1] <= FEW_CLASSES else MAX_PIVOTS
        low = pivoted_cholesky(
            q, rbf_rate(gamma), max_rank=min(max_rank, int(3 * np.sqrt(len(q))) + 1), spread=True
        )
    system, missing_trace = System(np.column_stack([q, low.factor]), c), low.residual * len(q)
    value, error, products = system.primal(r), 0.0, 0
    if missing_trace > 0.0:
        x = system.solve(r)
        error = missing_trace * (1.0 + missing_trace / c) ** 2 * (x * x).sum()
        if not error <= accuracy * value:
            if missing_trace <= SMALL_REST * c:
                value, error, products = *_correct_once(q, r, gamma, system, x, missing_trace), 1
            if not (products and error <= acceptable_error(value, r, c, accuracy)):
                value, error, products = _refine(q, r, gamma, system, x, missing_trace, accuracy)
    # The diagonal of E.
    missing_diagonal = np.maximum(1.0 - np.einsum("ij,ij->i", low.factor, low.factor), 0.0)
    diagnostics = {
        "rank": low.factor.shape[1],
        "residual": low.residual,
        "products": products,
        "error": float(error),
        "noise_floor": system.trace(spread) + float(missing_diagonal @ spread) / c**2,
    }
    enough = products == 0 or error <= acceptable_error(value, r, c, accuracy)
    return (float(value) if enough else None), diagnostics


def acceptable_error(value: float, r: np.ndarray, c: float, accuracy: float) -> float:
    """Return the largest absolute error that is accepted for a value of ckce.

    It is `accuracy` times the value, or 1e-12 of the largest possible value, ||r||^2 / (4 c), for
    the residuals r and c = ridge n.
    """
    return max(accuracy * value, NEGLIGIBLE_SHARE * (r * r).sum() / (4.0 * c))


def _correct_once(
    q: np.ndarray, r: np.ndarray, gamma: float, system: System, x: np.ndarray, missing_trace: float
) -> tuple[float, float]:
    """Return ckce corrected by one product with K, and a bound of its error.

    The error is of third order in E, with E and F as in `CKCE`. The product applies K together to
    x = P R and y = P x, where P = (F F' + c I)^-1 and R are the residuals.
    """
    c, d = system.c, x.shape[1]
    both = np.column_stack([x, system.solve(x)])
    y = both[:, d:]
    image = kernel_product(q, gamma, both)
    s = r - image[:, :d] - c * x
    t = image[:, d:] + c * y - x
    solved = system.solve(np.column_stack([s, t]))
    z = solved[:, :d]
    value = (
        np.vdot(x, r - c * x)
        + np.vdot(x - 2.0 * c * y, s)
        + np.vdot(s + 2.0 * c * t, z)
        - c * np.vdot(z, z)
    )
    norm_x, norm_s, norm_t, norm_z = (np.linalg.norm(v) for v in (x, s, t, z))
    # The norm of K is at most 2 n, which bounds the rounding error of its products.
    rounding = np.finfo(float).eps * 4.0 * len(x) * norm_x**2
    return value, missing_trace * norm_z * (norm_z + 2.0 * norm_s / c + 2.0 * norm_t) + rounding


def _refine(
    q: np.ndarray,
    r: np.ndarray,
    gamma: float,
    system: System,
    x: np.ndarray,
    missing_trace: float,
    accuracy: float,
) -> tuple[float, float, int]:
    """Return ckce, a bound of its error, and the number of products with the kernel matrix.

    x (n, k) is an approximate solution of (K + c I) x = r for the residuals r. Preconditioned
    conjugate gradients improve all columns of x together. They end when the bound is acceptable, or
    after MAX_PRODUCTS products.
    """
    c, products = system.c, 1
    direction, before = np.zeros_like(x), np.ones(x.shape[1])
    kx = kernel_product(q, gamma, x)
    s = r - kx - c * x
    value, error = _value_and_error(x, kx, s, system, missing_trace)
    while error > acceptable_error(value, r, c, accuracy) and products < MAX_PRODUCTS:
        z = system.solve(s)
        now = np.einsum("ij,ij->j", z, s)
        direction = z + now / before * direction
        k_direction = kernel_product(q, gamma, direction)
        m_direction = k_direction + c * direction
        curved = np.einsum("ij,ij->j", direction, m_direction)
        # A column whose residual is 0 stays as it is.
        step = np.divide(now, curved, out=np.zeros_like(now), where=curved > 0.0)
        x, kx, s = x + step * direction, kx + step * k_direction, s - step * m_direction
        before, products = np.where(now > 0.0, now, 1.0), products + 1
        value, error = _value_and_error(x, kx, s, system, missing_trace)
    return value, error, products


def _value_and_error(
    x: np.ndarray, kx: np.ndarray, s: np.ndarray, system: System, missing_trace: float
) -> tuple[float, float]:
    """Return ckce and a bound of its error from X, K X and the residual S = R - (K + c I) X."""
    px, size = system.solve(x), np.linalg.norm(x)
    # The norm of K is at most 2 n, which bounds the rounding error of its products.
    off = np.linalg.norm(s) + np.finfo(float).eps * 2.0 * len(x) * size
    value = np.vdot(x, kx) + 2.0 * np.vdot(x - system.c * px, s)
    return value, 2.0 * min(size, missing_trace * np.linalg.norm(px)) * off + off**2 / (
        4.0 * system.c
    )
