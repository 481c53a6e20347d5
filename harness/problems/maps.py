"""Calibration maps g*: C = g*(p).

Scalar maps take (n,) probabilities. Vector maps take (n, k); they are elementwise functions h
followed by normalisation, g*(p) = h(p) / sum_j h(p_j), which the conditional truths rely on.

`kinks` are the interior points where a scalar map is not smooth; quadrature splits there.
`pair(p, 1 - p)` gives C and 1 - C, each to full relative accuracy, where 1 - g*(p) would round.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.special import expit, logit

from harness.errors import BadInputError


class ScalarMap(Protocol):
    """Calibration map of scalars, with the points where it is not smooth."""

    @property
    def kinks(self) -> tuple[float, ...]: ...

    def __call__(self, p: np.ndarray) -> np.ndarray: ...


@dataclass(frozen=True)
class Identity:
    """g*(p) = p: calibrated scalars or vectors.

    Examples
    --------
    >>> Identity()(np.array([0.1, 0.9]))
    array([0.1, 0.9])
    """

    kinks = ()

    def __call__(self, p: np.ndarray) -> np.ndarray:
        return p

    def elementwise(self, p: np.ndarray) -> np.ndarray:
        return p


@dataclass(frozen=True)
class LogitAffine:
    """g*(p) = sigma(slope logit p + intercept).

    Over-confident for slope < 1, under-confident for slope > 1.

    Examples
    --------
    >>> LogitAffine(0.4, 0.3)(np.array([0.1, 0.9])).round(4)
    array([0.3592, 0.7647])

    References
    ----------
    berta2026, Section 4.
    """

    slope: float = 1.0
    intercept: float = 0.0
    kinks = ()

    def __call__(self, p: np.ndarray) -> np.ndarray:
        return expit(_times(self.slope, logit(p)) + self.intercept)

    def pair(self, p: np.ndarray, rest: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        x = self.slope * (np.log(p) - np.log(rest)) + self.intercept
        return expit(x), expit(-x)


@dataclass(frozen=True)
class Shifted:
    """g*(p) = min(1, p + eps), for negative eps max(0, p + eps).

    Examples
    --------
    >>> Shifted(0.02)(np.array([0.1, 0.99]))
    array([0.12, 1.  ])

    References
    ----------
    berta2026, Fig. 1 bottom.
    """

    eps: float = 0.02

    @property
    def kinks(self) -> tuple[float, ...]:
        return (1.0 - self.eps if self.eps > 0 else -self.eps,)

    def __call__(self, p: np.ndarray) -> np.ndarray:
        return np.clip(p + self.eps, 0.0, 1.0)


@dataclass(frozen=True)
class Wavy:
    """g*(p) = p + 2 / (10 pi) sin(10 pi p) + 1 / (10 pi) sin(20 (2 pi / 3) p), inside [0, 1].

    Examples
    --------
    >>> Wavy()(np.array([0.1, 0.5])).round(4)
    array([0.0724, 0.5276])

    References
    ----------
    berta2026, published runs.
    """

    kinks = ()

    def __call__(self, p: np.ndarray) -> np.ndarray:
        slow = 2.0 / (10 * np.pi) * np.sin(10 * np.pi * p)
        fast = 1.0 / (10 * np.pi) * np.sin(20 * (2 * np.pi / 3) * p)
        return p + slow + fast


@dataclass(frozen=True)
class Piecewise:
    """g*(p) = sigma(slope_above logit p) for p > 1/2 and sigma(slope_below logit p) otherwise.

    Examples
    --------
    >>> Piecewise()(np.array([0.1, 0.9])).round(4)
    array([0.2934, 0.9998])

    References
    ----------
    berta2026, Table 2, "both".
    """

    slope_below: float = 0.4
    slope_above: float = 4.0
    kinks = (0.5,)

    def __call__(self, p: np.ndarray) -> np.ndarray:
        return expit(_times(np.where(p > 0.5, self.slope_above, self.slope_below), logit(p)))

    def pair(self, p: np.ndarray, rest: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        x = np.where(p > 0.5, self.slope_above, self.slope_below) * (np.log(p) - np.log(rest))
        return expit(x), expit(-x)


@dataclass(frozen=True)
class Affine:
    """g*(p) = intercept + slope p; with slope 0 it is constant.

    Examples
    --------
    >>> Affine(0.2, 0.5)(np.array([0.1, 0.9]))
    array([0.25, 0.65])
    """

    intercept: float = 0.0
    slope: float = 1.0
    kinks = ()

    def __call__(self, p: np.ndarray) -> np.ndarray:
        return self.intercept + self.slope * p


@dataclass(frozen=True)
class Sigmoid:
    """g*(p) = sigma(slope (p - centre)): a logistic curve in p itself, not in its logit.

    Examples
    --------
    >>> Sigmoid()(np.array([0.1, 0.5])).round(4)
    array([2.000e-04, 7.685e-01])
    """

    slope: float = 24.0
    centre: float = 0.45
    kinks = ()

    def __call__(self, p: np.ndarray) -> np.ndarray:
        return expit(self.slope * (p - self.centre))


@dataclass(frozen=True)
class Steps:
    """g*(p) = values[j] if j of the ascending cuts are at most p; one more value than cuts.

    Examples
    --------
    >>> Steps()(np.array([0.1, 0.3, 0.9]))
    array([0.08, 0.42, 0.97])
    """

    values: tuple[float, ...] = (0.08, 0.42, 0.75, 0.97)
    cuts: tuple[float, ...] = (0.3, 0.6, 0.85)

    def __post_init__(self) -> None:
        for name in ("values", "cuts"):
            object.__setattr__(self, name, tuple(float(v) for v in getattr(self, name)))
        if len(self.values) != len(self.cuts) + 1:
            raise BadInputError(
                f"values has {len(self.values)} entries and cuts {len(self.cuts)}; "
                "values needs one more than cuts."
            )
        if list(self.cuts) != sorted(self.cuts):
            raise BadInputError(f"cuts is {list(self.cuts)}; the cuts must be in ascending order.")

    @property
    def kinks(self) -> tuple[float, ...]:
        return self.cuts

    def __call__(self, p: np.ndarray) -> np.ndarray:
        c = np.full(np.shape(p), self.values[0])
        for cut, value in zip(self.cuts, self.values[1:]):
            c = np.where(p >= cut, value, c)
        return c


ENVELOPES = {
    "flat": lambda p: np.ones_like(p),
    "parabola": lambda p: p * (1.0 - p),
    "triangle": lambda p: np.minimum(p, 1.0 - p),
}


@dataclass(frozen=True)
class Wave:
    """g*(p) = p + amplitude envelope(p) sin(2 pi periods p).

    The envelope is 1 (flat), p (1 - p) (parabola) or min(p, 1 - p) (triangle).

    Examples
    --------
    >>> Wave(0.2, 2)(np.array([0.1, 0.5])).round(4)
    array([0.2902, 0.5   ])
    """

    amplitude: float = 0.1
    periods: float = 1.0
    envelope: str = "flat"

    def __post_init__(self) -> None:
        if self.envelope not in ENVELOPES:
            raise BadInputError(
                f"envelope is {self.envelope!r}; allowed are {', '.join(ENVELOPES)}."
            )

    @property
    def kinks(self) -> tuple[float, ...]:
        return (0.5,) if self.envelope == "triangle" else ()

    def __call__(self, p: np.ndarray) -> np.ndarray:
        return p + self.amplitude * ENVELOPES[self.envelope](p) * np.sin(
            2.0 * np.pi * self.periods * p
        )


@dataclass(frozen=True)
class SquareWave:
    """Square wave around the diagonal that stays inside [0, 1].

        g*(p) = p + m(p) in the first half of each of `periods` equal parts of [0, 1],
                p - m(p) in the second half,   m(p) = min(amplitude, p, 1 - p)

    Examples
    --------
    >>> SquareWave(0.2, 3)(np.array([0.1, 0.5])).round(4)
    array([0.2, 0.3])
    """

    amplitude: float = 0.2
    periods: int = 12

    @property
    def kinks(self) -> tuple[float, ...]:
        jumps = np.arange(1, 2 * self.periods) / (2 * self.periods)
        bends = min(self.amplitude, 0.5), max(1.0 - self.amplitude, 0.5)
        return tuple(np.unique([*jumps, *bends]).tolist())

    def __call__(self, p: np.ndarray) -> np.ndarray:
        up = np.floor(2 * self.periods * p) % 2 == 0
        return p + np.where(up, 1.0, -1.0) * np.minimum(self.amplitude, np.minimum(p, 1.0 - p))


@dataclass(frozen=True)
class Bend:
    """g*(p) = p + amount p (1 - p).

    Above the diagonal for a positive amount, below for a negative one.

    Examples
    --------
    >>> Bend(-0.5)(np.array([0.0, 0.5, 0.9]))
    array([0.   , 0.375, 0.855])
    """

    amount: float = -0.5
    kinks = ()

    def __call__(self, p: np.ndarray) -> np.ndarray:
        return p + self.amount * p * (1.0 - p)


@dataclass(frozen=True)
class Bump:
    """The diagonal with one bump.

        g*(p) = p + height (1 + cos(pi (p - centre) / width)) / 2   if |p - centre| < width

    Examples
    --------
    >>> Bump(0.75, 0.1, -0.3)(np.array([0.5, 0.75, 0.9])).round(4)
    array([0.5 , 0.45, 0.9 ])
    """

    centre: float = 0.75
    width: float = 0.1
    height: float = -0.2

    def __post_init__(self) -> None:
        if not self.width > 0:
            raise BadInputError(f"width is {self.width!r}; a positive number is needed.")

    @property
    def kinks(self) -> tuple[float, ...]:
        return _interior(self.centre - self.width, self.centre, self.centre + self.width)

    def __call__(self, p: np.ndarray) -> np.ndarray:
        away = np.minimum(np.abs(p - self.centre) / self.width, 1.0)
        return p + self.height * (1.0 + np.cos(np.pi * away)) / 2.0


@dataclass(frozen=True)
class Hump:
    """g*(p) = top - curvature (p - peak)^2: rises up to the peak and falls beyond it.

    Examples
    --------
    >>> Hump(0.8, 0.6, 1.0)(np.array([0.1, 0.6, 1.0]))
    array([0.55, 0.8 , 0.64])
    """

    top: float = 0.8
    peak: float = 0.6
    curvature: float = 1.0
    kinks = ()

    def __call__(self, p: np.ndarray) -> np.ndarray:
        return self.top - self.curvature * (p - self.peak) ** 2


@dataclass(frozen=True)
class Spot:
    """The diagonal except for one point: g*(at) = value.

    It matters if p = `at` has a positive probability.

    Examples
    --------
    >>> Spot(0.9, 0.5)(np.array([0.89, 0.9]))
    array([0.89, 0.5 ])
    """

    at: float = 0.9
    value: float = 0.5

    @property
    def kinks(self) -> tuple[float, ...]:
        return (self.at,)

    @property
    def spikes(self) -> float:
        """Total variation of the point, which a grid would miss."""
        return 2.0 * abs(self.value - self.at)

    def __call__(self, p: np.ndarray) -> np.ndarray:
        return np.where(p == self.at, self.value, p)


@dataclass(frozen=True)
class Between:
    """g*(p) = p clipped to [low, high], as if a share of the labels were noise.

    Examples
    --------
    >>> Between(0.1, 0.9)(np.array([0.0, 0.5, 1.0]))
    array([0.1, 0.5, 0.9])
    """

    low: float = 0.0
    high: float = 1.0

    @property
    def kinks(self) -> tuple[float, ...]:
        return _interior(self.low, self.high)

    def __call__(self, p: np.ndarray) -> np.ndarray:
        return np.clip(p, self.low, self.high)


@dataclass(frozen=True)
class Power:
    """g*(p) proportional to p^exponent, elementwise.

    Over-confident for exponent < 1, under-confident for exponent > 1.

    Examples
    --------
    >>> Power(0.3)(np.array([[0.1, 0.2, 0.7]])).round(4)
    array([[0.2485, 0.306 , 0.4455]])

    References
    ----------
    berta2026, Fig. 3.
    """

    exponent: float = 1.0

    def __call__(self, p: np.ndarray) -> np.ndarray:
        return _normalised(self.elementwise(p))

    def elementwise(self, p: np.ndarray) -> np.ndarray:
        return p**self.exponent


@dataclass(frozen=True)
class Harmonic:
    """g*(p) = softmax(log p + amplitude sin(frequency log p)).

    Examples
    --------
    >>> Harmonic()(np.array([[0.1, 0.2, 0.7]])).round(4)
    array([[0.2187, 0.1734, 0.608 ]])

    References
    ----------
    berta2026, published runs.
    """

    amplitude: float = 0.5
    frequency: float = 5.0

    def __call__(self, p: np.ndarray) -> np.ndarray:
        return _normalised(self.elementwise(p))

    def elementwise(self, p: np.ndarray) -> np.ndarray:
        with np.errstate(divide="ignore"):
            wave = np.sin(self.frequency * np.log(np.maximum(p, np.finfo(float).tiny)))
        return p * np.exp(self.amplitude * wave)


def _times(slope: float | np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return slope * x; 0 for slope 0 even if x is infinite."""
    with np.errstate(invalid="ignore"):
        return np.where(slope == 0.0, 0.0, slope * x)


def _interior(*points: float) -> tuple[float, ...]:
    return tuple(point for point in points if 0.0 < point < 1.0)


def _normalised(weights: np.ndarray) -> np.ndarray:
    return weights / weights.sum(axis=-1, keepdims=True)
