"""Scores of a known law, with atoms if wanted; P(Y = 1 given s) = g*(s): what bounds on the calibration error are tested on."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
from scipy.special import betaln, expit, xlog1py, xlogy

from harness.errors import BadInputError
from harness.math import estimands
from harness.math.quadrature import gauss_legendre, unit_edges
from harness.problems.base import Truth, TwoClasses, integral
from harness.problems.maps import Identity, ScalarMap

METHOD = "Gauss-Legendre quadrature"
BLOCK = 1 << 14
WIDTH = 1 / 64  # of a panel: half a period of the fastest map in conf/problem


@dataclass(frozen=True)
class BetaLaw:
    """The law s ~ Beta(a, b) of scores with a bounded density; a = b = 1 is the uniform law.

    Parameters
    ----------
    a, b : float
        At least 1 (harness.problems.Beta takes smaller ones).

    Examples
    --------
    >>> import numpy as np
    >>> s, weights = BetaLaw(2.0, 2.0).nodes(np.array([0.0, 0.5, 1.0]), order=8)
    >>> round(float(weights @ s), 9)
    0.5
    """

    a: float = 1.0
    b: float = 1.0

    def __post_init__(self) -> None:
        if not (self.a >= 1 and self.b >= 1):
            raise BadInputError(
                f"BetaLaw has a={self.a}, b={self.b}; both must be at least 1 (the problem Beta takes smaller ones)."
            )

    def draw(self, n: int, rng: np.random.Generator) -> np.ndarray:
        return rng.random(n) if self.a == self.b == 1.0 else rng.beta(self.a, self.b, n)

    def nodes(self, edges: np.ndarray, order: int) -> tuple[np.ndarray, np.ndarray]:
        """Nodes s and weights with sum_i w_i u(s_i) = E u(s), for u smooth between the edges, which span [0, 1]."""
        s, weight = gauss_legendre(edges, order)
        return s, weight * np.exp(
            xlogy(self.a - 1.0, s) + xlog1py(self.b - 1.0, -s) - betaln(self.a, self.b)
        )


@dataclass(frozen=True)
class TwoNormals:
    """The law of the calibrated scores of two normal classes, saturated where they are far apart.

        s = P(Y = 1 given x) = sigma(d x),  x given y ~ N(d (y - 1/2), 1),  P(Y = 1) = 1/2

    Parameters
    ----------
    separation : float
        The distance d of the two means in standard deviations, positive.

    Examples
    --------
    >>> import numpy as np
    >>> s, weights = TwoNormals(3.0).nodes(np.array([0.0, 0.5, 1.0]), order=8)
    >>> round(float(weights @ s), 9)
    0.5
    """

    separation: float = 3.0

    def __post_init__(self) -> None:
        if not 0 < self.separation < np.inf:
            raise BadInputError(f"separation is {self.separation!r}; a positive number is needed.")

    def draw(self, n: int, rng: np.random.Generator) -> np.ndarray:
        rng_class, rng_x = rng.spawn(2)
        side = np.where(rng_class.random(n) < 0.5, -0.5, 0.5)
        return expit(self.separation * (self.separation * side + rng_x.standard_normal(n)))

    def nodes(self, edges: np.ndarray, order: int) -> tuple[np.ndarray, np.ndarray]:
        """As BetaLaw.nodes, in x, where the density is smooth: up to 9 standard deviations beyond the means."""
        d = self.separation
        inner = edges[(edges > 0.0) & (edges < 1.0)]
        reach = d / 2.0 + 9.0
        x = (np.log(inner) - np.log1p(-inner)) / d
        x, weight = gauss_legendre(
            np.unique([*np.linspace(-reach, reach, 129), *x[np.abs(x) < reach]]), order
        )
        density = (
            np.exp(-((x - d / 2.0) ** 2) / 2.0) + np.exp(-((x + d / 2.0) ** 2) / 2.0)
        ) / np.sqrt(8.0 * np.pi)
        return expit(d * x), weight * density


@dataclass(frozen=True)
class Float32:
    """A law whose scores are rounded to 32 bits, as networks give them: above 1 - 2^-25 they are 1.

    Parameters
    ----------
    law : BetaLaw or TwoNormals
        Of the scores before they are rounded.

    Examples
    --------
    >>> import numpy as np
    >>> s = Float32(TwoNormals(6.0)).draw(1000, np.random.default_rng(0))
    >>> bool(0.2 < (s == 1.0).mean() < 0.3)
    True
    """

    law: Any = field(default_factory=TwoNormals)

    def draw(self, n: int, rng: np.random.Generator) -> np.ndarray:
        return rounded32(self.law.draw(n, rng))

    def nodes(self, edges: np.ndarray, order: int) -> tuple[np.ndarray, np.ndarray]:
        """As BetaLaw.nodes; a panel ends where scores become 1."""
        s, weight = self.law.nodes(np.union1d(edges, 1.0 - 2.0**-25), order)
        return rounded32(s), weight


def rounded32(p: np.ndarray) -> np.ndarray:
    """Float64 numbers rounded to what a float32 can hold."""
    return p.astype(np.float32).astype(np.float64)


Quadrature: TypeAlias = tuple[
    np.ndarray, np.ndarray, np.ndarray
]  # scores, their weights, posteriors


@dataclass(frozen=True)
class BinaryProblem(TwoClasses):
    """Scores of a law, with atoms if wanted, and a calibration map.

        s ~ law, or one of the atoms with its probability;  Y given s ~ Bernoulli(g*(s))

    Parameters
    ----------
    map : harness.problems.maps
        g*, from [0, 1] to [0, 1].
    law : BetaLaw, TwoNormals or Float32 of one of them
        Where scores outside the atoms come from.
    atoms : sequence of (value, probability)
        Scores that are drawn with a positive probability; together at most 1.

    Examples
    --------
    >>> import numpy as np
    >>> from harness.problems.maps import Affine
    >>> problem = BinaryProblem(Affine(0.2, 0.5))  # C = 0.2 + 0.5 s, s uniform
    >>> round(problem.truth("l2_squared").value, 9), problem.variation  # E (0.5 s - 0.2)^2
    (0.023333333, 0.5)
    >>> BinaryProblem(atoms=((0.0, 0.5), (1.0, 0.5))).sample(4, np.random.default_rng(0))
    (array([1., 0., 1., 0.]), array([1, 0, 1, 0]))

    Notes
    -----
    Truths: every estimand but the supremum `linf`, of the binary, classwise and canonical notions, by Gauss-Legendre quadrature
    over panels that end where the map or |s - g*(s)| is not smooth, to about 1e-13; None where the value is infinite.

    `variation` is the total variation of g* on [0, 1], also where scores are rare: what bounds for E[Y given s] of bounded
    variation may assume. `quadrature` gives the law of the scores to harness.problems.Perturbed.

    References
    ----------
    ciosek2026, the scores on which bounds are tested.
    """

    map: Any = field(default_factory=Identity)
    law: Any = field(default_factory=BetaLaw)
    atoms: tuple[tuple[float, float], ...] = ()

    notions = ("binary", "canonical", "classwise")
    default_notions = ("binary",)

    def __post_init__(self) -> None:
        try:
            object.__setattr__(
                self, "atoms", tuple((float(value), float(weight)) for value, weight in self.atoms)
            )
        except (TypeError, ValueError):
            raise BadInputError(
                f"atoms is {self.atoms!r}; pairs (value, probability) are needed."
            ) from None
        for value, weight in self.atoms:
            if not (0.0 <= value <= 1.0 and weight > 0.0):
                raise BadInputError(
                    f"atoms holds ({value:g}, {weight:g}); a value in [0, 1] and a positive probability are needed."
                )
        if self._weight > 1.0 + 1e-12:
            raise BadInputError(
                f"atoms has probabilities that sum to {self._weight:g}; at most 1 is allowed."
            )
        c = self.map(
            np.concatenate([np.linspace(0.0, 1.0, 1001), [value for value, _ in self.atoms]])
        )
        if not (c.min() >= -1e-12 and c.max() <= 1.0 + 1e-12):
            raise BadInputError(
                f"map has values from {c.min():.6g} to {c.max():.6g}; probabilities lie in [0, 1]."
            )

    @property
    def _weight(self) -> float:
        return float(sum(weight for _, weight in self.atoms))

    @property
    def variation(self) -> float:
        return _variation(self.map)

    def sample(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        rng_p, rng_atom, rng_y = rng.spawn(3)
        if self._weight >= 1.0 - 1e-12:
            p = np.zeros(n)
        else:
            p = self.law.draw(n, rng_p)
        if self.atoms:
            values, weights = np.array(self.atoms).T
            ends = np.cumsum(weights)
            if self._weight >= 1.0 - 1e-12:
                ends[-1] = 1.0
            for start in range(0, n, BLOCK):
                part = p[start : start + BLOCK]
                u = rng_atom.random(len(part))
                for value, low, high in zip(values, [0.0, *ends[:-1]], ends):
                    part[(low <= u) & (u < high)] = value
        y = np.empty(n, dtype=np.int64)
        for start in range(
            0, n, BLOCK
        ):  # half the time of one pass for n = 10^7: what is in between stays in the cache
            rows = slice(start, start + BLOCK)
            y[rows] = rng_y.random(len(p[rows])) < self.curve(p[rows])
        return p, y

    def curve(self, p: np.ndarray) -> np.ndarray:
        """P(Y = 1 given p) = map(p)."""
        return np.clip(self.map(p), 0.0, 1.0)  # rounding only

    def quadrature(
        self, width: float = WIDTH, order: int = 16, splits: tuple[float, ...] = ()
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Scores s, their probabilities and posteriors c, of a quadrature: sum_i w_i u(s_i, c_i) = E u(s, C) for u smooth on the
        scale `width` between the splits."""
        panels = np.linspace(0.0, 1.0, int(np.ceil(1.0 / min(width, WIDTH))) + 1)
        s, weight = self.law.nodes(unit_edges(panels, self.map.kinks, splits), order)
        values, weights = np.array(self.atoms).reshape(-1, 2).T
        continuous = max(1.0 - self._weight, 0.0)
        if continuous <= 1e-12:
            s, weight = s[:0], weight[:0]
        s, weight = np.concatenate([s, values]), np.concatenate([continuous * weight, weights])
        return s, weight, self.curve(s)

    def truth(self, estimand: str, notion: str = "binary") -> Truth | None:
        if notion not in self.notions:
            return None
        estimands.check_name(estimand, notion)
        if isinstance(self.map, Identity) and estimands.is_distance(estimand):
            return Truth(0.0, 0.0, "calibrated by construction")
        return integrated(
            estimand,
            notion,
            *(self.quadrature(order=k, splits=_crossings(self.map)) for k in (16, 24)),
        )


def integrated(estimand: str, notion: str, coarse: Quadrature, fine: Quadrature) -> Truth | None:
    """The truth by two quadratures (s, w, c), its error their difference; None for a supremum, and where it is infinite."""
    if notion != "canonical" and estimand == "linf":
        return None
    values = [
        integral(estimand, notion, s, 1.0 - s, c, 1.0 - c, weight)
        for s, weight, c in (coarse, fine)
    ]
    if not np.isfinite(values).all():
        return None
    return Truth(values[1], abs(values[1] - values[0]) + 1e-13, METHOD)


@lru_cache(maxsize=64)
def _crossings(g: ScalarMap) -> tuple[float, ...]:
    """Points where g(s) = s or g is not smooth, between which |s - g(s)| is smooth."""
    from scipy.optimize import brentq  # slow to import

    found = []
    for low, high in _pieces(g):
        s = np.linspace(low, high, 4001)
        gap = g(s) - s
        found += [
            brentq(lambda t: g(np.array([t]))[0] - t, s[i], s[i + 1])
            for i in np.flatnonzero(gap[:-1] * gap[1:] < 0.0)
        ]
    return tuple(found)


@lru_cache(maxsize=64)
def _variation(g: ScalarMap) -> float:
    """Total variation on [0, 1], to 9 digits: between the extrema of every smooth piece, found on a grid, refined; and jumps."""
    total, before = float(getattr(g, "spikes", 0.0)), None
    for low, high in _pieces(g):
        s = np.linspace(low, high, 16_001)
        c = g(s)
        step = np.diff(c)
        turns = np.flatnonzero(step[:-1] * step[1:] < 0.0) + 1
        inner = []
        for i in turns:
            sign = 1.0 if c[i] < c[i - 1] else -1.0
            inner.append(sign * _least(g, sign, s[i - 1], s[i + 1]))
        total += np.abs(np.diff([c[0], *inner, c[-1]])).sum() + (
            0.0 if before is None else abs(c[0] - before)
        )
        before = c[-1]
    return round(float(total), 9)


def _least(g: ScalarMap, sign: float, low: float, high: float) -> float:
    """The minimum of sign * g between low and high."""
    from scipy.optimize import minimize_scalar  # slow to import

    options = {"xatol": 1e-12}
    return minimize_scalar(
        lambda t: sign * g(np.array([t]))[0], bounds=(low, high), method="bounded", options=options
    ).fun


def _pieces(g: ScalarMap) -> list[tuple[float, float]]:
    """Intervals between the kinks, less 1e-12 at each: at a jump, rounding would take the value of either side."""
    edges = np.unique([0.0, 1.0, *(k for k in g.kinks if 0.0 < k < 1.0)])
    return [(a + 1e-12 * (a > 0.0), b - 1e-12 * (b < 1.0)) for a, b in zip(edges, edges[1:])]
