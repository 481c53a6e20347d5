"""Read stated confidences: numbers in [0, 1], percent, or texts such as "90 %"."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from harness.common.wording import format_count
from harness.errors import BadInputError
from harness.math.notions import TOLERANCE

FORM = re.compile(r"(\d+\.?\d*|\.\d+)\s*(%|percent|per cent)?", re.IGNORECASE)
LARGEST_GRADE = 10.0  # confidences from 0 to 10 may be grades


def as_shares(values: NDArray[Any], name: str, path: object) -> tuple[NDArray[Any], str]:
    """Return the confidences (n,) in the column `name` as numbers in [0, 1], and a note on percent.

    Numbers are percent if the largest is above 10 and none is in (0, 1]. Texts may end in %.

    Raises
    ------
    BadInputError
        If a confidence is missing or no number, or if it is unclear whether numbers are percent.

    Examples
    --------
    >>> as_shares(np.array(["90%", "0.5", "100 %"], dtype=object), "confidence", "f")
    (array([0.9, 0.5, 1. ]), ', stated in percent')
    >>> as_shares(np.array([90, 50, 0]), "confidence", "f")[0].tolist()
    [0.9, 0.5, 0.0]
    """
    if values.ndim != 1 or len(values) == 0:
        return values, ""
    missing = np.flatnonzero(pd.isna(values) | (values.astype(object) == ""))
    if len(missing):
        raise BadInputError(
            f"{path}: {name} is missing in {format_count(len(missing), 'row')}, first in row "
            f"{missing[0]}; leave these rows out, and report how many there are."
        )
    is_percent = np.zeros(len(values), dtype=bool)
    numbers = values
    if values.dtype.kind not in "fiub":
        parts = [FORM.fullmatch(str(value).strip()) for value in values]
        if None in parts:
            row = parts.index(None)
            raise BadInputError(
                f"{path}: {name} holds {str(values[row])[:40]!r} at row {row}; write a number in "
                "[0, 1], or percent such as '90%'."
            )
        numbers = np.array([float(part[1]) for part in parts if part])
        is_percent = np.array([bool(part and part[2]) for part in parts])
    plain = numbers[~is_percent]
    largest = float(plain.max(initial=0.0))
    if largest > 1.0 + TOLERANCE:
        row = int(np.argmax(np.where(is_percent, -1.0, numbers)))
        is_small = ~is_percent & (numbers > 0.0) & (numbers <= 1.0)
        if is_small.any() or is_percent.any() or not LARGEST_GRADE < largest <= 100.0:
            other = ""
            if is_small.any() or is_percent.any():
                first = int(np.argmax(is_small | is_percent))
                other = f" and {values[first]} at row {first}"
            raise BadInputError(
                f"{path}: {name} holds {values[row]} at row {row}{other}, which may be percent or "
                "grades; write numbers in [0, 1], or texts with a % sign."
            )
        is_percent = np.ones(len(values), dtype=bool)
    if not is_percent.any():
        return numbers, ""
    return np.where(is_percent, numbers / 100.0, numbers), ", stated in percent"
