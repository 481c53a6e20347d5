"""Isotonic regression, one-versus-rest for vectors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from harness.calibrators.base import CalibrationMap, fit_all
from harness.calibrators.newton import normalised

RESOLUTION = 1e-15  # scikit-learn's


@dataclass(frozen=True)
class Isotonic:
    """Isotonic regression; one-versus-rest for vectors.

        q minimises sum_i (q(p_i) - y_i)^2 over non-decreasing q

    Between the fitted points q interpolates linearly, outside them it is constant (scikit-learn's IsotonicRegression with
    out_of_bounds="clip"). Vectors: one q_j per class, on p_j against 1{y = j}, divided by the row's sum (1/k where all are 0).

    Notes
    -----
    No parameter to choose. Its error decreases with n^(-1/3) where E[Y given p] increases with p. Determinism: exact. Cost:
    O(k n log n).

    References
    ----------
    Zadrozny and Elkan (2002), Transforming classifier scores into accurate multiclass probability estimates.
    berta2026, Section 4.

    Examples
    --------
    >>> import numpy as np
    >>> q = Isotonic().fit(np.array([0.1, 0.2, 0.6, 0.9]), np.array([0, 1, 0, 1]))
    >>> q(np.array([0.0, 0.2, 0.6, 0.75, 0.9]))
    array([0.  , 0.5 , 0.5 , 0.75, 1.  ])
    """

    determinism = "exact"

    def fit(
        self, p: np.ndarray, y: np.ndarray, rng: np.random.Generator | int | None = None
    ) -> CalibrationMap:
        return fit_all(self, p, y)

    def fit_each(
        self,
        p: np.ndarray,
        y: np.ndarray,
        seen: np.ndarray,
        rng: np.random.Generator | int | None = None,
    ) -> Iterator[CalibrationMap]:
        if p.ndim == 1:
            order = np.argsort(p)
            ordered, hit = p[order], y[order]
            return (_fitted(ordered[own], hit[own]) for own in (rows[order] for rows in seen))
        orders = np.argsort(p, axis=0).T
        columns = [(p[order, j], (y == j)[order]) for j, order in enumerate(orders)]
        return (_one_versus_rest(columns, [rows[order] for order in orders]) for rows in seen)


def _one_versus_rest(
    columns: Sequence[tuple[np.ndarray, np.ndarray]], seen: Iterable[np.ndarray]
) -> CalibrationMap:
    maps = [_fitted(ordered[own], hit[own]) for (ordered, hit), own in zip(columns, seen)]
    return lambda x: normalised(np.column_stack([one(x[:, j]) for j, one in enumerate(maps)]))


def _fitted(p: np.ndarray, hit: np.ndarray) -> CalibrationMap:
    """The map of one probability (n,), in order, for outcomes (n,) in {0, 1}."""
    from scipy.optimize import isotonic_regression  # slow to import

    places, counts, sums = _pooled(p, hit)
    level = isotonic_regression(sums / counts, weights=counts).x
    flat = level[1:] == level[:-1]
    knot = np.concatenate([[True], ~flat]) | np.concatenate(
        [~flat, [True]]
    )  # the ends of every level
    places, level = places[knot], level[knot]
    return lambda x: np.interp(x, places, level)


def _pooled(p: np.ndarray, hit: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(places, counts, sums of hits) of predictions p, in order; those less than RESOLUTION above the first of a place are of
    it."""
    starts = np.flatnonzero(np.concatenate([[True], p[1:] > p[:-1]]))
    x = p[starts]
    first, place = np.ones(len(x), dtype=bool), x[0]
    for i in np.flatnonzero(np.diff(x) < RESOLUTION) + 1:  # next to 0 and to 1
        if first[i - 1]:
            place = x[i - 1]
        first[i] = x[i] - place >= RESOLUTION
    starts = starts[first]
    counts = np.diff(np.append(starts, len(p))).astype(np.float64)
    return p[starts], counts, np.add.reduceat(hit, starts, dtype=np.float64)
