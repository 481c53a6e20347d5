"""Sample counts and sums of p and y in bins of a probability p.

Every binned estimator is computed from these sums.
"""

from __future__ import annotations

import numpy as np


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
    return np.unique(np.partition(p, starts)[starts])


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


def _sums(
    p: np.ndarray, y: np.ndarray, edges: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the sizes, sums of p and sums of y of the bins between sorted inner `edges`."""
    count = len(edges) + 1
    # Outcomes are 0 or 1: the counts of (outcome, bin) give sizes and sums of y in one pass.
    index = np.searchsorted(edges, p, side="right")
    index += count * y.astype(np.intp, copy=False)
    sizes = np.bincount(index, minlength=2 * count)
    sums = np.bincount(index, p, minlength=2 * count)
    return sizes[:count] + sizes[count:], sums[:count] + sums[count:], sizes[count:]
