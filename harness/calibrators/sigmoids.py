"""Sigmoid maps of the logit with two or three coefficients: Platt scaling and beta calibration."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from harness.calibrators.base import CalibrationMap, fit_all
from harness.calibrators.logits import floored_log, log_odds
from harness.calibrators.newton import RIDGE, logistics, normalised

PLATT, BETA = np.array([0.0, 1.0]), np.array([1.0, 1.0, 0.0])  # the identity


@dataclass(frozen=True)
class Platt:
    """Platt scaling of the logit; one-versus-rest for more than two classes.

        q(p) = sigma(a + b l),   l = logit p,   (a, b) of least mean log-loss

    Logs are floored at -87.336. Vectors: one q_j per class, on p_j against 1{y = j}, divided by the row's sum.

    Notes
    -----
    Newton steps with the analytic Hessian to the exact minimum; a ridge of 1e-6 to the identity (0, 1) keeps separable samples
    finite. Labels are taken as they are (Platt's own targets are drawn towards 1/2 by one sample per class), and b may be
    negative. Two coefficients: little noise, of order 1/n in a variational squared error, but a wave of E[Y given p] stays
    undetected, so that the estimate with it is a lower bound that may be far from tight. Determinism: exact. Cost: O(n k) per
    step, about seven of them.

    References
    ----------
    Platt (1999), Probabilistic outputs for support vector machines, eq. 2, with the logit of p as score.
    Guo et al. (2017), On calibration of modern neural networks, Section 4.1.

    Examples
    --------
    Two distinct predictions and two coefficients: each gets its share of ones.

    >>> import numpy as np
    >>> p, y = np.repeat([0.2, 0.7], 4), np.array([0, 0, 0, 1, 0, 1, 0, 1])
    >>> Platt().fit(p, y)(np.array([0.2, 0.7])).round(3)
    array([0.25, 0.5 ])
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
        return _fits(
            p,
            y,
            seen,
            _platt_features,
            lambda x, hit, start: (found := logistics(x, hit, PLATT, start), found),
        )

    def coefficients(self, p: np.ndarray, y: np.ndarray) -> np.ndarray:
        """(a, b), (2,)."""
        return logistics(_platt_features(p[None]), y[None].astype(np.float64), PLATT)[0]


@dataclass(frozen=True)
class BetaCalibration:
    """Beta calibration; one-versus-rest for more than two classes.

        q(p) = sigma(a log p - b log(1 - p) + c),   a, b >= 0,   (a, b, c) of least mean log-loss

    Logs are floored at -87.336. Vectors: one q_j per class, on p_j against 1{y = j}, divided by the row's sum.

    Notes
    -----
    It is the calibration map of scores that are Beta distributed within each class, and holds the identity (1, 1, 0). Newton
    steps to the exact minimum on the quadrant: where the free minimum has a negative coefficient, that of the best side of it is
    taken (the published procedure: the coefficient is set to 0 and the others are fitted again). A ridge of 1e-6 to the identity
    keeps separable samples finite. q never decreases, so that a non-monotone E[Y given p] stays undetected: the variational
    estimate with it is a lower bound. Determinism: exact. Cost: O(n k) per step, about seven of them.

    References
    ----------
    Kull, Silva Filho and Flach (2017), Beta calibration, AISTATS, eq. 5 and Section 4.

    Examples
    --------
    Labels of 1 the more often the smaller p: no map that never decreases is better than the share of ones.

    >>> import numpy as np
    >>> p, y = np.repeat([0.2, 0.8], 4), np.array([1, 1, 1, 0, 0, 1, 0, 0])
    >>> BetaCalibration().fit(p, y)(np.array([0.2, 0.8])).round(3)
    array([0.5, 0.5])
    """

    determinism = "exact"
    seconds = 1e-3

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
        return _fits(p, y, seen, _beta_features, _quadrant)

    def coefficients(self, p: np.ndarray, y: np.ndarray) -> np.ndarray:
        """(a, b, c), (3,), of which a and b are at least 0."""
        return _quadrant(_beta_features(p[None]), y[None].astype(np.float64), None)[0][0]


def _fits(
    p: np.ndarray,
    y: np.ndarray,
    seen: Iterable[np.ndarray],
    features: Callable[[np.ndarray], np.ndarray],
    coefficients: Callable[..., tuple[np.ndarray, np.ndarray]],
) -> Iterator[CalibrationMap]:
    """Yield the maps of the samples in each row of `seen`: of scalars, of the second of two columns, of each of more.

    features(p (r, n)) returns (r, d, n); coefficients(features, labels (r, n), start) the rows w (r, d) of each class and what
    the next fit starts from, which is almost of the same samples."""
    rows, hit = (
        _rows(p),
        (y == np.arange(p.shape[1])[:, None] if p.ndim == 2 and p.shape[1] > 2 else y[None]).astype(
            np.float64
        ),
    )
    x, start = features(rows), None

    def fitted(w: np.ndarray) -> CalibrationMap:
        return lambda x: _of_rows(expit((w[:, None, :] @ features(_rows(x)))[:, 0]), x)

    for own in seen:
        w, start = coefficients(x[:, :, own], hit[:, own], start)
        yield fitted(w)


def _rows(p: np.ndarray) -> np.ndarray:
    """Scalars as (1, n), the second of two columns as (1, n), more columns as rows (k, n)."""
    if p.ndim == 1:
        return p[None]
    return np.ascontiguousarray(p.T) if p.shape[1] > 2 else np.ascontiguousarray(p[:, 1])[None]


def _of_rows(scores: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Predictions of the shape of x from those of its rows; of more than two classes divided by their sum."""
    if x.ndim == 1:
        return scores[0]
    if x.shape[1] == 2:
        return np.column_stack([1.0 - scores[0], scores[0]])
    return normalised(np.ascontiguousarray(scores.T))


def _platt_features(p: np.ndarray) -> np.ndarray:
    x = log_odds(p)
    return np.stack([np.ones_like(x), x], axis=1)


def _beta_features(p: np.ndarray) -> np.ndarray:
    """Rows log p, -log(1 - p), 1 of p (r, n), (r, 3, n)."""
    return np.stack([floored_log(p), -floored_log(1.0 - p), np.ones_like(p)], axis=1)


def _quadrant(
    x: np.ndarray, hit: np.ndarray, start: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """(w, free one), (r, 3) each: a convex function without its minimum in the quadrant has it on a side, or in the corner."""
    free = logistics(x, hit, BETA, start)
    w = free.copy()
    out = np.flatnonzero((free[:, :2] < 0.0).any(axis=1))
    if not len(out):
        return w, free
    x, hit = x[out], hit[out]
    sides = np.zeros((3, len(out), 3))
    sides[0][:, [0, 2]] = logistics(x[:, [0, 2]], hit, BETA[[0, 2]])
    sides[1][:, [1, 2]] = logistics(x[:, [1, 2]], hit, BETA[[1, 2]])
    inside = np.zeros((3, len(out)), dtype=bool)
    inside[:2] = (sides[:2, :, :2] >= 0.0).all(axis=2)
    inside[2] = ~inside.any(axis=0)
    corner = np.flatnonzero(inside[2])
    sides[2, corner, 2:] = logistics(x[corner, 2:], hit[corner], BETA[2:]) if len(corner) else 0.0
    losses = np.where(inside, [_penalised(x, hit, side) for side in sides], np.inf)
    w[out] = sides[losses.argmin(axis=0), np.arange(len(out))]
    return w, free


def _penalised(x: np.ndarray, hit: np.ndarray, w: np.ndarray) -> np.ndarray:
    t = (w[:, None, :] @ x)[:, 0]
    return (
        np.logaddexp(0.0, t).mean(axis=1)
        - (t * hit).mean(axis=1)
        + 0.5 * RIDGE * ((w - BETA) ** 2).sum(axis=1)
    )
