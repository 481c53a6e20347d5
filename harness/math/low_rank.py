"""Low-rank decompositions of the RBF matrix by pivoted Cholesky."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpstrf

from harness.errors import BadInputError
from harness.math.kernels import rbf

PIVOT_CANDIDATES = 64  # number of rows with the largest residuals that are examined together
# A candidate becomes a pivot if its residual exceeds this share of the largest residual.
PIVOT_SHARE = 0.1
# With `spread`, the first pivots come from this many evenly spaced rows.
SPREAD_CANDIDATES = 512
# With `spread`, later pivots come from this many rows with the largest residuals.
LATER_CANDIDATES = 256
# These shares replace PIVOT_SHARE for the first and the later pivots of `spread`. They save passes
# over all rows, for a rank that is a few per cent larger.
FIRST_SHARE, LATER_SHARE = 1e-8, 0.01
# `complete_cholesky` gives up if a subset of rows has this multiple of the tolerated residual.
HOPELESS = 10.0


@dataclass(frozen=True)
class LowRank:
    """Low-rank approximation K(x, x') = phi(x) . phi(x') of an RBF kernel.

    It comes from a pivoted Cholesky decomposition with r pivots, and phi(x) = L^-1 k(pivots, x).
    The error matrix E of the approximation is positive semi-definite. Its trace therefore bounds
    its largest eigenvalue, and |E_ij| <= sqrt(E_ii E_jj).

    Parameters
    ----------
    pivots : ndarray of shape (r,) or (r, k)
        The rows that were chosen as pivots.
    triangle : ndarray of shape (r, r)
        The lower triangle L.
    factor : ndarray of shape (n, r)
        phi of the n decomposed rows.
    gamma : float
        Inverse width of the kernel exp(-gamma ||x - x'||^2).
    residual : float
        Trace of the error on the decomposed rows, divided by the trace of K.
    """

    pivots: np.ndarray
    triangle: np.ndarray
    factor: np.ndarray
    gamma: float
    residual: float

    def features(self, x: np.ndarray) -> np.ndarray:
        """Return the features phi(x) of new rows x, shape (m, r)."""
        return solve_triangular(self.triangle, rbf(self.pivots, x, self.gamma), lower=True).T


def pivoted_cholesky(
    x: np.ndarray,
    gamma: float,
    tolerance: float = 1e-14,
    max_rank: int = 2000,
    spread: bool = False,
) -> LowRank:
    """Return a low-rank approximation of the RBF matrix of rows x, (n,) or (n, k).

    Parameters
    ----------
    x : ndarray of shape (n,) or (n, k)
        Scalars or vectors.
    gamma : float
        Inverse width of the kernel exp(-gamma ||x - x'||^2), positive.
    tolerance : float
        Pivots are added until the trace of the error is at most this share of the trace n.
    max_rank : int
        Largest number of pivots.
    spread : bool
        If True, take the first pivots of vectors from evenly spaced rows. This is faster, but the
        rank is a few per cent larger. Do not use it with the smallest ridges, because the choice of
        pivots then changes the ninth digit of the results.

    Notes
    -----
    The eigenvalues of a Gaussian kernel on [0, 1] decay faster than exponentially; about 15 pivots
    reach rounding. On the simplex the rank grows with the dimension that the predictions fill. Many
    pivots are taken at once from the rows with the largest residuals, so that the work consists of
    matrix products. With r pivots, the cost is O(n r^2) time and O(n r) memory.

    References
    ----------
    Harbrecht, Peters and Schneider (2012).
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
    """Return a low-rank approximation whose error is at most the share `tolerance` of the trace.

    Return None if `max_rank` pivots are too few. For vectors, a subset of the rows usually shows
    this early.
    """
    if x.ndim > 1 and _hopeless(x, gamma, tolerance, min(len(x), max_rank)):
        return None
    low = pivoted_cholesky(x, gamma, tolerance, max_rank, spread=True)
    return low if low.residual <= tolerance else None


def _pivots(
    x: np.ndarray, gamma: float, factor: np.ndarray, chosen: np.ndarray, left: np.ndarray, most: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Choose pivots among the rows with the largest residuals.

    `factor` (n, r) is the decomposition so far, `chosen` its pivots, `left` (n,) the residuals and
    `most` the largest number of pivots. Return the new pivots, the Cholesky triangle of their
    residuals, and their residual columns (n, pivots).
    """
    n = len(x)
    candidates = np.argpartition(left, n - min(n, PIVOT_CANDIDATES))[-PIVOT_CANDIDATES:]
    columns = rbf(x, x[candidates], gamma)
    columns -= factor @ factor[candidates].T
    block, allowed = columns[candidates], min(most - len(chosen), PIVOT_CANDIDATES)
    # With scalars, the smallest ridges amplify rounding errors to the sixth digit. The order of
    # summation in `_best` affects results, so it must not change.
    if x.ndim == 1:
        picked, triangle = _best(block, allowed)
    else:
        picked, triangle = _best_by_lapack(block, allowed, PIVOT_SHARE)
    return candidates[picked], triangle, columns[:, picked]


def _spread_pivots(
    x: np.ndarray, gamma: float, factor: np.ndarray, chosen: np.ndarray, left: np.ndarray, most: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Choose pivots like `_pivots`, but compare candidates with each other first.

    Only accepted candidates are then compared with all rows, which saves time. In the first call,
    the candidates are evenly spaced rows. It chooses at most three quarters of all pivots, so that
    some remain for rows that the evenly spaced pivots approximate badly.
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
    """Return True if `most` pivots are too few to approximate 2 * `most` evenly spaced rows.

    This early check saves time: the estimator SKCE at n = 10,000 and 10 classes takes 0.7 s with it
    and 1.7 s without it.
    """
    subset = x[np.linspace(0, len(x) - 1, min(len(x), 2 * most)).astype(np.int64)]
    rows, _ = _picked(rbf(subset, subset, gamma), most, 0.0, np.finfo(float).eps)
    return len(subset) - np.vdot(rows, rows) > HOPELESS * tolerance * len(subset)


def _best(block: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Return at most `most` pivots of a positive semi-definite matrix, and their Cholesky triangle.

    Pivots end where the largest residual falls below PIVOT_SHARE of its initial value.
    """
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
    """Return pivots and Cholesky triangle of `block`, computed by LAPACK.

    The result is that of `_best` up to rounding, with `share` in place of PIVOT_SHARE. With many
    pivots it takes a tenth of the time.
    """
    largest = block.diagonal().max()
    if largest < np.finfo(float).eps:  # LAPACK accepts the first pivot without a check
        return np.empty(0, dtype=np.int64), np.empty((0, 0))
    lower, order, rank, _ = dpstrf(block, tol=max(share * largest, np.finfo(float).eps), lower=1)
    picked = order[: min(rank, most)].astype(np.int64) - 1
    return picked, np.tril(lower[: len(picked), : len(picked)])


def _best_of_many(block: np.ndarray, most: int, share: float) -> tuple[np.ndarray, np.ndarray]:
    """Return pivots and Cholesky triangle of `block`, by LAPACK or by a compiled loop.

    The compiled loop is used if `most` is less than half of the candidates, because LAPACK cannot
    stop early.
    """
    if 2 * most >= len(block):
        return _best_by_lapack(block, most, share)
    rows, picked = _picked(block, most, share, np.finfo(float).eps)
    return picked, np.tril(rows[:, picked].T)


@njit(cache=True)
def _picked(
    block: np.ndarray, most: int, share: float, eps: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return r Cholesky rows (r, m) and pivots (r,) of a positive semi-definite matrix (m, m).

    Pivots end where the largest residual falls below `share` of its initial value, or below `eps`.
    """
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
