"""Class-wise truths of problems whose predictions and posteriors can be drawn."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from harness.math import estimands
from harness.problems.base import Truth

ENTRIES = 1 << 22  # numbers of all drawn vectors together, which take 34 MB
SETS = 8  # independent sets of draws
BINS = 1024  # bins of equal mass, and bins of equal width


@lru_cache(maxsize=512)
def classwise_truth(problem: Any, estimand: str) -> Truth | None:
    """Return a class-wise truth from draws of a problem, None if it is infinite.

        value = mean over classes j of  E d(p_j, C_j),   C_j = P(Y = j given p_j)

    d is the pointwise form of the estimand. C_j is a mean of the posterior over draws with nearly
    the same p_j, in bins that are intersections of 1,024 bins of equal mass with 1,024 of equal
    width. A value of p_j that occurs often has a bin of its own.

    Parameters
    ----------
    problem : MovedMass or VectorProblem
        A problem with a `law` to draw from and a `posterior`.
    estimand : str
        Name of an estimand of scalars. The supremum `linf` is not supported.

    Notes
    -----
    Noise of the means C_j makes the value of N draws too large by about c / N. With the mean v of
    the values of S sets of N / S draws, c / N is (v - value) / (S - 1), and is subtracted. The
    error is that correction plus the standard error over the sets.

    Examples
    --------
    >>> from harness.problems import MovedMass, TopLaw, maps
    >>> overconfident = MovedMass(TopLaw(3), maps.Bend(-0.5))
    >>> truth = classwise_truth(overconfident, "l1")
    >>> round(truth.value, 3), truth.error < 2e-4
    (0.049, True)
    """
    scores, posteriors, weights = _bin_means(problem)
    with np.errstate(all="ignore"):
        whole = _mean_over_classes(estimand, *_pool(scores, posteriors, weights))
        sets = np.array(
            [
                _mean_over_classes(estimand, *(x[:, r] for x in (scores, posteriors, weights)))
                for r in range(SETS)
            ]
        )
        excess = (sets.mean() - whole) / (SETS - 1)
        error = abs(excess) + sets.std(ddof=1) / np.sqrt(SETS)
    if not np.isfinite([whole, error]).all():
        return None
    value = whole - excess
    if estimands.is_error(estimand):
        value = max(value, 0.0)
    draws = ENTRIES // problem.classes // SETS * SETS
    return Truth(float(value), float(error), f"means in bins of {draws:,} draws")


def _mean_over_classes(
    estimand: str, scores: np.ndarray, posteriors: np.ndarray, weights: np.ndarray
) -> float:
    """Return the mean of an estimand over classes; all arrays are (classes, bins)."""
    values = []
    for f, c, weight in zip(scores, posteriors, weights):
        used = weight > 0.0
        values.append(
            estimands.value(estimand, f[used], c[used], "binary", weight[used] / weight[used].sum())
        )
    return float(np.mean(values))


def _pool(
    scores: np.ndarray, posteriors: np.ndarray, weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the means over all sets, (classes, bins), from those of each set."""
    total = weights.sum(axis=1)
    scale = np.maximum(total, 1.0)
    f, c = ((weights * x).sum(axis=1) / scale for x in (scores, posteriors))
    return f, c, total


@lru_cache(maxsize=2)
def _bin_means(problem: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the means of p_j and of the posterior in each bin, and the numbers of draws.

    All three arrays are (classes, sets, bins). Empty bins have means of 0.
    """
    k = problem.classes
    size = ENTRIES // k // SETS
    p, c = np.empty((SETS * size, k)), np.empty((SETS * size, k))
    rng = np.random.default_rng(20_261_126)
    for r in range(SETS):
        part = slice(r * size, (r + 1) * size)
        p[part] = problem.law.draw(size, rng)
        c[part] = problem.posterior(p[part])
    members = [_assign_bins(p[:, j]) for j in range(k)]
    bins = 1 + max(int(member.max()) for member in members)
    offset = np.repeat(np.arange(SETS) * bins, size)
    means = np.empty((3, k, SETS, bins))
    for j, member in enumerate(members):
        sums = [
            np.bincount(offset + member, x, SETS * bins).reshape(SETS, bins)
            for x in (p[:, j], c[:, j], np.ones(len(p)))
        ]
        count = np.maximum(sums[2], 1.0)
        means[:, j] = sums[0] / count, sums[1] / count, sums[2]
    return means[0], means[1], means[2]


def _assign_bins(x: np.ndarray) -> np.ndarray:
    """Return the number of the bin of each value, (n,).

    Bins are intersections of bins of equal mass and of equal width. A value that occurs more often
    than half a bin of equal mass has a bin of its own.

    Examples
    --------
    >>> _assign_bins(np.array([0.5, 0.1, 0.5, 0.9])).tolist()
    [2, 0, 2, 1]
    """
    n = len(x)
    order = np.argsort(x, kind="stable")
    values = x[order]
    starts = np.flatnonzero(np.diff(values, prepend=-1.0))
    counts = np.diff(starts, append=n)
    rank = np.repeat(starts, counts)  # equal values have the rank of the first one
    # Both terms grow with the value, so their sum changes wherever one of them does.
    key = rank * BINS // n + np.minimum(values * BINS, BINS - 1).astype(np.int64)
    is_atom = np.repeat((counts > 1) & (counts > n / BINS / 2), counts)
    key = np.where(is_atom, 2 * BINS + rank, key)
    member = np.empty(n, np.int64)
    member[order] = np.unique(key, return_inverse=True)[1]
    return member
