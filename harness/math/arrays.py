"""Arrays in the forms of other libraries: tensors, and numbers with missing values of pandas."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np


def to_array(values: Any) -> Any:
    """Return a tensor as a numpy array, and anything else unchanged.

    A tensor of torch is detached from its graph and copied to the CPU. Tensors without numpy's
    interface are read by DLPack. No library of tensors is imported. In data frames and series,
    numbers with pandas' own missing values become floats with NaN.
    """
    if isinstance(values, np.ndarray):  # the common case
        return values
    pandas = sys.modules.get("pandas")  # without it, no value is one of its frames
    if pandas and isinstance(values, pandas.DataFrame):
        nullable = any(_is_nullable_number(dtype, pandas) for dtype in values.dtypes)
        return values.apply(to_array) if nullable else values
    if pandas and isinstance(values, pandas.Series):
        if not _is_nullable_number(values.dtype, pandas):
            return values
        numbers = values.to_numpy("float64", na_value=np.nan)
        return pandas.Series(numbers, index=values.index, name=values.name)
    if hasattr(values, "detach"):
        values = values.detach().cpu()
        if "bfloat16" in str(values.dtype):  # a type that numpy lacks
            values = values.float()
        return np.asarray(values)
    if hasattr(values, "__dlpack__") and not hasattr(values, "__array__"):
        return np.from_dlpack(values)
    return values


def _is_nullable_number(dtype: Any, pandas: Any) -> bool:
    types = pandas.api.types
    return bool(types.is_extension_array_dtype(dtype) and types.is_numeric_dtype(dtype))
