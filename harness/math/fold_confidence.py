"""Confidence bounds of means over cross-fitted folds, which depend on each other.

A contribution is one held-out sample's part of a variational estimate. Given the other folds, the
contributions of one fold are independent, and their mean is at most the calibration error. Across
folds they are dependent, because the map of each fold is fitted on the labels of the others:

* On calibrated predictions the variance of the pooled mean is about twice that of independent
  folds, because the maps of all folds err in the same direction. A textbook 95 % bound covers about
  90 %.
* Where errors are rare (p = 0.999, n = 200) the textbook bound covers 22 %, because most samples
  show no error.

The bounds here hold whatever the dependence and however rare the errors. The price is width: for
overconfident predictions, n = 10,000 and temperature scaling, `lower` lies 0.026 below the
estimate with five folds and 0.018 with two; the textbook bound lies 0.006 below.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

# Stakes as shares of the largest possible stake at error 0.
STAKE_SHARES = 0.5 * 2.0 ** -np.arange(6.0)
HALVINGS = 45  # bisection steps: the bound is exact to 2^-45 of its range


def lower(
    sums: np.ndarray, squares: np.ndarray, counts: np.ndarray, least: Sequence[float], level: float
) -> np.ndarray:
    """Return lower confidence bounds of the calibration error, one per loss, valid at every n.

    Let X be the contributions, a = -least, s a stake, and for a candidate c of the error

        E(c) = mean over folds and stakes of exp( s sum(X - c) - psi(l) / (c + a)^2 sum (X - c)^2 ),
        l = s (c + a) < 1,   psi(l) = -log(1 - l) - l.

    E decreases in c. The bound is the c at which E(c) = 1 / (1 - level), or 0 if E(0) is smaller.

    Parameters
    ----------
    sums, squares : array (losses, folds)
        Sums of X and of X^2 by fold, with X clipped from above at a, as `moments` does.
    counts : array (folds,)
        Number of samples of each fold.
    least : array (losses,)
        Lower bounds of the contributions, negative.
    level : float
        Confidence level, between 0 and 1.

    Returns
    -------
    array (losses,)
        Each is at most the error of its loss with probability at least `level`.

    Notes
    -----
    If c is the error, E[E(c)] <= 1. First, log(1 + l x) >= l x - psi(l) x^2 for x >= -1 (Fan, Grama
    and Liu, 2015), so that every term is at most a product of factors 1 + s (X - c), whose
    conditional means are at most 1. Second, a mean of e-values is an e-value whatever their
    dependence (Vovk and Wang, 2021). By Markov's inequality E(c) at the error exceeds 1 / (1 -
    level) with probability at most 1 - level.
    """
    a = -np.asarray(least, float)[:, None]
    stakes = np.tile(STAKE_SHARES, len(counts)) / a
    sums, squares = (
        np.repeat(np.asarray(x, float), len(STAKE_SHARES), axis=1) for x in (sums, squares)
    )
    counts = np.repeat(np.asarray(counts, float), len(STAKE_SHARES))
    log_needed = -np.log1p(-level)
    gains, pulls, doubled = stakes * sums - log_needed, stakes * counts, 2.0 * sums

    def enough(c: np.ndarray) -> np.ndarray:
        """Return True for each loss whose E(c) reaches 1 / (1 - level)."""
        reach = c + a
        share = np.minimum(stakes * reach, 1.0 - 1e-12)
        spread = squares + c * (counts * c - doubled)
        exponent = gains - pulls * c + (np.log1p(-share) + share) / (reach * reach) * spread
        with np.errstate(over="ignore"):  # infinity reaches every threshold
            return np.exp(exponent).sum(axis=1, keepdims=True) >= exponent.shape[1]

    low, high = np.zeros_like(a), a.copy()
    never = ~enough(low)
    if not never.all():
        for _ in range(HALVINGS):
            middle = (low + high) / 2.0
            above = enough(middle)
            low, high = np.where(above, middle, low), np.where(above, high, middle)
    return np.where(never, 0.0, low)[:, 0]


def moments(
    contributions: np.ndarray, fold: np.ndarray, least: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return sums, sums of squares and counts by fold of clipped contributions.

    Contributions are clipped from above at -least, which can only lower their mean.
    """
    x = np.minimum(contributions, -least)
    return np.bincount(fold, x), np.bincount(fold, x * x), np.bincount(fold)


def half_width(contributions: np.ndarray, fold: np.ndarray, level: float) -> float:
    """Return half the width of a two-sided interval around a mean of dependent fold means.

        sum_j (n_j / n) s_j / sqrt(n_j)  x  expected shortfall of Student's t at (1 + level) / 2

    with the degrees of freedom of the smallest fold. Whatever the dependence, the mean of the
    variables exceeds their common expected shortfall at most that often. Asymptotic in the size of
    a fold; NaN if a fold has fewer than 3 samples.
    """
    from scipy.stats import t  # slow to import

    counts = np.bincount(fold).astype(float)
    if counts.min() < 3:
        return float("nan")
    means = np.bincount(fold, contributions) / counts
    deviations = np.sqrt(np.bincount(fold, (contributions - means[fold]) ** 2) / (counts - 1.0))
    freedom = counts.min() - 1.0
    tail = (1.0 - level) / 2.0
    q = t.isf(tail, freedom)
    shortfall = t.pdf(q, freedom) / tail * (freedom + q * q) / (freedom - 1.0)
    return float(shortfall * (counts / counts.sum() * deviations / np.sqrt(counts)).sum())
