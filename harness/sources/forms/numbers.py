"""Check that numbers can be probabilities or logits."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from harness.common.wording import format_count
from harness.errors import BadInputError
from harness.math.notions import ROW_SUM_TOLERANCE
from harness.sources.forms.terms import Columns

ROUNDING = 0.005  # largest error of a probability that was rounded to 2 digits


def softmax(z: NDArray[Any], path: object = "logits") -> NDArray[Any]:
    """Return the softmax of logits (n, k), or the logistic function of logits (n,).

    The precision of the logits is kept. NaN and infinite logits raise BadInputError with `path` as
    the name of the file.
    """
    if not np.isfinite(z).all():
        raise BadInputError(
            f"{path}: {int((~np.isfinite(z)).sum())} logits are NaN or infinite; finite numbers "
            "are needed."
        )
    one_column = z.ndim == 1 or z.shape[1] == 1
    p: NDArray[Any] = special.expit(z.reshape(-1)) if one_column else special.softmax(z, axis=1)
    return p


def refuse_probabilities_as_logits(
    z: NDArray[Any], name: str, is_asked_for: bool, path: object
) -> None:
    """Raise BadInputError if an array of logits looks like probabilities.

    A matrix (n, k) is refused if its rows lie in [0, 1] and sum to 1. A single column in [0, 1] is
    refused unless the user named it as logits (`is_asked_for`). Probabilities that are read as
    logits would give wrong numbers without a warning.
    """
    if not _in_unit(z):
        return
    sums = z.sum(axis=-1, dtype=np.float64)
    if z.ndim == 2 and (np.abs(sums - 1.0) <= _tolerance(z.shape[1])).all():
        raise BadInputError(
            f"{path}: {name} does not hold logits: every row lies in [0, 1] and sums to 1; give "
            f"probabilities={name}."
        )
    if z.ndim == 1 and not is_asked_for and ((z > 0) & (z < 1)).any():
        raise BadInputError(
            f"{path}: {name} lies within [0, 1], as probabilities do; give probabilities={name}, "
            f"or logits={name} if it holds logits."
        )


def checked_probabilities(
    p: NDArray[np.float64], columns: Columns, renormalise: bool, path: object
) -> tuple[NDArray[np.float64], str]:
    """Return the probabilities and a note on how they were changed; BadInputError if invalid.

    Values must lie in [0, 1], and rows must sum to 1. With `renormalise`, rows of rounded
    probabilities are divided by their sums. Nothing is clipped.
    """
    if not _in_unit(p):
        _refuse_values(p, columns, path)
    if p.ndim == 1:
        return p, ""
    sums = p.sum(axis=1)
    off = np.abs(sums - 1.0)
    worst = int(np.argmax(off))
    if off[worst] > ROW_SUM_TOLERANCE:
        message = (
            f"{path}: row {worst} of {columns.title} sums to {sums[worst]:.6g}; every row must sum "
            f"to 1 within {ROW_SUM_TOLERANCE:g}"
        )
        if off[worst] > _tolerance(p.shape[1]):
            raise BadInputError(
                f"{message}: a class is missing, or there is one column too many; list the columns "
                "with probabilities=[...]."
            )
        if not renormalise:
            raise BadInputError(
                f"{message}. If the probabilities were rounded, set renormalise=true."
            )
    if not renormalise:
        return p, ""
    low, high = float(sums.min()), float(sums.max())
    note = f" (rows summed to {low:.4g} to {high:.4g} and were divided by their sums)"
    return p / sums[:, None], note


def _in_unit(values: NDArray[Any]) -> bool:
    """Return True if there are values and all lie in [0, 1]; False if one is NaN."""
    return values.size > 0 and bool(((values >= 0) & (values <= 1)).all())


def _tolerance(k: int) -> float:
    """Return the largest error of the sum of k probabilities that are rounded to 2 digits."""
    return min(k * ROUNDING, 0.5) + ROW_SUM_TOLERANCE


def _refuse_values(p: NDArray[np.float64], columns: Columns, path: object) -> None:
    """Raise BadInputError that names the first value outside [0, 1]."""
    wrong = np.argwhere(~((p >= 0.0) & (p <= 1.0)))
    row, *column = map(int, wrong[0])
    name = columns.names[column[0]] if column and len(columns.names) > 1 else columns.names[0]
    place = f"row {row}" + (f", column {column[0]}" if column and len(columns.names) == 1 else "")
    value = p[row, column[0]] if column else p[row]
    shown = f"{value:.10g}"
    remedy = f"divide percent by 100, and name logits by logits={columns.title.rstrip('*_')}"
    if np.isnan(value):
        shown, remedy = "NaN", "fill in or leave out the rows that lack one"
    count = format_count(len(wrong), "such value")
    raise BadInputError(
        f"{path}: {name} holds {shown} at {place} ({count}); probabilities must lie in [0, 1]: "
        f"{remedy}."
    )
