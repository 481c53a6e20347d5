"""Counts of events in bins of the scores, and the exact distribution of these counts.

Rows are put into bins by their scores alone. If the events are independent with P(y_i = 1) = p_i,
the number of events in a bin has a Poisson-binomial distribution: it is a sum of independent
Bernoulli(p_i). This distribution is computed once. Resampling all events then costs one random
number per bin instead of one per row. A test based on any function of these counts is exact at
every n.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Integers = NDArray[np.int64]

BINS = 48  # default number of bins
# Where the absolute log-odds exceed this value, bins are also cut at even log-odds. Otherwise an
# unexpected event among nearly certain rows would have no effect on the sum of a large bin.
TAIL_LOGIT = 4.0
# Bins with more rows use the binomial distribution with the same mean and variance. In bins of
# beta, uniform and saturated scores, its total variation distance from the exact distribution was
# at most 7e-5.
LARGEST_EXACT = 200


@dataclass(frozen=True)
class Bins:
    """m bins of the rows with 0 < p < 1, in ascending order of p.

    Attributes
    ----------
    index : ndarray (n,) of int
        The bin of each row; -1 where p is 0 or 1, as such an event does not vary.
    p : ndarray (n,)
        Scores.
    size : ndarray (m,) of int
        Number of rows in each bin.
    expected, variance : ndarray (m,)
        Mean and variance of the number of events in each bin if the scores are calibrated.
    logit : ndarray (m,)
        Mean log-odds of the rows in each bin, weighted by p (1 - p).
    """

    index: Integers
    p: Array
    size: Integers
    expected: Array
    variance: Array
    logit: Array

    @property
    def m(self) -> int:
        """Number of bins."""
        return len(self.expected)

    def residual(self, y: Integers) -> Array:
        """Return observed minus expected number of events in each bin, an array (m,)."""
        inside = self.index >= 0
        residual: Array = np.bincount(self.index[inside], y[inside], self.m) - self.expected
        return residual

    def draw(self, count: int, rng: np.random.Generator) -> Array:
        """Draw `count` resamples of the events with Y ~ p; return their residuals (count, m)."""
        # Count the rarer of events and non-events: its distribution has fewer terms.
        flipped = self.expected > self.size / 2.0
        counts = np.zeros((count, self.m))
        small = np.flatnonzero(self.size <= LARGEST_EXACT)
        if len(small):
            cumulative = np.cumsum(poisson_binomial(self._rows_of(small, flipped)), axis=1)
            for row, b in enumerate(small):
                law = cumulative[row] / cumulative[row, -1]
                counts[:, b] = np.searchsorted(law, rng.random(count), side="right")
        large = np.flatnonzero(self.size > LARGEST_EXACT)
        if len(large):
            mean = np.where(flipped, self.size - self.expected, self.expected)[large]
            trials = np.rint(mean**2 / np.maximum(mean - self.variance[large], 1e-300))
            trials = np.minimum(np.maximum(trials, np.ceil(mean)), 2.0**62)
            share = np.minimum(mean / trials, 1.0)
            counts[:, large] = rng.binomial(trials.astype(np.int64), share, (count, len(large)))
        return np.where(flipped, self.size - counts, counts) - self.expected

    def _rows_of(self, bins: Integers, flipped: NDArray[np.bool_]) -> Array:
        """Return the probabilities of the rows in some bins, padded with 0.

        The array has one row per bin and as many columns as the largest bin has rows. In bins with
        `flipped`, the probabilities are those of the complementary event.
        """
        order = np.argsort(self.index, kind="stable")[np.sum(self.index < 0) :]
        ends = np.cumsum(self.size)
        rows = np.zeros((len(bins), int(self.size[bins].max())))
        for row, b in enumerate(bins):
            p = self.p[order[ends[b] - self.size[b] : ends[b]]]
            rows[row, : len(p)] = 1.0 - p if flipped[b] else p
        return rows


def bin_scores(p: Array, count: int = BINS) -> Bins:
    """Put scores p (n,) into about `count` bins of equal variance, the sum of p (1 - p).

    Equal scores share a bin.

    Examples
    --------
    >>> bins = bin_scores(np.array([0.0, 0.2, 0.2, 0.5, 1.0]), count=2)
    >>> bins.index.tolist(), bins.expected.tolist()
    ([-1, 0, 0, 1, -1], [0.4, 0.5])
    """
    inside = np.flatnonzero((p > 0.0) & (p < 1.0))
    order = inside[np.argsort(p[inside], kind="stable")]
    index = np.full(len(p), -1, dtype=np.int64)
    if len(order) == 0:
        nothing = np.zeros(0)
        return Bins(index, p, np.zeros(0, dtype=np.int64), nothing, nothing, nothing)
    x = p[order]
    variance = x * (1.0 - x)
    logit = np.log(x) - np.log1p(-x)

    # Place each distinct score by the share of the variance below it.
    is_new = np.diff(x, prepend=-1.0) > 0.0
    start = np.flatnonzero(is_new)
    mass = np.add.reduceat(variance, start)
    middle = (np.cumsum(mass) - mass / 2.0) / max(mass.sum(), np.finfo(float).tiny)
    place = np.floor(count * np.minimum(middle, 1.0 - 1e-12))
    tail = np.where(np.abs(logit[start]) > TAIL_LOGIT, np.floor(logit[start] / 2.0), 0.0)

    # A bin begins where the place or the tail changes.
    begins = np.r_[True, (np.diff(place) != 0.0) | (np.diff(tail) != 0.0)]
    bin_of_row = (np.cumsum(begins) - 1)[np.cumsum(is_new) - 1]
    index[order] = bin_of_row
    total = np.bincount(bin_of_row, variance).astype(np.float64)
    return Bins(
        index=index,
        p=p,
        size=np.bincount(bin_of_row),
        expected=np.bincount(bin_of_row, x).astype(np.float64),
        variance=total,
        logit=np.bincount(bin_of_row, variance * logit) / total,
    )


def poisson_binomial(p: Array) -> Array:
    """Return P(S = s), s = 0, 1, ..., for sums S of independent Bernoulli(p_i).

    Each row of p (m, n) defines one sum. Columns at the end with a total probability below 1e-15
    are left out.

    Examples
    --------
    >>> poisson_binomial(np.array([[0.5, 0.2]])).round(3).tolist()
    [[0.4, 0.5, 0.1]]
    """
    m, n = p.shape
    mean, sd = p.sum(axis=1), np.sqrt((p * (1.0 - p)).sum(axis=1))
    most = int(min(n, np.ceil((mean + 9.0 * sd).max(initial=0.0)) + 25))
    law = np.zeros((m, most + 1))
    law[:, 0] = 1.0
    for t in range(n):
        q = p[:, t, None]
        law[:, 1:] += q * (law[:, :-1] - law[:, 1:])
        law[:, 0] *= 1.0 - q[:, 0]
    return law
