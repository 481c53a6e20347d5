"""Calibrators by Platt scaling and beta calibration: sigmoids with two or three coefficients."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from harness.calibrators.base import CalibrationMap, FitEach
from harness.calibrators.logits import floored_log, log_odds
from harness.calibrators.newton import RIDGE, logistics, normalised

PLATT, BETA = np.array([0.0, 1.0]), np.array([1.0, 1.0, 0.0])  # coefficients of the identity


@dataclass(frozen=True)
class Platt(FitEach):
    """Platt scaling of the logit; one-versus-rest for more than two classes.

        q(p) = sigma(a + b l),   l = logit p

    sigma is the logistic function, and (a, b) minimise the mean log-loss. Logs are floored at
    -87.336. For more than two classes, one map q_j per class is fitted on p_j against 1{y = j}, and
    each row is divided by its sum.

    Notes
    -----
    Newton steps with the analytic Hessian find the exact minimum. A ridge of 1e-6 towards the
    identity (0, 1) keeps the fit finite if a threshold separates the classes. In contrast to Platt
    (1999), labels are not smoothed. b may be negative.

    Two coefficients give little noise, of order 1/n in a variational squared error. A wave of E[Y
    given p] stays undetected, so the variational estimate may be far below the error. Determinism:
    exact. Cost: O(n k) per step, about seven steps.

    References
    ----------
    Platt (1999), Probabilistic outputs for support vector machines, eq. 2, with the
    logit of p as score. Guo et al. (2017), On calibration of modern neural networks, Section 4.1.

    Examples
    --------
    Two distinct predictions and two coefficients: each gets its share of ones.

    >>> import numpy as np
    >>> p, y = np.repeat([0.2, 0.7], 4), np.array([0, 0, 0, 1, 0, 1, 0, 1])
    >>> Platt().fit(p, y)(np.array([0.2, 0.7])).round(3)
    array([0.25, 0.5 ])
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
        return _fits(
            p,
            y,
            seen,
            _platt_features,
            lambda x, hit, start, w: (logistics(x, hit, PLATT, start, weights=w),) * 2,
            sample_weight,
        )

    def coefficients(
        self,
        p: np.ndarray,
        y: np.ndarray,
        ridge: float = RIDGE,
        sample_weight: np.ndarray | None = None,
    ) -> np.ndarray:
        """Return the fitted (a, b), shape (2,), of sigma(a + b logit p), for two classes.

        They minimise the mean log-loss + ridge |(a, b) - (0, 1)|^2 / 2. The mean is weighted if
        there are weights (n,).
        """
        hit = y[None].astype(np.float64)
        x = _platt_features(p[None])
        return logistics(x, hit, PLATT, ridge=ridge, weights=sample_weight)[0]


@dataclass(frozen=True)
class BetaCalibration(FitEach):
    """Beta calibration; one-versus-rest for more than two classes.

        q(p) = sigma(a log p - b log(1 - p) + c),   a, b >= 0

    sigma is the logistic function, and (a, b, c) minimise the mean log-loss. Logs are floored at
    -87.336. For more than two classes, one map q_j per class is fitted on p_j against 1{y = j}, and
    each row is divided by its sum.

    Notes
    -----
    This is the calibration map of scores that are Beta distributed within each class. It contains
    the identity (1, 1, 0). A ridge of 1e-6 towards the identity keeps the fit finite if a threshold
    separates the classes.

    Newton steps find the exact minimum with a, b >= 0. If the unconstrained minimum has a negative
    coefficient, this coefficient is set to 0 and the others are fitted again, as published. If
    there are several such fits, the best is used.

    q never decreases, so a non-monotone E[Y given p] stays undetected. The variational estimate is
    then a lower bound. Determinism: exact. Cost: O(n k) per step, about seven steps.

    References
    ----------
    Kull, Silva Filho and Flach (2017), Beta calibration, AISTATS, eq. 5 and Section 4.

    Examples
    --------
    Ones are rarer for larger p, so the best non-decreasing map is constant.

    >>> import numpy as np
    >>> p, y = np.repeat([0.2, 0.8], 4), np.array([1, 1, 1, 0, 0, 1, 0, 0])
    >>> BetaCalibration().fit(p, y)(np.array([0.2, 0.8])).round(3)
    array([0.5, 0.5])
    """

    determinism = "exact"
    seconds = 1e-3

    def fit_each(
        self,
        p: np.ndarray,
        y: np.ndarray,
        seen: np.ndarray,
        rng: np.random.Generator | int | None = None,
        sample_weight: np.ndarray | None = None,
    ) -> Iterator[CalibrationMap]:
        return _fits(p, y, seen, _beta_features, _quadrant, sample_weight)

    def coefficients(
        self,
        p: np.ndarray,
        y: np.ndarray,
        ridge: float = RIDGE,
        sample_weight: np.ndarray | None = None,
    ) -> np.ndarray:
        """Return the fitted (a, b, c), shape (3,), for two classes.

        The map is sigma(a log p - b log(1 - p) + c) with a, b >= 0. The coefficients minimise the
        mean log-loss + ridge |(a, b, c) - (1, 1, 0)|^2 / 2. The mean is weighted if there are
        weights (n,).
        """
        x, hit = _beta_features(p[None]), y[None].astype(np.float64)
        return _quadrant(x, hit, None, sample_weight, ridge)[0][0]


def _fits(
    p: np.ndarray,
    y: np.ndarray,
    seen: Iterable[np.ndarray],
    features: Callable[[np.ndarray], np.ndarray],
    coefficients: Callable[..., tuple[np.ndarray, np.ndarray]],
    weights: np.ndarray | None,
) -> Iterator[CalibrationMap]:
    """Yield the map for the samples in each row of `seen`.

    * features(p (r, n)) returns the features (r, d, n) of r one-versus-rest problems.
    * coefficients(features, labels (r, n), start, weights (n,) or None) returns the coefficients
      w (r, d), and the start of the next fit. The next fit has almost the same samples.
    """
    several = p.ndim == 2 and p.shape[1] > 2
    hit = (y == np.arange(p.shape[1])[:, None] if several else y[None]).astype(np.float64)
    x, start = features(_to_rows(p)), None

    def calibration_map(w: np.ndarray) -> CalibrationMap:
        return lambda x: _from_rows(expit((w[:, None, :] @ features(_to_rows(x)))[:, 0]), x)

    for mask in seen:
        part = None if weights is None else weights[mask]
        w, start = coefficients(x[:, :, mask], hit[:, mask], start, part)
        yield calibration_map(w)


def _to_rows(p: np.ndarray) -> np.ndarray:
    """Return predictions with one row for each one-versus-rest problem.

    The result is (1, n) for scalars and for two columns (the second column is used), and (k, n) for
    k > 2 columns.
    """
    if p.ndim == 1:
        return p[None]
    return np.ascontiguousarray(p.T) if p.shape[1] > 2 else np.ascontiguousarray(p[:, 1])[None]


def _from_rows(scores: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return the scores of the one-versus-rest problems as predictions with the shape of x.

    For more than two classes, rows are divided by their sums.
    """
    if x.ndim == 1:
        return scores[0]
    if x.shape[1] == 2:
        return np.column_stack([1.0 - scores[0], scores[0]])
    return normalised(np.ascontiguousarray(scores.T))


def _platt_features(p: np.ndarray) -> np.ndarray:
    """Return the features 1 and logit p of p (r, n), shape (r, 2, n)."""
    x = log_odds(p)
    return np.stack([np.ones_like(x), x], axis=1)


def _beta_features(p: np.ndarray) -> np.ndarray:
    """Return the features log p, -log(1 - p) and 1 of p (r, n), shape (r, 3, n)."""
    return np.stack([floored_log(p), -floored_log(1.0 - p), np.ones_like(p)], axis=1)


def _quadrant(
    x: np.ndarray,
    hit: np.ndarray,
    start: np.ndarray | None,
    weights: np.ndarray | None,
    ridge: float = RIDGE,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the minima of r log-losses with a, b >= 0, and without this constraint, (r, 3) each.

    `x` (r, 3, n) holds the features and `hit` (r, n) the labels. `weights` (n,) are those of the
    mean log-loss, or None. If a minimum without constraint
    has a negative coefficient, the minimum with constraint has a = 0 or b = 0, because the function
    is convex.
    """

    def fit(x: np.ndarray, hit: np.ndarray, columns: list[int]) -> np.ndarray:
        return logistics(x[:, columns], hit, BETA[columns], ridge=ridge, weights=weights)

    free = logistics(x, hit, BETA, start, ridge, weights)
    w = free.copy()
    outside = np.flatnonzero((free[:, :2] < 0.0).any(axis=1))
    if not len(outside):
        return w, free
    x, hit = x[outside], hit[outside]
    sides = np.zeros((3, len(outside), 3))
    sides[0][:, [0, 2]] = fit(x, hit, [0, 2])
    sides[1][:, [1, 2]] = fit(x, hit, [1, 2])
    inside = np.zeros((3, len(outside)), dtype=bool)
    inside[:2] = (sides[:2, :, :2] >= 0.0).all(axis=2)
    inside[2] = ~inside.any(axis=0)
    corner = np.flatnonzero(inside[2])
    if len(corner):
        sides[2, corner, 2:] = fit(x[corner], hit[corner], [2])
    losses = np.where(inside, [_penalised(x, hit, side, ridge, weights) for side in sides], np.inf)
    w[outside] = sides[losses.argmin(axis=0), np.arange(len(outside))]
    return w, free


def _penalised(
    x: np.ndarray, hit: np.ndarray, w: np.ndarray, ridge: float, weights: np.ndarray | None
) -> np.ndarray:
    """Return the mean log-losses (r,) of the coefficients w (r, 3), with their ridge."""
    t = (w[:, None, :] @ x)[:, 0]
    return (
        np.average(np.logaddexp(0.0, t), axis=1, weights=weights)
        - np.average(t * hit, axis=1, weights=weights)
        + 0.5 * ridge * ((w - BETA) ** 2).sum(axis=1)
    )
