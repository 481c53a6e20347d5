"""Calibrator by isotonic regression, one-versus-rest for vectors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from scipy.optimize import isotonic_regression

from harness.calibrators.base import CalibrationMap, FitEach
from harness.calibrators.newton import normalised

# Sorted predictions (n,), outcomes and weights in the same order. The weights may be None.
Column: TypeAlias = tuple[np.ndarray, np.ndarray, np.ndarray | None]

RESOLUTION = 1e-15  # predictions closer than this count as equal, as in scikit-learn


@dataclass(frozen=True)
class Isotonic(FitEach):
    """Isotonic regression; one-versus-rest for vectors.

        q minimises sum_i (q(p_i) - y_i)^2 over non-decreasing q

    q interpolates linearly between the fitted points and is constant outside them, like
    scikit-learn's IsotonicRegression with out_of_bounds="clip". For vectors of k classes, one map
    q_j per class is fitted on p_j against 1{y = j}. Each row is divided by its sum, or set to 1/k
    if all its entries are 0.

    Notes
    -----
    There is no parameter to choose. The error of q decreases as n^(-1/3) if E[Y given p] increases
    with p. Determinism: exact. Cost: O(k n log n).

    References
    ----------
    Zadrozny and Elkan (2002), Transforming classifier scores into accurate multiclass
    probability estimates. berta2026, Section 4.

    Examples
    --------
    >>> import numpy as np
    >>> q = Isotonic().fit(np.array([0.1, 0.2, 0.6, 0.9]), np.array([0, 1, 0, 1]))
    >>> q(np.array([0.0, 0.2, 0.6, 0.75, 0.9]))
    array([0.  , 0.5 , 0.5 , 0.75, 1.  ])
    """

    determinism = "exact"

    def fit_each(
        self,
        p: np.ndarray,
        y: np.ndarray,
        seen: np.ndarray,
        rng: np.random.Generator | int | None = None,
        sample_weight: np.ndarray | None = None,
    ) -> Iterator[CalibrationMap]:
        if p.ndim == 1:
            order = np.argsort(p)
            column = _ordered(p, y.astype(np.bool_), sample_weight, order)
            return (_fit_scalar(column, rows[order]) for rows in seen)
        orders = np.argsort(p, axis=0).T
        columns = [
            _ordered(p[:, j], y == j, sample_weight, order) for j, order in enumerate(orders)
        ]
        return (_one_versus_rest(columns, [rows[order] for order in orders]) for rows in seen)


def _ordered(
    p: np.ndarray, hit: np.ndarray, weights: np.ndarray | None, order: np.ndarray
) -> Column:
    return p[order], hit[order], None if weights is None else weights[order]


def _one_versus_rest(columns: Sequence[Column], seen: Iterable[np.ndarray]) -> CalibrationMap:
    """Return the map of vectors that is fitted with one isotonic regression per class.

    `columns` holds the sorted predictions, outcomes and weights of each class, `seen` the masks of
    the samples to fit on.
    """
    maps = [_fit_scalar(column, mask) for column, mask in zip(columns, seen)]
    return lambda x: normalised(np.column_stack([q(x[:, j]) for j, q in enumerate(maps)]))


def _fit_scalar(column: Column, mask: np.ndarray) -> CalibrationMap:
    """Return the map that is fitted to the samples in `mask` of a sorted column."""
    p, hit, weights = column
    places, level = knots(p[mask], hit[mask], None if weights is None else weights[mask])
    return lambda x: np.interp(x, places, level)


def knots(
    p: np.ndarray, hit: np.ndarray, weights: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the knots of the isotonic map and its values there.

    p (n,) holds sorted probabilities and `hit` (n,) outcomes in {0, 1}. The knots are both ends of
    every constant piece of the map. Between knots the map is linear. `weights` (n,) are those of
    the squares, above 0, or None.
    """
    places, counts, sums = _pool(p, hit, weights)
    fit = isotonic_regression(sums / counts, weights=counts)
    ends = np.unique(np.concatenate([fit.blocks[:-1], fit.blocks[1:] - 1]))
    return places[ends], fit.x[ends]


def _pool(
    p: np.ndarray, hit: np.ndarray, weights: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Pool equal predictions of sorted p; return distinct predictions, counts and sums of outcomes.

    With `weights` (n,), the counts are sums of weights, and the sums of outcomes are weighted.

    Predictions that are less than RESOLUTION above the first of a pool join it.
    """
    first = np.append(True, p[1:] > p[:-1])
    starts = np.flatnonzero(first)
    x = p if len(starts) == len(p) else p[starts]
    near = np.flatnonzero(np.diff(x) < RESOLUTION) + 1  # occurs near 0 and 1
    if len(near):
        first, place = np.ones(len(x), dtype=bool), x[0]
        for i in near:
            if first[i - 1]:
                place = x[i - 1]
            first[i] = x[i] - place >= RESOLUTION
        starts, x = starts[first], x[first]
    if weights is not None:
        return x, np.add.reduceat(weights, starts), np.add.reduceat(weights * hit, starts)
    if len(x) == len(p):
        return x, np.ones(len(x)), hit.astype(np.float64)
    counts = np.diff(starts, append=len(p))
    return x, counts, np.add.reduceat(hit, starts, dtype=np.float64)
