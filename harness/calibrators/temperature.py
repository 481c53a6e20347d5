"""Temperature scaling."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from harness.calibrators.base import CalibrationMap
from harness.calibrators.logits import floored_log, log_odds
from harness.math.softmax import softmax

BISECTIONS = 30  # of log beta on [-16, 16]: both numbers are those of berta2026's library
LARGEST_LOG_BETA = 16.0
GRADIENT_ROUNDING = 1e-12  # bound on the rounding of the gradient, a mean of terms up to 87.336


@dataclass(frozen=True)
class Temperature:
    """Multiply the logits by one positive number, chosen by the log-loss.

        q(p) = softmax(beta log p),   scalars: q(p) = sigma(beta logit p),
        beta > 0 minimises the mean log-loss

    Logs are floored at -87.336. 1 / beta is the temperature: above 1 it flattens overconfident
    predictions.

    Notes
    -----
    beta is found by 30 bisections of log beta on [-16, 16], on the sign of the log-loss's
    derivative mean(sum_j z_j q_j) - mean(z_y), z = log p. Only the scale of the logits changes, so
    a shift or a wave of E[Y given p] stays undetected: a variational estimate with it is then a
    weak lower bound. Determinism: exact. Cost: O(n k) per step, about ten steps.

    References
    ----------
    Guo et al. (2017), On calibration of modern neural networks, Section 4.2. The bisection is that
    of berta2026's library.

    Examples
    --------
    >>> import numpy as np
    >>> p = np.array([0.1, 0.1, 0.1, 0.9, 0.9, 0.9])
    >>> y = np.array([0, 0, 1, 1, 1, 0])  # 1/3 and 2/3 would have been right
    >>> Temperature().fit(p, y)(np.array([0.1, 0.5, 0.9])).round(4)
    array([0.3333, 0.5   , 0.6667])
    """

    determinism = "exact"

    def fit(
        self, p: np.ndarray, y: np.ndarray, rng: np.random.Generator | int | None = None
    ) -> CalibrationMap:
        beta = self.slope(p, y)
        if p.ndim == 1:
            return lambda t: expit(beta * log_odds(t))
        return lambda t: softmax(beta * floored_log(t))

    def slope(self, p: np.ndarray, y: np.ndarray) -> float:
        """Return beta."""
        if p.ndim == 1:
            x = log_odds(p)
            target = float((x * y).mean())  # the constant part of z cancels in the gradient

            def scalar_slope(b: float) -> tuple[float, float]:
                s = expit(b * x)
                weighted = x * s
                return float(weighted.mean()) - target, float((weighted * (x - weighted)).mean())

            return _bisect(scalar_slope)
        z = floored_log(p)
        target = float(z[np.arange(len(y)), y].mean())

        def slope(b: float) -> tuple[float, float]:
            s = softmax(b * z)
            weighted = z * s
            mean = weighted.sum(axis=1)
            return float(mean.mean()) - target, float(((weighted * z).sum(axis=1) - mean**2).mean())

        return _bisect(slope)


def _bisect(slope: Callable[[float], tuple[float, float]]) -> float:
    """Return the beta at which the bisection ends.

    slope(beta) returns (gradient, its derivative); the gradient is non-decreasing. Newton's method
    first finds the root in a few steps. The sign at a bisection point far from the root is then
    known, and the gradient is computed only near the root (a third of the evaluations).
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
    """Return (root of the gradient in log beta, bound on its error).

    Return (0, inf) if Newton's method does not converge, because the range contains no minimum or
    the gradient is flat.
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
