"""Calibration maps g*: C = g*(p). Scalar maps take (n,) probabilities; vector maps take (n, k) and are elementwise
functions h followed by normalisation, g*(p) = h(p) / sum_j h(p_j), which the conditional truths rely on.

`kinks` are the interior points where a scalar map is not smooth; quadrature splits there. `pair(p, 1 - p)` gives C and 1 - C,
each to full relative accuracy, where 1 - g*(p) would round.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit


@dataclass(frozen=True)
class Identity:
    """g*(p) = p: calibrated. Scalar or vector."""

    kinks = ()

    def __call__(self, p):
        return p

    def elementwise(self, p):
        return p


@dataclass(frozen=True)
class LogitAffine:
    """g*(p) = sigma(slope * logit p + intercept): slope < 1 over-confident, > 1 under-confident (berta2026, Section 4)."""

    slope: float = 1.0
    intercept: float = 0.0
    kinks = ()

    def __call__(self, p):
        return expit(_times(self.slope, logit(p)) + self.intercept)

    def pair(self, p, rest):
        x = self.slope * (np.log(p) - np.log(rest)) + self.intercept
        return expit(x), expit(-x)


@dataclass(frozen=True)
class Shifted:
    """g*(p) = min(1, p + eps), for negative eps max(0, p + eps) (berta2026, Fig. 1 bottom)."""

    eps: float = 0.02

    @property
    def kinks(self):
        return (1.0 - self.eps if self.eps > 0 else -self.eps,)

    def __call__(self, p):
        return np.clip(p + self.eps, 0.0, 1.0)


@dataclass(frozen=True)
class Wavy:
    """g*(p) = p + 2/(10 pi) sin(10 pi p) + 1/(10 pi) sin(20 (2 pi / 3) p), inside [0, 1] (berta2026, published runs)."""

    kinks = ()

    def __call__(self, p):
        return p + 2.0 / (10 * np.pi) * np.sin(10 * np.pi * p) + 1.0 / (10 * np.pi) * np.sin(20 * (2 * np.pi / 3) * p)


@dataclass(frozen=True)
class Piecewise:
    """g*(p) = sigma(slope_above logit p) for p > 1/2 and sigma(slope_below logit p) otherwise (berta2026, Table 2 'both')."""

    slope_below: float = 0.4
    slope_above: float = 4.0
    kinks = (0.5,)

    def __call__(self, p):
        return expit(_times(np.where(p > 0.5, self.slope_above, self.slope_below), logit(p)))

    def pair(self, p, rest):
        x = np.where(p > 0.5, self.slope_above, self.slope_below) * (np.log(p) - np.log(rest))
        return expit(x), expit(-x)


@dataclass(frozen=True)
class Power:
    """g*(p) proportional to p^exponent, elementwise: exponent < 1 over-confident, > 1 under-confident (berta2026, Fig. 3)."""

    exponent: float = 1.0

    def __call__(self, p):
        return _normalised(self.elementwise(p))

    def elementwise(self, p):
        return p**self.exponent


@dataclass(frozen=True)
class Harmonic:
    """g*(p) = softmax(log p + amplitude sin(frequency log p)) (berta2026, published runs)."""

    amplitude: float = 0.5
    frequency: float = 5.0

    def __call__(self, p):
        return _normalised(self.elementwise(p))

    def elementwise(self, p):
        with np.errstate(divide="ignore"):
            wave = np.sin(self.frequency * np.log(np.maximum(p, np.finfo(float).tiny)))
        return p * np.exp(self.amplitude * wave)


def _times(slope, x):
    """slope * x, and 0 for slope 0 even where x is infinite."""
    with np.errstate(invalid="ignore"):
        return np.where(slope == 0.0, 0.0, slope * x)


def _normalised(weights):
    return weights / weights.sum(axis=-1, keepdims=True)
