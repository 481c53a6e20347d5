"""Sample counts and sums of p and y in bins of a probability p.

Every binned estimator is computed from these sums.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

BLOCK = 2**15  # rows at a time, so that temporary arrays stay in the processor's cache
# Fine bins of [0, 1]. A power of two makes p * FINE exact. Measured for 15 and 100 bins: with fewer
# it takes longer at 10^6 rows, with more at 20,000; they pay from about 2 * FINE rows.
FINE = 2**12


def width_edges(bins: int) -> np.ndarray:
    """Return the bins - 1 inner edges of bins of equal width on [0, 1]."""
    return np.arange(1, bins) / bins


def mass_edges(p: np.ndarray, bins: int) -> np.ndarray:
    """Return the inner edges of `bins` bins that hold equally many values of p (n,).

    Bin sizes differ by at most one; the first n mod bins are larger. An edge never splits equal
    values: they all go into the upper bin. With n <= bins, each distinct value gets a bin.
    """
    n = len(p)
    if n <= bins:
        return np.unique(p)[1:]
    starts = np.cumsum(n // bins + (np.arange(bins) < n % bins))[:-1]
    if n >= 2 * FINE:
        p, starts = _near_ranks(p, starts)
    return np.unique(np.partition(p, starts)[starts])


def _near_ranks(p: np.ndarray, ranks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the values of p in the fine bins of these ranks, and the ranks among these values."""
    blocks = [p[at : at + BLOCK] for at in range(0, len(p), BLOCK)]
    sizes = sum(np.bincount(_fine_bins(x), minlength=FINE + 1) for x in blocks)
    place = np.searchsorted(np.cumsum(sizes), ranks, side="right")
    kept = np.zeros(FINE + 1, dtype=bool)
    kept[place] = True
    dropped = np.cumsum(np.where(kept, 0, sizes))
    return np.concatenate([x[kept[_fine_bins(x)]] for x in blocks]), ranks - dropped[place]


def _fine_bins(p: np.ndarray) -> np.ndarray:
    """Return the numbers of the bins [j / FINE, (j + 1) / FINE) of p, from 0 to FINE."""
    return (p * FINE).astype(np.intp)


def weighted_mass_edges(p: np.ndarray, weights: np.ndarray, bins: int) -> np.ndarray:
    """Return the inner edges of `bins` bins that hold equal sums of `weights` (n,), all above 0.

    Whole numbers count rows: the edges are those of `mass_edges` with each row so many times.

    Examples
    --------
    >>> weighted_mass_edges(np.array([0.1, 0.4, 0.8]), np.array([3.0, 2.0, 1.0]), 2)
    array([0.4])
    """
    order = np.argsort(p, kind="stable")
    total = np.cumsum(weights[order])
    whole = bool((weights == np.floor(weights)).all())
    if (total[-1] if whole else len(p)) <= bins:
        return np.unique(p)[1:]
    inner = np.arange(1, bins)
    starts = inner * (total[-1] / bins)
    if whole:
        starts = inner * (total[-1] // bins) + np.minimum(inner, total[-1] % bins)
    # The value at the start of a bin is the first one whose sum of weights is above the start.
    place = np.searchsorted(total, starts, side="right").clip(max=len(p) - 1)
    return np.unique(p[order[place]])


def bin_finder(edges: np.ndarray, n: int) -> Callable[[np.ndarray], np.ndarray]:
    """Return a function that maps p (m,) in [0, 1] to bin numbers from 0 to len(edges).

    The number of a bin is the number of sorted inner `edges` <= p. `n` is about how many values of
    p will be mapped: for many, a table of fine bins is several times faster than a search.

    Examples
    --------
    >>> bin_finder(np.array([0.25, 0.5]), n=3)(np.array([0.1, 0.25, 0.9]))
    array([0, 1, 2])
    """

    def search(p: np.ndarray) -> np.ndarray:
        return np.searchsorted(edges, p, side="right")

    if n < 2 * FINE:
        return search
    ends = np.arange(FINE + 2) / FINE
    table = search(ends[:-1])
    table[table < np.searchsorted(edges, ends[1:])] = -1  # an edge is inside the fine bin

    def find(p: np.ndarray) -> np.ndarray:
        index = table[_fine_bins(p)]
        split = np.flatnonzero(index < 0)
        index[split] = search(p[split])
        return index

    return find


def width_sums(
    p: np.ndarray, y: np.ndarray, bins: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the sizes, sums of p and sums of y of the equal-width bins [j / bins, (j + 1) / bins).

    The last bin includes 1. `p` (n,) lies in [0, 1]; `y` (n,) holds integers 0 and 1. Each of the
    three results has shape (bins,).

    Examples
    --------
    >>> width_sums(np.array([0.1, 0.4, 0.8, 1.0]), np.array([0, 1, 1, 1]), 2)
    (array([2, 2]), array([0.5, 1.8]), array([1, 2]))
    """
    return _sums(p, y, width_edges(bins))


def mass_sums(p: np.ndarray, y: np.ndarray, bins: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the sizes, sums of p and sums of y of bins that hold equally many samples.

    `p` (n,) lies in [0, 1]; `y` (n,) holds integers 0 and 1. The bins are cut at `mass_edges`. Ties
    in p may leave fewer than `bins` bins.

    Examples
    --------
    >>> mass_sums(np.array([0.1, 0.4, 0.8, 1.0]), np.array([0, 1, 1, 1]), 2)
    (array([2, 2]), array([0.5, 1.8]), array([1, 2]))
    """
    return _sums(p, y, mass_edges(p, bins))


def weighted_sums(
    p: np.ndarray, y: np.ndarray, weights: np.ndarray, edges: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return sums of weights w, w p, w y and w^2 in the bins between sorted inner `edges`.

    `p` (n,) lies in [0, 1]; `y` (n,) holds 0 and 1, and `weights` (n,) are at least 0. Each of the
    four results has shape (len(edges) + 1,).

    Examples
    --------
    >>> p, y, w = np.array([0.1, 0.4, 0.8]), np.array([0, 1, 1]), np.array([2.0, 1.0, 1.0])
    >>> [sums.round(9).tolist() for sums in weighted_sums(p, y, w, width_edges(2))]
    [[3.0, 1.0], [0.6, 0.8], [1.0, 1.0], [5.0, 1.0]]
    """
    index = bin_finder(edges, len(p))(p)
    count = len(edges) + 1
    size, sum_p, sum_y, squares = (
        np.bincount(index, terms, count)
        for terms in (weights, weights * p, weights * y, weights * weights)
    )
    return size, sum_p, sum_y, squares


def _sums(
    p: np.ndarray, y: np.ndarray, edges: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the sizes, sums of p and sums of y of the bins between sorted inner `edges`."""
    count, find = len(edges) + 1, bin_finder(edges, len(p))
    sizes, sums = np.zeros(2 * count, dtype=np.intp), np.zeros(2 * count)
    for at in range(0, len(p), BLOCK):
        x, outcome = p[at : at + BLOCK], y[at : at + BLOCK].astype(np.intp, copy=False)
        # Outcomes are 0 or 1: the counts of (outcome, bin) give sizes and sums of y in one pass.
        index = find(x)
        index += count * outcome
        sizes += np.bincount(index, minlength=2 * count)
        np.add.at(sums, index, x)  # row by row, so that sums do not depend on BLOCK
    return sizes[:count] + sizes[count:], sums[:count] + sums[count:], sizes[count:]
