"""Bregman divergences of convex functions on the probability simplex.

The divergence of a convex function F with gradient grad F is

    D_F(r, g) = F(r) - F(g) - <grad F(g), r - g>

Every proper score has this form: S(g, y) = D_F(e_y, g), with e_y the one-hot label. Let f be the
prediction, Y the label and C = E[e_Y given f]. The expected score is then calibration error plus
refinement (popordanoska2024, eqs. 4 to 7):

    E S(f, Y) = E D_F(C, f) + (E F(e_Y) - E F(C))

Define a new divergence with `Bregman("bregman_<name>", F, gradient)`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import xlogy


@dataclass(frozen=True)
class Bregman:
    """A Bregman divergence, defined by a convex function F on probability vectors.

    Parameters
    ----------
    name : str
        Name of the estimand.
    value : callable
        The function F, from (n, k) to (n,).
    gradient : callable
        The gradient of F, from (n, k) to (n, k).
    interior : bool
        True if the gradient exists only inside the simplex. Predictions are then clipped first.
    """

    name: str
    value: Callable[[np.ndarray], np.ndarray]
    gradient: Callable[[np.ndarray], np.ndarray]
    interior: bool = True

    def divergence(self, r: np.ndarray, g: np.ndarray) -> np.ndarray:
        """Return D_F(r, g) for each row of r and g, both (n, k)."""
        return self.value(r) - self.linear(r, g)

    def linear(self, r: np.ndarray, g: np.ndarray) -> np.ndarray:
        """Return the tangent of F at g, evaluated at r: `F(g) + <grad F(g), r - g>`, shape (n,)."""
        return self.value(g) + (self.gradient(g) * (r - g)).sum(axis=1)


def _squares(p: np.ndarray) -> np.ndarray:
    return (p * p).sum(axis=1)


def _twice(p: np.ndarray) -> np.ndarray:
    return 2.0 * p


def _negative_entropy(p: np.ndarray) -> np.ndarray:
    return xlogy(p, p).sum(axis=1)


def _log_plus_one(p: np.ndarray) -> np.ndarray:
    return np.log(p) + 1.0


SQUARED = Bregman("l2_squared", _squares, _twice, interior=False)  # D = ||r - g||^2
ENTROPY = Bregman("kl", _negative_entropy, _log_plus_one)  # D = KL(r || g) where both sum to one
