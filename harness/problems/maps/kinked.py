"""Maps of probabilities (n,) with kinks or jumps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit

from harness.errors import BadInputError
from harness.problems.maps.smooth import scaled_logits


@dataclass(frozen=True)
class Shifted:
    """g*(p) = p + eps, clipped to [0, 1].

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
class Piecewise:
    """g*(p) = sigma(slope logit p) with one slope above 1/2 and another slope below.

    sigma is the logistic function. `slope_above` applies for p > 1/2, `slope_below` otherwise.

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
        return expit(scaled_logits(np.where(p > 0.5, self.slope_above, self.slope_below), logit(p)))

    def pair(self, p: np.ndarray, rest: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return g*(p) and 1 - g*(p) to full relative accuracy; `rest` is 1 - p."""
        x = np.where(p > 0.5, self.slope_above, self.slope_below) * (np.log(p) - np.log(rest))
        return expit(x), expit(-x)


@dataclass(frozen=True)
class Steps:
    """Step function: g*(p) = values[j], where j is the number of cuts that are at most p.

    `cuts` is ascending, and `values` has one more entry than `cuts`.

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
                f"values has {len(self.values)} entries and cuts has {len(self.cuts)}; "
                "values needs one entry more than cuts."
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


@dataclass(frozen=True)
class SquareWave:
    """Square wave around the diagonal that stays inside [0, 1].

    [0, 1] is divided into `periods` equal parts. With m(p) = min(amplitude, p, 1 - p),

        g*(p) = p + m(p)   in the first half of each part,
        g*(p) = p - m(p)   in the second half.

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
class Bump:
    """The diagonal with a single bump of the given centre, half-width and height.

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
class Spot:
    """The diagonal except for a single point p = `at`, where g*(p) = `value`.

    The point matters only if p = `at` has a positive probability.

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
        """Total variation that the single point adds. A grid would miss it."""
        return 2.0 * abs(self.value - self.at)

    def __call__(self, p: np.ndarray) -> np.ndarray:
        return np.where(p == self.at, self.value, p)


@dataclass(frozen=True)
class Between:
    """g*(p) = p clipped to [low, high].

    Noise in the labels has a similar effect: no outcome is certain.

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


def _interior(*points: float) -> tuple[float, ...]:
    """Return the points that lie inside (0, 1)."""
    return tuple(point for point in points if 0.0 < point < 1.0)
