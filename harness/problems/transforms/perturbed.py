"""The scores of a problem after the sech perturbation (harness.math.sech_noise)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from harness.errors import BadInputError
from harness.math import estimands
from harness.math.notions import reduce
from harness.math.quadrature import gauss_legendre, unit_edges
from harness.math.sech_noise import checked_h, mean_shift, normaliser, perturbed
from harness.problems.base import Truth, Wrapper
from harness.problems.binary import integrated

DEGREE = 10
PANELS = 4  # per h
SMALLEST_H = 2.0**-12  # of a known truth: quadrature over 12 nodes per h, each of 16 points per h
BLOCK = 1 << 14


@dataclass(frozen=True)
class Perturbed(Wrapper):
    """The scores of a problem after the sech perturbation; outcomes stay.

        s given s0 has the density sech((s - s0) / h) / Z(s0) on [0, 1]

    Parameters
    ----------
    problem : Problem
        Where the scores s0 and the outcomes come from.
    h : float
        The width, positive.
    notion : str
        The notion, binary or top_label, to which the rows of `problem` are reduced first.

    Examples
    --------
    >>> from harness.problems import BinaryProblem
    >>> from harness.problems.maps import Affine
    >>> problem = Perturbed(BinaryProblem(Affine(0.2, 0.5)), h=0.1)
    >>> round(problem.truth("l1").value, 9)
    0.135538676

    Notes
    -----
    Whatever the problem, s has a density and eta(s) = E[Y given s] obeys the bounds of harness.math.sech_noise with this h,
    which the attribute `perturbation` declares. `variation` is that of the original scores, which the perturbation never
    increases.

    posterior(s) = eta(s), density(s) and the truths of every estimand but linf come from quadrature over the law of s0, to about
    1e-12, where `problem` knows that law (quadrature(width, order) -> s0, weights, posteriors) and h is at least 2^-12. Otherwise
    there is no posterior and no truth. The calibration error differs from that of `problem` by at most mean_shift() = E |S - s0|.

    References
    ----------
    ciosek2026.
    """

    problem: Any
    h: float = 0.015625
    notion: str = "binary"

    classes = 2

    def __post_init__(self) -> None:
        object.__setattr__(self, "h", checked_h(self.h))
        if self.notion not in ("binary", "top_label"):
            raise BadInputError(f"notion is {self.notion!r}; allowed are binary, top_label.")

    @property
    def notions(self) -> tuple[str, ...]:
        return (self.notion,)

    default_notions = notions

    @property
    def default_reps(self) -> int:
        return max(
            self.wrapped.default_reps, 10
        )  # the perturbation is new in every rep, also of a file

    @property
    def variation(self) -> float | None:
        return self.wrapped.variation

    @property
    def perturbation(self) -> float:
        return self.h

    def sample(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        rng_problem, rng_u = rng.spawn(2)
        p, y = self.problem.sample(n, rng_problem)
        p, y = reduce(p, y, self.notion) if n else (np.empty(0), np.empty(0, dtype=np.int64))
        return perturbed(p, rng_u.random(len(p)), self.h), y

    @property
    def posterior(self) -> Callable[[np.ndarray], np.ndarray]:
        """The function eta: s (n,) -> E[Y given s]. Absent where the law of the original scores is not known."""
        if self._law() is None:
            raise AttributeError(
                "the law of the original scores is not known, and so not E[Y given the perturbed score]"
            )
        return self._eta

    def _eta(self, s: np.ndarray) -> np.ndarray:
        return _curves(self.problem, self.h, 14)(s)[0]

    def density(self, s: np.ndarray) -> np.ndarray:
        """Density of the perturbed score at s (n,)."""
        self.posterior  # noqa: B018  its own reason where there is none
        return _curves(self.problem, self.h, 14)(s)[1]

    def truth(self, estimand: str, notion: str | None = None) -> Truth | None:
        notion = notion or self.notion
        if notion != self.notion or self._law() is None:
            return None
        estimands.check_name(estimand, notion)
        return integrated(
            estimand,
            notion,
            *(_nodes(self.problem, self.h, *orders) for orders in ((10, 8), (14, 12))),
        )

    def mean_shift(self) -> Truth | None:
        """E|S - s0| as a Truth: how far the calibration error can be from that of `problem`. For a file of predictions, of its
        rows; None where neither the law nor the rows are known."""
        if self._law() is not None:
            coarse, fine = (self.problem.quadrature(2 * self.h, order)[:2] for order in (10, 14))
            values = [float(weight @ mean_shift(s0, self.h)) for s0, weight in (coarse, fine)]
            return Truth(values[1], abs(values[1] - values[0]) + 1e-13, "quadrature")
        if self.n_max is None or self.unavailable:
            return None
        p, y = self.problem.sample(self.n_max, np.random.default_rng(0))
        s0, _ = reduce(p, y, self.notion)
        return Truth(float(mean_shift(s0, self.h).mean()), 0.0, "mean over the rows")

    def _law(self) -> Callable[..., tuple[np.ndarray, np.ndarray, np.ndarray]] | None:
        """The problem's law of scores, or None."""
        return self.wrapped.quadrature if self.h >= SMALLEST_H else None


class Curves:
    """eta and the density of the perturbed score on [0, 1], as polynomials of degree 10 on panels of width h / 4 at most.

    Both N(s) = E[C sech((s - s0) / h) / Z(s0)] and the density f(s), the same without C, are analytic in a strip of half-width
    pi h / 2, and the interpolation of each is good to 1e-12 of its own size on the panel, however small that is: every panel has
    a scale of its own, exp(scale). eta = N / f.
    """

    def __init__(self, s0: np.ndarray, weight: np.ndarray, c: np.ndarray, h: float) -> None:
        panels = max(16, int(np.ceil(PANELS / h)))
        t = np.cos((np.arange(DEGREE + 1) + 0.5) * np.pi / (DEGREE + 1))  # Chebyshev points
        values = np.empty((2, panels, DEGREE + 1))
        self.scale = np.empty(panels)
        log_weight = np.log(weight) - np.log(normaliser(s0, h))
        for k in range(panels):
            size = log_weight - np.abs((k + 0.5) / panels - s0) / h
            near = np.flatnonzero(
                size > size.max() - 45.0
            )  # e^-45: what is left out is below rounding
            x = np.abs((k + (t[:, None] + 1.0) / 2.0) / panels - s0[near]) / h
            self.scale[k] = size.max()
            sech = 2.0 * np.exp(log_weight[near] - self.scale[k] - x) / (1.0 + np.exp(-2.0 * x))
            values[0, k], values[1, k] = sech @ c[near], sech.sum(axis=1)
        powers = np.linalg.inv(np.vander(t, increasing=True))
        self.coefficients = np.ascontiguousarray(
            (values @ powers.T).transpose(0, 2, 1)
        )  # (2, degree + 1, panels)
        self.panels = panels

    def __call__(self, s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(eta, density) at s (n,), in blocks."""
        s = np.asarray(s, dtype=np.float64)
        eta, density = np.empty(s.shape), np.empty(s.shape)
        for start in range(0, len(s), BLOCK):
            rows = slice(start, start + BLOCK)
            k = np.minimum((s[rows] * self.panels).astype(np.int64), self.panels - 1)
            t = 2.0 * (s[rows] * self.panels - k) - 1.0
            both = []
            for coefficients in self.coefficients:
                value = coefficients[DEGREE][k]
                for power in range(DEGREE - 1, -1, -1):
                    value = value * t + coefficients[power][k]
                both.append(value)
            eta[rows] = np.clip(both[0] / both[1], 0.0, 1.0)  # rounding only
            density[rows] = both[1] * np.exp(self.scale[k])
        return eta, density


@lru_cache(maxsize=32)
def _curves(problem: Any, h: float, order: int) -> Curves:
    """`order` nodes on panels of width 2 h of the original law."""
    s0, weight, c = problem.quadrature(2 * h, order)
    positive = weight > 0.0  # densities that underflow
    return Curves(s0[positive], weight[positive], c[positive], h)


@lru_cache(maxsize=32)
def _nodes(
    problem: Any, h: float, order_law: int, order: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Perturbed scores, weights and posteriors of a quadrature; panels end where eta(s) = s and shrink towards 0 and 1."""
    from scipy.optimize import brentq  # slow to import

    curves = _curves(problem, h, order_law)
    edges = np.linspace(0.0, 1.0, curves.panels + 1)
    tried = np.unique(np.concatenate([edges, edges[:-1] + 0.5 / curves.panels]))
    gap = curves(tried)[0] - tried
    apart = np.flatnonzero(
        (gap[:-1] * gap[1:] < 0.0) & (np.maximum(np.abs(gap[:-1]), np.abs(gap[1:])) > 1e-10)
    )
    crossings = [
        brentq(lambda t: curves(np.array([t]))[0][0] - t, tried[i], tried[i + 1]) for i in apart
    ]
    s, weight = gauss_legendre(unit_edges(edges, crossings), order)
    eta, density = curves(s)
    return s, weight * density, eta
