"""Temperature scaling."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

LOG_FLOOR = float(np.log(np.finfo(np.float32).tiny))  # -87.336: the authors take logits of float32 probabilities
STEPS = 30
RANGE = 16.0
ROUNDING = 1e-12  # of the gradient, a mean of terms of at most 87.336


@dataclass(frozen=True)
class Temperature:
    """q = softmax(beta log p), beta > 0 minimising the log-loss: 30 bisections of log beta on [-16, 16] on the sign of
    mean(sum_j z_j q_j) - mean(z_y), z = max(log p, -87.336). No bias, no smoothing. O(n k) per step. Guo et al. (2017);
    the bisection of berta2026's library."""

    determinism = "exact"

    def fit(self, p, y, rng=None):
        if p.ndim == 1:
            x = _log_odds(p)
            target = float((x * y).mean())  # the constant part of z cancels in the gradient

            def slope(b):
                s = expit(b * x)
                weighted = x * s
                return float(weighted.mean()) - target, float((weighted * (x - weighted)).mean())

            beta = _bisect(slope)
            return lambda t: expit(beta * _log_odds(t))
        z = _logs(p)
        target = float(z[np.arange(len(y)), y].mean())

        def slope(b):
            s = _softmax(b * z)
            weighted = z * s
            mean = weighted.sum(axis=1)
            return float(mean.mean()) - target, float(((weighted * z).sum(axis=1) - mean**2).mean())

        beta = _bisect(slope)
        return lambda t: _softmax(beta * _logs(t))


def _bisect(slope):
    """The bisection's answer, most of its signs taken from a root that Newton's method finds in a few steps; the gradient itself
    is asked only next to it. slope(beta) -> (gradient, its derivative), the gradient non-decreasing."""
    root, error = _newton(slope)
    low, high = -RANGE, RANGE
    for _ in range(STEPS):
        middle = (low + high) / 2
        above = middle > root if abs(middle - root) > error else slope(np.exp(middle))[0] > 0
        if above:
            high = middle
        else:
            low = middle
    return np.exp((low + high) / 2)


def _newton(slope):
    """(root of the gradient in log beta, an error that it surely has less than); (0, inf) where Newton's method does not settle:
    no minimum in the range, a flat gradient."""
    at, step = 0.0, np.inf
    for _ in range(20):
        gradient, derivative = slope(np.exp(at))
        if not derivative > 0.0:
            break
        step = -gradient / (derivative * np.exp(at))
        if abs(step) < 1e-7:  # the next error is its square; but nearer than its rounding the gradient's sign says nothing
            error = max(1e-9, ROUNDING / (derivative * np.exp(at)))
            return (at + step, error) if error < 1e-3 else (0.0, np.inf)
        at += float(np.clip(step, -1.0, 1.0))
        if abs(at) > RANGE:
            break
    return 0.0, np.inf


def _logs(p):
    with np.errstate(divide="ignore"):
        return np.maximum(np.log(p), LOG_FLOOR)


def _log_odds(p):
    return _logs(p) - _logs(1.0 - p)


def _softmax(z):
    e = np.array(z.T, order="C")  # sums over the few classes run down columns: several times faster
    e -= e.max(axis=0)
    np.exp(e, out=e)
    e /= e.sum(axis=0)
    return np.ascontiguousarray(e.T)
