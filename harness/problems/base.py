"""The value of an estimand on a problem, with its own error."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harness import estimands


@dataclass(frozen=True)
class Truth:
    """value +- error; error is absolute, one standard error for Monte Carlo methods, a bound for quadrature."""

    value: float
    error: float
    method: str


def scalar_integral(name, p, rest, c, c_rest, notion, weights):
    """estimands.value at quadrature nodes p with rest = 1 - p and c_rest = 1 - c to full relative accuracy: the logarithmic
    estimands need it where p rounds to 1, so they are taken on the two columns (the same quantity)."""
    if name in ("kl", "logloss", "refinement_kl", "sharpness_kl"):
        return estimands.value(name, np.column_stack([rest, p]), np.column_stack([c_rest, c]), "canonical", weights)
    return estimands.value(name, p, c, notion, weights)
