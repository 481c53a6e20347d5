"""Distributions of probability vectors for VectorProblem, with points for their truths."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import NamedTuple

import numpy as np
from scipy.special import betaincinv, gammaln

from harness.errors import BadInputError
from harness.problems.dirichlet import RANDOMISATIONS, dirichlet_points
from harness.problems.top_law import TopLaw

DIRICHLET_POINTS = 14  # log2 of the number of Sobol points of a set
# Numbers of largest entries in a set of points of TopLaw, and log2 of the number of points of the
# other entries for each of them: for three classes, and for more.
THREE, MORE = (512, 5), (256, 5)
MOST_SHARES = 1 << 20  # largest number of vectors of votes


class Points(NamedTuple):
    """Weighted points that represent a distribution of probability vectors.

    Parameters
    ----------
    p : ndarray, (m, k)
        The vectors.
    weight : ndarray, (m,)
        Their weights, with the sum 1.
    group : ndarray, (m,), optional
        Numbers 0, 1, ... of the points with equal largest entries. None means that all largest
        entries differ, so that no mean given the largest entry is known.
    """

    p: np.ndarray
    weight: np.ndarray
    group: np.ndarray | None


@dataclass(frozen=True)
class DirichletLaw:
    """Symmetric Dirichlet distribution, p ~ Dir(alpha 1_k).

    Parameters
    ----------
    classes : int
        Number k of classes, at least 2.
    alpha : float
        Concentration, positive. Small values give confident predictions.

    Examples
    --------
    >>> import numpy as np
    >>> DirichletLaw(3, 0.5).draw(2, np.random.default_rng(0)).shape
    (2, 3)
    """

    classes: int = 3
    alpha: float = 0.5

    def __post_init__(self) -> None:
        if self.classes < 2 or not self.alpha > 0:
            raise BadInputError(
                f"DirichletLaw has classes={self.classes}, alpha={self.alpha}; "
                "classes >= 2 and alpha > 0 are needed."
            )

    def draw(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """Draw n probability vectors, (n, k)."""
        return rng.dirichlet(np.full(self.classes, self.alpha), n)


@dataclass(frozen=True)
class VoteLaw:
    """Shares of votes for k classes, like the scores of nearest neighbours on unseen rows.

        eta ~ Dir(alpha 1_k),  m given eta ~ Multinomial(votes, eta),  p = m / votes

    If Y given eta ~ eta, then E[one-hot Y given p] = (alpha + votes p) / (k alpha + votes). This is
    the map LabelNoise with the rate k alpha / (k alpha + votes).

    Parameters
    ----------
    classes : int
        Number k of classes, at least 3.
    alpha : float
        Concentration, positive.
    votes : int
        Number of votes.

    Examples
    --------
    >>> import numpy as np
    >>> VoteLaw(3, 1.0, 4).draw(3, np.random.default_rng(0))
    array([[0.5 , 0.  , 0.5 ],
           [0.  , 0.  , 1.  ],
           [0.25, 0.5 , 0.25]])
    """

    classes: int = 3
    alpha: float = 1.0
    votes: int = 25

    def __post_init__(self) -> None:
        if not (self.classes >= 3 and self.alpha > 0 and self.votes >= 1):
            raise BadInputError(
                f"VoteLaw has classes={self.classes}, alpha={self.alpha}, votes={self.votes}; "
                "at least 3 classes, a positive alpha and at least one vote are needed."
            )
        if comb(self.votes + self.classes - 1, self.classes - 1) > MOST_SHARES:
            raise BadInputError(
                f"VoteLaw has {self.votes} votes for {self.classes} classes; use fewer, because "
                f"truths are sums over all vectors, of which {MOST_SHARES:,} are allowed."
            )

    def draw(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """Draw n probability vectors, (n, k)."""
        rng_eta, rng_votes = rng.spawn(2)
        eta = rng_eta.dirichlet(np.full(self.classes, self.alpha), n)
        return rng_votes.multinomial(self.votes, eta) / self.votes


def sets_of_points(law: DirichletLaw | VoteLaw | TopLaw) -> int:
    """Return the number of sets of points; a single set is exact."""
    return 1 if isinstance(law, VoteLaw) else RANDOMISATIONS


def points(law: DirichletLaw | VoteLaw | TopLaw, r: int) -> Points:
    """Return set number r of points that represent a law.

    For DirichletLaw they are scrambled Sobol points. For VoteLaw they are all vectors of votes. For
    TopLaw they are 512 largest entries (256 for more than three classes), each with all top classes
    and with the same points of the other entries: 32 quantiles (scrambled Sobol points).
    """
    if isinstance(law, DirichletLaw):
        p = dirichlet_points(law.classes, law.alpha, DIRICHLET_POINTS, r)
        return Points(p, np.full(len(p), 1.0 / len(p)), None)
    return _vote_points(law) if isinstance(law, VoteLaw) else _top_points(law, r)


def _vote_points(law: VoteLaw) -> Points:
    """Return all vectors of votes with their Dirichlet-multinomial probabilities."""
    k, votes, alpha = law.classes, law.votes, law.alpha
    # Places of k - 1 bars among votes + k - 1 places; the votes of a class lie between two bars.
    bars = np.array(list(combinations(range(votes + k - 1), k - 1)))
    ends = np.column_stack([np.full(len(bars), -1), bars, np.full(len(bars), votes + k - 1)])
    m = np.diff(ends, axis=1) - 1
    logs = (gammaln(alpha + m) - gammaln(alpha) - gammaln(m + 1.0)).sum(axis=1)
    logs += gammaln(votes + 1.0) + gammaln(k * alpha) - gammaln(k * alpha + votes)
    group = np.unique(m.max(axis=1), return_inverse=True)[1]
    return Points(m / votes, np.exp(logs), group)


def _top_points(law: TopLaw, r: int) -> Points:
    """Return points of TopLaw without atoms; set number r has its own largest entries."""
    k = law.classes
    m = (THREE if k == 3 else MORE)[0]
    levels = (np.arange(m) + (r + 0.5) / RANDOMISATIONS) / m
    rest = (1.0 - 1.0 / k) * betaincinv(law.b, law.a, 1.0 - levels)
    t = 1.0 - rest
    u = _other_shares(law, r)
    spread = law.spread(t, rest)[:, None, None]
    others = rest[:, None, None] * (1.0 / (k - 1) + spread * (u - 1.0 / (k - 1)))
    p = np.empty((m, len(u), k, k))  # largest entries, other entries, top class, class
    for top in range(k):
        p[:, :, top, (top + np.arange(1, k)) % k] = others
        p[:, :, top, top] = t[:, None]
    weight = np.broadcast_to(law.shares / (m * len(u)), p.shape[:3]).ravel()
    group = np.repeat(np.arange(m), len(u) * k)
    return Points(p.reshape(-1, k), weight, group)


def _other_shares(law: TopLaw, r: int) -> np.ndarray:
    """Return points (m, k - 1) with the distribution Dir(alpha 1_(k-1)), for set number r."""
    if law.classes > 3:
        return dirichlet_points(law.classes - 1, law.alpha, MORE[1], r)
    # Multiples of 7 keep this shift independent of that of the largest entries.
    shift = (7 * r % RANDOMISATIONS + 0.5) / RANDOMISATIONS
    u = betaincinv(law.alpha, law.alpha, (np.arange(2 ** THREE[1]) + shift) / 2 ** THREE[1])
    return np.column_stack([u, 1.0 - u])
