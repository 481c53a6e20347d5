"""Perturb scores by truncated Gaussian noise, the alternative to sech noise.

ciosek2026 perturbs scores by hyperbolic secant noise (`harness.math.sech_noise`) and names a
truncated Gaussian as the alternative. Given the original score s0, the perturbed score S has the
following density on [0, 1], with h the scale of the noise and Z the normaliser:

    k(s | s0) = exp(-(s - s0)^2 / (2 h^2)) / Z(s0)

For any distribution of s0 and of the outcomes Y, the slope of eta(s) = E[Y | S = s] is at most
1 / (4 h^2). With sech noise of width h, it is at most 1 / (2 h). If both noises shift scores
equally far, the bound for Gaussian noise is the larger one for sech noise of a width below 0.23.
The bound and its proof (see `slope_bound`) are ours: only a summary of the paper was available,
which states neither.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri

from harness.math.sech_noise import Floats, check_scores, checked_h


def perturbed(s0: ArrayLike, u: ArrayLike, h: float) -> Floats:
    """Return perturbed scores s with P(S <= s given s0) = u, for scores s0 and probabilities u.

    If u is uniform on [0, 1], s is an exact draw.

    Parameters
    ----------
    s0, u : array
        Original scores, and numbers in [0, 1]. Their shapes must broadcast.
    h : float
        Scale of the noise, in the unit of the scores.

    Examples
    --------
    >>> perturbed([0.0, 0.5], 0.5, 0.02).round(4).tolist()
    [0.0135, 0.5]
    """
    s0, u, h = check_scores("s0", s0), check_scores("u", u), checked_h(h)
    low, high = ndtr(-s0 / h), ndtr((1.0 - s0) / h)
    # Above the median, the upper tail probability is more precise than the lower.
    below = low + u * (high - low)
    above = ndtr(-(1.0 - s0) / h) + (1.0 - u) * (high - low)
    moved = np.where(below < 0.5, ndtri(below), -ndtri(above))
    return np.clip(s0 + h * moved, 0.0, 1.0)


def slope_bound(h: float) -> float:
    """Return 1 / (4 h^2), the smallest upper bound of |eta'| that holds for all distributions.

    eta(s) = E[Y | S = s] for the perturbed score S, and eta0(s0) = E[Y | s0] for the original
    score. Given S = s, the distribution of s0 is an exponential family with the natural parameter s
    / h^2. Under it, h^2 eta' = Cov(eta0(s0), s0). Both variables lie in [0, 1], so their standard
    deviations are at most 1/2.

    The bound is reached at s = 1/2 by scores 0 and 1 of equal weight, with outcomes 0 and 1.
    """
    return 0.25 / checked_h(h) ** 2


def shift_bound(h: float) -> float:
    """Return h sqrt(2 / pi), an upper bound of E|S - s0| for every original score s0.

    On either side of s0, |S - s0| has a half-normal distribution that is truncated at the end of
    [0, 1]. Its mean grows with the point of truncation, up to h sqrt(2 / pi).
    """
    return float(checked_h(h) * np.sqrt(2.0 / np.pi))
