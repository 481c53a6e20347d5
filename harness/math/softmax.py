"""The softmax, which several calibrators, problems and estimators share."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray


def softmax(logits: ArrayLike, axis: int = -1) -> NDArray[Any]:
    """exp(z_j) / sum_j exp(z_j) along an axis, computed from z - max z, so that no exponential overflows.

    Examples
    --------
    >>> softmax([0.0, 0.0, -1000.0])
    array([0.5, 0.5, 0. ])
    """
    z = np.asarray(logits)
    e = np.exp(z - z.max(axis=axis, keepdims=True))
    return np.asarray(e / e.sum(axis=axis, keepdims=True))
