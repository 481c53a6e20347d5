"""Binary problems with any calibration map and a known distribution of the scores."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
from scipy.special import betaln, expit, xlog1py, xlogy

from harness.errors import BadInputError
from harness.math.quadrature import gauss_legendre, unit_edges
from harness.problems import search
from harness.problems.base import Truth, TwoClasses, draw_labels
from harness.problems.integrals import integrated
from harness.problems.maps import Identity, ScalarMap

WIDTH = 1 / 64  # width of a panel: half a period of the fastest map in conf/problem

Atoms: TypeAlias = tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class BetaLaw:
    """Beta-distributed scores with a bounded density; a = b = 1 is the uniform distribution.

    Parameters
    ----------
    a, b : float
        Shapes, at least 1. For smaller shapes use harness.problems.Beta.

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
                f"BetaLaw has a={self.a}, b={self.b}; both must be at least 1 "
                "(the problem Beta accepts smaller values)."
            )

    def draw(self, n: int, rng: np.random.Generator) -> np.ndarray:
        return rng.random(n) if self.a == self.b == 1.0 else rng.beta(self.a, self.b, n)

    def nodes(self, edges: np.ndarray, order: int) -> tuple[np.ndarray, np.ndarray]:
        """Return nodes s and weights w of a quadrature with sum_i w_i u(s_i) = E u(s).

        The function u must be smooth between the `edges`, which span [0, 1]. `order` is the number
        of nodes per panel.
        """
        s, weight = gauss_legendre(edges, order)
        return s, weight * np.exp(
            xlogy(self.a - 1.0, s) + xlog1py(self.b - 1.0, -s) - betaln(self.a, self.b)
        )


@dataclass(frozen=True)
class TwoNormals:
    """Calibrated scores of two normally distributed classes.

        s = P(Y = 1 given x) = sigma(d x),  x given y ~ N(d (y - 1/2), 1),  P(Y = 1) = 1/2

    sigma is the logistic function. If d is large, most scores are close to 0 or 1.

    Parameters
    ----------
    separation : float
        Distance d of the two means, in standard deviations; positive.

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
        """Return nodes s and weights w of a quadrature with sum_i w_i u(s_i) = E u(s).

        The function u must be smooth between the `edges`, which span [0, 1]. The quadrature runs
        over x, where the density is smooth, up to 9 standard deviations beyond the means.
        """
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
    """Scores that are rounded to 32 bits, like those of networks.

    Scores above 1 - 2^-25 become 1.

    Parameters
    ----------
    law : BetaLaw or TwoNormals
        Distribution of the scores before rounding.

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
        """Return nodes s and weights w of a quadrature with sum_i w_i u(s_i) = E u(s).

        The function u must be smooth between the `edges`, which span [0, 1]. A panel also ends
        where scores round to 1.
        """
        s, weight = self.law.nodes(np.union1d(edges, 1.0 - 2.0**-25), order)
        return rounded32(s), weight


def rounded32(p: np.ndarray) -> np.ndarray:
    """Round float64 numbers to the nearest float32."""
    return p.astype(np.float32).astype(np.float64)


def checked_atoms(atoms: Any) -> Atoms:
    """Return atoms as pairs of floats (value, probability), or raise BadInputError.

    An atom is a score with a positive probability. Values must lie in [0, 1]. Probabilities must be
    positive, with a sum of at most 1.
    """
    try:
        pairs = tuple((float(value), float(weight)) for value, weight in atoms)
    except (TypeError, ValueError):
        raise BadInputError(f"atoms is {atoms!r}; pairs (value, probability) are needed.") from None
    for value, weight in pairs:
        if not (0.0 <= value <= 1.0 and weight > 0.0):
            raise BadInputError(
                f"atoms contains ({value:g}, {weight:g}); "
                "a value in [0, 1] and a positive probability are needed."
            )
    total = sum(weight for _, weight in pairs)
    if total > 1.0 + 1e-12:
        raise BadInputError(f"atoms has probabilities that sum to {total:g}; at most 1 is allowed.")
    return pairs


def atom_weight(atoms: Atoms) -> float:
    """Return the total probability of all atoms; a sum within 1e-12 of 1 becomes 1.

    Atoms are pairs of a score and its positive probability.
    """
    total = float(sum(weight for _, weight in atoms))
    return 1.0 if total >= 1.0 - 1e-12 else total


def draw_atoms(atoms: Atoms, n: int, rng: np.random.Generator) -> np.ndarray:
    """Draw the atom of each of n samples, (n,); NaN marks samples that are not atoms.

    Atoms are pairs of a score and its positive probability.
    """
    values, weights = np.array(atoms).T
    ends = np.cumsum(weights)
    if atom_weight(atoms) == 1.0:
        ends[-1] = 1.0
    return np.append(values, np.nan)[np.searchsorted(ends, rng.random(n), side="right")]


@dataclass(frozen=True)
class BinaryProblem(TwoClasses):
    """Scores of two classes with any distribution and any calibration map g*.

        s ~ law, or an atom with its probability;  Y given s ~ Bernoulli(g*(s))

    Parameters
    ----------
    map : harness.problems.maps
        The calibration map g*, from [0, 1] to [0, 1].
    law : BetaLaw, TwoNormals or Float32 of one of them
        Distribution of the scores that are not atoms.
    atoms : sequence of (value, probability)
        Scores with a positive probability. The probabilities sum to at most 1.

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
    Truths are known for every estimand of the binary, class-wise and canonical notions, except the
    supremum `linf`. They come from Gauss-Legendre quadrature, to about 1e-13. Panels end where the
    map or |s - g*(s)| is not smooth. An infinite value gives None.

    `variation` is the total variation of g* on all of [0, 1]. Bounds may use it if they assume that
    E[Y given s] has bounded variation. `quadrature` gives the distribution of the scores to
    harness.problems.Perturbed.

    References
    ----------
    ciosek2026, scores on which bounds are tested.
    """

    map: Any = field(default_factory=Identity)
    law: Any = field(default_factory=BetaLaw)
    atoms: tuple[tuple[float, float], ...] = ()

    notions = ("binary", "canonical", "classwise")
    default_notions = ("binary",)

    def __post_init__(self) -> None:
        object.__setattr__(self, "atoms", checked_atoms(self.atoms))
        c = self.map(
            np.concatenate([np.linspace(0.0, 1.0, 1001), [value for value, _ in self.atoms]])
        )
        if not (c.min() >= -1e-12 and c.max() <= 1.0 + 1e-12):
            raise BadInputError(
                f"map has values from {c.min():.6g} to {c.max():.6g}; they must be in [0, 1]."
            )

    @property
    def variation(self) -> float:
        return _variation(self.map)

    def sample(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        rng_p, rng_atom, rng_y = rng.spawn(3)
        p = np.zeros(n) if atom_weight(self.atoms) == 1.0 else self.law.draw(n, rng_p)
        if self.atoms:
            atoms = draw_atoms(self.atoms, n, rng_atom)
            p = np.where(np.isnan(atoms), p, atoms)
        return p, draw_labels(self.curve(p), rng_y)

    def curve(self, p: np.ndarray) -> np.ndarray:
        """Return P(Y = 1 given p) = map(p)."""
        return np.clip(self.map(p), 0.0, 1.0)  # rounding only

    def quadrature(
        self, width: float = WIDTH, order: int = 16, splits: tuple[float, ...] = ()
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return scores s, their probabilities w and their posteriors c.

        sum_i w_i u(s_i, c_i) = E u(s, C), if the function u is smooth on the scale `width` between
        the `splits`. `order` is the number of nodes per panel.
        """
        panels = np.linspace(0.0, 1.0, int(np.ceil(1.0 / min(width, WIDTH))) + 1)
        s, weight = self.law.nodes(unit_edges(panels, self.map.kinks, splits), order)
        values, weights = np.array(self.atoms).reshape(-1, 2).T
        continuous = max(1.0 - sum(weights), 0.0)
        if continuous <= 1e-12:
            s, weight = s[:0], weight[:0]
        s, weight = np.concatenate([s, values]), np.concatenate([continuous * weight, weights])
        return s, weight, self.curve(s)

    @property
    def calibrated(self) -> bool:
        return isinstance(self.map, Identity)

    def compute_truth(self, estimand: str, notion: str) -> Truth | None:
        splits = _crossings(self.map)
        coarse, fine = (self.quadrature(order=order, splits=splits) for order in (16, 24))
        return integrated(estimand, notion, coarse, fine)


@lru_cache(maxsize=64)
def _crossings(g: ScalarMap) -> tuple[float, ...]:
    """Return the points where g(s) = s, inside the intervals on which the map g is smooth."""
    return tuple(
        crossing
        for low, high in _pieces(g)
        for crossing in search.crossings(lambda s: g(s) - s, np.linspace(low, high, 4001))
    )


@lru_cache(maxsize=64)
def _variation(g: ScalarMap) -> float:
    """Return the total variation of g on [0, 1], rounded to 9 digits.

    It is the sum of the steps between the extrema of every smooth piece, and of the jumps between
    pieces. Extrema are located on a grid and refined.
    """
    total, before = float(getattr(g, "spikes", 0.0)), None
    for low, high in _pieces(g):
        s = np.linspace(low, high, 16_001)
        c = g(s)
        step = np.diff(c)
        turns = np.flatnonzero(step[:-1] * step[1:] < 0.0) + 1
        inner = [
            -search.minimum(lambda t: -g(t), s[i - 1], s[i + 1])
            if c[i] >= c[i - 1]
            else search.minimum(g, s[i - 1], s[i + 1])
            for i in turns
        ]
        jump = 0.0 if before is None else abs(c[0] - before)
        total += np.abs(np.diff([c[0], *inner, c[-1]])).sum() + jump
        before = c[-1]
    return round(float(total), 9)


def _pieces(g: ScalarMap) -> list[tuple[float, float]]:
    """Return the intervals on which the map g is smooth, shortened by 1e-12 at each kink.

    At a jump, rounding decides which side's value g returns.
    """
    edges = np.unique([0.0, 1.0, *(k for k in g.kinks if 0.0 < k < 1.0)])
    return [(a + 1e-12 * (a > 0.0), b - 1e-12 * (b < 1.0)) for a, b in zip(edges, edges[1:])]
