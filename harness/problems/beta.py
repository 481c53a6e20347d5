"""Binary problems with Beta-distributed predictions, whose truths come from quadrature."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from harness.errors import BadInputError
from harness.math.quadrature import beta_law, halving
from harness.problems.base import Truth, TwoClasses, draw_labels
from harness.problems.integrals import integral
from harness.problems.maps import Identity
from harness.problems.search import crossings, maximum

METHOD = "Gauss-Legendre quadrature"
# With smaller shapes, predictions outside the range of floating point have a noticeable weight.
SMALLEST_SHAPE = 0.06


@dataclass(frozen=True)
class Beta(TwoClasses):
    """Beta-distributed predictions of two classes, with any calibration map g*.

        p ~ Beta(a, b),  Y given p ~ Bernoulli(g*(p))

    Parameters
    ----------
    a, b : float
        Shapes of the Beta distribution, positive.
    map : harness.problems.maps
        The calibration map g*, from [0, 1] to [0, 1].

    Examples
    --------
    >>> import numpy as np
    >>> from harness.problems.maps import LogitAffine
    >>> problem = Beta(map=LogitAffine(0.4, 0.3))
    >>> p, y = problem.sample(3, np.random.default_rng(0))
    >>> p.round(3), y
    (array([0.899, 0.971, 0.299]), array([1, 1, 0]))
    >>> problem.posterior(p).round(3)
    array([0.764, 0.845, 0.49 ])
    >>> round(problem.truth("l1").value, 9)
    0.137156621

    Notes
    -----
    Truths are known for every estimand of the binary, class-wise and canonical notions (canonical
    on the columns 1 - p, p). They come from Gauss-Legendre quadrature in t with p = sin(t)^2. The
    error is about 1e-14, and 1e-9 for the supremum `linf`.

    There is no truth if a or b is below 0.06. Predictions outside the range of floating point then
    have a noticeable weight.

    References
    ----------
    berta2026, Section 4 and Appendix D.
    """

    a: float = 0.5
    b: float = 0.5
    map: Any = field(default_factory=Identity)

    notions = ("binary", "canonical", "classwise")
    default_notions = ("binary",)

    def __post_init__(self) -> None:
        if not (self.a > 0 and self.b > 0):
            raise BadInputError(
                f"Beta parameters are a={self.a}, b={self.b}; both must be positive."
            )

    def sample(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        rng_p, rng_y = rng.spawn(2)
        p = rng_p.beta(self.a, self.b, n)
        return p, draw_labels(self.curve(p), rng_y)

    def curve(self, p: np.ndarray) -> np.ndarray:
        """Return P(Y = 1 given p) = map(p), clipped to [0, 1] as in the code of berta2026."""
        return np.clip(self.map(p), 0.0, 1.0)

    @property
    def calibrated(self) -> bool:
        return isinstance(self.map, Identity)

    def compute_truth(self, estimand: str, notion: str) -> Truth | None:
        if min(self.a, self.b) < SMALLEST_SHAPE:
            return None
        if notion != "canonical" and estimand == "linf":
            return self._supremum()
        coarse, fine = (self._integral(estimand, notion, order) for order in (16, 24))
        return Truth(fine, abs(fine - coarse) + 1e-14, METHOD)

    def _integral(self, estimand: str, notion: str, order: int) -> float:
        p, rest, weights = _nodes(self, order)
        if hasattr(self.map, "pair"):
            c, c_rest = self.map.pair(p, rest)
        else:
            c = self.curve(p)
            c_rest = 1.0 - c
        return integral(estimand, notion, p, rest, c, c_rest, weights)

    def _supremum(self) -> Truth:
        p = np.unique(np.concatenate([np.linspace(0.0, 1.0, 20001), _nodes(self, 16)[0]]))
        value = maximum(lambda t: np.abs(t - self.curve(t)), p)
        return Truth(value, 1e-9, "maximised on a grid, refined")


@lru_cache(maxsize=64)
def _nodes(problem: Beta, order: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return nodes p, 1 - p and weights w of a quadrature with sum_i w_i u(p_i) = E u(p).

    The quadrature runs over t with p = sin^2 t, which turns Beta(1/2, 1/2) into the uniform
    distribution on (0, pi/2). Panels shrink geometrically towards both ends, where maps such as
    p^0.4 are not smooth. They also shrink towards the kinks of the map g*, where 1 - g* may vanish.
    Panels end where g*(p) = p.
    """
    a, b = problem.a, problem.b
    middle = np.pi / 4
    # distances from the ends
    left, right = (halving(middle, int(np.ceil(54 / min(1.0, 2 * shape))) + 1) for shape in (a, b))
    crossing_angles, kinks = (
        np.arcsin(np.sqrt(np.array(s))) for s in (_crossings(problem), problem.map.kinks)
    )
    around = (
        kinks[:, None] + np.pi / 128 * np.outer([-1.0, 1.0], halving(1.0, 45)).ravel()
    ).ravel()
    inner = np.concatenate([crossing_angles, kinks, around])
    splits = np.concatenate(
        [np.linspace(0.0, np.pi / 2, 65), inner[(inner > 0) & (inner < np.pi / 2)]]
    )
    low = np.unique(np.concatenate([[0.0], left, splits[splits <= middle]]))
    high = np.unique(np.concatenate([[0.0], right, np.pi / 2 - splits[splits >= middle]]))
    p0, q0, w0 = beta_law(low, a, b, order)
    q1, p1, w1 = beta_law(high, b, a, order)
    return np.concatenate([p0, p1]), np.concatenate([q0, q1]), np.concatenate([w0, w1])


def _crossings(problem: Beta) -> list[float]:
    """Return the interior points where g*(p) = p, between which |p - g*(p)| is smooth.

    If there are 200 points or more, g* is taken as the identity on an interval, and the result is
    empty.
    """

    def gap(p: np.ndarray) -> np.ndarray:
        return problem.curve(p) - p

    grid = np.sin(np.linspace(0.0, np.pi / 2, 4003)[1:-1]) ** 2
    points = [*grid[gap(grid) == 0.0], *crossings(gap, grid, xtol=1e-15)]
    return points if len(points) < 200 else []
