"""Problems with covariate shift, and problems with finitely many predictions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit, ndtr, ndtri

from harness.errors import BadInputError
from harness.math import estimands
from harness.math.quadrature import gauss_legendre
from harness.problems.base import Truth, TwoClasses, draw_labels
from harness.problems.integrals import integral

ORDER, PIECES = 20, 64  # nodes per panel, and number of panels of the quadrature


@dataclass(frozen=True)
class CovariateShift(TwoClasses):
    """Two classes whose input x moves, while the model and P(Y given x) stay fixed.

        x ~ N(location, scale^2) truncated to [-1, 1]
        p = sigma(model_slope x),  P(Y = 1 given x) = sigma(truth_slope x)

    sigma is the logistic function.

    Parameters
    ----------
    location, scale : float
        Location and scale of the normal distribution before truncation; scale is positive.
    truth_slope, model_slope : float
        Slopes of the truth and of the model; model_slope is not 0.

    Examples
    --------
    >>> round(CovariateShift(location=0.5).truth("l1").value, 9)
    0.525792993

    Notes
    -----
    p is one-to-one in x, so E[Y given p] = sigma(truth_slope / model_slope logit p) for every
    location. Truths come from Gauss-Legendre quadrature in x. There is none for the binary supremum
    `linf`. Samples are quantiles of two uniform numbers per row, so paired problems with other
    locations share these numbers.

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
                f"CovariateShift parameters are location={self.location}, scale={self.scale}, "
                f"model_slope={self.model_slope}; "
                "finite numbers, a positive scale and a slope other than 0 are needed."
            )

    def sample(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        rng_x, rng_y = rng.spawn(2)
        x = self.quantile(rng_x.random(n))
        return expit(self.model_slope * x), draw_labels(expit(self.truth_slope * x), rng_y)

    def quantile(self, u: np.ndarray) -> np.ndarray:
        """Return the x with P(X <= x) = u, from the nearer tail of the normal distribution."""
        sign = 1.0 if self.location <= 0 else -1.0  # right of the mean the upper tail is exact
        low, high = ((sign * end - sign * self.location) / self.scale for end in (1.0, -1.0))
        v = u if sign < 0 else 1.0 - u
        tail = ndtr(-max(low, high)) + v * (ndtr(-min(low, high)) - ndtr(-max(low, high)))
        return np.clip(self.location - sign * self.scale * ndtri(tail), -1.0, 1.0)

    def curve(self, p: np.ndarray) -> np.ndarray:
        """Return P(Y = 1 given p) = sigma(truth_slope / model_slope logit p)."""
        return expit(self.truth_slope / self.model_slope * logit(p))

    def nodes(
        self, pieces: int = PIECES, splits: Sequence[float] = ()
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return nodes x and weights of a quadrature for means over x; the weights sum to 1.

        `pieces` is the number of panels. `splits` are points where the function to be averaged
        jumps.
        """
        x, weights = gauss_legendre(
            np.unique(np.concatenate([np.linspace(-1.0, 1.0, pieces + 1), splits])), ORDER
        )
        weights = weights * np.exp(-0.5 * (((x - self.location) / self.scale) ** 2))
        return x, weights / weights.sum()

    def compute_truth(self, estimand: str, notion: str) -> Truth | None:
        supremum = estimand == "linf" and notion == "binary"  # not an integral
        if supremum or not estimands.has_truth(estimand):
            return None
        fine, coarse = (self._integral(estimand, notion, n) for n in (PIECES, PIECES // 2))
        return Truth(fine, abs(fine - coarse) + 1e-14, "Gauss-Legendre quadrature")

    def _integral(self, estimand: str, notion: str, pieces: int) -> float:
        x, weights = self.nodes(pieces)
        a, b = self.model_slope, self.truth_slope
        p, rest, c, c_rest = (expit(slope * x) for slope in (a, -a, b, -b))
        return integral(estimand, notion, p, rest, c, c_rest, weights)


@dataclass(frozen=True)
class CovariateShifts:
    """Family of CovariateShift problems at equally spaced locations from -1 to 1.

    Parameters
    ----------
    count : int
        Number of locations, at least 2.
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
        """Return {id: CovariateShift problem}."""
        if not isinstance(self.count, int) or self.count < 2:
            raise BadInputError(f"count is {self.count!r}; an integer of at least 2 is needed.")
        locations = [round(2.0 * i / (self.count - 1) - 1.0, 12) for i in range(self.count)]
        parameters = (self.scale, self.truth_slope, self.model_slope)
        return {f"{self.name}/{a:+.3g}": CovariateShift(a, *parameters) for a in locations}


@dataclass(frozen=True)
class Points(TwoClasses):
    """Distribution on finitely many predictions.

        P(p = predictions[i]) = weights[i],  P(Y = 1 given p = predictions[i]) = posteriors[i]

    Parameters
    ----------
    weights, predictions, posteriors : sequence of float
        Sequences of equal length. Weights sum to 1, and predictions are distinct.

    Examples
    --------
    >>> round(Points((0.5, 0.5), (0.3, 0.6), (0.5, 0.5)).truth("l1", "binary").value, 9)
    0.15

    Notes
    -----
    Truths are exact sums over the points.

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
        w, p, c = self.arrays()
        valid = (
            len(w) == len(p) == len(c) > 0
            and ((w >= 0) & (p >= 0) & (p <= 1) & (c >= 0) & (c <= 1)).all()
        )
        if not valid or abs(w.sum() - 1.0) > 1e-12 or len(set(self.predictions)) < len(p):
            raise BadInputError(
                f"Points have weights {self.weights}, predictions {self.predictions} and "
                f"posteriors {self.posteriors}; equally many numbers in [0, 1] are needed, "
                "with distinct predictions, and weights that sum to 1."
            )

    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the weights, predictions and posteriors as arrays of shape (m,)."""
        return (
            np.asarray(self.weights, float),
            np.asarray(self.predictions, float),
            np.asarray(self.posteriors, float),
        )

    def sample(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        rng_p, rng_y = rng.spawn(2)
        weights, p, c = self.arrays()
        i = np.searchsorted(np.cumsum(weights)[:-1], rng_p.random(n), side="right")
        return p[i], draw_labels(c[i], rng_y)

    def curve(self, p: np.ndarray) -> np.ndarray:
        """Return P(Y = 1 given p) for p (n,), whose values are predictions of the problem."""
        _, predictions, c = self.arrays()
        return c[np.abs(p[:, None] - predictions).argmin(axis=1)]

    def compute_truth(self, estimand: str, notion: str) -> Truth | None:
        if not estimands.has_truth(estimand):
            return None
        weights, p, c = self.arrays()
        weights, p, c = weights[weights > 0], p[weights > 0], c[weights > 0]
        if notion == "canonical":
            p, c = (np.column_stack([1.0 - v, v]) for v in (p, c))
        return Truth(estimands.value(estimand, p, c, notion, weights), 0.0, "a sum over the points")
