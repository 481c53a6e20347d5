"""Integrals of estimands over the nodes of a quadrature, for problems of two classes."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from harness.math import estimands
from harness.problems.base import Truth

METHOD = "Gauss-Legendre quadrature"

# scores (m,), their probabilities (m,) and their posteriors (m,)
Quadrature: TypeAlias = tuple[np.ndarray, np.ndarray, np.ndarray]


def integral(
    estimand: str,
    notion: str,
    p: NDArray[Any],
    rest: NDArray[Any],
    c: NDArray[Any],
    c_rest: NDArray[Any],
    weights: NDArray[Any] | None,
) -> float:
    """Return an estimand of two classes, integrated over the nodes of a quadrature.

    `p` (m,) are the nodes, `c` = P(Y = 1 given p), and `weights` (m,) the weights of the nodes. The
    complements `rest` = 1 - p and `c_rest` = 1 - c must have full relative accuracy.

    Both classes have the same error, so the class-wise value equals the binary value. Logarithmic
    estimands are computed on both columns, because they need the complements where p rounds to 1.
    """
    if notion == "canonical" or estimand in ("kl", "logloss", "refinement_kl", "sharpness_kl"):
        return estimands.value(
            estimand, np.column_stack([rest, p]), np.column_stack([c_rest, c]), "canonical", weights
        )
    return estimands.value(estimand, p, c, "binary" if notion == "classwise" else notion, weights)


def integrated(estimand: str, notion: str, coarse: Quadrature, fine: Quadrature) -> Truth | None:
    """Return a truth from two quadratures, each a tuple of scores, probabilities and posteriors.

    The value comes from `fine`; its error is the difference from `coarse`. The result is None for a
    scalar supremum and for an infinite value.
    """
    if notion != "canonical" and estimand == "linf":
        return None
    values = [
        integral(estimand, notion, s, 1.0 - s, c, 1.0 - c, weight)
        for s, weight, c in (coarse, fine)
    ]
    if not np.isfinite(values).all():
        return None
    return Truth(values[1], abs(values[1] - values[0]) + 1e-13, METHOD)
