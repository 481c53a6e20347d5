"""Problem that perturbs the scores of another problem by sech noise."""

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
from harness.problems.integrals import integrated
from harness.problems.search import crossings

DEGREE = 10  # degree of the polynomials; with panels of width h / 4 their error is below 1e-12
PANELS = 4  # number of panels per width h
# Below this width there is no truth: the cost of the quadrature grows with 1 / h^2.
SMALLEST_H = 2.0**-12


@dataclass(frozen=True)
class Perturbed(Wrapper):
    """Scores of a problem after the sech perturbation; outcomes do not change.

    Given the original score s0, the perturbed score s has this density on [0, 1], with Z(s0) the
    normaliser:

        sech((s - s0) / h) / Z(s0)

    Parameters
    ----------
    problem : Problem
        Gives the scores s0 and the outcomes.
    h : float
        Width of the perturbation, positive.
    notion : {"binary", "top_label"}
        Notion to which the rows of `problem` are reduced first.

    Examples
    --------
    >>> from harness.problems import BinaryProblem
    >>> from harness.problems.maps import Affine
    >>> problem = Perturbed(BinaryProblem(Affine(0.2, 0.5)), h=0.1)
    >>> round(problem.truth("l1").value, 9)
    0.135538676

    Notes
    -----
    For any problem, s has a density, and eta(s) = E[Y given s] obeys the bounds of
    harness.math.sech_noise with this h. The attribute `perturbation` declares h. `variation` is
    that of the original scores, because the perturbation never increases it.

    posterior(s) = eta(s), density(s) and the truths of every estimand except linf come from
    quadrature over the distribution of s0, to about 1e-12. This requires that `problem` has a
    method quadrature(width, order) -> s0, weights, posteriors, and that h is at least 2^-12.
    Otherwise there is no posterior and no truth.

    The calibration error differs from that of `problem` by at most mean_shift() = E |S - s0|.

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

    shares_rows = False  # every replication draws new noise, also for a file

    @property
    def default_reps(self) -> int:
        # Every replication draws a new perturbation, also for a file.
        return max(self.wrapped.default_reps, 10)

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
        """The function eta from s (n,) to E[Y given s].

        The attribute is absent if the distribution of s0 is unknown.
        """
        self._require_law()
        return lambda s: _curves(self.problem, self.h, 14)(s)[0]

    def density(self, s: np.ndarray) -> np.ndarray:
        """Return the density of the perturbed score at s (n,)."""
        self._require_law()
        return _curves(self.problem, self.h, 14)(s)[1]

    def truth(self, estimand: str, notion: str | None = None) -> Truth | None:
        notion = notion or self.notion
        if notion != self.notion or self._law() is None:
            return None
        estimands.check_name(estimand, notion)
        coarse, fine = (_nodes(self.problem, self.h, *orders) for orders in ((10, 8), (14, 12)))
        return integrated(estimand, notion, coarse, fine)

    def mean_shift(self) -> Truth | None:
        """Return E|S - s0|, a bound on the change of the calibration error.

        S is the perturbed score and s0 the original score. For a file of predictions, the result is
        the mean over its rows. It is None for other problems whose distribution of s0 is unknown.
        """
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
        """Return the quadrature over the original scores, or None if there is none."""
        return self.wrapped.quadrature if self.h >= SMALLEST_H else None

    def _require_law(self) -> None:
        """Raise AttributeError if the distribution of the original scores is unknown."""
        if self._law() is None:
            raise AttributeError(
                "the distribution of the original scores is unknown, so there is no posterior"
            )


class Curves:
    """eta(s) = E[Y given s] and the density f(s) of the perturbed score, as polynomials on panels.

    The polynomials have degree 10, and the panels have a width of at most h / 4. With C the
    posterior of the original score s0 and Z its normaliser,

        N(s) = E[C sech((s - s0) / h) / Z(s0)]
        f(s) = E[sech((s - s0) / h) / Z(s0)]
        eta = N / f

    N and f are analytic in a strip of half-width pi h / 2 around the real axis. Every panel has its
    own factor exp(scale), so the interpolation has a relative error of 1e-12 even where the values
    are tiny.
    """

    def __init__(self, s0: np.ndarray, weight: np.ndarray, c: np.ndarray, h: float) -> None:
        panels = max(16, int(np.ceil(PANELS / h)))
        t = np.cos((np.arange(DEGREE + 1) + 0.5) * np.pi / (DEGREE + 1))  # Chebyshev points
        values = np.empty((2, panels, DEGREE + 1))
        self.scale = np.empty(panels)
        log_weight = np.log(weight) - np.log(normaliser(s0, h))
        for k in range(panels):
            size = log_weight - np.abs((k + 0.5) / panels - s0) / h
            near = np.flatnonzero(size > size.max() - 45.0)  # terms below e^-45 are rounding errors
            x = np.abs((k + (t[:, None] + 1.0) / 2.0) / panels - s0[near]) / h
            self.scale[k] = size.max()
            sech = 2.0 * np.exp(log_weight[near] - self.scale[k] - x) / (1.0 + np.exp(-2.0 * x))
            values[0, k], values[1, k] = sech @ c[near], sech.sum(axis=1)
        powers = np.linalg.inv(np.vander(t, increasing=True))
        # shape (2, degree + 1, panels)
        self.coefficients = np.ascontiguousarray((values @ powers.T).transpose(0, 2, 1))
        self.panels = panels

    def __call__(self, s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return (eta, density) at perturbed scores s (n,)."""
        s = np.asarray(s, dtype=np.float64)
        k = np.minimum((s * self.panels).astype(np.int64), self.panels - 1)
        t = 2.0 * (s * self.panels - k) - 1.0
        values = []
        for coefficients in self.coefficients:  # Horner's scheme
            value = coefficients[DEGREE][k]
            for power in range(DEGREE - 1, -1, -1):
                value = value * t + coefficients[power][k]
            values.append(value)
        eta = np.clip(values[0] / values[1], 0.0, 1.0)  # only rounding leaves [0, 1]
        return eta, values[1] * np.exp(self.scale[k])


@lru_cache(maxsize=32)
def _curves(problem: Any, h: float, order: int) -> Curves:
    """Return the curves of a problem perturbed with width h.

    The quadrature over the original scores has `order` nodes on panels of width 2 h.
    """
    s0, weight, c = problem.quadrature(2 * h, order)
    positive = weight > 0.0  # some densities underflow
    return Curves(s0[positive], weight[positive], c[positive], h)


@lru_cache(maxsize=32)
def _nodes(
    problem: Any, h: float, order_law: int, order: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return perturbed scores, weights and posteriors of a quadrature.

    `order_law` is the number of nodes per panel of the original scores, `order` that of the
    perturbed scores. Panels end where eta(s) = s, and shrink towards 0 and 1.
    """
    curves = _curves(problem, h, order_law)
    edges = np.linspace(0.0, 1.0, curves.panels + 1)
    grid = np.unique(np.concatenate([edges, edges[:-1] + 0.5 / curves.panels]))
    splits = crossings(lambda s: curves(s)[0] - s, grid, smallest=1e-10)
    s, weight = gauss_legendre(unit_edges(edges, splits), order)
    eta, density = curves(s)
    return s, weight * density, eta
