"""Weights of samples: which functions take them, and their validation."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from harness.common.wording import format_count
from harness.errors import BadInputError
from harness.math.arrays import to_array
from harness.math.notions import numeric


def takes_weights(function: Any) -> bool:
    """Return True if a function, or an object that can be called, has an argument `sample_weight`.

    Examples
    --------
    >>> takes_weights(lambda p, y, sample_weight=None: 0.0), takes_weights(lambda p, y: 0.0)
    (True, False)
    """
    try:
        return "sample_weight" in inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False


def checked_weights(
    sample_weight: ArrayLike, n: int, name: str = "sample_weight"
) -> NDArray[np.float64]:
    """Return the weights of n samples as float64, (n,). `name` names the argument in messages.

    BadInputError unless they are n finite numbers of at least 0, and one of them is above 0.

    Examples
    --------
    >>> checked_weights([1, 0, 2], 3)
    array([1., 0., 2.])
    """
    weights = numeric(name, to_array(sample_weight)).astype(np.float64)
    if weights.shape != (n,):
        raise BadInputError(
            f"{name} has shape {weights.shape}; give one weight per row, shape ({n},)."
        )
    wrong = np.flatnonzero(~((weights >= 0.0) & np.isfinite(weights)))  # also for NaN
    if len(wrong):
        count = format_count(len(wrong), "such value")
        raise BadInputError(
            f"{name} holds {weights[wrong[0]]:g} in row {wrong[0]} ({count}); weights must be "
            "finite and at least 0."
        )
    if not weights.any():
        raise BadInputError(f"{name} is zero in all rows; at least one weight must be above 0.")
    return weights


def kept_rows(
    p: NDArray[Any], y: NDArray[Any], sample_weight: ArrayLike
) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.float64]]:
    """Return the rows of p and y (n rows each) with a weight above 0, and these weights."""
    weights = checked_weights(sample_weight, len(p))
    kept = weights > 0.0
    return (p, y, weights) if kept.all() else (p[kept], y[kept], weights[kept])


def weighted_rows(
    p: NDArray[Any], y: NDArray[Any], sample_weight: ArrayLike | None
) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.float64] | None]:
    """Return the rows of p and y with a weight above 0, and these weights.

    p and y have n rows each. The weights are None if they are all equal: means then need no
    weights.

    Examples
    --------
    >>> weighted_rows(np.array([0.1, 0.2, 0.3]), np.array([0, 1, 1]), [2, 0, 1])
    (array([0.1, 0.3]), array([0, 1]), array([2., 1.]))
    """
    if sample_weight is None:
        return p, y, None
    p, y, weights = kept_rows(p, y, sample_weight)
    return p, y, None if weights.min() == weights.max() else weights


def mean(x: NDArray[np.float64], weights: NDArray[np.float64] | None) -> float:
    """Return the mean of x (n,), with `weights` (n,) unless they are None."""
    return float(x.mean() if weights is None else weights @ x / weights.sum())


def effective_size(weights: NDArray[np.float64]) -> float:
    """Return the effective sample size of weights (n,), (sum w)^2 / sum w^2 (Kish 1965).

    A weighted mean of independent terms of equal variance has the variance of a plain mean of this
    many terms.

    Examples
    --------
    >>> effective_size(np.array([1.0, 1.0, 2.0]))
    2.6666666666666665
    """
    return float(weights.sum() ** 2 / (weights @ weights))
