"""Law of probability vectors, defined by the law of the largest entry."""

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

# share of the room below the largest probability that the others may use; a tie with the second
# would make the top label ambiguous
KEPT = 0.98
SATURATED = 2.0**-25  # 1 - p below which a float32 is 1
VANISHED = 2.0**-150  # up to here a float32 rounds to 0
COARSE = 2.0**-140  # up to here its rounding changes the shares of a sum by more than 1e-6
DRAWS = 1 << 14  # numbers drawn for a mean over rounded shares


@dataclass(frozen=True)
class TopLaw:
    """Law of probability vectors, defined by the law of the largest entry.

        t = max p = 1/k + (1 - 1/k) B,  B ~ Beta(a, b), or one of the atoms with its probability
        top class   ~  decay^j, j = 0..k-1, independent of t
        the others  =  (1 - t) ((1 - v) / (k - 1) + v u),  u ~ Dir(alpha 1_(k-1))

    v = 1 if all others then stay below t (always for t > 1/2). Otherwise v leaves 2 % of the room
    below t.

    Parameters
    ----------
    classes : int
        k, at least 3.
    a, b : float
        Shapes of the law of the largest probability: b below 1 is nearly one-hot, a = b = 1 is
        uniform.
    alpha : float
        Concentration of the others: small values give one clear runner-up.
    decay : float
        In (0, 1]. With 1 all classes are on top equally often; smaller values make the last classes
        rare.
    atoms : sequence of (t, probability)
        Largest probabilities with a positive probability; the probabilities sum to at most 1. The
        others are then equal, so each is an atom of the vector for each class.
    float32 : bool
        If true, the vectors are rounded to 32 bits, where many of them are one-hot.

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
        """Probability of each class to be on top, (k,)."""
        weights = self.decay ** np.arange(self.classes, dtype=np.float64)
        return weights / weights.sum()

    def draw(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """Draw vectors, (n, k)."""
        rng_t, rng_atom, rng_class, rng_rest = rng.spawn(4)
        k, rows = self.classes, np.arange(n)[:, None]
        rest = (1.0 - 1.0 / k) * rng_t.beta(self.b, self.a, n)  # 1 - t: exact if t rounds to 1
        t = 1.0 - rest
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

    def spread(self, t: np.ndarray, rest: np.ndarray) -> np.ndarray:
        """Return v(t), the spread of the others."""
        k = self.classes
        with np.errstate(divide="ignore", over="ignore"):
            return np.minimum(1.0, KEPT * ((k - 1) * t / rest - 1.0) / (k - 2))

    def nodes(self, splits: Sequence[float], order: int) -> Nodes:
        """Return a quadrature over the law of t, for functions smooth between the splits.

        The atoms are the last nodes.
        """
        k = self.classes
        # panels in angles from t = 1, split where v becomes 1 and where a float32 becomes 1
        free = ((k - 2) / KEPT + 1.0) / (k - 1)  # t / (1 - t) from which on v is 1
        ends = np.array([*splits, free / (1.0 + free), 1.0 - SATURATED])
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
        """Return E sum_j s_j^2, where s_j are the shares of the others in `rest` = 1 - t.

        It follows from moments of u. With 32 bits, where rounding changes the shares, it is a mean
        over draws of u from a fixed stream; shares are equal if all others round to 0.
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
    """Quadrature over the largest probability t.

    `rest` is 1 - t, `v` the spread of the others, `squares` the mean sum of squares of their
    shares.
    """

    t: np.ndarray
    rest: np.ndarray
    weight: np.ndarray
    v: np.ndarray
    squares: np.ndarray


@lru_cache(maxsize=64)
def share_moments(law: TopLaw) -> tuple[float, float]:
    """Return E sum_j |u_j - 1/m| and E sum_j (u_j - 1/m)^2 for u ~ Dir(alpha 1_m), m = k - 1.

    Each u_j ~ Beta(alpha, (m - 1) alpha).
    """
    m, alpha = law.classes - 1, law.alpha
    squares = (alpha + 1.0) / (m * alpha + 1.0) - 1.0 / m
    b = (m - 1) * alpha
    # E (1/m - u)+ = F_a(1/m)/m - E[u; u < 1/m]
    below = betainc(alpha, b, 1.0 / m) - betainc(alpha + 1.0, b, 1.0 / m)
    return float(2.0 * below), float(squares)
