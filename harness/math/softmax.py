"""Softmax along an axis, shared by calibrators, problems and estimators."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray


def softmax(logits: ArrayLike, axis: int = -1) -> NDArray[Any]:
    """Return exp(z_j) / sum_j exp(z_j) along an axis of an array of logits z.

    The maximum is subtracted first, so that no exponential overflows. Single precision is kept.

    Examples
    --------
    >>> softmax([0.0, 0.0, -1000.0])
    array([0.5, 0.5, 0. ])
    """
    z = np.asarray(logits)
    # With the axis first, numpy sums down columns, which is fast.
    e = np.array(np.moveaxis(z, axis, 0), dtype=np.result_type(z, np.float32), order="C")
    e -= e.max(axis=0)
    np.exp(e, out=e)
    e /= e.sum(axis=0)
    return np.ascontiguousarray(np.moveaxis(e, 0, axis))
