"""Sizes and sums of bins of one probability, from which every binned estimator is computed."""

from __future__ import annotations

import numpy as np


def width_edges(bins: int) -> np.ndarray:
    """Return the inner edges of bins of equal width."""
    return np.arange(1, bins) / bins


def mass_edges(p: np.ndarray, bins: int) -> np.ndarray:
    """Return inner edges that cut the sorted sample into `bins` parts of equal size.

    Sizes differ by at most one; the first n mod bins are larger. A cut inside a run of equal p
    moves to its start.
    """
    n = len(p)
    if n <= bins:
        return np.unique(p)[1:]
    starts = np.cumsum(n // bins + (np.arange(bins) < n % bins))[:-1]
    return np.unique(np.partition(p, starts)[starts])


def width_sums(
    p: np.ndarray, y: np.ndarray, bins: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return sizes, sums of p and sums of y of the bins [j / bins, (j + 1) / bins).

    The last bin is closed. p: (n,) in [0, 1]; y: (n,) integers in {0, 1}. Three arrays (bins,).

    Examples
    --------
    >>> width_sums(np.array([0.1, 0.4, 0.8, 1.0]), np.array([0, 1, 1, 1]), 2)
    (array([2, 2]), array([0.5, 1.8]), array([1, 2]))
    """
    return _sums(p, y, width_edges(bins))


def mass_sums(p: np.ndarray, y: np.ndarray, bins: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return sizes, sums of p and sums of y of bins of equal counts, cut at `mass_edges`.

    Examples
    --------
    >>> mass_sums(np.array([0.1, 0.4, 0.8, 1.0]), np.array([0, 1, 1, 1]), 2)
    (array([2, 2]), array([0.5, 1.8]), array([1, 2]))
    """
    return _sums(p, y, mass_edges(p, bins))


def _sums(
    p: np.ndarray, y: np.ndarray, edges: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return sizes, sums of p and sums of y of the bins between inner edges."""
    count = len(edges) + 1
    # Outcomes are 0 or 1: the counts of (outcome, bin) give sizes and sums of y in one pass.
    index = np.searchsorted(edges, p, side="right")
    index += count * y.astype(np.intp, copy=False)
    sizes = np.bincount(index, minlength=2 * count)
    sums = np.bincount(index, p, minlength=2 * count)
    return sizes[:count] + sizes[count:], sums[:count] + sums[count:], sizes[count:]
