"""Sums and products of Dirichlet and RBF kernels on [0, 1] and on the probability simplex.

`dirichlet_sums` computes kernel regressions in logarithms. `rbf_times` and `rbf_form` multiply with
the RBF matrix, and `median_distance` chooses its bandwidth. No n x n matrix is held in memory:
Dirichlet sums go by blocks of rows, RBF products by square tiles. `harness.math.low_rank`
approximates the RBF matrix.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from scipy.spatial.distance import cdist, pdist

from harness.errors import BadInputError
from harness.math import beta_sums, near_pairs
from harness.math.near_pairs import log_normaliser

BLOCK_ENTRIES = 1 << 17  # number of kernel entries in memory at a time: 1 MB fits into the cache
LOG_NEGLIGIBLE = near_pairs.LOG_NEGLIGIBLE
SAFE_RANGE = near_pairs.SAFE_RANGE
# popordanoska2024 clips predictions from below at this value, because the kernel needs log p.
PREDICTION_FLOOR = 1e-7
# With at most this many columns, one matrix product per bandwidth is faster than a shared product.
FEW_COLUMNS = 4
TILE_ROWS = 256  # height and width of a tile of the RBF matrix: half a megabyte
# From this gamma on, squared distances computed as ||x||^2 + ||z||^2 - 2 x.z are too inexact.
SHARP_GAMMA = 1e5
# Above this gamma, kernel values may underflow: squared distances of predictions are at most 2.
UNDERFLOW_GAMMA = 0.5 * -LOG_NEGLIGIBLE
MEDIAN_RULES = (
    "median",
    "median_with_diagonal",
    "median_of_positive",
    "sqrt_half_median_squared",
    "median_squared",
)
ALL_PAIRS_UP_TO = 2000  # up to this many rows, the median distance uses all pairs of rows
SUBSAMPLE_ROWS = 1000  # number of rows that the median distance uses if there are more


def two_columns(p: np.ndarray) -> np.ndarray:
    """Return probabilities (n,) as vectors (1 - p, p) of shape (n, 2).

    Vectors (n, k) are returned unchanged.
    """
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
    """Return kernel regressions and kernel densities at all points, for several bandwidths.

    With bandwidth b, the kernel k_b(z; t) of a centre t is the density of Dir(t / b + 1) at the
    point z (popordanoska2024, eq. 12). With two columns it is the Beta kernel. Sums run over the k
    columns j:

        log k_b = sum_j (t_j / b) log z_j + log Gamma(sum_j (t_j / b + 1))
                  - sum_j log Gamma(t_j / b + 1)

    Parameters
    ----------
    points : ndarray of shape (m, k)
        Points z at which the sums are evaluated; all entries are positive.
    centres : ndarray of shape (n, k)
        Centres t of the kernels.
    hits : ndarray of shape (n, c)
        Values at the centres, which the regressions average. An example is one-hot labels.
    bandwidths : list of float
        Bandwidths b, positive.
    leave_out : ndarray of shape (m,), optional
        For each point, the index of the centre that its sums omit.
    nothing : float
        Terms smaller than exp(nothing) times the largest term of a point are set to 0.
    pruned : bool
        If True, skip terms that are too small to matter, which saves time. The error of a ratio is
        then at most 1e-10. Many points with two columns go to `harness.math.beta_sums`, all others
        to `harness.math.near_pairs`.

    Returns
    -------
    ratios : ndarray of shape (bandwidths, m, c)
        sum_i k(z; t_i) hits_i / sum_i k(z; t_i), over the centres i.
    log_density : ndarray of shape (bandwidths, m)
        Logarithm of the mean kernel at each point.

    Notes
    -----
    Cost without pruning: O(m n (k + c)) per bandwidth. All bandwidths share the products of log z
    with the centres. The largest exponent of a point is subtracted before exp, so that nothing
    overflows.
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
    """Return the result of `dirichlet_sums`, computed from all pairs of a point and a centre.

    `constants` holds `log_normaliser(centres, b)` for each bandwidth b; it is computed if None.
    """
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
    """Return the kernel matrix exp(-gamma ||x_i - z_j||^2), shape (len(x), len(z)).

    `x` and `z` have shape (n, k), or (n,) for scalars.
    """
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
    """Exponentiate `exponents` in place and return them.

    If `gamma` is so large that values may underflow, exponents below -700 are replaced by -700.
    Denormal numbers would take five times as long.
    """
    if gamma > UNDERFLOW_GAMMA:
        np.maximum(exponents, LOG_NEGLIGIBLE, out=exponents)
    return np.exp(exponents, out=exponents)


def rbf_times(x: np.ndarray, gamma: float, v: np.ndarray) -> np.ndarray:
    """Return the product G v with the RBF matrix G_ij = exp(-gamma ||x_i - x_j||^2).

    `x` has shape (n, k), `v` and the result have shape (n, d). G is symmetric, so only tiles on and
    above its diagonal are computed. Cost: O(n^2 (k + 2 d) / 2).
    """
    product = np.zeros_like(v)
    for rows, columns, tile in _upper_tiles(x, gamma):
        product[rows] += tile @ v[columns]
        if columns != rows:
            product[columns] += tile.T @ v[rows]
    return product


def rbf_form(x: np.ndarray, gamma: float, v: np.ndarray) -> float:
    """Return tr(v' G v) with the RBF matrix G_ij = exp(-gamma ||x_i - x_j||^2).

    `x` has shape (n, k) and `v` has shape (n, d). Only tiles of G on and above its diagonal are
    computed. Cost: O(n^2 (k + d) / 2).
    """
    return sum(
        (1.0 + (columns != rows)) * np.vdot(v[rows], tile @ v[columns])
        for rows, columns, tile in _upper_tiles(x, gamma)
    )


def _upper_tiles(x: np.ndarray, gamma: float) -> Iterator[tuple[slice, slice, np.ndarray]]:
    """Yield (rows, columns, tile) for each tile of the RBF matrix on or above its diagonal.

    `rows` and `columns` are slices of x (n, k). The tile's memory is reused: use the tile before
    the next one is requested.
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
        Predictions. Shape (n,) is converted to two columns (1 - p, p).
    rule : str
        How gamma follows from the distances d_ij = ||p_i - p_j||:

        * "median": median of d_ij over pairs i < j.
        * "median_with_diagonal": median of d_ij over all i and j, including i = j.
        * "median_of_positive": median of the d_ij > 0 over pairs i < j.
        * "median_squared": median of d_ij^2 over pairs i < j.
        * "sqrt_half_median_squared": sqrt(median of d_ij^2 / 2) over pairs i < j.

    Returns
    -------
    float
        The bandwidth gamma. It is 1 if there are no pairs or the rule gives less than 1e-12.

    Notes
    -----
    With more than 2,000 rows, only 1,000 rows are used. They are evenly spaced in the order of
    ||p||, so that the order of the rows does not matter. Distances are computed from differences,
    because ||p||^2 + ||p'||^2 - 2 p.p' would put equal predictions 1e-8 apart. Cost: O(n^2 k).

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
        # The first key breaks ties between rows of equal norm.
        order = np.lexsort((p @ np.arange(p.shape[1]), np.einsum("ij,ij->i", p, p)))
        p = p[order[np.linspace(0, len(p) - 1, SUBSAMPLE_ROWS).astype(int)]]
    distance = pdist(p)
    if rule == "median_with_diagonal":
        distance = np.concatenate([distance, distance, np.zeros(len(p))])
    elif rule == "median_of_positive":
        distance = distance[distance > 0.0]
    if not len(distance):
        return 1.0
    # Square first: the median of an even number of values is a mean, so the median of the squares
    # differs from the square of the median.
    if rule in ("sqrt_half_median_squared", "median_squared"):
        distance = distance**2
    gamma = float(np.median(distance))
    if rule == "sqrt_half_median_squared":
        gamma = float(np.sqrt(gamma / 2.0))
    return gamma if gamma >= 1e-12 else 1.0
