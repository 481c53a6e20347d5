"""Arrays in the forms of other libraries: tensors, tables, masked arrays, missing values."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from harness.common.wording import format_count
from harness.errors import BadInputError


def to_array(values: Any) -> Any:
    """Return a tensor as a numpy array, a table of pyarrow as a data frame, others unchanged.

    A tensor of torch is detached from its graph and copied to the CPU. Tensors without numpy's
    interface are read by DLPack. No library of tensors is imported. In data frames and series,
    numbers with pandas' own missing values become floats with NaN. Numbers of the type bfloat16
    become 32-bit floats.
    """
    if isinstance(values, np.ndarray):  # the common case
        return as_known_type(values)
    if hasattr(values, "to_pandas") and type(values).__module__.startswith("pyarrow"):
        values = values.to_pandas()
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


def as_known_type(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return bfloat16, a type that numpy lacks, as 32-bit floats, and other arrays unchanged."""
    return values.astype(np.float32) if values.dtype.name == "bfloat16" else values


def refuse_masked(name: str, values: Any) -> None:
    """Raise BadInputError if the argument `name` is a masked array with masked values.

    numpy's functions for plain arrays ignore the mask and would use the values below it.
    """
    if not isinstance(values, np.ma.MaskedArray):
        return
    mask = np.ma.getmaskarray(values)
    rows = mask.reshape(len(mask), -1).any(axis=1) if mask.ndim else mask
    if rows.any():
        any_column = ".any(axis=1)" if mask.ndim > 1 else ""
        raise BadInputError(
            f"{name} is masked in {int(rows.sum()):,} of {format_count(rows.size, 'row')}. Leave "
            f"these rows out of all arguments: keep = ~np.ma.getmaskarray({name}){any_column}, "
            "then p[keep] and y[keep]."
        )


def _is_nullable_number(dtype: Any, pandas: Any) -> bool:
    types = pandas.api.types
    return bool(types.is_extension_array_dtype(dtype) and types.is_numeric_dtype(dtype))
