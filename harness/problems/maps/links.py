"""Maps that are curves in the log-odds of the prediction."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.special import expit, logit, ndtr

from harness.errors import BadInputError
from harness.problems.maps.smooth import scaled_logits

LINKS = ("probit", "cauchit")
HERMITE = 40  # number of nodes of Gauss-Hermite quadrature
FARTHEST = 36.0  # log-odds beyond which sigma rounds to 0 or 1


@dataclass(frozen=True)
class WrongLink:
    """A link other than the logistic function: g*(p) = F(slope logit p + intercept).

    F is the normal distribution function ("probit") or the Cauchy distribution function
    ("cauchit").

    Examples
    --------
    >>> WrongLink("probit", 0.4)(np.array([0.1, 0.9])).round(4)
    array([0.1897, 0.8103])
    """

    link: str = "probit"
    slope: float = 1.0
    intercept: float = 0.0
    kinks = ()

    def __post_init__(self) -> None:
        if self.link not in LINKS:
            raise BadInputError(f"link is {self.link!r}; allowed are {', '.join(LINKS)}.")

    def __call__(self, p: np.ndarray) -> np.ndarray:
        x = scaled_logits(self.slope, logit(p)) + self.intercept
        return ndtr(x) if self.link == "probit" else 0.5 + np.arctan(x) / np.pi


@dataclass(frozen=True)
class BetaCurve:
    """Curve of beta calibration: g*(p) = sigma(a log p - b log(1 - p) + c).

    sigma is the logistic function. With a = b it is LogitAffine; otherwise the curve is asymmetric.

    Examples
    --------
    >>> BetaCurve(2.0, 0.5)(np.array([0.1, 0.9])).round(4)
    array([0.0104, 0.7192])

    References
    ----------
    Kull, Silva Filho and Flach (2017), beta calibration.
    """

    a: float = 1.0
    b: float = 1.0
    c: float = 0.0
    kinks = ()

    def __post_init__(self) -> None:
        if not (self.a > 0 and self.b > 0):
            raise BadInputError(f"BetaCurve has a={self.a}, b={self.b}; both must be positive.")

    def __call__(self, p: np.ndarray) -> np.ndarray:
        with np.errstate(divide="ignore"):
            return expit(self.a * np.log(p) - self.b * np.log1p(-p) + self.c)


@dataclass(frozen=True)
class CubicLogit:
    """Cubic in the log-odds x = logit p: g*(p) = sigma(constant + linear x + cubic x^3).

    Examples
    --------
    >>> CubicLogit(0.0, 0.4, 0.05)(np.array([0.1, 0.9])).round(4)
    array([0.1963, 0.8037])
    """

    constant: float = 0.0
    linear: float = 1.0
    cubic: float = 0.05
    kinks = ()

    def __post_init__(self) -> None:
        if not self.cubic > 0:
            raise BadInputError(f"cubic is {self.cubic!r}; a positive number is needed.")

    def __call__(self, p: np.ndarray) -> np.ndarray:
        x = logit(p)
        return expit(self.constant + x * (self.linear + self.cubic * x * x))


@dataclass(frozen=True)
class NoisyLogits:
    """Mean over noise in the log-odds: g*(p) = E sigma(logit p + scale Z), Z ~ N(0, 1).

    Predictions are overconfident. The mean is a Gauss-Hermite quadrature with 40 nodes.

    Examples
    --------
    >>> NoisyLogits(2.0)(np.array([0.1, 0.5, 0.9])).round(4)
    array([0.2033, 0.5   , 0.7967])
    """

    scale: float = 1.0
    kinks = ()

    def __call__(self, p: np.ndarray) -> np.ndarray:
        z, weights = np.polynomial.hermite_e.hermegauss(HERMITE)
        x = np.clip(logit(p), -FARTHEST, FARTHEST)
        total = np.zeros_like(x)
        # The sum in a loop needs no array (n, 40); -z has the same weight as z.
        for shift, weight in zip(self.scale * z, weights / weights.sum()):
            total += weight * expit(x + shift)
        return total


@dataclass(frozen=True)
class Groups:
    """Two subgroups, of which one is overconfident and the other underconfident.

        g*(p) = p sigma(first x) + (1 - p) sigma(second x),  x = logit p

    The first subgroup, with slope `first`, makes up the share p of the predictions p.

    Examples
    --------
    >>> Groups(0.4, 2.5)(np.array([0.1, 0.5, 0.9])).round(4)
    array([0.033 , 0.5   , 0.7355])
    """

    first: float = 0.4
    second: float = 2.5
    kinks = ()

    def __call__(self, p: np.ndarray) -> np.ndarray:
        x = logit(p)
        over, under = (expit(scaled_logits(slope, x)) for slope in (self.first, self.second))
        return p * over + (1.0 - p) * under


@dataclass(frozen=True)
class Chirp:
    """Wave in the log-odds whose frequency grows: g*(p) = sigma(x + amplitude sin(rate x |x|)).

    x is logit p.

    Examples
    --------
    >>> Chirp(1.0, 1.0)(np.array([0.2, 0.5, 0.9])).round(4)
    array([0.089 , 0.5   , 0.7692])
    """

    amplitude: float = 1.0
    rate: float = 1.0
    kinks = ()

    def __call__(self, p: np.ndarray) -> np.ndarray:
        x = np.clip(logit(p), -FARTHEST, FARTHEST)
        return expit(x + self.amplitude * np.sin(self.rate * x * np.abs(x)))


@dataclass(frozen=True)
class Averaged:
    """Truth given the mean of two calibrated predictions that are independent given the label.

        p = (s_1 + s_2) / 2,  s_i = sigma(d x_i),  x_i given y ~ N(d (y - 1/2), 1),  P(Y = 1) = 1/2
        g*(p) = E[Y given p]

    d is `separation`. Each s_i is calibrated, and their mean is underconfident.
    `harness.problems.MeanOfTwo` is the distribution of p.

    Examples
    --------
    >>> Averaged(1.5)(np.array([0.1, 0.5, 0.9])).round(4)
    array([0.0089, 0.5   , 0.9911])

    Notes
    -----
    With v = (x_1 - x_2) / sqrt 2 and b = d v / sqrt 2, p determines a = d (x_1 + x_2) / 2. The
    quadrature over v uses the densities of u = (x_1 + x_2) / sqrt 2 given both labels. The curve is
    a cubic spline in logit p through 801 such values.
    """

    separation: float = 1.5
    kinks = ()

    def __post_init__(self) -> None:
        if not 0.1 <= self.separation <= 4.0:
            raise BadInputError(
                f"separation is {self.separation!r}; a number in [0.1, 4] is needed."
            )

    def __call__(self, p: np.ndarray) -> np.ndarray:
        x = logit(p)
        reach = _log_odds_of_mean(self.separation).x[-1]
        inside = np.clip(x, -reach, reach)
        # Beyond the table, the log-odds are continued with slope 1.
        return expit(_log_odds_of_mean(self.separation)(inside) + (x - inside))


@lru_cache(maxsize=8)
def _log_odds_of_mean(separation: float) -> CubicSpline:
    """Return log-odds of Y given the mean of two predictions, as a spline in its log-odds."""
    x = np.linspace(-12.0, 12.0, 801)[:, None]
    p, rest, d = expit(x), expit(-x), separation
    v, step = np.linspace(-9.0, 9.0, 1201, retstep=True)
    c = np.cosh(d * v / np.sqrt(2.0))
    # (1 - p) A^2 + (1 - 2 p) c A - p = 0 for A = e^a, solved without cancellation
    linear = (rest - p) * c
    root = np.sqrt(linear**2 + 4.0 * p * rest)
    with np.errstate(divide="ignore"):  # where the other solution is taken
        big = np.where(linear > 0.0, 2.0 * p / (linear + root), (root - linear) / (2.0 * rest))
    a, b = np.log(big), d * v / np.sqrt(2.0)
    slope = expit(a + b) * expit(-a - b) + expit(a - b) * expit(b - a)  # 2 dp / da
    u, middle = np.sqrt(2.0) * a / d, d / np.sqrt(2.0)
    logs = -(v**2) / 2.0 - np.log(slope)
    one, zero = (logs - (u - sign * middle) ** 2 / 2.0 for sign in (1.0, -1.0))
    top = np.maximum(one, zero).max(axis=1, keepdims=True)
    sums = [np.log((np.exp(part - top) * step).sum(axis=1)) for part in (one, zero)]
    return CubicSpline(x[:, 0], sums[0] - sums[1])
