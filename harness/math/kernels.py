"""Kernels on [0, 1] and on the simplex.

Sums of Dirichlet kernels in logarithms, and products and bandwidth of the RBF kernel. No n x n
matrix is held: Dirichlet sums go by blocks of rows, RBF products by tiles. `low_rank` approximates
the RBF matrix.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from scipy.spatial.distance import cdist, pdist

from harness.errors import BadInputError
from harness.math import beta_sums, near_pairs
from harness.math.near_pairs import log_normaliser

BLOCK_ENTRIES = 1 << 17  # kernel entries held at a time: 1 MB fits into the cache
LOG_NEGLIGIBLE = near_pairs.LOG_NEGLIGIBLE
SAFE_RANGE = near_pairs.SAFE_RANGE
PREDICTION_FLOOR = 1e-7  # popordanoska2024 clips predictions here; log 0 has no kernel
FEW_COLUMNS = 4  # up to so many columns, one matrix product per bandwidth beats a shared one
TILE_ROWS = 256  # rows and columns of the RBF matrix held at a time: half a megabyte
SHARP_GAMMA = 1e5  # from here on ||x||^2 + ||z||^2 - 2 x.z is too inexact for squared distances
UNDERFLOW_GAMMA = 0.5 * -LOG_NEGLIGIBLE  # squared distances of predictions are at most 2
MEDIAN_RULES = (
    "median",
    "median_with_diagonal",
    "median_of_positive",
    "sqrt_half_median_squared",
    "median_squared",
)
ALL_PAIRS_UP_TO = 2000  # up to so many rows, the median distance is taken over all pairs
SUBSAMPLE_ROWS = 1000  # rows that are used if there are more


def two_columns(p: np.ndarray) -> np.ndarray:
    """Return (n,) as the vectors (1 - p, p), shape (n, 2); vectors are returned unchanged."""
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
    """Return kernel regression and density for several bandwidths b at once.

    k_b(z; t) is the density at z of Dir(t / b + 1) (popordanoska2024, eq. 12; for two columns the
    Beta kernel):

        log k_b = sum_j (t_j / b) log z_j + log Gamma(sum_j (t_j / b + 1))
                  - sum_j log Gamma(t_j / b + 1)

    Parameters
    ----------
    points : ndarray of shape (m, k)
        Positive.
    centres : ndarray of shape (n, k)
    hits : ndarray of shape (n, c)
    bandwidths : list of float
    leave_out : ndarray of shape (m,), optional
        The centre that each point leaves out.
    nothing : float
        Terms below exp(nothing) of the largest of a row are set to 0.
    pruned : bool
        Leave out terms below rounding: ratios are accurate to 1e-10 of 1 (not of themselves if they
        are nearly 0). Many points of two columns use `beta_sums` in nearly linear time, and small
        bandwidths see only near centres.

    Returns
    -------
    ratios : ndarray of shape (b, m, c)
        sum_j k(z; t_j) hits_j / sum_j k(z; t_j).
    log_density : ndarray of shape (b, m)
        Logarithm of the mean kernel.

    Notes
    -----
    The matrix log(Z) T' is shared by all bandwidths, and the largest exponent of a row is
    subtracted before exp. O(m n (k + c)) per bandwidth, blocked.
    """
    if not pruned or not np.isfinite(nothing):
        return all_pairs(points, centres, hits, bandwidths, leave_out, nothing)
    ratios = np.empty((len(bandwidths), len(points), hits.shape[1]))
    density = np.empty((len(bandwidths), len(points)))
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
    """Return `dirichlet_sums` over all pairs; constants: `log_normaliser` of every bandwidth."""
    m, n = len(points), len(centres)
    constants = [log_normaliser(centres, b) for b in bandwidths] if constants is None else constants
    label = near_pairs.labels(hits) if hits.shape[1] > FEW_COLUMNS else None
    class_runs = None
    if label is not None:
        # With the centres sorted by class, sums over runs of columns are cheaper than a product.
        order = np.argsort(label, kind="stable")
        class_runs = np.unique(label[order], return_index=True)
        centres, constants = centres[order], [constant[order] for constant in constants]
        leave_out = None if leave_out is None else np.argsort(order)[leave_out]
    logs = np.column_stack([np.log(points), np.ones(m)])
    highest = [constant.max() for constant in constants]
    # Lower bound of all products: nothing underflows while it exceeds highest - SAFE_RANGE.
    lowest = logs[:, :-1].min() * centres.sum(axis=1).max()
    safe = [
        constant.min() + lowest / b > top - SAFE_RANGE
        for constant, top, b in zip(constants, highest, bandwidths)
    ]
    ratios, density = np.zeros((len(bandwidths), m, hits.shape[1])), np.empty((len(bandwidths), m))
    weights = np.column_stack([np.ones(n), hits])
    others = n - (leave_out is not None)
    step = max(1, BLOCK_ENTRIES // n)
    kernel = np.empty((step, n))
    # With few columns the constant is a further column of one product per bandwidth.
    shared = len(bandwidths) > 1 and centres.shape[1] > FEW_COLUMNS
    shifts = [top if ok else 0.0 for top, ok in zip(highest, safe)]
    factors = [
        np.ascontiguousarray(np.column_stack([centres / b, c - top]).T)
        for b, c, top in zip(bandwidths, constants, shifts)
        if not shared
    ]
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
                np.matmul(logs[rows], factors[i], out=block)
            pair = None if leave_out is None else (np.arange(len(block)), leave_out[rows])
            if safe[i]:
                largest = shifts[i]
                np.exp(block, out=block)
                if pair is not None:
                    block[pair] = 0.0
            else:
                if pair is not None:
                    block[pair] = -np.inf
                largest = block.max(axis=1)
                block -= largest[:, None]
                np.maximum(block, nothing, out=block)
                np.exp(block, out=block)
            if class_runs is None:
                sums = block @ weights
                total, hit_sums = sums[:, :1], sums[:, 1:]
            else:
                present, starts = class_runs
                hit_sums = np.zeros((len(block), hits.shape[1]))
                hit_sums[:, present] = np.add.reduceat(block, starts, axis=1)
                total = hit_sums.sum(axis=1, keepdims=True)
            hit_sums[hit_sums <= n * np.exp(nothing)] = 0.0
            density[i, rows] = np.log(total[:, 0]) + largest - np.log(others)
            ratios[i, rows] = hit_sums / total
    return ratios, density


def rbf(x: np.ndarray, z: np.ndarray, gamma: float) -> np.ndarray:
    """Return exp(-gamma ||x - z||^2), shape (len(x), len(z)). x, z: (n, k) or (n,)."""
    if x.ndim == 1:
        distance = (x[:, None] - z) ** 2
    elif gamma >= SHARP_GAMMA:
        distance = cdist(x, z, "sqeuclidean")
    else:
        distance = (x * x).sum(axis=1)[:, None] + (z * z).sum(axis=1) - 2.0 * (x @ z.T)
        np.maximum(distance, 0.0, out=distance)
    distance *= -gamma
    return _exp(distance, gamma)


def _exp(exponents: np.ndarray, gamma: float) -> np.ndarray:
    """Exponentiate in place.

    If gamma is so large that terms may underflow, they become exp(-700): denormal numbers take five
    times as long.
    """
    if gamma > UNDERFLOW_GAMMA:
        np.maximum(exponents, LOG_NEGLIGIBLE, out=exponents)
    return np.exp(exponents, out=exponents)


def rbf_times(x: np.ndarray, gamma: float, v: np.ndarray) -> np.ndarray:
    """Return G v, shape (n, d), with G_ij = exp(-gamma ||x_i - x_j||^2), for x (n, k) and v (n, d).

    Tiles on and above the diagonal are computed and used on both sides. O(n^2 (k + 2 d) / 2).
    """
    product = np.zeros_like(v)
    for rows, columns, tile in _upper_tiles(x, gamma):
        product[rows] += tile @ v[columns]
        if columns != rows:
            product[columns] += tile.T @ v[rows]
    return product


def rbf_form(x: np.ndarray, gamma: float, v: np.ndarray) -> float:
    """Return tr(v' G v) for the G of `rbf_times`, from tiles on and above the diagonal.

    O(n^2 (k + d) / 2).
    """
    return sum(
        (1.0 + (columns != rows)) * np.vdot(v[rows], tile @ v[columns])
        for rows, columns, tile in _upper_tiles(x, gamma)
    )


def _upper_tiles(x: np.ndarray, gamma: float) -> Iterator[tuple[slice, slice, np.ndarray]]:
    """Yield (rows, columns, tile of G) on and above the diagonal.

    A tile is overwritten when the next one is requested.
    """
    squares = -gamma * (x * x).sum(axis=1)
    ones = np.ones(len(x))
    left = np.column_stack([2.0 * gamma * x, squares, ones])
    right = np.column_stack([x, ones, squares]).T.copy()
    buffer = np.empty(TILE_ROWS * TILE_ROWS)  # reused: allocation costs as much as exp
    for start in range(0, len(x), TILE_ROWS):
        rows = slice(start, start + TILE_ROWS)
        for other in range(start, len(x), TILE_ROWS):
            columns = slice(other, other + TILE_ROWS)
            if gamma >= SHARP_GAMMA:
                tile = rbf(x[rows], x[columns], gamma)
            else:
                height, width = min(TILE_ROWS, len(x) - start), min(TILE_ROWS, len(x) - other)
                tile = np.matmul(
                    left[rows],
                    right[:, columns],
                    out=buffer[: height * width].reshape(height, width),
                )
                np.minimum(tile, 0.0, out=tile)
                _exp(tile, gamma)
            yield rows, columns, tile


def median_distance(p: np.ndarray, rule: str = "median") -> float:
    """Return the bandwidth gamma of exp(-||p - p'||^2 / (2 gamma^2)) by the median heuristic.

    Parameters
    ----------
    p : ndarray of shape (n,) or (n, k)
        Predictions; (n,) counts as two columns.
    rule : str
        With d_ij = ||p_i - p_j||. "median": of d_ij over i < j. "median_with_diagonal": over all i
        and j, i = j included. "median_of_positive": over the d_ij > 0. "median_squared": of d_ij^2.
        "sqrt_half_median_squared": sqrt(median of d_ij^2 / 2).

    Returns
    -------
    float
        1 if the rule gives less than 1e-12, or there is no pair.

    Notes
    -----
    Differences are computed directly: from ||p||^2 + ||p'||^2 - 2 p.p' equal predictions would be
    1e-8 apart. Of more than 2,000 rows, 1,000 are used, evenly spaced in order of ||p||, so that
    the order of the rows does not matter. O(n^2 k).

    Examples
    --------
    >>> round(median_distance(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])), 4)
    1.4142
    """
    if rule not in MEDIAN_RULES:
        raise BadInputError(
            f"gamma is {rule!r}; allowed are a positive number and the rules "
            f"{', '.join(MEDIAN_RULES)}."
        )
    p = two_columns(p)
    if len(p) > ALL_PAIRS_UP_TO:
        # The product separates rows of equal length.
        order = np.lexsort((p @ np.arange(p.shape[1]), np.einsum("ij,ij->i", p, p)))
        p = p[order[np.linspace(0, len(p) - 1, SUBSAMPLE_ROWS).astype(int)]]
    distance = pdist(p)
    if rule == "median_with_diagonal":
        distance = np.concatenate([distance, distance, np.zeros(len(p))])
    elif rule == "median_of_positive":
        distance = distance[distance > 0.0]
    if not len(distance):
        return 1.0
    # The median of an even number is a mean, so that the median of squares is no square of it.
    if rule in ("sqrt_half_median_squared", "median_squared"):
        distance = distance**2
    gamma = float(np.median(distance))
    if rule == "sqrt_half_median_squared":
        gamma = float(np.sqrt(gamma / 2.0))
    return gamma if gamma >= 1e-12 else 1.0
