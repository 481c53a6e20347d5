"""Low-rank decompositions of the RBF matrix by pivoted Cholesky."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpstrf

from harness.errors import BadInputError
from harness.math.kernels import rbf

PIVOT_CANDIDATES = 64  # points of the largest residuals that are examined together
# A candidate becomes a pivot while its residual exceeds this share of the largest.
PIVOT_SHARE = 0.1
SPREAD_CANDIDATES = 512  # rows spread over all, from which the first pivots of vectors are taken
LATER_CANDIDATES = 256  # rows of the largest residuals, from which the later pivots are taken
# PIVOT_SHARE of these two: few passes over all rows, for a rank that is a few per cent larger.
FIRST_SHARE, LATER_SHARE = 1e-8, 0.01
# A decomposition is given up if a subset of rows misses this multiple of the tolerated trace.
HOPELESS = 10.0


@dataclass(frozen=True)
class LowRank:
    """Low-rank kernel K(x, x') = phi(x) . phi(x') + error from a pivoted Cholesky decomposition.

    phi(x) = L^-1 k(pivots, x), and `factor` (n, r) is phi of the decomposed points. `residual` is
    the trace of K - factor factor' relative to that of K. The error is positive semi-definite, so
    that its trace bounds its largest eigenvalue and all entries (|E_ij| <= sqrt(E_ii E_jj)).
    """

    pivots: np.ndarray
    triangle: np.ndarray
    factor: np.ndarray
    gamma: float
    residual: float

    def features(self, x: np.ndarray) -> np.ndarray:
        """Return phi(x), shape (m, r)."""
        return solve_triangular(self.triangle, rbf(self.pivots, x, self.gamma), lower=True).T


def pivoted_cholesky(
    x: np.ndarray,
    gamma: float,
    tolerance: float = 1e-14,
    max_rank: int = 2000,
    spread: bool = False,
) -> LowRank:
    """Return a low-rank decomposition of the RBF matrix of x, (n,) or (n, k).

    Pivots are added until the residual trace is at most `tolerance` of the trace n, or there are
    `max_rank` of them.

    With `spread` the first pivots of vectors are spread over all rows, which is faster for a rank a
    few per cent larger. It does not suit the smallest ridges, for which another choice of pivots
    changes the ninth digit.

    Notes
    -----
    The spectrum of a Gaussian kernel on [0, 1] decays faster than exponentially (about 15 pivots
    reach rounding). On the simplex the rank grows with the dimension that the predictions fill.
    Many pivots are taken at once among the points with the largest residuals, which turns the work
    into matrix products. O(n r^2) time, O(n r) memory. Harbrecht, Peters and Schneider (2012).
    """
    if not gamma > 0:
        raise BadInputError(f"gamma is {gamma}; a positive number is needed.")
    n = len(x)
    most = min(n, max_rank)
    factor, chosen = np.empty((n, min(most, PIVOT_CANDIDATES))), np.empty(0, dtype=np.int64)
    left = np.ones(n)

    step = _spread_pivots if spread and x.ndim > 1 else _pivots
    while len(chosen) < most and left.sum() > tolerance * n:
        r = len(chosen)
        picked, triangle, columns = step(x, gamma, factor[:, :r], chosen, left, most)
        if not len(picked):
            break
        new = solve_triangular(triangle, columns.T, lower=True, check_finite=False).T
        if r + len(picked) > factor.shape[1]:
            factor = np.column_stack(
                [factor[:, :r], np.empty((n, min(most, 2 * (r + len(picked))) - r))]
            )
        factor[:, r : r + len(picked)] = new
        chosen = np.concatenate([chosen, picked])
        left -= (new * new).sum(axis=1)
        left[chosen] = 0.0
        np.maximum(left, 0.0, out=left)
    factor = factor[:, : len(chosen)]
    return LowRank(x[chosen], np.tril(factor[chosen]), factor, gamma, float(left.sum() / n))


def complete_cholesky(
    x: np.ndarray, gamma: float, tolerance: float, max_rank: int
) -> LowRank | None:
    """Return a decomposition that leaves out at most `tolerance` of the trace.

    None if `max_rank` pivots do not suffice. For vectors a subset of rows usually shows that early.
    """
    if x.ndim > 1 and _hopeless(x, gamma, tolerance, min(len(x), max_rank)):
        return None
    low = pivoted_cholesky(x, gamma, tolerance, max_rank, spread=True)
    return low if low.residual <= tolerance else None


def _pivots(
    x: np.ndarray, gamma: float, factor: np.ndarray, chosen: np.ndarray, left: np.ndarray, most: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Take pivots from the rows of the largest residuals.

    Returns the pivots, the triangle of their residuals, and residual columns (n, pivots).
    """
    n = len(x)
    candidates = np.argpartition(left, n - min(n, PIVOT_CANDIDATES))[-PIVOT_CANDIDATES:]
    columns = rbf(x, x[candidates], gamma)
    columns -= factor @ factor[candidates].T
    block, allowed = columns[candidates], min(most - len(chosen), PIVOT_CANDIDATES)
    # With scalars the smallest ridges amplify rounding to the sixth digit; the order of summation
    # in `_best` is therefore part of the result.
    if x.ndim == 1:
        picked, triangle = _best(block, allowed)
    else:
        picked, triangle = _best_by_lapack(block, allowed, PIVOT_SHARE)
    return candidates[picked], triangle, columns[:, picked]


def _spread_pivots(
    x: np.ndarray, gamma: float, factor: np.ndarray, chosen: np.ndarray, left: np.ndarray, most: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Take pivots like `_pivots`, from candidates that are first compared with each other.

    Only accepted candidates are compared with all rows. The first ones are spread over all rows and
    are at most three quarters of all, because the rows that they miss need the rest.
    """
    n, r = len(x), len(chosen)
    if r:
        size, share, allowed = min(n, LATER_CANDIDATES), LATER_SHARE, most - r
        candidates = np.argpartition(left, n - size)[n - size :]
    else:
        size, share = min(n, SPREAD_CANDIDATES), FIRST_SHARE
        allowed = most if most == n else -(-3 * most // 4)
        candidates = np.linspace(0, n - 1, size).astype(np.int64)
    block = rbf(x[candidates], x[candidates], gamma)
    block -= factor[candidates] @ factor[candidates].T
    picked, triangle = _best_of_many(block, allowed, share)
    pivots = candidates[picked]
    columns = rbf(x, x[pivots], gamma)
    columns -= factor @ factor[pivots].T
    return pivots, triangle, columns


def _hopeless(x: np.ndarray, gamma: float, tolerance: float, most: int) -> bool:
    """Return True if 2 `most` rows, spread over all, need more than `most` pivots.

    SKCE at n = 10,000 and 10 classes takes 0.7 s with this check and 1.7 s without.
    """
    subset = x[np.linspace(0, len(x) - 1, min(len(x), 2 * most)).astype(np.int64)]
    rows, _ = _picked(rbf(subset, subset, gamma), most, 0.0, np.finfo(float).eps)
    return len(subset) - np.vdot(rows, rows) > HOPELESS * tolerance * len(subset)


def _best(block: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Return pivots of a small positive semi-definite matrix, and their Cholesky triangle."""
    block = block.copy()
    diagonal = block.diagonal().copy()
    least = max(PIVOT_SHARE * diagonal.max(), np.finfo(float).eps)
    rows: list[int] = []
    columns: list[np.ndarray] = []
    while len(rows) < most:
        j = int(diagonal.argmax())
        if diagonal[j] < least:
            break
        column = block[:, j].copy()
        for previous in columns:
            column -= previous * previous[j]
        column /= np.sqrt(diagonal[j])
        rows.append(j)
        columns.append(column)
        diagonal -= column * column
        diagonal[j] = -np.inf
    picked = np.array(rows, dtype=np.int64)
    return picked, np.tril(np.array(columns).T[picked]) if columns else np.empty((0, 0))


def _best_by_lapack(block: np.ndarray, most: int, share: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the result of `_best` up to rounding, for any share of the largest residual.

    It takes a tenth of the time if many pivots are taken.
    """
    largest = block.diagonal().max()
    if largest < np.finfo(float).eps:  # LAPACK accepts the first pivot without a check
        return np.empty(0, dtype=np.int64), np.empty((0, 0))
    lower, order, rank, _ = dpstrf(block, tol=max(share * largest, np.finfo(float).eps), lower=1)
    picked = order[: min(rank, most)].astype(np.int64) - 1
    return picked, np.tril(lower[: len(picked), : len(picked)])


def _best_of_many(block: np.ndarray, most: int, share: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the result of `_best_by_lapack`, compiled if only few candidates may be taken.

    LAPACK cannot stop early.
    """
    if 2 * most >= len(block):
        return _best_by_lapack(block, most, share)
    rows, picked = _picked(block, most, share, np.finfo(float).eps)
    return picked, np.tril(rows[:, picked].T)


@njit(cache=True)
def _picked(
    block: np.ndarray, most: int, share: float, eps: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return rows (r, m) of the Cholesky factor of a semi-definite block, and pivots (r,)."""
    m = len(block)
    most = min(most, m)
    residual = np.empty(m)
    for i in range(m):
        residual[i] = block[i, i]
    rows, picked = np.empty((most, m)), np.empty(most, dtype=np.int64)
    least, r = max(share * residual.max(), eps), 0
    while r < most:
        j = residual.argmax()
        if not residual[j] >= least:
            break
        row = rows[r]
        row[:] = block[j]
        for a in range(r):
            row -= rows[a, j] * rows[a]
        row /= np.sqrt(residual[j])
        residual -= row * row
        residual[j] = -np.inf
        picked[r] = j
        r += 1
    return rows[:r], picked[:r]
