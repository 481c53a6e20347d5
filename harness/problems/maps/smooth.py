"""Maps of probabilities that are smooth inside (0, 1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.special import expit, logit

from harness.errors import BadInputError


class ScalarMap(Protocol):
    """Calibration map of probabilities (n,), with the points `kinks` where it is not smooth."""

    @property
    def kinks(self) -> tuple[float, ...]: ...

    def __call__(self, p: np.ndarray) -> np.ndarray: ...


@dataclass(frozen=True)
class Identity:
    """g*(p) = p: predictions (scalars or vectors) are calibrated.

    Examples
    --------
    >>> Identity()(np.array([0.1, 0.9]))
    array([0.1, 0.9])
    """

    kinks = ()

    def __call__(self, p: np.ndarray) -> np.ndarray:
        return p

    def elementwise(self, p: np.ndarray) -> np.ndarray:
        """Return p."""
        return p


@dataclass(frozen=True)
class LogitAffine:
    """g*(p) = sigma(slope logit p + intercept), with sigma the logistic function.

    Predictions are overconfident for slope < 1, and underconfident for slope > 1.

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
        return expit(scaled_logits(self.slope, logit(p)) + self.intercept)

    def pair(self, p: np.ndarray, rest: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return g*(p) and 1 - g*(p) to full relative accuracy; `rest` is 1 - p."""
        x = self.slope * (np.log(p) - np.log(rest)) + self.intercept
        return expit(x), expit(-x)


@dataclass(frozen=True)
class Wavy:
    """g*(p) = p + 2 / (10 pi) sin(10 pi p) + 1 / (10 pi) sin(20 (2 pi / 3) p).

    All its values lie in [0, 1].

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
class Affine:
    """g*(p) = intercept + slope p. With slope 0 it is constant.

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
    """g*(p) = sigma(slope (p - centre)), with sigma the logistic function.

    It is a logistic curve in p itself, not in the logit of p.

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


ENVELOPES = {
    "flat": lambda p: np.ones_like(p),
    "parabola": lambda p: p * (1.0 - p),
    "triangle": lambda p: np.minimum(p, 1.0 - p),
}


@dataclass(frozen=True)
class Wave:
    """Sine wave around the diagonal: g*(p) = p + amplitude envelope(p) sin(2 pi periods p).

    The envelope is 1 ("flat"), p (1 - p) ("parabola") or min(p, 1 - p) ("triangle").

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
class Bend:
    """Parabola around the diagonal: g*(p) = p + amount p (1 - p).

    It lies above the diagonal for a positive amount, and below for a negative amount.

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
class Hump:
    """Parabola that rises up to the peak and falls beyond it: g*(p) = top - curvature (p - peak)^2.

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


def scaled_logits(slope: float | np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return slope * x for logits x; slope 0 gives 0 even if x is infinite."""
    with np.errstate(invalid="ignore"):
        return np.where(slope == 0.0, 0.0, slope * x)
