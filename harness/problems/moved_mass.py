"""Vectors whose largest probability is wrong, as any curve of itself says; truths are integrals over that one number."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from scipy.special import betainc

from harness.errors import BadInputError
from harness.math import estimands
from harness.math.quadrature import beta_law, halving
from harness.problems.base import Generated, Truth, integral
from harness.problems.binary import rounded32
from harness.problems.maps import Identity

METHOD = "Gauss-Legendre quadrature over the largest probability"
SMOOTH = 1e-10  # error of the quadrature beside what two orders differ by
POINTS, BLOCK = 1 << 16, 1 << 13
KEPT = 0.98  # of the room below the largest probability: a tie with the second would make it ambiguous which is on top
SATURATED = 2.0**-25  # 1 - p at which a float32 is 1
VANISHED, COARSE = (
    2.0**-150,
    2.0**-140,
)  # what a float32 rounds to 0; where its rounding changes the shares of a sum by above 1e-6
DRAWS = 1 << 14  # numbers drawn for a mean over rounded shares
TO = ("others", "runner_up", "partner")


Curve: TypeAlias = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class TopLaw:
    """A law of probability vectors, said by its largest entry.

        t = max p = 1/k + (1 - 1/k) B,  B ~ Beta(a, b), or one of the atoms with its probability
        class on top  ~  decay^j, j = 0..k-1, whatever t
        the others    =  (1 - t) ((1 - v) / (k - 1) + v u),  u ~ Dir(alpha 1_(k-1))

    v = 1 wherever all of them stay below t so, above t = 1/2, say, and else what leaves 2 % of the room.

    Parameters
    ----------
    classes : int
        k, at least 3.
    a, b : float
        The shapes of the law of the largest probability: b below 1 is nearly one-hot, a and b of 1 are uniform.
    alpha : float
        The concentration of the others: small ones have one clear runner-up.
    decay : float
        In (0, 1]: 1 has all classes on top equally often, smaller ones make the last classes rare.
    atoms : sequence of (t, probability)
        Largest probabilities of positive probability, together at most 1; there the others are equal, so that each is an atom of
        the vector for each class.
    float32 : bool
        Whether the vectors are rounded to 32 bits, where many of them are one-hot.

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
                f"classes is {k!r}; an integer of at least 3 is needed (BinaryProblem and Beta are of two)."
            )
        if not all(number >= 0.05 for number in (self.a, self.b, self.alpha)):
            raise BadInputError(
                f"TopLaw has a={self.a}, b={self.b}, alpha={self.alpha}; each must be at least 0.05."
            )
        if not 0.0 < self.decay <= 1.0:
            raise BadInputError(f"decay is {self.decay!r}; a number above 0, at most 1, is needed.")
        try:
            object.__setattr__(
                self, "atoms", tuple((float(value), float(weight)) for value, weight in self.atoms)
            )
        except (TypeError, ValueError):
            raise BadInputError(
                f"atoms is {self.atoms!r}; pairs (value, probability) are needed."
            ) from None
        if any(not (1.0 / k < value <= 1.0 and weight > 0.0) for value, weight in self.atoms):
            raise BadInputError(
                f"atoms is {self.atoms!r}; values in (1/{k}, 1] and positive probabilities are needed."
            )
        total = sum(weight for _, weight in self.atoms)
        if total > 1.0 + 1e-12:
            raise BadInputError(
                f"atoms has probabilities that sum to {total:g}; at most 1 is allowed."
            )

    @property
    def atom_weight(self) -> float:
        return min(float(sum(weight for _, weight in self.atoms)), 1.0)

    @property
    def shares(self) -> np.ndarray:
        """How often each class is on top, (k,)."""
        weights = self.decay ** np.arange(self.classes, dtype=np.float64)
        return weights / weights.sum()

    def draw(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """Vectors, (n, k)."""
        of_t, of_atom, of_class, of_rest = rng.spawn(4)
        k, rows = self.classes, np.arange(n)[:, None]
        rest = (1.0 - 1.0 / k) * of_t.beta(self.b, self.a, n)  # 1 - t: exact where t rounds to 1
        t = 1.0 - rest
        u = of_rest.dirichlet(np.full(k - 1, self.alpha), n)
        u = 1.0 / (k - 1) + self.spread(t, rest)[:, None] * (u - 1.0 / (k - 1))
        if self.atoms:
            values, weights = np.array(self.atoms).T
            which = np.searchsorted(np.cumsum(weights), of_atom.random(n), side="right")
            if self.atom_weight >= 1.0 - 1e-12:
                which = np.minimum(which, len(values) - 1)
            at = which < len(values)
            t[at], u[at] = values[which[at]], 1.0 / (k - 1)
            rest[at] = 1.0 - t[at]
        top = np.minimum(
            np.searchsorted(np.cumsum(self.shares), of_class.random(n), side="right"), k - 1
        )
        p = np.empty((n, k))
        p[rows, (top[:, None] + np.arange(1, k)) % k] = rest[:, None] * u
        p[rows[:, 0], top] = t
        return rounded32(p) if self.float32 else p

    def spread(self, t: np.ndarray, rest: np.ndarray) -> np.ndarray:
        """v(t), by which the others differ from each other."""
        k = self.classes
        with np.errstate(divide="ignore", over="ignore"):
            return np.minimum(1.0, KEPT * ((k - 1) * t / rest - 1.0) / (k - 2))

    def nodes(self, splits: Sequence[float], order: int) -> Nodes:
        """t, 1 - t, weights and v of a quadrature over the law of t, for functions smooth between the splits; atoms last."""
        k = self.classes
        free = ((k - 2) / KEPT + 1.0) / (k - 1)  # t / (1 - t) from which on v is 1
        at = np.array([*splits, free / (1.0 + free), 1.0 - SATURATED])
        at = np.arcsin(
            np.sqrt((1.0 - at[(at > 1.0 / k) & (at < 1.0)]) * k / (k - 1.0))
        )  # angles, from t = 1
        angles = np.union1d(np.linspace(0.0, np.pi / 2, 129), at)
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
        t, weights = 1.0 - rest, np.concatenate([w0, w1]) * (1.0 - self.atom_weight)
        v = self.spread(t, rest)
        values, at = np.array(self.atoms).reshape(-1, 2).T
        t, rest, v = (
            np.concatenate([t, values]),
            np.concatenate([rest, 1.0 - values]),
            np.concatenate([v, 0.0 * values]),
        )
        squares = self.squares(rest, v)
        if self.float32:
            t, rest = rounded32(t), np.where(rest < SATURATED, 0.0, rest)
        return Nodes(t, rest, np.concatenate([weights, at]), v, squares)

    def squares(self, rest: np.ndarray, v: np.ndarray) -> np.ndarray:
        """E sum_j s_j^2 of the others' shares s_j of 1 - t, given `rest` = 1 - t: by moments of u, and of 32 bits, where
        rounding moves the shares (all are equal where all others round to 0), a mean over draws of u of a fixed stream."""
        others = self.classes - 1
        found = 1.0 / others + v**2 * _moments(self)[1]
        if self.float32:
            found[rest <= VANISHED] = 1.0 / others
            u = np.random.default_rng(20_240_915).dirichlet(
                np.full(others, self.alpha), DRAWS // others
            )
            for i in np.flatnonzero((rest > VANISHED) & (rest < COARSE)):
                p = rounded32(rest[i] * u)
                total = p.sum(axis=1, keepdims=True)
                shares = np.divide(p, total, out=np.full_like(p, 1.0 / others), where=total > 0.0)
                found[i] = (shares**2).sum(axis=1).mean()
        return found


class Nodes(NamedTuple):
    """Of a quadrature over the largest probability t: 1 - t, the weights, v of the others, and E of the sum of squares of their
    shares."""

    t: np.ndarray
    rest: np.ndarray
    weight: np.ndarray
    v: np.ndarray
    squares: np.ndarray


@dataclass(frozen=True)
class MovedMass(Generated):
    """Vectors whose class on top is right with another probability than they say, any curve of it.

        p ~ law,  a = argmax p,  t = p_a,  C_a = g(t),  g = map where a is one of `tops`, else `elsewhere`

    and t - g(t) goes to (or comes from) the others, in proportion to their probabilities; or all of it to the runner-up; or all
    of it to the partner of a, the class that forms a pair with it (0 and 1, 2 and 3, ...). It is no temperature, no matrix and
    no map of each class alone.

    Parameters
    ----------
    law : TopLaw
        Of the predictions.
    map, elsewhere : harness.problems.maps
        Scalar maps of [1/k, 1] to [0, 1].
    tops : (first, end), optional
        `map` holds where one of the classes first, ..., end - 1 is on top; None: wherever.
    to : {"others", "runner_up", "partner"}
        Who gets the mass. The last two can only get: there the maps must not lie above the diagonal.
    tail : float
        In [0, 1]. The classes that are not on top become more alike: C_j = (1 - tail) p_j + tail (1 - t) / (k - 1). Only where
        both maps are the identity: the class on top is then right as often as p says.

    Examples
    --------
    >>> import numpy as np
    >>> from harness.problems.maps import Bend
    >>> problem = MovedMass(TopLaw(3), Bend(-0.5), to="runner_up")
    >>> problem.posterior(np.array([[0.2, 0.7, 0.1]])).round(3)
    array([[0.305, 0.595, 0.1  ]])
    >>> round(problem.truth("l1", "top_label").value, 9), round(problem.truth("l1", "canonical").value, 9)
    (0.092592593, 0.185185185)

    Notes
    -----
    Truths. t and a are independent, so that E[right given t] is the mean of the two maps by the shares of the classes, and every
    top_label estimand but the supremum is an integral over t. So are of the canonical ones, with d = t - g(t), l1 = 2 E|d|,
    linf = E|d|, top_class_*, and l2_squared, which is 2 E d^2 where one class gets the mass and else E d^2 (1 + s), s the mean
    sum of squares of the others' shares given t: (1 + v^2 ((k - 1) E sum u_j^2 - 1)) / (k - 1). Quadrature, to about 1e-10. Of 32
    bits to 1e-6: where 1 - t is below 2^-150 all others are 0 and share alike, up to 2^-140 their shares are of few steps of
    2^-149, and s a mean over draws. Other canonical ones: means over 65,536 draws of a fixed stream, their standard error the
    error.
    None where the value is infinite, as kl where p = 1 is wrong.
    """

    law: Any = field(default_factory=TopLaw)
    map: Any = field(default_factory=Identity)
    elsewhere: Any = field(default_factory=Identity)
    tops: tuple[int, int] | None = None
    to: str = "others"
    tail: float = 0.0

    notions = ("canonical", "top_label")
    default_notions = ("canonical", "top_label")

    @property
    def version(self) -> int:
        """2 of 32 bits: the first truths of l2_squared took shares of others that are all 0 for those of u."""
        return 2 if self.law.float32 else 1

    def __post_init__(self) -> None:
        if not isinstance(self.law, TopLaw):
            raise BadInputError(f"law is {self.law!r}; a TopLaw is needed.")
        k = self.classes
        if self.to not in TO:
            raise BadInputError(f"to is {self.to!r}; allowed are {', '.join(TO)}.")
        if self.tops is not None:
            object.__setattr__(self, "tops", tuple(self.tops))
            whole = len(self.tops) == 2 and all(isinstance(j, int) for j in self.tops)
            if not (whole and 0 <= self.tops[0] < self.tops[1] <= k):
                raise BadInputError(
                    f"tops is {list(self.tops)!r}; two integers, 0 <= first < end <= {k}, are needed."
                )
        first, end = self.tops or (0, k)
        if self.to == "partner" and (
            first % 2 or end % 2 or not isinstance(self.elsewhere, Identity)
        ):
            raise BadInputError(
                f"to is 'partner', but tops {first} to {end} are not whole pairs, or elsewhere is a map."
            )
        if not 0.0 <= self.tail <= 1.0:
            raise BadInputError(f"tail is {self.tail!r}; a number in [0, 1] is needed.")
        if self.tail and not all(isinstance(g, Identity) for g in self.maps):
            raise BadInputError(
                f"tail is {self.tail:g} beside a map; it needs maps that are the identity."
            )
        t = np.concatenate(
            [np.linspace(1.0 / k, 1.0, 4001), [value for value, _ in self.law.atoms]]
        )
        for name, g in zip(("map", "elsewhere"), self.maps):
            c = g(t)
            if not (c.min() >= -1e-12 and c.max() <= 1.0 + 1e-12):
                raise BadInputError(
                    f"{name} has values from {c.min():.6g} to {c.max():.6g}; probabilities lie in [0, 1]."
                )
            if self.to != "others" and (c - t).max() > 1e-12:
                raise BadInputError(
                    f"{name} lies above the diagonal by {(c - t).max():.3g}; the {self.to} can only get mass."
                )

    @property
    def classes(self) -> int:
        return self.law.classes

    @property
    def maps(self) -> tuple[Curve, Curve]:
        return self.map, self.elsewhere

    @property
    def share(self) -> float:
        """How often `map` holds."""
        first, end = self.tops or (0, self.classes)
        return float(self.law.shares[first:end].sum()) if end - first < self.classes else 1.0

    def sample(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        rng_p, rng_y = rng.spawn(2)
        p = self.law.draw(n, rng_p)
        below = rng_y.random(n)[:, None] > np.cumsum(self.posterior(p), axis=1)[:, :-1]
        return p, below.sum(axis=1)

    def posterior(self, p: np.ndarray) -> np.ndarray:
        """C = E[one-hot Y given p], (n, k)."""
        k, rows = self.classes, np.arange(len(p))
        top = p.argmax(axis=1)
        t = p[rows, top]
        first, end = self.tops or (0, k)
        right = np.where((first <= top) & (top < end), self.map(t), self.elsewhere(t))
        right = np.clip(right, 0.0, 1.0)  # rounding only
        others = p.copy()
        others[rows, top] = 0.0
        if self.to == "others":
            total = others.sum(axis=1, keepdims=True)
            equal = np.full_like(others, 1.0 / (k - 1))
            equal[rows, top] = 0.0
            others = np.divide(others, total, out=equal.copy(), where=total > 1e-300)
            c = (1.0 - right)[:, None] * (others + self.tail * (equal - others))
            c[rows, top] = right
            return c
        to = (
            others.argmax(axis=1)
            if self.to == "runner_up"
            else np.where((first <= top) & (top < end), top ^ 1, top)
        )
        c = p.copy()
        c[rows, top] = right
        c[rows, to] += t - right
        return c

    def curve(self, t: np.ndarray) -> np.ndarray:
        """E[the class on top is right given t], of what the maps and shares say."""
        return np.clip(self.share * self.map(t) + (1.0 - self.share) * self.elsewhere(t), 0.0, 1.0)

    def top_nodes(self, order: int = 24) -> tuple[np.ndarray, np.ndarray]:
        """t and its probabilities, of the quadrature."""
        found = self.law.nodes(_splits(self), order)
        return found.t, found.weight

    def truth(self, estimand: str, notion: str = "canonical") -> Truth | None:
        if notion not in self.notions:
            return None
        estimands.check_name(estimand, notion)
        if not estimands.has_truth(estimand):
            return None
        right = all(isinstance(g, Identity) for g in self.maps)
        if right and estimands.is_distance(estimand) and not (self.tail and notion == "canonical"):
            return Truth(
                0.0, 1e-6 if self.law.float32 else 0.0, "calibrated by construction"
            )  # rows of 32 bits sum to 1 +- 1e-7
        if notion == "top_label":
            return None if estimand == "linf" else self._quadrature(self._of_top, estimand)
        if self._is_integral(estimand):
            return self._quadrature(self._canonical, estimand)
        return _sampled(self, () if estimand in estimands.CANONICAL else (estimand,)).get(estimand)

    def _quadrature(self, value: Callable[[str, Nodes], float], estimand: str) -> Truth | None:
        coarse, fine = (value(estimand, self.law.nodes(_splits(self), order)) for order in (16, 24))
        if not np.isfinite([coarse, fine]).all():
            return None
        return Truth(fine, abs(fine - coarse) + (1e-6 if self.law.float32 else SMOOTH), METHOD)

    def _of_top(self, estimand: str, nodes: Nodes) -> float:
        c = self.curve(nodes.t)
        return integral(estimand, "top_label", nodes.t, nodes.rest, c, 1.0 - c, nodes.weight)

    def _is_integral(self, estimand: str) -> bool:
        if self.tail:
            return estimand in ("l1", "l2_squared", "rms") or estimand.startswith("top_class_")
        one = self.to != "others" and estimand == "l2"
        return (
            one
            or estimand in ("l1", "linf", "l2_squared", "rms")
            or estimand.startswith("top_class_")
        )

    def _canonical(self, estimand: str, nodes: Nodes) -> float:
        """A mean over t and the two maps. sum_j |C_j - p_j| and its kind are functions of d = t - g(t) and of moments of u."""
        t, rest, weight, v, squares_of_shares = nodes
        if self.tail and not estimand.startswith("top_class_"):
            apart, squares = _moments(self.law)
            if estimand == "l1":
                return float(weight @ (self.tail * rest * v) * apart)
            found = float(weight @ (self.tail * rest * v) ** 2 * squares)
            return np.sqrt(found) if estimand == "rms" else found
        base = "l2_squared" if estimand == "rms" else estimand
        total = 0.0
        for share, g in zip((self.share, 1.0 - self.share), self.maps):
            if share <= 0.0:
                continue
            c = np.clip(g(t), 0.0, 1.0)
            if base.startswith("top_class_"):
                d = estimands.pointwise(base.removeprefix("top_class_"), t, c, "top_label")
            elif base == "l2_squared":
                others = squares_of_shares if self.to == "others" else 1.0
                d = (t - c) ** 2 * (1.0 + others)
            else:
                d = {"l1": 2.0, "l2": np.sqrt(2.0), "linf": 1.0}[base] * np.abs(t - c)
            total += share * float(weight @ d)
        return np.sqrt(total) if estimand == "rms" else total


@lru_cache(maxsize=256)
def _splits(problem: MovedMass) -> tuple[float, ...]:
    """Largest probabilities at which a map is not smooth, or it or their mean crosses the diagonal."""
    from scipy.optimize import brentq  # slow to import

    k = problem.classes
    kinks = [at for g in problem.maps for at in getattr(g, "kinks", ()) if 1.0 / k < at < 1.0]
    edges = np.unique([1.0 / k, 1.0, *kinks])
    found = list(kinks)
    for g in (*problem.maps, problem.curve):
        for low, high in zip(edges, edges[1:]):
            t = np.linspace(
                low + 1e-12, high - 1e-12, 2001
            )  # at a jump, rounding would take the value of either side
            gap = g(t) - t
            found += [
                brentq(lambda s, g=g: g(np.array([s]))[0] - s, t[i], t[i + 1], xtol=1e-15)
                for i in np.flatnonzero(gap[:-1] * gap[1:] < 0.0)
                if max(abs(gap[i]), abs(gap[i + 1]))
                > 1e-13  # not the rounding of a map that is the diagonal there
            ]
    return tuple(found)


@lru_cache(maxsize=64)
def _moments(law: TopLaw) -> tuple[float, float]:
    """E sum_j |u_j - 1/m| and E sum_j (u_j - 1/m)^2 of u ~ Dir(alpha 1_m), m = k - 1; u_j ~ Beta(alpha, (m - 1) alpha)."""
    m, alpha = law.classes - 1, law.alpha
    squares = (alpha + 1.0) / (m * alpha + 1.0) - 1.0 / m
    b = (m - 1) * alpha
    below = betainc(alpha, b, 1.0 / m) - betainc(
        alpha + 1.0, b, 1.0 / m
    )  # E (1/m - u)+ = F_a(1/m)/m - E[u; u < 1/m]
    return float(2.0 * below), float(squares)


@lru_cache(maxsize=64)
def _sampled(problem: MovedMass, extra: tuple[str, ...]) -> dict[str, Truth]:
    """Canonical truths as means over draws: of a value, its standard error; {} entries are left out where one is infinite."""
    wanted = extra or tuple(name for name in estimands.CANONICAL if not problem._is_integral(name))
    rng, parts = np.random.default_rng(20_240_914), []
    points = POINTS if problem.classes <= 10 else POINTS // 4
    p = problem.law.draw(points, rng)
    centre = np.zeros(problem.classes)
    for start in range(0, points, BLOCK):
        centre += problem.posterior(p[start : start + BLOCK]).sum(axis=0) / points
    for start in range(0, points, BLOCK):
        f = p[start : start + BLOCK]
        c = problem.posterior(f)
        with np.errstate(all="ignore"):
            parts.append([_pointwise(name, f, c, centre) for name in wanted])
    found = {}
    for name, values in zip(wanted, np.concatenate(parts, axis=1)):
        if np.isfinite(values).all():
            error = float(values.std(ddof=1) / np.sqrt(points))
            found[name] = Truth(float(values.mean()), error, f"mean over {points:,} draws")
    return found


def _pointwise(name: str, f: np.ndarray, c: np.ndarray, centre: np.ndarray) -> np.ndarray:
    if name.startswith("sharpness_"):
        return estimands.pointwise(
            name.removeprefix("sharpness_"), np.broadcast_to(centre, c.shape), c, "canonical"
        )
    return estimands.pointwise(name, f, c, "canonical")
