"""Calibrator by temperature scaling."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from harness.calibrators.base import CalibrationMap, FitEach
from harness.calibrators.logits import floored_log, log_odds
from harness.math.blocks import row_blocks
from harness.math.softmax import softmax
from harness.math.weights import mean

# Bisection steps of log beta on [-16, 16]. Both numbers are those of berta2026's library.
BISECTIONS = 30
LARGEST_LOG_BETA = 16.0
# Bound on the rounding error of the gradient, which is a mean of terms of up to 87.336.
GRADIENT_ROUNDING = 1e-12


@dataclass(frozen=True)
class Temperature(FitEach):
    """Temperature scaling: multiply the logits by a positive number beta.

        q(p) = softmax(beta log p) for vectors,   q(p) = sigma(beta logit p) for scalars

    sigma is the logistic function, and beta > 0 minimises the mean log-loss. Logs are floored at
    -87.336. 1 / beta is the temperature. A temperature above 1 makes predictions less confident.

    Notes
    -----
    Let z = log p, and let q_j be the probabilities of the map. beta is found by 30 bisections of
    log beta on [-16, 16]. They use the sign of the derivative of the log-loss, mean(sum_j z_j q_j)
    - mean(z_y).

    Only the scale of the logits changes, so a shift or a wave of E[Y given p] stays undetected. A
    variational estimate with this calibrator is then a weak lower bound. Determinism: exact. Cost:
    O(n k) per step, about ten steps.

    References
    ----------
    Guo et al. (2017), On calibration of modern neural networks, Section 4.2. The bisection is that
    of berta2026's library.

    Examples
    --------
    >>> import numpy as np
    >>> p = np.array([0.1, 0.1, 0.1, 0.9, 0.9, 0.9])
    >>> y = np.array([0, 0, 1, 1, 1, 0])  # calibrated predictions would be 1/3 and 2/3
    >>> Temperature().fit(p, y)(np.array([0.1, 0.5, 0.9])).round(4)
    array([0.3333, 0.5   , 0.6667])
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
        z, w = log_odds(p) if p.ndim == 1 else floored_log(p), sample_weight
        return (
            _tempered(_fit_slope(z[rows], y[rows], weights=None if w is None else w[rows]), p.ndim)
            for rows in seen
        )

    def slope(
        self,
        p: np.ndarray,
        y: np.ndarray,
        ridge: float = 0.0,
        sample_weight: np.ndarray | None = None,
    ) -> float:
        """Return the fitted beta, the inverse of the temperature.

        It minimises the mean log-loss + ridge (beta - 1)^2 / 2. The mean is weighted if there are
        weights (n,).
        """
        z = log_odds(p) if p.ndim == 1 else floored_log(p)
        return _fit_slope(z, y, ridge, sample_weight)


def _tempered(beta: float, dimensions: int) -> CalibrationMap:
    """Return the map with slope `beta` of scalars (1 dimension) or vectors (2 dimensions)."""
    if dimensions == 1:
        return lambda p: expit(beta * log_odds(p))
    return lambda p: softmax(beta * floored_log(p))


def _fit_slope(
    z: np.ndarray, y: np.ndarray, ridge: float = 0.0, weights: np.ndarray | None = None
) -> float:
    """Return the beta that minimises the log-loss of labels y (n,) given sigma(beta z) or softmax.

    z are log-odds (n,), or logarithms of predictions (n, k). The mean log-loss has the penalty
    ridge (beta - 1)^2 / 2. `weights` (n,) are those of the mean, or None.
    """
    rows = len(y)
    n = rows if weights is None else weights.sum()
    blocks = [(z[part], None if weights is None else weights[part]) for part in row_blocks(rows)]
    target = mean(z * y if z.ndim == 1 else z[np.arange(rows), y], weights)
    sums = _scalar_sums if z.ndim == 1 else _vector_sums

    def slope(b: float) -> tuple[float, float]:
        first, second = np.sum([sums(b, *block) for block in blocks], axis=0)
        return float(first / n) - target + ridge * (b - 1.0), float(second / n) + ridge

    return _bisect(slope)


def _scalar_sums(b: float, z: np.ndarray, weights: np.ndarray | None) -> tuple[float, float]:
    """Return the sums of z q and of z^2 q (1 - q) over log-odds z (n,), with q = sigma(b z).

    For two classes these are the sums of `_vector_sums`, up to a constant that cancels.
    """
    product = z * expit(b * z)
    return _sums(product, product * (z - product), weights)


def _vector_sums(b: float, z: np.ndarray, weights: np.ndarray | None) -> tuple[float, float]:
    """Return the sums over rows of the mean and of the variance of log-probabilities z (n, k).

    The mean and the variance of a row are those of z_j under the probabilities softmax(b z).
    """
    product = z * softmax(b * z)
    mean_z = product.sum(axis=1)
    return _sums(mean_z, (product * z).sum(axis=1) - mean_z**2, weights)


def _sums(first: np.ndarray, second: np.ndarray, weights: np.ndarray | None) -> tuple[float, float]:
    """Return the sums of two arrays (n,), weighted unless `weights` is None."""
    if weights is None:
        return first.sum(), second.sum()
    return float(weights @ first), float(weights @ second)


def _bisect(slope: Callable[[float], tuple[float, float]]) -> float:
    """Return the beta at which the bisection of log beta ends.

    slope(beta) returns the gradient of the log-loss and its derivative. The gradient is
    non-decreasing. Newton's method first locates the root. At bisection points far from the root,
    the sign is then known without computing the gradient, which saves two thirds of the
    evaluations.
    """
    root, error = _newton(slope)
    low, high = -LARGEST_LOG_BETA, LARGEST_LOG_BETA
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        above = middle > root if abs(middle - root) > error else slope(np.exp(middle))[0] > 0
        if above:
            high = middle
        else:
            low = middle
    return np.exp((low + high) / 2)


def _newton(slope: Callable[[float], tuple[float, float]]) -> tuple[float, float]:
    """Return the log beta at which the gradient of the log-loss is 0, and a bound on its error.

    Return (0, inf) if Newton's method does not converge. The range then contains no minimum, or the
    gradient is flat.
    """
    log_beta = 0.0
    for _ in range(20):
        gradient, derivative = slope(np.exp(log_beta))
        if not derivative > 0.0:
            break
        step = -gradient / (derivative * np.exp(log_beta))
        if abs(step) < 1e-7:  # the error is now about step^2 plus the effect of rounding
            error = max(1e-9, GRADIENT_ROUNDING / (derivative * np.exp(log_beta)))
            return (log_beta + step, error) if error < 1e-3 else (0.0, np.inf)
        log_beta += float(np.clip(step, -1.0, 1.0))
        if abs(log_beta) > LARGEST_LOG_BETA:
            break
    return 0.0, np.inf
