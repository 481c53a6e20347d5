"""Maps of probability vectors (n, k) that depend on the whole vector."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import gammaincinv

from harness.errors import BadInputError
from harness.math.softmax import softmax
from harness.problems.maps.fixed_random import fixed_uniforms

LEAST = 1e-300  # smaller probabilities are raised to this value before their logarithm
CELL_POINTS = 1 << 14  # number of points from which the mean of a cell is computed


@dataclass(frozen=True)
class LabelNoise:
    """Labels that are replaced by a random class with probability `rate`.

        g*(f)_j = (1 - rate) f_j + rate / k

    Examples
    --------
    >>> LabelNoise(0.3)(np.array([[0.1, 0.2, 0.7]])).round(4)
    array([[0.17, 0.24, 0.59]])
    """

    rate: float = 0.2

    def __post_init__(self) -> None:
        if not 0.0 <= self.rate <= 1.0:
            raise BadInputError(f"rate is {self.rate!r}; a number in [0, 1] is needed.")

    def __call__(self, f: np.ndarray) -> np.ndarray:
        return (1.0 - self.rate) * f + self.rate / f.shape[1]


@dataclass(frozen=True)
class LabelShift:
    """Classes whose frequencies changed after the predictions were made.

        g*(f)_j is proportional to w_j f_j

    Parameters
    ----------
    weights : sequence of float
        The k positive ratios w_j of the new to the old frequency of class j.

    Examples
    --------
    >>> LabelShift((2.0, 1.0, 1.0))(np.array([[0.5, 0.3, 0.2]])).round(4)
    array([[0.6667, 0.2   , 0.1333]])
    """

    weights: tuple[float, ...] = (2.0, 1.0, 0.5)

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", tuple(float(w) for w in self.weights))
        if not all(w > 0 for w in self.weights):
            raise BadInputError(f"weights is {self.weights!r}; positive numbers are needed.")

    def __call__(self, f: np.ndarray) -> np.ndarray:
        weighted = f * np.array(self.weights)
        return weighted / weighted.sum(axis=1, keepdims=True)


@dataclass(frozen=True)
class Constant:
    """Predictions that say nothing: g*(f) = shares, whatever f is.

    Parameters
    ----------
    shares : sequence of float
        The k probabilities of the classes.

    Examples
    --------
    >>> Constant((0.5, 0.3, 0.2))(np.array([[0.1, 0.2, 0.7]]))
    array([[0.5, 0.3, 0.2]])
    """

    shares: tuple[float, ...] = (0.5, 0.3, 0.2)

    def __post_init__(self) -> None:
        object.__setattr__(self, "shares", tuple(float(share) for share in self.shares))
        if min(self.shares) < 0.0 or abs(sum(self.shares) - 1.0) > 1e-9:
            raise BadInputError(
                f"shares is {self.shares!r}; probabilities with the sum 1 are needed."
            )

    def __call__(self, f: np.ndarray) -> np.ndarray:
        return np.tile(np.array(self.shares), (len(f), 1))


@dataclass(frozen=True)
class SimplexWave:
    """Wave over the simplex.

        g*(f)_j is proportional to f_j exp(amplitude sin(2 pi (periods z + j / k)))
        z = sum_i i f_i / (k - 1),  i, j = 0, ..., k - 1

    Examples
    --------
    >>> SimplexWave(1.0, 2.0)(np.array([[0.2, 0.5, 0.3]])).round(4)
    array([[0.2946, 0.6146, 0.0908]])
    """

    amplitude: float = 0.5
    periods: float = 3.0

    def __call__(self, f: np.ndarray) -> np.ndarray:
        k = f.shape[1]
        j = np.arange(k)
        phase = self.periods * (f @ (j / (k - 1.0)))[:, None] + j / k
        weighted = f * np.exp(self.amplitude * np.sin(2.0 * np.pi * phase))
        return weighted / weighted.sum(axis=1, keepdims=True)


@dataclass(frozen=True)
class DirichletMap:
    """Map of Dirichlet calibration with a matrix that couples neighbouring classes.

        g*(f) = softmax_j(slope log f_j + coupling log f_(j+1) + tilt j)

    The class after the last one is class 0.

    Examples
    --------
    >>> DirichletMap(0.8, 0.2, 0.3)(np.array([[0.2, 0.5, 0.3]])).round(4)
    array([[0.1775, 0.4502, 0.3724]])

    References
    ----------
    Kull et al. (2019), Dirichlet calibration.
    """

    slope: float = 0.8
    coupling: float = 0.1
    tilt: float = 0.0

    def __call__(self, f: np.ndarray) -> np.ndarray:
        logs = np.log(np.maximum(f, LEAST))
        scores = self.slope * logs + self.coupling * np.roll(logs, -1, axis=1)
        return softmax(scores + self.tilt * np.arange(f.shape[1]))


@dataclass(frozen=True)
class Confused:
    """The two most probable classes exchange probability, and the third decides how much.

    With the entries f_(1) >= f_(2) >= f_(3) >= ... of f, the probability

        amount f_(2) cos(2 pi periods f_(3))

    moves from the most probable class to the second one (or back, if it is negative).

    Examples
    --------
    >>> Confused(0.4, 2.0)(np.array([[0.25, 0.5, 0.25], [0.0, 0.7, 0.3]])).round(4)
    array([[0.15, 0.6 , 0.25],
           [0.  , 0.58, 0.42]])
    """

    amount: float = 0.5
    periods: float = 3.0

    def __post_init__(self) -> None:
        if not abs(self.amount) <= 1.0:
            raise BadInputError(f"amount is {self.amount!r}; a number in [-1, 1] is needed.")

    def __call__(self, f: np.ndarray) -> np.ndarray:
        rows = np.arange(len(f))
        order = np.argsort(-f, axis=1, kind="stable")[:, :3]
        first, second, third = order.T
        moved = self.amount * f[rows, second] * np.cos(2.0 * np.pi * self.periods * f[rows, third])
        c = f.copy()
        c[rows, first] -= moved
        c[rows, second] += moved
        return c


@dataclass(frozen=True)
class Regions:
    """Piecewise constant map on a random partition of the simplex.

        g*(f) = (1 - shift) m + shift rolled(m)

    m is the mean prediction in the cell of f, and rolled(m)_j = m_(j-1). Each cell consists of the
    vectors that are nearest to one of `cells` centres. Centres and means come from vectors with
    the distribution Dir(alpha 1_k), drawn with `seed`; means are over 16,384 of them.

    Examples
    --------
    >>> g = Regions(3, 0.5, cells=2, shift=0.0)
    >>> g(np.array([[0.1, 0.2, 0.7], [0.12, 0.2, 0.68]])).std(axis=0).round(9)
    array([0., 0., 0.])
    """

    classes: int = 3
    alpha: float = 0.5
    cells: int = 30
    shift: float = 0.1
    seed: int = 0

    def __post_init__(self) -> None:
        if not (self.classes >= 2 and self.alpha > 0 and self.cells >= 1):
            raise BadInputError(
                f"Regions has classes={self.classes}, alpha={self.alpha}, cells={self.cells}; "
                "at least 2 classes, a positive alpha and at least one cell are needed."
            )
        if not 0.0 <= self.shift <= 1.0:
            raise BadInputError(f"shift is {self.shift!r}; a number in [0, 1] is needed.")

    def __call__(self, f: np.ndarray) -> np.ndarray:
        centres, values = _cells(self)
        return values[_nearest(f, centres)]


@lru_cache(maxsize=8)
def _cells(regions: Regions) -> tuple[np.ndarray, np.ndarray]:
    """Return the centres of the cells and the values of the map in them, (cells, k) each."""
    k, n = regions.classes, regions.cells + CELL_POINTS
    u = fixed_uniforms(regions.seed, n * k).reshape(n, k)
    g = gammaincinv(regions.alpha, u)
    f = g / g.sum(axis=1, keepdims=True)
    centres, points = f[: regions.cells], f[regions.cells :]
    cell = _nearest(points, centres)
    counts = np.bincount(cell, minlength=len(centres))[:, None]
    sums = np.zeros_like(centres)
    np.add.at(sums, cell, points)
    means = np.where(counts > 0, sums / np.maximum(counts, 1), centres)
    return centres, (1.0 - regions.shift) * means + regions.shift * np.roll(means, 1, axis=1)


def _nearest(f: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """Return the index of the nearest centre, (n,)."""
    return ((centres**2).sum(axis=1) - 2.0 * f @ centres.T).argmin(axis=1)
