"""Maps that are wrong in some zones of the predictions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harness.errors import BadInputError


@dataclass(frozen=True)
class Jump:
    """A jump at a point, with errors of opposite sign on its sides.

    With m(p) = min(|size|, p, 1 - p) and the sign s of `size`,

        g*(p) = p - s m(p)   if p < point,
        g*(p) = p + s m(p)   otherwise.

    Predictions are overconfident around 1/2 for a negative size.

    Examples
    --------
    >>> Jump(0.5, -0.1)(np.array([0.05, 0.4, 0.6]))
    array([0.1, 0.5, 0.5])
    """

    point: float = 0.5
    size: float = -0.1

    @property
    def kinks(self) -> tuple[float, ...]:
        size = min(abs(self.size), 0.5)
        return tuple(sorted({self.point, size, 1.0 - size}))

    def __call__(self, p: np.ndarray) -> np.ndarray:
        side = np.where(p < self.point, -np.sign(self.size), np.sign(self.size))
        return p + side * np.minimum(abs(self.size), np.minimum(p, 1.0 - p))


@dataclass(frozen=True)
class Bent:
    """Error with the shape of a U: g*(p) = p - amount (2 p - 1) |2 p - 1|.

    Predictions near 1/2 are right, and those near 0 and 1 are overconfident by up to `amount`.

    Examples
    --------
    >>> Bent(0.2)(np.array([0.0, 0.5, 0.75, 1.0]))
    array([0.2, 0.5, 0.7, 0.8])
    """

    amount: float = 0.2
    kinks = (0.5,)

    def __call__(self, p: np.ndarray) -> np.ndarray:
        return p - self.amount * (2.0 * p - 1.0) * np.abs(2.0 * p - 1.0)


@dataclass(frozen=True)
class Zone:
    """A constant inside a zone, and the diagonal outside.

        g*(p) = value   if low < p <= high,
        g*(p) = p       otherwise.

    Examples
    --------
    >>> Zone(0.3, 0.7, 0.5)(np.array([0.2, 0.4, 0.6, 0.8]))
    array([0.2, 0.5, 0.5, 0.8])
    """

    low: float = 0.3
    high: float = 0.7
    value: float = 0.5

    def __post_init__(self) -> None:
        if not 0.0 <= self.low < self.high <= 1.0:
            raise BadInputError(
                f"Zone has low={self.low}, high={self.high}; 0 <= low < high <= 1 is needed."
            )

    @property
    def kinks(self) -> tuple[float, ...]:
        return tuple(end for end in (self.low, self.high) if 0.0 < end < 1.0)

    def __call__(self, p: np.ndarray) -> np.ndarray:
        return np.where((self.low < p) & (p <= self.high), self.value, p)


@dataclass(frozen=True)
class Hats:
    """Errors around centres c_1, c_2, ..., each with flanks of the opposite sign.

        g*(p) = p + 4 p (1 - p) height sum_j (-1)^(j+1) h((p - c_j) / width)
        h(z) = (1 - z^2) exp(-z^2 / 2)

    Errors of neighbouring centres have opposite signs too.

    Examples
    --------
    >>> Hats((0.15, 0.85), 0.04, 0.1)(np.array([0.15, 0.22, 0.5, 0.85])).round(4)
    array([0.201 , 0.1894, 0.5   , 0.799 ])
    """

    centres: tuple[float, ...] = (0.15, 0.85)
    width: float = 0.04
    height: float = 0.1
    kinks = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "centres", tuple(float(centre) for centre in self.centres))
        if not self.width > 0:
            raise BadInputError(f"width is {self.width!r}; a positive number is needed.")

    def __call__(self, p: np.ndarray) -> np.ndarray:
        error = np.zeros_like(p)
        for j, centre in enumerate(self.centres):
            z = (p - centre) / self.width
            error += (-1.0) ** j * (1.0 - z * z) * np.exp(-z * z / 2.0)
        return p + 4.0 * p * (1.0 - p) * self.height * error
