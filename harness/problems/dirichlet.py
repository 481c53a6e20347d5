"""Problems with Dirichlet-distributed predictions and any elementwise calibration map."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.special import gammaincinv, ndtri

from harness.errors import BadInputError
from harness.math import estimands
from harness.math.quadrature import beta_law, halving, sobol_points
from harness.problems.base import Generated, Truth, draw_labels
from harness.problems.integrals import integral
from harness.problems.maps import Identity

# Number of scrambled Sobol sets. Their spread gives the standard error of a truth.
RANDOMISATIONS = 16


@dataclass(frozen=True)
class Dirichlet(Generated):
    """Probability vectors of a symmetric Dirichlet distribution, with a calibration map g*.

        p ~ Dir(alpha 1_k),  P(Y = j given p) = g*(p)_j

    Parameters
    ----------
    classes : int
        Number k of classes, at least 2.
    alpha : float
        Concentration, positive. Small values give confident predictions.
    map : harness.problems.maps
        The calibration map g*, an elementwise function followed by normalisation (Identity, Power,
        Harmonic).

    Examples
    --------
    >>> import numpy as np
    >>> from harness.problems.maps import Power
    >>> problem = Dirichlet(classes=3, map=Power(0.3))
    >>> p, y = problem.sample(1000, np.random.default_rng(0))
    >>> p.shape, y.shape, problem.posterior(p).shape
    ((1000, 3), (1000,), (1000, 3))
    >>> round(problem.truth("l1").value, 4)
    0.4408

    Notes
    -----
    Canonical truths are means over 16 scrambled Sobol sets of 2^15 points, with the standard error
    over the sets.

    Class-wise and top-label truths condition on a single number t: E[Y_j given p_j = t] and E[Y_top
    given max p = t]. Given t, the other entries of p are (1 - t) times a vector with the
    distribution Dir(alpha 1_(k-1)). The conditional mean is the mean over Sobol points of this
    vector. A quadrature integrates over t.

    With the map Power, TemperedDirichlet has the same distribution. Its samples differ, because it
    uses logarithms of gamma variates.

    References
    ----------
    berta2026, Fig. 3.
    """

    classes: int = 3
    alpha: float = 0.5
    map: Any = field(default_factory=Identity)

    notions = ("canonical", "top_label", "classwise")
    default_notions = ("canonical",)

    def __post_init__(self) -> None:
        if self.classes < 2 or not self.alpha > 0:
            raise BadInputError(
                f"Dirichlet parameters are classes={self.classes}, alpha={self.alpha}; "
                "classes >= 2 and alpha > 0 are needed."
            )

    def sample(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        rng_p, rng_y = rng.spawn(2)
        p = rng_p.dirichlet(np.full(self.classes, self.alpha), n)
        return p, draw_labels(self.posterior(p), rng_y)

    def posterior(self, p: np.ndarray) -> np.ndarray:
        """Return C = E[one-hot Y given p], (n, k)."""
        return self.map(p)

    @property
    def calibrated(self) -> bool:
        return isinstance(self.map, Identity)

    def compute_truth(self, estimand: str, notion: str) -> Truth | None:
        extra = () if estimand in estimands.names(notion) else (estimand,)
        return _truths(self, notion, extra)[estimand]


@lru_cache(maxsize=256)
def _truths(problem: Dirichlet, notion: str, extra: tuple[str, ...]) -> dict[str, Truth]:
    """Return the truths of the estimands `extra`, or of all named estimands if it is empty.

    All estimands share the same Sobol points.
    """
    wanted = extra or estimands.names(notion)
    values_of_set = _canonical_values if notion == "canonical" else _conditional_values
    per_set = np.array([values_of_set(problem, notion, wanted, r) for r in range(RANDOMISATIONS)])
    means, errors = per_set.mean(axis=0), per_set.std(axis=0, ddof=1) / np.sqrt(RANDOMISATIONS)
    method = f"randomised quasi-Monte Carlo, {RANDOMISATIONS} scrambled Sobol sets"
    if notion != "canonical":
        half = np.array(
            [_conditional_values(problem, notion, wanted, r, 9, 6) for r in range(RANDOMISATIONS)]
        )
        # Add the bias of ratios, O(1 / points), and the error of the node spacing.
        errors = errors + np.abs(means - half.mean(axis=0))
        method = "quadrature over the conditioning probability, " + method
    return {name: Truth(float(m), float(e), method) for name, m, e in zip(wanted, means, errors)}


def _canonical_values(
    problem: Dirichlet, notion: str, wanted: tuple[str, ...], r: int
) -> list[float]:
    """Return the canonical estimands `wanted` on Sobol set number r."""
    f = dirichlet_points(problem.classes, problem.alpha, 15, r)
    c = problem.posterior(f)
    return [estimands.value(name, f, c, notion) for name in wanted]


def _conditional_values(
    problem: Dirichlet,
    notion: str,
    wanted: tuple[str, ...],
    r: int,
    log2_points: int = 10,
    order: int = 8,
) -> list[float]:
    """Return the class-wise or top-label estimands `wanted` on Sobol set number r.

    They are integrals of d(t, E[Y given t]), with d the distance of the estimand. t is p_1 for
    class-wise and max p for top-label. `order` is the number of nodes per panel of t.
    """
    k, alpha = problem.classes, problem.alpha
    rest = dirichlet_points(k - 1, alpha, log2_points, r)
    largest = rest.max(axis=1)
    t, other, weights = _one_coordinate_nodes(alpha, k, order)
    c = np.empty_like(t)
    possible = np.ones_like(t)
    h = problem.map.elementwise
    for i, (s, o) in enumerate(zip(t, other)):
        weight = h(np.array([s]))[0]
        share = weight / (weight + h(o * rest).sum(axis=1)) if weight > 0 else np.zeros(len(rest))
        if notion == "top_label":
            inside = o * largest <= s
            possible[i] = inside.mean()
            c[i] = share[inside].mean() if possible[i] > 0 else 0.0
        else:
            c[i] = share.mean()
    if notion == "top_label":
        weights = weights * possible * k
        positive = weights > 0
        t, other, c, weights = t[positive], other[positive], c[positive], weights[positive]
    return [integral(name, notion, t, other, c, 1.0 - c, weights) for name in wanted]


def _one_coordinate_nodes(
    alpha: float, k: int, order: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return nodes t, 1 - t and weights of a quadrature for t ~ Beta(alpha, (k - 1) alpha).

    The quadrature runs over the angle x with t = sin^2 x. Panels end at t = 1/j for j = 1, ..., k,
    and shrink towards both ends.
    """
    a, b = alpha, (k - 1) * alpha
    graded = halving(np.pi / 4, int(np.ceil(40 / min(1.0, 2 * min(a, b)))))
    splits = np.arcsin(np.sqrt(1.0 / np.arange(1, k + 1)))
    edges = np.unique(
        np.concatenate(
            [[0.0], graded, np.pi / 2 - graded, splits, np.linspace(0, np.pi / 2, 49), [np.pi / 2]]
        )
    )
    return beta_law(edges, a, b, order)


def dirichlet_points(k: int, alpha: float, log2_points: int, r: int) -> np.ndarray:
    """Return points (2^log2_points, k) with the distribution Dir(alpha 1_k).

    They are scrambled Sobol points of set number r, mapped by gamma quantiles.
    """
    u = sobol_points(k, log2_points, r)
    # With alpha = 1/2, twice a gamma variate is chi-square with one degree of freedom.
    g = ndtri((1.0 + u) / 2.0) ** 2 if alpha == 0.5 else gammaincinv(alpha, u)
    g = np.maximum(g, np.finfo(float).tiny)
    return g / g.sum(axis=1, keepdims=True)
