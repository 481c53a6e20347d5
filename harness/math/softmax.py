"""The softmax."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def softmax(z: NDArray[np.float64], axis: int = -1) -> NDArray[np.float64]:
    """Softmax along an axis.

        softmax(z)_j = exp(z_j - max z) / sum_i exp(z_i - max z)

    Parameters
    ----------
    z : array of any shape
        Logits; finite, or -inf for a class of probability 0 (not for all classes of a row).
    axis : int
        The axis of the classes.

    Returns
    -------
    array of the shape of z, contiguous, sums along `axis` are 1

    Examples
    --------
    >>> softmax(np.log([[1.0, 3.0]]))
    array([[0.25, 0.75]])
    """
    e = np.array(
        np.moveaxis(z, axis, 0), dtype=np.float64, order="C"
    )  # sums over few classes run down columns: several times faster
    e -= e.max(axis=0)
    np.exp(e, out=e)
    e /= e.sum(axis=0)
    return np.ascontiguousarray(np.moveaxis(e, 0, axis))
