"""Distributions of scores in [0, 1] beyond those of harness.problems.binary.

Each has the methods draw(n, rng) and nodes(edges, order) of BetaLaw.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import betaln, expit, gammaln, ndtr, ndtri

from harness.errors import BadInputError
from harness.math.quadrature import gauss_legendre
from harness.problems.binary import BetaLaw


@dataclass(frozen=True)
class NormalLaw:
    """Normally distributed scores, restricted to [0, 1].

    Parameters
    ----------
    mean, deviation : float
        Mean in [0, 1] and positive standard deviation, before the restriction.

    Examples
    --------
    >>> import numpy as np
    >>> s, weights = NormalLaw(0.5, 0.04).nodes(np.linspace(0.0, 1.0, 65), order=8)
    >>> round(float(weights @ s), 9), round(float(weights @ (s - 0.5) ** 2), 9)
    (0.5, 0.0016)
    """

    mean: float = 0.5
    deviation: float = 0.04

    def __post_init__(self) -> None:
        if not (0.0 <= self.mean <= 1.0 and 0.01 <= self.deviation < np.inf):
            raise BadInputError(
                f"NormalLaw has mean={self.mean}, deviation={self.deviation}; a mean in [0, 1] and "
                "a deviation of at least 0.01 are needed."
            )

    @property
    def _ends(self) -> tuple[float, float]:
        """Values of the normal distribution function at 0 and at 1."""
        z = (np.array([0.0, 1.0]) - self.mean) / self.deviation
        low, high = ndtr(z)
        return float(low), float(high)

    def draw(self, n: int, rng: np.random.Generator) -> np.ndarray:
        low, high = self._ends
        s = self.mean + self.deviation * ndtri(low + (high - low) * rng.random(n))
        return np.clip(s, 0.0, 1.0)

    def nodes(self, edges: np.ndarray, order: int) -> tuple[np.ndarray, np.ndarray]:
        """Return nodes s and weights w of a quadrature with sum_i w_i u(s_i) = E u(s).

        The function u must be smooth between the `edges`, which span [0, 1].
        """
        low, high = self._ends
        around = self.mean + self.deviation * np.linspace(-9.0, 9.0, 19)
        around = around[(around > 0.0) & (around < 1.0)]
        s, weight = gauss_legendre(np.union1d(edges, around), order)
        z = (s - self.mean) / self.deviation
        density = np.exp(-z * z / 2.0) / (np.sqrt(2.0 * np.pi) * self.deviation * (high - low))
        return s, weight * density


@dataclass(frozen=True)
class Mixture:
    """Mixture of two distributions: a score comes from `second` with probability `share`.

    Parameters
    ----------
    first, second : BetaLaw, NormalLaw, ...
        Distributions of scores.
    share : float
        Probability of `second`, in (0, 1).

    Examples
    --------
    >>> import numpy as np
    >>> law = Mixture(NormalLaw(0.15, 0.03), NormalLaw(0.85, 0.03), 0.25)
    >>> s, weights = law.nodes(np.linspace(0.0, 1.0, 65), order=8)
    >>> round(float(weights @ s), 6)
    0.325
    """

    first: Any = field(default_factory=BetaLaw)
    second: Any = field(default_factory=BetaLaw)
    share: float = 0.5

    def __post_init__(self) -> None:
        if not 0.0 < self.share < 1.0:
            raise BadInputError(f"share is {self.share!r}; a number in (0, 1) is needed.")

    def draw(self, n: int, rng: np.random.Generator) -> np.ndarray:
        rng_part, rng_first, rng_second = rng.spawn(3)
        is_second = rng_part.random(n) < self.share
        return np.where(is_second, self.second.draw(n, rng_second), self.first.draw(n, rng_first))

    def nodes(self, edges: np.ndarray, order: int) -> tuple[np.ndarray, np.ndarray]:
        """Return nodes s and weights w of a quadrature with sum_i w_i u(s_i) = E u(s).

        The function u must be smooth between the `edges`, which span [0, 1].
        """
        s, weight = self.first.nodes(edges, order)
        s2, weight2 = self.second.nodes(edges, order)
        return (
            np.concatenate([s, s2]),
            np.concatenate([(1.0 - self.share) * weight, self.share * weight2]),
        )


@dataclass(frozen=True)
class Rounded:
    """Scores that are rounded to some decimal digits, such as 0.37.

    Parameters
    ----------
    law : BetaLaw, Mixture, ...
        Distribution of the scores before rounding.
    digits : int
        Number of decimal digits, from 1 to 3.

    Examples
    --------
    >>> import numpy as np
    >>> Rounded(BetaLaw(2.0, 2.0)).draw(3, np.random.default_rng(0)).tolist()
    [0.41, 0.21, 0.48]
    """

    law: Any = field(default_factory=BetaLaw)
    digits: int = 2

    def __post_init__(self) -> None:
        if self.digits not in (1, 2, 3):
            raise BadInputError(f"digits is {self.digits!r}; 1, 2 or 3 are allowed.")

    def draw(self, n: int, rng: np.random.Generator) -> np.ndarray:
        return np.round(self.law.draw(n, rng), self.digits)

    def nodes(self, edges: np.ndarray, order: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the rounded scores s and their probabilities w.

        Panels of the quadrature end where rounding jumps, and at the `edges`, which span [0, 1].
        """
        values = 10**self.digits
        jumps = (np.arange(values) + 0.5) / values
        s, weight = self.law.nodes(np.union1d(edges, jumps), order)
        which = np.rint(s * values).astype(int)
        return np.arange(values + 1) / values, np.bincount(which, weight, minlength=values + 1)


@dataclass(frozen=True)
class Votes:
    """Shares of votes, like the scores of nearest neighbours or of trees on unseen rows.

        eta ~ Beta(a, b),  m given eta ~ Binomial(votes, eta),  s = m / votes

    If Y given eta ~ Bernoulli(eta), then E[Y given s] = (a + votes s) / (a + b + votes). Shares of
    votes are therefore overconfident: the truth regresses to the mean.

    Parameters
    ----------
    a, b : float
        Shapes of the distribution of eta, positive.
    votes : int
        Number of votes.

    Examples
    --------
    >>> import numpy as np
    >>> s, weights = Votes(2.0, 3.0, 25).nodes(np.array([0.0, 1.0]), order=8)
    >>> len(s), round(float(weights @ s), 9)
    (26, 0.4)
    """

    a: float = 1.0
    b: float = 1.0
    votes: int = 25

    def __post_init__(self) -> None:
        if not (self.a > 0 and self.b > 0 and isinstance(self.votes, int) and self.votes > 0):
            raise BadInputError(
                f"Votes has a={self.a}, b={self.b}, votes={self.votes!r}; positive numbers and a "
                "positive integer are needed."
            )

    def draw(self, n: int, rng: np.random.Generator) -> np.ndarray:
        rng_eta, rng_votes = rng.spawn(2)
        return rng_votes.binomial(self.votes, rng_eta.beta(self.a, self.b, n)) / self.votes

    def nodes(self, edges: np.ndarray, order: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the scores s = m / votes and their beta-binomial probabilities w.

        The sum over all scores is exact, so that `edges` and `order` are not needed.
        """
        m = np.arange(self.votes + 1)
        rest = self.votes - m
        logs = gammaln(self.votes + 1) - gammaln(m + 1) - gammaln(rest + 1)
        logs += betaln(self.a + m, self.b + rest) - betaln(self.a, self.b)
        return m / self.votes, np.exp(logs)


@dataclass(frozen=True)
class MeanOfTwo:
    """Mean of two calibrated predictions that are independent given the label.

        s = (s_1 + s_2) / 2,  s_i = sigma(d x_i),  x_i given y ~ N(d (y - 1/2), 1),  P(Y = 1) = 1/2

    sigma is the logistic function. harness.problems.maps.Averaged is E[Y given s].

    Parameters
    ----------
    separation : float
        Distance d of the means of the two classes, in standard deviations; positive.

    Examples
    --------
    >>> import numpy as np
    >>> s, weights = MeanOfTwo(1.5).nodes(np.array([0.0, 1.0]), order=8)
    >>> round(float(weights.sum()), 9), round(float(weights @ s), 9)
    (1.0, 0.5)
    """

    separation: float = 1.5

    def __post_init__(self) -> None:
        if not 0 < self.separation < np.inf:
            raise BadInputError(f"separation is {self.separation!r}; a positive number is needed.")

    def draw(self, n: int, rng: np.random.Generator) -> np.ndarray:
        rng_class, rng_first, rng_second = rng.spawn(3)
        middle = self.separation * np.where(rng_class.random(n) < 0.5, -0.5, 0.5)
        first, second = (
            expit(self.separation * (middle + part.standard_normal(n)))
            for part in (rng_first, rng_second)
        )
        return (first + second) / 2.0

    def nodes(self, edges: np.ndarray, order: int) -> tuple[np.ndarray, np.ndarray]:
        """Return nodes s and weights w of a quadrature with sum_i w_i u(s_i) = E u(s).

        The quadrature runs over u = (x_1 + x_2) / sqrt 2 and v = (x_1 - x_2) / sqrt 2. The function
        u must be smooth except for s = 1/2, where u = 0.
        """
        d, middle = self.separation, self.separation / np.sqrt(2.0)
        u, weight_u = gauss_legendre(np.linspace(-middle - 9.0, middle + 9.0, 25), order)
        v, weight_v = gauss_legendre(np.linspace(0.0, 9.0, 9), order)
        density = sum(np.exp(-((u - sign * middle) ** 2) / 2.0) for sign in (-1.0, 1.0))
        weight = np.outer(weight_u * density, weight_v * np.exp(-(v**2) / 2.0)) / (2.0 * np.pi)
        x_1, x_2 = ((u[:, None] + sign * v) / np.sqrt(2.0) for sign in (1.0, -1.0))
        return ((expit(d * x_1) + expit(d * x_2)) / 2.0).ravel(), weight.ravel()
