"""Maps with many kinks: teeth, spikes, a Brownian path and the devil's staircase."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import ndtri

from harness.errors import BadInputError
from harness.problems.maps.fixed_random import fixed_uniforms

# Number of pieces of a Brownian path. A sample of 20,000 cannot resolve more.
PIECES = 256


@dataclass(frozen=True)
class Sawtooth:
    """Teeth around the diagonal that stay inside [0, 1].

        g*(p) = p + m(p) (2 (periods p mod 1) - 1),  m(p) = min(amplitude, p, 1 - p)

    Examples
    --------
    >>> Sawtooth(0.2, 4)(np.array([0.3, 0.375, 0.49])).round(4)
    array([0.18 , 0.375, 0.674])
    """

    amplitude: float = 0.1
    periods: int = 8

    @property
    def kinks(self) -> tuple[float, ...]:
        jumps = np.arange(1, self.periods) / self.periods
        return _with_bends(self.amplitude, *jumps)

    def __call__(self, p: np.ndarray) -> np.ndarray:
        phase = self.periods * p
        return p + _room(p, self.amplitude) * (2.0 * (phase - np.floor(phase)) - 1.0)


@dataclass(frozen=True)
class Spiky:
    """Narrow bumps of alternating sign at c_j = (j - 1/2) / count, j = 1, ..., count.

        g*(p) = p + (-1)^j m(p) (1 + cos(pi (p - c_j) / width)) / 2   if |p - c_j| < width

    m(p) is min(height, p, 1 - p). Outside the bumps, g* is the diagonal.

    Examples
    --------
    >>> Spiky(6, 0.03, 0.3)(np.array([0.25, 0.3, 0.4166666667])).round(4)
    array([0.5   , 0.3   , 0.1167])
    """

    count: int = 6
    width: float = 0.03
    height: float = 0.3

    def __post_init__(self) -> None:
        if not 0.0 < self.width <= 0.5 / self.count:
            raise BadInputError(
                f"width is {self.width!r}; a positive number of at most {0.5 / self.count:g} is "
                "needed, so that bumps do not overlap."
            )

    @property
    def kinks(self) -> tuple[float, ...]:
        centres = (np.arange(self.count) + 0.5) / self.count
        points = [*centres, *(centres - self.width), *(centres + self.width)]
        return _with_bends(self.height, *points)

    def __call__(self, p: np.ndarray) -> np.ndarray:
        j = np.clip(np.floor(p * self.count), 0, self.count - 1)
        away = np.minimum(np.abs(p - (j + 0.5) / self.count) / self.width, 1.0)
        sign = np.where(j % 2 == 0, -1.0, 1.0)
        return p + sign * _room(p, self.height) * (1.0 + np.cos(np.pi * away)) / 2.0


@dataclass(frozen=True)
class Rough:
    """The diagonal plus a fixed Brownian path W from W(0) = 0 to W(1) = 0.

        g*(p) = p + amplitude W(p), clipped to [0, 1]

    W is linear between 257 points. `seed` determines its path, which has Hoelder exponent 1/2 down
    to the scale 1/256.

    Examples
    --------
    >>> g = Rough(0.2, seed=1)
    >>> g(np.array([0.0, 1.0]))
    array([0., 1.])
    >>> len(g.kinks)
    255
    """

    amplitude: float = 0.2
    seed: int = 0

    @property
    def kinks(self) -> tuple[float, ...]:
        return tuple((np.arange(1, PIECES) / PIECES).tolist())

    def __call__(self, p: np.ndarray) -> np.ndarray:
        return np.interp(p, np.arange(PIECES + 1) / PIECES, _path(self.amplitude, self.seed))


@lru_cache(maxsize=8)
def _path(amplitude: float, seed: int) -> np.ndarray:
    """Return the values of Rough at its 257 points."""
    steps = ndtri(fixed_uniforms(seed, PIECES)) / np.sqrt(PIECES)
    path = np.concatenate([[0.0], np.cumsum(steps)])
    p = np.arange(PIECES + 1) / PIECES
    return np.clip(p + amplitude * (path - p * path[-1]), 0.0, 1.0)


@dataclass(frozen=True)
class Cantor:
    """Devil's staircase: g*(p) = weight F(p) + (1 - weight) p.

    F is the Cantor function to `level` levels. It is 1/2 in the middle third, 1/4 and 3/4 in the
    middle thirds of the other thirds, and so on. It is linear in the remaining pieces.

    Examples
    --------
    >>> Cantor(6)(np.array([0.15, 0.5, 0.8])).round(4)
    array([0.25, 0.5 , 0.75])
    """

    level: int = 6
    weight: float = 1.0

    def __post_init__(self) -> None:
        if not (isinstance(self.level, int) and 1 <= self.level <= 10):
            raise BadInputError(f"level is {self.level!r}; an integer from 1 to 10 is needed.")

    @property
    def kinks(self) -> tuple[float, ...]:
        ends = np.array([0.0, 1.0])
        for _ in range(self.level):
            ends = np.concatenate([ends / 3.0, 2.0 / 3.0 + ends / 3.0])
        return tuple(ends[1:-1].tolist())

    def __call__(self, p: np.ndarray) -> np.ndarray:
        return self.weight * _staircase(p, self.level) + (1.0 - self.weight) * p


def _staircase(p: np.ndarray, level: int) -> np.ndarray:
    """Return the Cantor function of p to `level` levels."""
    if level == 0:
        return p
    right = p > 2.0 / 3.0
    inner = _staircase(np.clip(3.0 * p - 2.0 * right, 0.0, 1.0), level - 1)
    return (inner + right) / 2.0


def _room(p: np.ndarray, most: float) -> np.ndarray:
    """Return min(most, p, 1 - p), the largest step that keeps p inside [0, 1]."""
    return np.minimum(most, np.minimum(p, 1.0 - p))


def _with_bends(most: float, *points: float) -> tuple[float, ...]:
    """Return the points, and those where min(most, p, 1 - p) bends, ascending."""
    bends = min(most, 0.5), max(1.0 - most, 0.5)
    return tuple(np.unique([*points, *bends]).tolist())
