"""The value of an estimand on a problem, with its own error."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from harness.common.strangers import ours, said, where
from harness.errors import BadInputError
from harness.math import estimands
from harness.math.notions import number


@dataclass(frozen=True)
class Truth:
    """value +- error; error is absolute, one standard error for Monte Carlo methods, a bound for quadrature."""

    value: float
    error: float
    method: str


def truth_of(problem, estimand: str, notion: str) -> Truth | None:
    """What a problem says of an estimand, the one place where it is asked. A stranger's may return a number in place of a Truth,
    which is then taken as exact; None and NaN mean unknown. Raises BadInputError on anything else, and where it raises."""
    if not hasattr(problem, "truth"):
        return None
    asked = f"truth({estimand!r}, {notion!r}) of {type(problem).__name__}"
    try:
        found = problem.truth(estimand, notion)
    except Exception as error:
        if isinstance(error, BadInputError) or ours(type(problem).__module__) and not where(error):
            raise
        raise BadInputError(f"{asked} raises {said(error)}; where it is unknown it must return None.") from error
    if found is None:
        return None
    given = found if isinstance(found, Truth) else Truth(found, 0.0, "given")
    try:
        value, error = number(given.value), number(given.error)
        if error < 0:
            raise ValueError(f"error is {error}")
    except (TypeError, ValueError) as wrong:
        raise BadInputError(
            f"{asked} is {repr(found)[:200]}; a number, harness.Truth(value, error >= 0, method) or, where unknown, None "
            "is needed."
        ) from wrong
    return None if math.isnan(value) else Truth(value, error, str(given.method))


def scalar_integral(name, p, rest, c, c_rest, notion, weights):
    """estimands.value at quadrature nodes p with rest = 1 - p and c_rest = 1 - c to full relative accuracy: the logarithmic
    estimands need it where p rounds to 1, so they are taken on the two columns (the same quantity)."""
    if name in ("kl", "logloss", "refinement_kl", "sharpness_kl"):
        return estimands.value(name, np.column_stack([rest, p]), np.column_stack([c_rest, c]), "canonical", weights)
    return estimands.value(name, p, c, notion, weights)
