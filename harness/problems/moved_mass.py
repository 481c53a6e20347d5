"""Problems of several classes in which a given function of the confidence is the accuracy.

Most truths are integrals over the confidence.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from harness.errors import BadInputError
from harness.math import estimands
from harness.problems.base import CALIBRATED, Generated, Truth, draw_labels
from harness.problems.classwise_truths import classwise_truth
from harness.problems.integrals import integral
from harness.problems.maps import Identity
from harness.problems.search import Curve, crossings
from harness.problems.top_law import Nodes, TopLaw, share_moments

METHOD = "Gauss-Legendre quadrature over the largest probability"
SMOOTH = 1e-10  # error of the quadrature, added to the difference between two orders
POINTS, BLOCK = 1 << 16, 1 << 13  # draws for a sampled truth, and draws in memory at a time
RECEIVERS = ("others", "runner_up", "partner")


@dataclass(frozen=True)
class MovedMass(Generated):
    """Probability vectors whose top label is right with probability g(t) instead of t.

        p ~ law,  a = argmax p,  t = p_a,  P(Y = a given p) = g(t)

    The curve g is `map` if the top class a is in `tops`, and `elsewhere` otherwise. The probability
    t - g(t) moves to other classes (or comes from them), depending on `to`. No temperature, no
    matrix and no map of each single class can represent this miscalibration.

    Parameters
    ----------
    law : TopLaw
        Distribution of the predictions.
    map, elsewhere : harness.problems.maps
        Scalar maps from [1/k, 1] to [0, 1], with k the number of classes.
    tops : (first, end), optional
        `map` applies if one of the classes first, ..., end - 1 is on top. None means all classes.
    to : {"others", "runner_up", "partner"}
        Which classes receive the moved probability:

        * others: all other classes, in proportion to their probabilities.
        * runner_up: the class with the second largest probability.
        * partner: the other class of a pair; the pairs are 0 and 1, 2 and 3, and so on.

        The runner-up and the partner can only receive probability, so the maps must not lie above
        the diagonal.
    tail : float
        Number in [0, 1] that makes the other classes more alike: C_j = (1 - tail) p_j + tail (1 -
        t) / (k - 1), with C = E[one-hot Y given p]. It is allowed only if both maps are the
        identity, so that the top label is calibrated.

    Examples
    --------
    >>> import numpy as np
    >>> from harness.problems.maps import Bend
    >>> problem = MovedMass(TopLaw(3), Bend(-0.5), to="runner_up")
    >>> problem.posterior(np.array([[0.2, 0.7, 0.1]])).round(3)
    array([[0.305, 0.595, 0.1  ]])
    >>> [round(problem.truth("l1", notion).value, 9) for notion in ("top_label", "canonical")]
    [0.092592593, 0.185185185]

    Notes
    -----
    Top-label truths, except the supremum, are integrals over t. t and a are independent, so E[right
    given t] is the mean of the two maps, weighted by the probabilities of the top classes.

    The following canonical truths are integrals too, with d = t - g(t):

        l1            2 E|d|
        linf          E|d|
        l2_squared    2 E d^2 if one class receives the mass, E d^2 (1 + s) if all others do
        top_class_*   as for the top-label notion

    s is E[sum_j s_j^2 given t], with s_j = p_j / (1 - t) for the other classes j. With u and v of
    TopLaw,

        s = (1 + v^2 ((k - 1) E sum u_j^2 - 1)) / (k - 1)

    The error is about 1e-10, and 1e-6 with float32.

    With float32, entries p_j are multiples of 2^-149. If 1 - t is below 2^-150, all p_j of the
    other classes round to 0, and the shares s_j are taken as equal. Between 2^-150 and 2^-140, s is
    a mean over draws.

    Other canonical truths are means over 65,536 draws of a fixed random stream, with their standard
    error. An infinite value gives None, such as kl if p = 1 is wrong.

    Class-wise truths are means over draws in bins (harness.problems.classwise_truths).
    """

    law: Any = field(default_factory=TopLaw)
    map: Any = field(default_factory=Identity)
    elsewhere: Any = field(default_factory=Identity)
    tops: tuple[int, int] | None = None
    to: str = "others"
    tail: float = 0.0

    notions = ("canonical", "top_label", "classwise")
    default_notions = ("canonical", "top_label")

    @property
    def version(self) -> int:
        """2 with float32, else 1.

        With float32, version 1 used wrong shares in l2_squared if all other classes were 0.
        """
        return 2 if self.law.float32 else 1

    def __post_init__(self) -> None:
        if not isinstance(self.law, TopLaw):
            raise BadInputError(f"law is {self.law!r}; a TopLaw is needed.")
        k = self.classes
        if self.to not in RECEIVERS:
            raise BadInputError(f"to is {self.to!r}; allowed are {', '.join(RECEIVERS)}.")
        if self.tops is not None:
            object.__setattr__(self, "tops", tuple(self.tops))
            whole = len(self.tops) == 2 and all(isinstance(j, int) for j in self.tops)
            if not (whole and 0 <= self.tops[0] < self.tops[1] <= k):
                raise BadInputError(
                    f"tops is {list(self.tops)!r}; "
                    f"two integers, 0 <= first < end <= {k}, are needed."
                )
        first, end = self.tops or (0, k)
        if self.to == "partner" and (
            first % 2 or end % 2 or not isinstance(self.elsewhere, Identity)
        ):
            raise BadInputError(
                f"to is 'partner' and tops are {first} to {end}; tops must then consist of whole "
                "pairs, and elsewhere must be the identity."
            )
        if not 0.0 <= self.tail <= 1.0:
            raise BadInputError(f"tail is {self.tail!r}; a number in [0, 1] is needed.")
        if self.tail and not all(isinstance(g, Identity) for g in self.maps):
            raise BadInputError(
                f"tail is {self.tail:g}, but a map is not the identity; remove the map or tail."
            )
        # Check the maps on a grid and at the atoms.
        t = np.concatenate(
            [np.linspace(1.0 / k, 1.0, 4001), [value for value, _ in self.law.atoms]]
        )
        for name, g in zip(("map", "elsewhere"), self.maps):
            c = g(t)
            if not (c.min() >= -1e-12 and c.max() <= 1.0 + 1e-12):
                raise BadInputError(
                    f"{name} has values from {c.min():.6g} to {c.max():.6g}; "
                    "they must be in [0, 1]."
                )
            if self.to != "others" and (c - t).max() > 1e-12:
                raise BadInputError(
                    f"{name} is above the diagonal by {(c - t).max():.3g}; "
                    f"with to={self.to!r} it must not be above the diagonal."
                )

    @property
    def classes(self) -> int:
        return self.law.classes

    @property
    def maps(self) -> tuple[Curve, Curve]:
        return self.map, self.elsewhere

    @property
    def share(self) -> float:
        """Probability that the top class is in `tops`, so that `map` applies."""
        first, end = self.tops or (0, self.classes)
        return float(self.law.shares[first:end].sum()) if end - first < self.classes else 1.0

    def sample(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        rng_p, rng_y = rng.spawn(2)
        p = self.law.draw(n, rng_p)
        return p, draw_labels(self.posterior(p), rng_y)

    def posterior(self, p: np.ndarray) -> np.ndarray:
        """Return C = E[one-hot Y given p], (n, k)."""
        k, rows = self.classes, np.arange(len(p))
        top = p.argmax(axis=1)
        t = p[rows, top]
        first, end = self.tops or (0, k)
        mapped = (first <= top) & (top < end)
        right = np.where(mapped, self.map(t), self.elsewhere(t))
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
        if self.to == "runner_up":
            receiver = others.argmax(axis=1)
        else:
            receiver = np.where(mapped, top ^ 1, top)
        c = p.copy()
        c[rows, top] = right
        c[rows, receiver] += t - right
        return c

    def curve(self, t: np.ndarray) -> np.ndarray:
        """Return the probability that the top label is right, given its confidence t (m,)."""
        return np.clip(self.share * self.map(t) + (1.0 - self.share) * self.elsewhere(t), 0.0, 1.0)

    def compute_truth(self, estimand: str, notion: str) -> Truth | None:
        if not estimands.has_truth(estimand):
            return None
        right = all(isinstance(g, Identity) for g in self.maps)
        if right and estimands.is_distance(estimand) and not (self.tail and notion != "top_label"):
            # With float32, rows sum to 1 only within 1e-7.
            return Truth(0.0, 1e-6 if self.law.float32 else 0.0, CALIBRATED)
        if estimand == "linf" and notion != "canonical":
            return None
        if notion == "top_label":
            return self._quadrature(self._top_label, estimand)
        if notion == "classwise":
            return classwise_truth(self, estimand)
        if self._is_integral(estimand):
            return self._quadrature(self._canonical, estimand)
        return _sampled(self, () if estimand in estimands.CANONICAL else (estimand,)).get(estimand)

    def _quadrature(self, value: Callable[[str, Nodes], float], estimand: str) -> Truth | None:
        coarse, fine = (value(estimand, self.law.nodes(_splits(self), order)) for order in (16, 24))
        if not np.isfinite([coarse, fine]).all():
            return None
        return Truth(fine, abs(fine - coarse) + (1e-6 if self.law.float32 else SMOOTH), METHOD)

    def _top_label(self, estimand: str, nodes: Nodes) -> float:
        c = self.curve(nodes.t)
        return integral(estimand, "top_label", nodes.t, nodes.rest, c, 1.0 - c, nodes.weight)

    def _is_integral(self, estimand: str) -> bool:
        """Return True if the canonical truth of the estimand is an integral over t."""
        integrals = {"l1", "l2_squared", "rms"}
        if not self.tail:
            integrals.add("linf")
            if self.to != "others":
                integrals.add("l2")
        return estimand in integrals or estimand.startswith("top_class_")

    def _canonical(self, estimand: str, nodes: Nodes) -> float:
        """Return the canonical truth of an estimand, integrated over the nodes t.

        Sums such as sum_j |C_j - p_j| depend only on d = t - g(t) and on moments of the other
        shares.
        """
        t, rest, weight, v, squares_of_shares = nodes
        if self.tail and not estimand.startswith("top_class_"):
            deviation, variance = share_moments(self.law)
            if estimand == "l1":
                return float(weight @ (self.tail * rest * v) * deviation)
            value = float(weight @ (self.tail * rest * v) ** 2 * variance)
            return np.sqrt(value) if estimand == "rms" else value
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
    """Return the points t where the integrands are not smooth.

    These are the kinks of the maps, and the points where a map or the mean of both maps crosses the
    diagonal.
    """
    k = problem.classes
    kinks = [t for g in problem.maps for t in getattr(g, "kinks", ()) if 1.0 / k < t < 1.0]
    edges = np.unique([1.0 / k, 1.0, *kinks])
    splits = list(kinks)
    for g in (*problem.maps, problem.curve):
        splits += _crossings(g, edges)
    return tuple(splits)


def _crossings(g: Curve, edges: np.ndarray) -> list[float]:
    """Return the points between the edges where g(t) = t."""
    points: list[float] = []
    for low, high in zip(edges, edges[1:]):
        # Stay off the edges: at a jump, rounding decides which side's value is returned.
        t = np.linspace(low + 1e-12, high - 1e-12, 2001)
        # Where the map is the diagonal, rounding causes gaps of up to 1e-13.
        points += crossings(lambda t: g(t) - t, t, xtol=1e-15, smallest=1e-13)
    return points


@lru_cache(maxsize=64)
def _sampled(problem: MovedMass, extra: tuple[str, ...]) -> dict[str, Truth]:
    """Return canonical truths as means over draws; infinite values are left out.

    `extra` names the estimands. If it is empty, all named estimands that are not integrals are
    computed.
    """
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
    truths = {}
    for name, values in zip(wanted, np.concatenate(parts, axis=1)):
        if np.isfinite(values).all():
            error = float(values.std(ddof=1) / np.sqrt(points))
            truths[name] = Truth(float(values.mean()), error, f"mean over {points:,} draws")
    return truths


def _pointwise(name: str, f: np.ndarray, c: np.ndarray, centre: np.ndarray) -> np.ndarray:
    """Return the terms of a canonical estimand, (n,), for predictions f and posteriors c.

    `centre` (k,) is E C, which sharpness needs.
    """
    if name.startswith("sharpness_"):
        return estimands.pointwise(
            name.removeprefix("sharpness_"), np.broadcast_to(centre, c.shape), c, "canonical"
        )
    return estimands.pointwise(name, f, c, "canonical")
