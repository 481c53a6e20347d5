"""Distribution of probability vectors that is defined by the distribution of the largest entry."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.special import betainc

from harness.errors import BadInputError
from harness.math.quadrature import beta_law, halving
from harness.problems.binary import checked_atoms, draw_atoms, rounded32

# Other classes may use at most this share of the gap below the largest probability. A tie would
# make the top label ambiguous.
KEPT = 0.98
SATURATED = 2.0**-25  # if 1 - p is below this, p rounds to 1 in float32
VANISHED = 2.0**-150  # numbers up to this round to 0 in float32
COARSE = 2.0**-140  # below this, float32 rounding changes shares of a sum by more than 1e-6
DRAWS = 1 << 14  # number of random numbers for a mean over rounded shares


@dataclass(frozen=True)
class TopLaw:
    """Distribution of probability vectors, defined by the distribution of the largest entry t.

        t = max p = 1/k + (1 - 1/k) B,  B ~ Beta(a, b), or an atom with its probability
        P(top class = j) proportional to decay^j, j = 0, ..., k - 1, independent of t
        other entries = (1 - t) ((1 - v) / (k - 1) + v u),  u ~ Dir(alpha 1_(k-1))

    v is 1 if all other entries then stay below t, which holds for t > 1/2. Otherwise v is reduced
    so that the largest possible other entry stays below t.

    Parameters
    ----------
    classes : int
        Number k of classes, at least 3.
    a, b : float
        Shapes of the distribution of the largest entry. b below 1 gives nearly one-hot vectors, and
        a = b = 1 the uniform distribution.
    alpha : float
        Concentration of the other entries. Small values give one clear runner-up.
    decay : float
        Number in (0, 1]. With 1, all classes are on top equally often. Smaller values make the last
        classes rare.
    atoms : sequence of (t, probability)
        Largest entries with a positive probability; the probabilities sum to at most 1. The other
        entries of such a vector are equal.
    float32 : bool
        If True, vectors are rounded to 32 bits, where many of them are one-hot.

    Examples
    --------
    >>> import numpy as np
    >>> p = TopLaw(3, a=2.0, b=0.5).draw(1000, np.random.default_rng(0))
    >>> p.shape, bool(p.max(axis=1).min() > 1 / 3), p[0].round(3)
    ((1000, 3), True, array([0.295, 0.02 , 0.685]))
    """

    classes: int = 3
    a: float = 1.0
    b: float = 1.0
    alpha: float = 1.0
    decay: float = 1.0
    atoms: tuple[tuple[float, float], ...] = ()
    float32: bool = False

    def __post_init__(self) -> None:
        k = self.classes
        if not (isinstance(k, int) and k >= 3):
            raise BadInputError(
                f"classes is {k!r}; an integer of at least 3 is needed "
                "(BinaryProblem and Beta have two)."
            )
        if not all(number >= 0.05 for number in (self.a, self.b, self.alpha)):
            raise BadInputError(
                f"TopLaw has a={self.a}, b={self.b}, alpha={self.alpha}; "
                "each must be at least 0.05."
            )
        if not 0.0 < self.decay <= 1.0:
            raise BadInputError(f"decay is {self.decay!r}; a number above 0, at most 1, is needed.")
        object.__setattr__(self, "atoms", checked_atoms(self.atoms))
        if any(value <= 1.0 / k for value, _ in self.atoms):
            raise BadInputError(f"atoms is {self.atoms!r}; values in (1/{k}, 1] are needed.")

    @property
    def shares(self) -> np.ndarray:
        """Probability of each class to be the top class, (k,)."""
        weights = self.decay ** np.arange(self.classes, dtype=np.float64)
        return weights / weights.sum()

    def draw(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """Draw n probability vectors, (n, k)."""
        rng_t, rng_atom, rng_class, rng_rest = rng.spawn(4)
        k, rows = self.classes, np.arange(n)[:, None]
        t, rest = self.draw_top(n, rng_t)
        u = rng_rest.dirichlet(np.full(k - 1, self.alpha), n)
        u = 1.0 / (k - 1) + self.spread(t, rest)[:, None] * (u - 1.0 / (k - 1))
        if self.atoms:
            atoms = draw_atoms(self.atoms, n, rng_atom)
            is_atom = ~np.isnan(atoms)
            t[is_atom], u[is_atom] = atoms[is_atom], 1.0 / (k - 1)
            rest[is_atom] = 1.0 - t[is_atom]
        top = np.minimum(
            np.searchsorted(np.cumsum(self.shares), rng_class.random(n), side="right"), k - 1
        )
        p = np.empty((n, k))
        p[rows, (top[:, None] + np.arange(1, k)) % k] = rest[:, None] * u
        p[rows[:, 0], top] = t
        return rounded32(p) if self.float32 else p

    def draw_top(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Draw largest entries t and 1 - t, (n,) each; 1 - t is exact where t rounds to 1."""
        rest = (1.0 - 1.0 / self.classes) * rng.beta(self.b, self.a, n)
        return 1.0 - rest, rest

    @property
    def free(self) -> float:
        """Largest entry from which the spread v of the other entries is 1."""
        ratio = ((self.classes - 2) / KEPT + 1.0) / (self.classes - 1)  # of t and 1 - t
        return ratio / (1.0 + ratio)

    def spread(self, t: np.ndarray, rest: np.ndarray) -> np.ndarray:
        """Return the spread v of the other entries (see the class), for t and `rest` = 1 - t."""
        k = self.classes
        with np.errstate(divide="ignore", over="ignore"):
            return np.minimum(1.0, KEPT * ((k - 1) * t / rest - 1.0) / (k - 2))

    def nodes(self, splits: Sequence[float], order: int) -> Nodes:
        """Return a quadrature over the largest entry t, for functions smooth between the splits.

        The last nodes are the atoms. `order` is the number of nodes per panel.
        """
        k = self.classes
        # Panels are angles, starting at t = 1. Panels end where v becomes 1 and where t rounds to 1
        # in float32.
        ends = np.array([*splits, self.free, 1.0 - SATURATED])
        ends = np.arcsin(np.sqrt((1.0 - ends[(ends > 1.0 / k) & (ends < 1.0)]) * k / (k - 1.0)))
        angles = np.union1d(np.linspace(0.0, np.pi / 2, 129), ends)
        high, low = (
            halving(np.pi / 4, int(np.ceil(50 / min(1.0, 2 * shape)))) for shape in (self.b, self.a)
        )
        high = np.unique(np.concatenate([[0.0], high, angles[angles <= np.pi / 4], [np.pi / 4]]))
        low = np.unique(
            np.concatenate([[0.0], low, np.pi / 2 - angles[angles >= np.pi / 4], [np.pi / 4]])
        )
        s0, _, w0 = beta_law(high, self.b, self.a, order)
        _, s1, w1 = beta_law(low, self.a, self.b, order)
        rest = (1.0 - 1.0 / k) * np.concatenate([s0, s1])
        t = 1.0 - rest
        v = self.spread(t, rest)
        # append the atoms
        values, atom_weights = np.array(self.atoms).reshape(-1, 2).T
        weights = np.concatenate([w0, w1]) * (1.0 - min(float(sum(atom_weights)), 1.0))
        t, rest = np.concatenate([t, values]), np.concatenate([rest, 1.0 - values])
        v = np.concatenate([v, 0.0 * values])
        squares = self.squares(rest, v)
        if self.float32:
            t, rest = rounded32(t), np.where(rest < SATURATED, 0.0, rest)
        return Nodes(t, rest, np.concatenate([weights, atom_weights]), v, squares)

    def squares(self, rest: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return E sum_j s_j^2 for each node, with s_j the shares of the other entries in 1 - t.

        `rest` is 1 - t and `v` the spread of the other entries. The result follows from moments of
        u. With float32, where rounding changes the shares, it is a mean over draws of u from a
        fixed random stream. Shares are equal if all other entries round to 0.
        """
        others = self.classes - 1
        means = 1.0 / others + v**2 * share_moments(self)[1]
        if self.float32:
            means[rest <= VANISHED] = 1.0 / others
            u = np.random.default_rng(20_240_915).dirichlet(
                np.full(others, self.alpha), DRAWS // others
            )
            for i in np.flatnonzero((rest > VANISHED) & (rest < COARSE)):
                p = rounded32(rest[i] * u)
                total = p.sum(axis=1, keepdims=True)
                shares = np.divide(p, total, out=np.full_like(p, 1.0 / others), where=total > 0.0)
                means[i] = (shares**2).sum(axis=1).mean()
        return means


class Nodes(NamedTuple):
    """Quadrature over the largest entry t of a probability vector; all arrays have shape (m,).

    Parameters
    ----------
    t : ndarray
        Largest entry.
    rest : ndarray
        1 - t.
    weight : ndarray
        Weights of the nodes.
    v : ndarray
        Spread of the other entries (see TopLaw).
    squares : ndarray
        Mean sum of squares of the shares of the other entries in 1 - t.
    """

    t: np.ndarray
    rest: np.ndarray
    weight: np.ndarray
    v: np.ndarray
    squares: np.ndarray


@lru_cache(maxsize=64)
def share_moments(law: TopLaw) -> tuple[float, float]:
    """Return E sum_j |u_j - 1/m| and E sum_j (u_j - 1/m)^2 for u ~ Dir(alpha 1_m).

    m = k - 1 is the number of other classes. Each u_j has the distribution Beta(alpha, (m - 1)
    alpha).
    """
    m, alpha = law.classes - 1, law.alpha
    squares = (alpha + 1.0) / (m * alpha + 1.0) - 1.0 / m
    b = (m - 1) * alpha
    # E (1/m - u)+ = F_a(1/m)/m - E[u; u < 1/m]
    below = betainc(alpha, b, 1.0 / m) - betainc(alpha + 1.0, b, 1.0 / m)
    return float(2.0 * below), float(squares)
