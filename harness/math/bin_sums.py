"""Sizes and sums of bins of one probability: what every plug-in estimator on bins is made of, in one pass over the predictions.

The predictions are taken in blocks that stay in the processor's cache. Cutting at j / bins, which takes a comparison with every
edge in general, is a multiplication but for predictions within rounding of an edge; and outcomes are 0 or 1, so that the counts
of (bin, outcome) give sizes and sums of outcomes at once.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

BLOCK = 2**15  # samples at a time: what is held of them fits into the second cache of a processor
FINE = 2**12  # cells of [0, 1] in which equal masses are looked for: p * FINE is exact
MANY = 2**15  # samples from which that pays
OVER = 1.0 + 2.0**-48  # so that p = j / bins, rounded either way, does not fall below j


def width_edges(bins: int) -> np.ndarray:
    """Inner edges of bins of equal width."""
    return np.arange(1, bins) / bins


def mass_edges(p: np.ndarray, bins: int) -> np.ndarray:
    """Inner edges of the sorted sample cut into `bins` parts whose sizes differ by at most one (the first n mod bins are larger);
    a cut inside a run of equal p moves to its start."""
    if len(p) <= bins:
        return np.unique(p)[1:]
    starts = _starts(len(p), bins)
    return np.unique(np.partition(p, starts)[starts])


def of_width(p: np.ndarray, y: np.ndarray, bins: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(sizes, sums of p, sums of y) of bins [j / bins, (j + 1) / bins), the last one closed.

    p: (n,) in [0, 1]; y: (n,) integers in {0, 1}. Three arrays (bins,). O(n).

    Examples
    --------
    >>> of_width(np.array([0.1, 0.4, 0.8, 1.0]), np.array([0, 1, 1, 1]), 2)
    (array([2, 2]), array([0.5, 1.8]), array([1, 2]))
    """
    return _sums(p, y, bins, lambda x, at: width_index(x, bins))


def width_index(x: np.ndarray, bins: int) -> np.ndarray:
    """The numbers (m,) of the bins of equal width of x (m,) in [0, 1]: those of `width_edges` to the last bit.

    Examples
    --------
    >>> width_index(np.array([0.1, 0.5, 1.0]), 2)
    array([0, 1, 1])
    """
    near = bins * 2.0**-46
    scaled = x * (bins * OVER)
    floor = np.floor(scaled)
    index = floor.astype(np.intp)
    scaled -= floor
    if scaled.min(initial=1.0) < near:  # of an edge, on either side of it, or p = 1
        close = np.flatnonzero(scaled < near)
        edges = np.concatenate([[0.0], width_edges(bins), [np.inf]])
        index[close] -= x[close] < edges[index[close]]
    return index


def of_mass(p: np.ndarray, y: np.ndarray, bins: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(sizes, sums of p, sums of y) of bins of equal counts, cut at `mass_edges`; otherwise as `of_width`.

    O(n): a fine histogram says in which cells the edges lie, and only the samples of these are put in order.

    Examples
    --------
    >>> of_mass(np.array([0.1, 0.4, 0.8, 1.0]), np.array([0, 1, 1, 1]), 2)
    (array([2, 2]), array([0.5, 1.8]), array([1, 2]))
    """
    n = len(p)
    if n < MANY or bins > FINE // 4:
        edges = mass_edges(p, bins)
        return _sums(p, y, len(edges) + 1, lambda x, at: np.searchsorted(edges, x, side="right"))
    fine = np.empty(n, dtype=np.uint16)

    def cells(x: np.ndarray, at: int) -> np.ndarray:
        index = (x * FINE).astype(np.intp)
        fine[at : at + len(x)] = index
        return index

    by_cell = _sums(p, y, FINE + 1, cells)
    last = np.cumsum(by_cell[0])
    starts = _starts(n, bins)
    hit = np.zeros(FINE + 1, dtype=bool)
    hit[np.searchsorted(last, starts, side="right")] = True
    held = np.concatenate(
        [at + np.flatnonzero(hit[fine[at : at + BLOCK]]) for at in range(0, n, BLOCK)]
    )
    x = p[held]
    before = np.cumsum(
        np.where(hit, 0, by_cell[0])
    )  # of the samples that are not held, those up to a cell
    places = starts - before[np.searchsorted(last, starts, side="right")]
    edges = np.unique(np.partition(x, places)[places])
    bin_of_cell = np.searchsorted((edges * FINE).astype(np.intp), np.arange(FINE + 1), side="left")
    of_held = _sums(
        x, y[held], len(edges) + 1, lambda x, at: np.searchsorted(edges, x, side="right")
    )
    others = [np.bincount(bin_of_cell, np.where(hit, 0, a), len(edges) + 1) for a in by_cell]
    sizes, sum_p, sum_y = (a + b for a, b in zip(of_held, others))
    return sizes.astype(np.intp), sum_p, sum_y.astype(np.intp)


def _starts(n: int, bins: int) -> np.ndarray:
    sizes = np.full(bins, n // bins) + (np.arange(bins) < n % bins)
    return np.cumsum(sizes)[:-1]


def _sums(
    p: np.ndarray, y: np.ndarray, count: int, cells: Callable[[np.ndarray, int], np.ndarray]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(sizes, sums of p, sums of y) of `count` bins; cells(block of p, its place) gives the bin of every sample."""
    sizes, sums = np.zeros(2 * count, dtype=np.intp), np.zeros(2 * count)
    y = y.astype(np.intp, copy=False)
    step = max(BLOCK, 4 * count)
    for at in range(0, len(p), step):
        x = p[at : at + step]
        index = cells(x, at)
        index += count * y[at : at + step]
        sizes += np.bincount(index, minlength=2 * count)
        sums += np.bincount(index, x, minlength=2 * count)
    return sizes[:count] + sizes[count:], sums[:count] + sums[count:], sizes[count:]
