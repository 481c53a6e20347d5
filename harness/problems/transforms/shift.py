"""Covariate shift: the law of x moves, P(Y given x) and the model stay; and a law on a few predictions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import expit, logit, ndtr, ndtri

from harness.errors import BadInputError
from harness.math import estimands
from harness.math.quadrature import gauss_legendre
from harness.problems.base import Truth, TwoClasses, integral

ORDER, PIECES = 20, 64


@dataclass(frozen=True)
class CovariateShift(TwoClasses):
    """A one-dimensional input whose law moves while the model and P(Y given x) stay.

        x ~ N(location, scale^2) truncated to [-1, 1],  p = sigma(model_slope x),  P(Y = 1 given x) = sigma(truth_slope x)

    Parameters
    ----------
    location, scale : float
        Of the normal law before truncation; scale is positive.
    truth_slope, model_slope : float
        model_slope is not 0.

    Examples
    --------
    >>> round(CovariateShift(location=0.5).truth("l1").value, 9)
    0.525792993

    Notes
    -----
    x is a quantile of one uniform number, y one of another, so that paired problems of other locations share both. As p is
    one-to-one in x, E[Y given p] = sigma(truth_slope / model_slope logit p) whatever the location. Truths: Gauss-Legendre
    quadrature in x; none for the binary supremum `linf`.

    References
    ----------
    moskvichev2025, Section 5.2.1: scale 0.25, slopes 5 and 1, locations from -1 to 1.
    """

    location: float = 0.0
    scale: float = 0.25
    truth_slope: float = 1.0
    model_slope: float = 5.0

    notions = ("binary", "canonical")
    default_notions = ("canonical",)

    def __post_init__(self) -> None:
        if (
            not self.scale > 0
            or self.model_slope == 0
            or not np.isfinite([self.location, self.scale, self.model_slope]).all()
        ):
            raise BadInputError(
                f"CovariateShift parameters are location={self.location}, scale={self.scale}, model_slope={self.model_slope}; a "
                "positive scale and a slope other than 0 are needed."
            )

    def sample(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        rng_x, rng_y = rng.spawn(2)
        x = self.quantile(rng_x.random(n))
        return expit(self.model_slope * x), (rng_y.random(n) < expit(self.truth_slope * x)).astype(
            np.int64
        )

    def quantile(self, u: np.ndarray) -> np.ndarray:
        """x with P(X <= x) = u, from the nearer tail of the normal law."""
        sign = (
            1.0 if self.location <= 0 else -1.0
        )  # to the right of the mean the upper tail is exact
        low, high = ((sign * end - sign * self.location) / self.scale for end in (1.0, -1.0))
        v = u if sign < 0 else 1.0 - u
        tail = ndtr(-max(low, high)) + v * (ndtr(-min(low, high)) - ndtr(-max(low, high)))
        return np.clip(self.location - sign * self.scale * ndtri(tail), -1.0, 1.0)

    def curve(self, p: np.ndarray) -> np.ndarray:
        """P(Y = 1 given p) = sigma(truth_slope / model_slope logit p)."""
        return expit(self.truth_slope / self.model_slope * logit(p))

    def nodes(
        self, pieces: int = PIECES, splits: Sequence[float] = ()
    ) -> tuple[np.ndarray, np.ndarray]:
        """(x, weights) of a quadrature for means over x, split at `splits`, where what is averaged jumps; weights sum to 1."""
        x, weights = gauss_legendre(
            np.unique(np.concatenate([np.linspace(-1.0, 1.0, pieces + 1), splits])), ORDER
        )
        weights = weights * np.exp(-0.5 * (((x - self.location) / self.scale) ** 2))
        return x, weights / weights.sum()

    def truth(self, estimand: str, notion: str = "canonical") -> Truth | None:
        notion = notion or self.default_notions[0]
        if notion not in self.notions:
            return None
        estimands.check_name(estimand, notion)
        if not estimands.has_truth(estimand) or (estimand, notion) == (
            "linf",
            "binary",
        ):  # a supremum is no integral
            return None
        return _quadrature(self, estimand, notion)


@lru_cache(maxsize=1024)
def _quadrature(problem: CovariateShift, estimand: str, notion: str) -> Truth:
    fine, coarse = (_value(problem, estimand, notion, pieces) for pieces in (PIECES, PIECES // 2))
    return Truth(fine, abs(fine - coarse) + 1e-14, "Gauss-Legendre quadrature")


def _value(problem: CovariateShift, estimand: str, notion: str, pieces: int) -> float:
    x, weights = problem.nodes(pieces)
    p, c, rest, c_rest = (
        expit(s * x)
        for s in (
            problem.model_slope,
            problem.truth_slope,
            -problem.model_slope,
            -problem.truth_slope,
        )
    )
    return integral(estimand, notion, p, rest, c, c_rest, weights)


@dataclass(frozen=True)
class CovariateShifts:
    """A family of problems: CovariateShift at equally spaced locations from -1 to 1.

    Parameters
    ----------
    count : int
        The number of locations, at least 2.
    name : str
        Ids are `<name>/<location>`.
    scale, truth_slope, model_slope : float
        As in CovariateShift.

    Examples
    --------
    >>> list(CovariateShifts(count=3).members())
    ['shift/-1', 'shift/+0', 'shift/+1']
    """

    count: int = 41
    name: str = "shift"
    scale: float = 0.25
    truth_slope: float = 1.0
    model_slope: float = 5.0

    def members(self) -> dict[str, CovariateShift]:
        """{id: CovariateShift}."""
        if not isinstance(self.count, int) or self.count < 2:
            raise BadInputError(f"count is {self.count!r}; an integer of at least 2 is needed.")
        locations = [round(2.0 * i / (self.count - 1) - 1.0, 12) for i in range(self.count)]
        same = (self.scale, self.truth_slope, self.model_slope)
        return {f"{self.name}/{a:+.3g}": CovariateShift(a, *same) for a in locations}


@dataclass(frozen=True)
class Points(TwoClasses):
    """A law on a few predictions.

        P(p = predictions[i]) = weights[i],  P(Y = 1 given p = predictions[i]) = posteriors[i]

    Parameters
    ----------
    weights, predictions, posteriors : sequence of float
        Equally many; weights sum to 1, predictions are different.

    Examples
    --------
    >>> round(Points((0.5, 0.5), (0.3, 0.6), (0.5, 0.5)).truth("l1", "binary").value, 9)
    0.15

    Notes
    -----
    Truths are sums over the points, exact.

    References
    ----------
    moskvichev2025, Appendix A.
    """

    weights: tuple[float, ...] = (0.5, 0.5)
    predictions: tuple[float, ...] = (0.3, 0.6)
    posteriors: tuple[float, ...] = (0.5, 0.5)

    notions = ("binary", "canonical")
    default_notions = ("canonical",)

    def __post_init__(self) -> None:
        w, p, c = (
            np.asarray(v, dtype=float) for v in (self.weights, self.predictions, self.posteriors)
        )
        fits = (
            len(w) == len(p) == len(c) > 0
            and ((w >= 0) & (p >= 0) & (p <= 1) & (c >= 0) & (c <= 1)).all()
        )
        if not fits or abs(w.sum() - 1.0) > 1e-12 or len(set(self.predictions)) < len(p):
            raise BadInputError(
                f"Points have weights {self.weights}, predictions {self.predictions}, posteriors {self.posteriors}; equally "
                "many of each in [0, 1] are needed, predictions all different, weights that sum to 1."
            )

    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(weights, p, c), each (m,)."""
        return (
            np.asarray(self.weights, float),
            np.asarray(self.predictions, float),
            np.asarray(self.posteriors, float),
        )

    def sample(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        rng_p, rng_y = rng.spawn(2)
        weights, p, c = self.arrays()
        i = np.searchsorted(np.cumsum(weights)[:-1], rng_p.random(n), side="right")
        return p[i], (rng_y.random(n) < c[i]).astype(np.int64)

    def curve(self, p: np.ndarray) -> np.ndarray:
        """P(Y = 1 given p) at the law's own predictions."""
        _, at, c = self.arrays()
        return c[np.abs(p[:, None] - at).argmin(axis=1)]

    def truth(self, estimand: str, notion: str = "canonical") -> Truth | None:
        notion = notion or self.default_notions[0]
        if notion not in self.notions:
            return None
        estimands.check_name(estimand, notion)
        if not estimands.has_truth(estimand):
            return None
        weights, p, c = self.arrays()
        weights, p, c = weights[weights > 0], p[weights > 0], c[weights > 0]
        if notion == "canonical":
            p, c = (np.column_stack([1.0 - v, v]) for v in (p, c))
        return Truth(estimands.value(estimand, p, c, notion, weights), 0.0, "a sum over the points")
