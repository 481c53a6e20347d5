"""Perturbation of scores by truncated Gaussian noise, the alternative to sech noise.

ciosek2026 perturbs scores by hyperbolic secant noise (`harness.math.sech_noise`) and names a
truncated Gaussian as the alternative. Given the original score s0, the perturbed score S has on
[0, 1] the density

    k(s | s0) = exp(-(s - s0)^2 / (2 h^2)) / Z(s0)

Whatever the law of s0 and of the outcomes, eta(s) = E[Y | S = s] has a bounded slope. The bound is
1 / (4 h^2) instead of 1 / (2 h), so at equal shifts of the scores it is larger: see `slope_bound`.
The proof and the constant are ours. The paper, of which only a summary was at hand, prints neither.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri

from harness.math.sech_noise import Floats, check_scores, checked_h


def perturbed(s0: ArrayLike, u: ArrayLike, h: float) -> Floats:
    """Return the scores s with P(S <= s given s0) = u: exact draws if u is uniform on [0, 1].

    Parameters
    ----------
    s0, u : array
        Original scores and numbers in [0, 1], of shapes that broadcast.
    h : float
        The scale of the noise, in the unit of the scores.

    Examples
    --------
    >>> perturbed([0.0, 0.5], 0.5, 0.02).round(4).tolist()
    [0.0135, 0.5]
    """
    s0, u, h = check_scores("s0", s0), check_scores("u", u), checked_h(h)
    low, high = ndtr(-s0 / h), ndtr((1.0 - s0) / h)
    # Above the median, the upper tail keeps the digits that the lower one has lost.
    below = low + u * (high - low)
    above = ndtr(-(1.0 - s0) / h) + (1.0 - u) * (high - low)
    moved = np.where(below < 0.5, ndtri(below), -ndtri(above))
    return np.clip(s0 + h * moved, 0.0, 1.0)


def slope_bound(h: float) -> float:
    """Return 1 / (4 h^2), the least upper bound of |eta'| over all laws of s0 and of outcomes.

    Given S = s, the law of s0 is an exponential family with the natural parameter s / h^2. So
    h^2 eta' = Cov(eta0(s0), s0) under that law, with eta0(s0) = E[Y | s0]. Both variables lie in
    [0, 1], so their standard deviations are at most 1/2. Scores 0 and 1 of equal weight with the
    outcomes 0 and 1 attain the bound, at s = 1/2.
    """
    return 0.25 / checked_h(h) ** 2


def shift_bound(h: float) -> float:
    """Return h sqrt(2 / pi), an upper bound of E|S - s0| for every s0.

    On either side of s0 the distance has a half-normal law that is truncated at the end of [0, 1].
    Its mean grows with the point of truncation, up to h sqrt(2 / pi).
    """
    return float(checked_h(h) * np.sqrt(2.0 / np.pi))
