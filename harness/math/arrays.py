"""Arrays and labels in the forms of other libraries: tensors, and labels of a classifier."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from harness.errors import BadInputError


def to_array(values: Any) -> Any:
    """Return a tensor as a numpy array, and anything else unchanged.

    A tensor of torch is detached from its graph and copied to the CPU. Tensors without numpy's
    interface are read by DLPack. No library of tensors is imported. In data frames and series,
    numbers with pandas' own missing values become floats with NaN.
    """
    if isinstance(values, np.ndarray):  # the common case
        return values
    if isinstance(values, pd.DataFrame) and any(map(_is_nullable_number, values.dtypes)):
        return values.apply(to_array)
    if isinstance(values, pd.Series) and _is_nullable_number(values.dtype):
        numbers = values.to_numpy("float64", na_value=np.nan)
        return pd.Series(numbers, index=values.index, name=values.name)
    if hasattr(values, "detach"):
        values = values.detach().cpu()
        if "bfloat16" in str(values.dtype):  # a type that numpy lacks
            values = values.float()
        return np.asarray(values)
    if hasattr(values, "__dlpack__") and not hasattr(values, "__array__"):
        return np.from_dlpack(values)
    return values


def label_positions(y: ArrayLike, classes: Sequence[Any] | NDArray[Any]) -> NDArray[np.int64]:
    """Return the position of each label y (n,) in the labels of a classifier, `classes_`.

    Raises
    ------
    BadInputError
        If a label is not in `classes`.

    Examples
    --------
    >>> label_positions(["no", "yes", "no"], ["no", "yes"]).tolist()
    [0, 1, 0]
    >>> label_positions([1, -1], np.array([-1, 1])).tolist()
    [1, 0]
    """
    labels = np.asarray(to_array(y))
    if labels.ndim != 1:
        raise BadInputError(f"y has shape {labels.shape}; it must be (n,), one label per row.")
    positions = pd.Index(classes).get_indexer(pd.Index(labels))
    if (positions < 0).any():
        row = int(np.argmax(positions < 0))
        allowed = ", ".join(map(str, list(classes)[:10]))
        raise BadInputError(
            f"y holds label {labels[row]!s} at row {row}, which the classifier does not know; its "
            f"classes are {allowed}."
        )
    return positions.astype(np.int64)


def _is_nullable_number(dtype: Any) -> bool:
    is_extension = pd.api.types.is_extension_array_dtype(dtype)
    return bool(is_extension and pd.api.types.is_numeric_dtype(dtype))
