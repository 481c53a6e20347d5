"""Temperature scaling."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

LOG_FLOOR = float(np.log(np.finfo(np.float32).tiny))  # -87.336: the authors take logits of float32 probabilities
STEPS = 30
RANGE = 16.0


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
            beta = _bisect(lambda b: float((x * expit(b * x)).mean()) - target)
            return lambda t: expit(beta * _log_odds(t))
        z = _logs(p)
        target = float(z[np.arange(len(y)), y].mean())
        beta = _bisect(lambda b: float((z * _softmax(b * z)).sum(axis=1).mean()) - target)
        return lambda t: _softmax(beta * _logs(t))


def _bisect(gradient):
    low, high = -RANGE, RANGE
    for _ in range(STEPS):
        middle = (low + high) / 2
        if gradient(np.exp(middle)) > 0:
            high = middle
        else:
            low = middle
    return np.exp((low + high) / 2)


def _logs(p):
    with np.errstate(divide="ignore"):
        return np.maximum(np.log(p), LOG_FLOOR)


def _log_odds(p):
    return _logs(p) - _logs(1.0 - p)


def _softmax(z):
    e = np.exp(z - z.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)
