"""Kernels on [0, 1] and on the simplex: sums of Dirichlet kernels in logarithms, and the RBF kernel: low rank, products, width.

Nothing here holds an n x n matrix: Dirichlet sums go by blocks of rows, the RBF matrix is never formed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np
from numba import njit
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpstrf

from harness.errors import BadInputError
from harness.math import beta_sums, near_pairs
from harness.math.near_pairs import log_normaliser

BLOCK_ENTRIES = 1 << 17  # kernel entries held at a time: 1 MB stays in the cache
LOG_NEGLIGIBLE = (
    -700.0
)  # a smaller exponential is negligible beside 1, and denormal numbers take ten times as long
SAFE_RANGE = 600.0  # exponents this far apart need not be scaled by row
PREDICTION_FLOOR = 1e-7  # popordanoska2024 clips predictions here; log 0 has no kernel
FEW_COLUMNS = 4  # up to so many columns, a product of matrices per bandwidth is cheaper than one shared by all of them
PIVOT_CANDIDATES = 64  # points of the largest residuals that are looked at together
PIVOT_SHARE = 0.1  # a candidate pivot is taken while its residual exceeds this share of the largest
SPREAD_CANDIDATES = 512  # rows spread over all, among which the first pivots of vectors are found
LATER_CANDIDATES = 256  # rows of the largest residuals, among which the others are
HOPELESS = 10.0  # times the tolerated trace: what is left out of some rows, for a decomposition of all to be given up
FIRST_SHARE, LATER_SHARE = (
    1e-8,
    0.01,
)  # PIVOT_SHARE of these: few passes over all rows, for a rank a few per cent larger
TILE_ROWS = 256  # rows and columns of the RBF matrix held at a time: half a megabyte
SHARP_GAMMA = (
    1e5  # from this gamma on, ||x||^2 + ||z||^2 - 2 x.z is too inexact for squared distances
)
UNDERFLOW_GAMMA = 0.5 * -LOG_NEGLIGIBLE  # squared distances of predictions are at most 2
MEDIAN_RULES = (
    "median",
    "median_with_diagonal",
    "median_of_positive",
    "sqrt_half_median_squared",
    "median_squared",
)
ALL_PAIRS_UP_TO = 2000  # rows of which all pairs count for the median distance
SUBSAMPLE_ROWS = 1000  # rows taken of more
LEAST_OF_SCALARS = (
    1e-5  # a median distance below it is taken from the vectors (1 - p, p) as they were rounded
)
MEDIAN_SAMPLE = 4000  # values of which quantiles tell where the median is


def two_columns(p: np.ndarray) -> np.ndarray:
    """(n,) -> (n, 2), the vectors (1 - p, p); vectors stay as they are."""
    return np.column_stack([1.0 - p, p]) if p.ndim == 1 else p


def dirichlet_sums(
    points: np.ndarray,
    centres: np.ndarray,
    hits: np.ndarray,
    bandwidths: Sequence[float],
    leave_out: np.ndarray | None = None,
    nothing: float = LOG_NEGLIGIBLE,
    pruned: bool = True,
) -> tuple[np.ndarray, np.ndarray]:
    """Kernel regression and density for several bandwidths b at once.

    k_b(z; t) is the density at z of Dir(t / b + 1): log k_b = sum_j (t_j / b) log z_j + log Gamma(sum_j (t_j / b + 1))
    - sum_j log Gamma(t_j / b + 1) (popordanoska2024, eq. 12; for two columns the Beta kernel).

    points: (m, k) positive; centres: (n, k); hits: (n, c). leave_out: (m,), the centre that each point leaves out, None for none.
    Returns (ratios, log_density): ratios (b, m, c) = sum_j k(z; t_j) hits_j / sum_j k(z; t_j), log_density (b, m) = log of the
    mean kernel. The matrix log(Z) T' is shared by all bandwidths, the largest exponent of a row is taken out before exp; a share
    below exp(nothing) of it is 0. O(m n (k + c)) per bandwidth, blocked.

    pruned: leave out what is below rounding (ratios keep 1e-10 of 1, and not of themselves where they are nearly 0): two columns
    of many points go by `beta_sums` in nearly linear time, and small bandwidths see only centres that are near."""
    if not pruned or not np.isfinite(nothing):
        return all_pairs(points, centres, hits, bandwidths, leave_out, nothing)
    ratios, density = (
        np.empty((len(bandwidths), len(points), hits.shape[1])),
        np.empty((len(bandwidths), len(points))),
    )
    linear = beta_sums.applies(points, centres, hits, bandwidths)
    others = []
    for i, b in enumerate(bandwidths):
        if linear and beta_sums.cheaper(len(points), len(centres), b):
            ratios[i], density[i] = beta_sums.regressions(points, centres, hits, b, leave_out)
        else:
            others.append(i)
    if others:
        some = [bandwidths[i] for i in others]
        ratios[others], density[others] = near_pairs.sums(
            points, centres, hits, some, leave_out, all_pairs
        )
    return ratios, density


def all_pairs(
    points: np.ndarray,
    centres: np.ndarray,
    hits: np.ndarray,
    bandwidths: Sequence[float],
    leave_out: np.ndarray | None = None,
    nothing: float = LOG_NEGLIGIBLE,
    constants: Sequence[np.ndarray] | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """`dirichlet_sums` over all pairs. constants: `log_normaliser` of every bandwidth."""
    m, n = len(points), len(centres)
    constants = [log_normaliser(centres, b) for b in bandwidths] if constants is None else constants
    if (
        hits.shape[1] > FEW_COLUMNS
        and ((hits == 0.0) | (hits == 1.0)).all()
        and (hits.sum(axis=1) == 1.0).all()
    ):
        # one class each: with the centres sorted by class, sums over runs of columns are cheaper than a product
        label = hits.argmax(axis=1)
        order = np.argsort(label, kind="stable")
        of_classes = np.unique(label[order], return_index=True)
        centres, constants = centres[order], [one[order] for one in constants]
        leave_out = None if leave_out is None else np.argsort(order)[leave_out]
    else:
        of_classes = None
    logs = np.column_stack([np.log(points), np.ones(m)])
    highest = [one.max() for one in constants]
    lowest = (
        logs[:, :-1].min() * centres.sum(axis=1).max()
    )  # of all products: above highest - SAFE_RANGE nothing underflows
    safe = [
        one.min() + lowest / b > top - SAFE_RANGE
        for one, top, b in zip(constants, highest, bandwidths)
    ]
    ratios, density = np.zeros((len(bandwidths), m, hits.shape[1])), np.empty((len(bandwidths), m))
    weights = np.column_stack([np.ones(n), hits])
    others = n - (leave_out is not None)
    step = max(1, BLOCK_ENTRIES // n)
    kernel = np.empty((step, n))
    shared = (
        len(bandwidths) > 1 and centres.shape[1] > FEW_COLUMNS
    )  # else the constant goes through the product, too
    shifts = [top if ok else 0.0 for top, ok in zip(highest, safe)]
    at_once = (
        []
        if shared
        else [
            np.ascontiguousarray(np.column_stack([centres / b, c - top]).T)
            for b, c, top in zip(bandwidths, constants, shifts)
        ]
    )
    for start in range(0, m, step):
        rows = slice(start, min(start + step, m))
        block = kernel[: rows.stop - start]
        if shared:
            products = logs[rows, :-1] @ centres.T
        for i, (b, constant) in enumerate(zip(bandwidths, constants)):
            if shared:
                np.multiply(products, 1.0 / b, out=block)
                block += constant - shifts[i]
            else:
                np.matmul(logs[rows], at_once[i], out=block)
            own = None if leave_out is None else (np.arange(len(block)), leave_out[rows])
            if safe[i]:
                largest = shifts[i]
                np.exp(block, out=block)
                if own is not None:
                    block[own] = 0.0
            else:
                if own is not None:
                    block[own] = -np.inf
                largest = block.max(axis=1)
                block -= largest[:, None]
                np.maximum(block, nothing, out=block)
                np.exp(block, out=block)
            if of_classes is None:
                sums = block @ weights
                total, of_hits = sums[:, :1], sums[:, 1:]
            else:
                present, starts = of_classes
                of_hits = np.zeros((len(block), hits.shape[1]))
                of_hits[:, present] = np.add.reduceat(block, starts, axis=1)
                total = of_hits.sum(axis=1, keepdims=True)
            of_hits[of_hits <= n * np.exp(nothing)] = 0.0
            density[i, rows] = np.log(total[:, 0]) + largest - np.log(others)
            ratios[i, rows] = of_hits / total
    return ratios, density


@dataclass(frozen=True)
class LowRank:
    """K(x, x') = phi(x) . phi(x') + error, phi(x) = L^-1 k(pivots, x), from a pivoted Cholesky decomposition.

    factor: (n, r), phi of the points decomposed. `residual` is the trace of K - factor factor', relative to that of K: the error
    is positive semi-definite, so that it bounds its largest eigenvalue and all entries (|E_ij| <= sqrt(E_ii E_jj))."""

    pivots: np.ndarray
    triangle: np.ndarray
    factor: np.ndarray
    gamma: float
    residual: float

    def features(self, x: np.ndarray) -> np.ndarray:
        """phi(x), shape (m, r)."""
        return solve_triangular(self.triangle, rbf(self.pivots, x, self.gamma), lower=True).T


def rbf(x: np.ndarray, z: np.ndarray, gamma: float) -> np.ndarray:
    """exp(-gamma ||x - z||^2), shape (len(x), len(z)). x, z: (n, k) or (n,)."""
    if x.ndim == 1:
        distance = (x[:, None] - z) ** 2
    elif gamma >= SHARP_GAMMA:
        from scipy.spatial.distance import cdist  # slow to import

        distance = cdist(x, z, "sqeuclidean")
    else:
        distance = (x * x).sum(axis=1)[:, None] + (z * z).sum(axis=1) - 2.0 * (x @ z.T)
        np.maximum(distance, 0.0, out=distance)
    distance *= -gamma
    return _exp(distance, gamma)


def _exp(exponents: np.ndarray, gamma: float) -> np.ndarray:
    """exp in place. What would underflow, where gamma is so large that it may, is exp(-700): it takes five times as long."""
    if gamma > UNDERFLOW_GAMMA:
        np.maximum(exponents, LOG_NEGLIGIBLE, out=exponents)
    return np.exp(exponents, out=exponents)


def rbf_times(x: np.ndarray, gamma: float, v: np.ndarray) -> np.ndarray:
    """G v, G_ij = exp(-gamma ||x_i - x_j||^2), for x (n, k) and v (n, d): shape (n, d). Tiles on and above the diagonal are made
    and used for both their sides. O(n^2 (k + 2 d) / 2)."""
    found = np.zeros_like(v)
    for rows, columns, tile in _upper_tiles(x, gamma):
        found[rows] += tile @ v[columns]
        if columns != rows:
            found[columns] += tile.T @ v[rows]
    return found


def rbf_form(x: np.ndarray, gamma: float, v: np.ndarray) -> float:
    """tr(v' G v) for the G of `rbf_times`, from the tiles on and above the diagonal. O(n^2 (k + d) / 2)."""
    return sum(
        (1.0 + (columns != rows)) * np.vdot(v[rows], tile @ v[columns])
        for rows, columns, tile in _upper_tiles(x, gamma)
    )


def _upper_tiles(x: np.ndarray, gamma: float) -> Iterator[tuple[slice, slice, np.ndarray]]:
    """(rows, columns, tile of G) on and above the diagonal; a tile lives until the next one is asked for."""
    squares = -gamma * (x * x).sum(axis=1)
    ones = np.ones(len(x))
    left, right = (
        np.column_stack([2.0 * gamma * x, squares, ones]),
        np.column_stack([x, ones, squares]).T.copy(),
    )
    room = np.empty(TILE_ROWS * TILE_ROWS)  # one for all tiles: to allocate is as dear as exp
    for start in range(0, len(x), TILE_ROWS):
        rows = slice(start, start + TILE_ROWS)
        for other in range(start, len(x), TILE_ROWS):
            columns = slice(other, other + TILE_ROWS)
            if gamma >= SHARP_GAMMA:
                tile = rbf(x[rows], x[columns], gamma)
            else:
                height, width = min(TILE_ROWS, len(x) - start), min(TILE_ROWS, len(x) - other)
                tile = np.matmul(
                    left[rows], right[:, columns], out=room[: height * width].reshape(height, width)
                )
                np.minimum(tile, 0.0, out=tile)
                _exp(tile, gamma)
            yield rows, columns, tile


def median_distance(p: np.ndarray, rule: str = "median") -> float:
    """The bandwidth gamma of exp(-||p - p'||^2 / (2 gamma^2)) by the median heuristic on the distances d_ij = ||p_i - p_j||.

    Parameters
    ----------
    p : ndarray of shape (n,) or (n, k)
        Predictions; (n,) counts as two columns.
    rule : str
        "median": of d_ij over i < j. "median_with_diagonal": over all i and j, i = j included. "median_of_positive": over the
        d_ij > 0. "median_squared": of d_ij^2. "sqrt_half_median_squared": sqrt(median of d_ij^2 / 2).

    Returns
    -------
    float
        1 where the rule gives less than 1e-12, or there is no pair.

    Notes
    -----
    Differences are taken directly: from ||p||^2 + ||p'||^2 - 2 p.p' equal predictions would be 1e-8 apart. Of more than 2,000
    rows, 1,000 are taken, evenly spaced in order of ||p||, so that the order in which they came does not matter. O(n^2 k).

    Examples
    --------
    >>> round(median_distance(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])), 4)
    1.4142
    """
    from scipy.spatial.distance import pdist  # slow to import

    if rule not in MEDIAN_RULES:
        raise BadInputError(
            f"gamma is {rule!r}; allowed are a positive number and the rules {', '.join(MEDIAN_RULES)}."
        )
    p = two_columns(p)
    if len(p) > ALL_PAIRS_UP_TO:
        order = np.lexsort(
            (p @ np.arange(p.shape[1]), np.einsum("ij,ij->i", p, p))
        )  # the product parts rows of equal length
        p = p[order[np.linspace(0, len(p) - 1, SUBSAMPLE_ROWS).astype(int)]]
    if rule == "median" and p.shape[1] == 2 and len(p) > 1 and (p[:, 0] == 1.0 - p[:, 1]).all():
        found = np.sqrt(2.0) * _median_difference(np.sort(p[:, 1]))
        if found >= LEAST_OF_SCALARS:
            return float(found)
    distance = pdist(p)
    if rule == "median_with_diagonal":
        distance = np.concatenate([distance, distance, np.zeros(len(p))])
    elif rule == "median_of_positive":
        distance = distance[distance > 0.0]
    if not len(distance):
        return 1.0
    # the median of squares is no square of the median: of an even number the two middle ones are averaged
    found = _median(
        distance**2 if rule in ("sqrt_half_median_squared", "median_squared") else distance
    )
    found = np.sqrt(found / 2.0) if rule == "sqrt_half_median_squared" else found
    return float(found) if found >= 1e-12 else 1.0


@njit(cache=True)
def _close_pairs(v: np.ndarray, t: float) -> int:
    """How many pairs of the sorted v are at most t apart."""
    count, i = 0, 0
    for j in range(len(v)):
        while v[j] - v[i] > t:
            i += 1
        count += j - i
    return count


@njit(cache=True)
def _median_difference(v: np.ndarray) -> float:
    """The median of v_j - v_i, i < j, of the sorted v (n,): bisection for an interval (low, high] that holds the middle and O(n)
    differences, which alone are ordered."""
    n = len(v)
    pairs = n * (n - 1) // 2
    first, second = (pairs - 1) // 2, pairs // 2
    equal = _close_pairs(v, 0.0)
    if equal > second:
        return 0.0
    if (
        equal > first
    ):  # of the two in the middle one is 0, and the other the least difference that is not
        steps = np.diff(v)
        return 0.5 * steps[steps > 0.0].min()
    low, high, below, within = 0.0, v[n - 1] - v[0], equal, pairs
    while within - below > 4 * n:
        t = 0.5 * (low + high)
        if not low < t < high:
            break
        count = _close_pairs(v, t)
        if count <= first:
            low, below = t, count
        elif count > second:
            high, within = t, count
        else:
            break
    found, taken = np.empty(within - below), 0
    start, stop = 0, 0  # rows i < start are more than high away, those from stop on at most low
    for j in range(n):
        while v[j] - v[start] > high:
            start += 1
        while stop < j and v[j] - v[stop] > low:
            stop += 1
        for i in range(start, stop):
            found[taken] = v[j] - v[i]
            taken += 1
    found.sort()
    return 0.5 * (found[first - below] + found[second - below])


def _median(values: np.ndarray) -> float:
    """np.median of values without NaN: only those between two quantiles of a sample are ordered."""
    n = len(values)
    if n < MEDIAN_SAMPLE * 8:
        return np.median(values)
    sample = np.sort(values[:: n // MEDIAN_SAMPLE])
    low, high = sample[int(0.47 * len(sample))], sample[int(0.53 * len(sample))]
    between = values[(values >= low) & (values <= high)]
    below = np.count_nonzero(values < low)
    first, second = (n - 1) // 2 - below, n // 2 - below
    if first < 0 or second >= len(between):
        return np.median(values)
    between.partition([first, second])
    return 0.5 * (between[first] + between[second])


@overload
def pivoted_cholesky(
    x: np.ndarray, gamma: float, tolerance: float = ..., max_rank: int = ..., spread: bool = ...
) -> LowRank: ...


@overload
def pivoted_cholesky(
    x: np.ndarray, gamma: float, tolerance: float, max_rank: int, spread: bool, complete: bool
) -> LowRank | None: ...


def pivoted_cholesky(
    x: np.ndarray,
    gamma: float,
    tolerance: float = 1e-14,
    max_rank: int = 2000,
    spread: bool = False,
    complete: bool = False,
) -> LowRank | None:
    """Low-rank decomposition of the RBF matrix of x, (n,) or (n, k): pivots are added until the residual trace is at most
    `tolerance` of the trace n, or `max_rank` are there.

    The spectrum of a Gaussian kernel on [0, 1] dies faster than exponentially (about 15 pivots reach rounding); on the simplex
    the rank grows with the dimension that the predictions fill. Pivots are taken many at a time among the points with
    the largest residuals, which makes the work matrix products. O(n r^2) time, O(n r) memory. Harbrecht, Peters and
    Schneider (2012).

    spread: the first pivots of vectors are spread over all rows, which is sooner done for a rank a few per cent larger. Not for
    the smallest ridges, which turn another choice of pivots into the ninth digit.

    complete: None where `max_rank` pivots among some rows of vectors leave out more than `tolerance` of the trace of these rows,
    so that they would of all.
    """
    if not gamma > 0:
        raise BadInputError(f"gamma is {gamma}; a positive number is needed.")
    n = len(x)
    most = min(n, max_rank)
    factor, chosen = np.empty((n, min(most, PIVOT_CANDIDATES))), np.empty(0, dtype=np.int64)
    left = np.ones(n)
    if complete and x.ndim > 1 and _hopeless(x, gamma, tolerance, most):
        return None
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


def _pivots(
    x: np.ndarray, gamma: float, factor: np.ndarray, chosen: np.ndarray, left: np.ndarray, most: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(pivots, triangle of their residuals, residual columns (n, pivots)), from the rows of the largest residuals."""
    n = len(x)
    candidates = np.argpartition(left, n - min(n, PIVOT_CANDIDATES))[-PIVOT_CANDIDATES:]
    columns = rbf(x, x[candidates], gamma)
    columns -= factor @ factor[candidates].T
    block, allowed = columns[candidates], min(most - len(chosen), PIVOT_CANDIDATES)
    # of scalars the smallest ridges turn another rounding into the sixth digit: they keep the order of their sums
    picked, triangle = (
        _best(block, allowed) if x.ndim == 1 else _best_by_lapack(block, allowed, PIVOT_SHARE)
    )
    return candidates[picked], triangle, columns[:, picked]


def _spread_pivots(
    x: np.ndarray, gamma: float, factor: np.ndarray, chosen: np.ndarray, left: np.ndarray, most: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """As `_pivots`. Candidates are compared with each other first; only those taken meet all rows. The first ones are
    spread over all rows and at most three quarters of all, as the rows that they miss need the rest."""
    n, r = len(x), len(chosen)
    if r:
        size, share, allowed = min(n, LATER_CANDIDATES), LATER_SHARE, most - r
        candidates = np.argpartition(left, n - size)[n - size :]
    else:
        size, share, allowed = (
            min(n, SPREAD_CANDIDATES),
            FIRST_SHARE,
            most if most == n else -(-3 * most // 4),
        )
        candidates = np.linspace(0, n - 1, size).astype(np.int64)
    block = rbf(x[candidates], x[candidates], gamma)
    block -= factor[candidates] @ factor[candidates].T
    picked, triangle = _best_of_many(block, allowed, share)
    pivots = candidates[picked]
    columns = rbf(x, x[pivots], gamma)
    columns -= factor @ factor[pivots].T
    return pivots, triangle, columns


def _hopeless(x: np.ndarray, gamma: float, tolerance: float, most: int) -> bool:
    """Whether twice as many rows as there may be pivots, spread over all, need more pivots than that."""
    some = x[np.linspace(0, len(x) - 1, min(len(x), 2 * most)).astype(np.int64)]
    rows, _ = _picked(rbf(some, some, gamma), most, 0.0, np.finfo(float).eps)
    return len(some) - np.vdot(rows, rows) > HOPELESS * tolerance * len(some)


def _best(block: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Pivots of a small positive semi-definite matrix, while worth it, and the triangle of their Cholesky decomposition."""
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
    """`_best` up to rounding and for another PIVOT_SHARE, in a tenth of the time where many pivots are taken."""
    largest = block.diagonal().max()
    if largest < np.finfo(float).eps:  # LAPACK takes the first pivot unseen
        return np.empty(0, dtype=np.int64), np.empty((0, 0))
    lower, order, rank, _ = dpstrf(block, tol=max(share * largest, np.finfo(float).eps), lower=1)
    picked = order[: min(rank, most)].astype(np.int64) - 1
    return picked, np.tril(lower[: len(picked), : len(picked)])


def _best_of_many(block: np.ndarray, most: int, share: float) -> tuple[np.ndarray, np.ndarray]:
    """`_best_by_lapack`, compiled where few of the candidates may be taken: LAPACK cannot stop early."""
    if 2 * most >= len(block):
        return _best_by_lapack(block, most, share)
    rows, picked = _picked(block, most, share, np.finfo(float).eps)
    return picked, np.tril(rows[:, picked].T)


@njit(cache=True)
def _picked(
    block: np.ndarray, most: int, share: float, eps: float
) -> tuple[np.ndarray, np.ndarray]:
    """(rows (r, m) of the Cholesky factor, pivots (r,)) of a positive semi-definite block (m, m)."""
    m = len(block)
    most = min(most, m)
    left = np.empty(m)
    for i in range(m):
        left[i] = block[i, i]
    rows, picked = np.empty((most, m)), np.empty(most, dtype=np.int64)
    least, r = max(share * left.max(), eps), 0
    while r < most:
        j = left.argmax()
        if not left[j] >= least:
            break
        row = rows[r]
        row[:] = block[j]
        for a in range(r):
            row -= rows[a, j] * rows[a]
        row /= np.sqrt(left[j])
        left -= row * row
        left[j] = -np.inf
        picked[r] = j
        r += 1
    return rows[:r], picked[:r]
