"""Check that numbers can be probabilities, logits or labels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import special

from harness.common.wording import format_count
from harness.errors import BadInputError
from harness.math.class_names import as_text
from harness.math.notions import TOLERANCE, row_tolerance
from harness.sources.forms.terms import Arrays, Columns, as_option

ROUNDING = 0.005  # largest error of a probability that was rounded to 2 digits
MOST_FRACTIONS = 20  # labels that are no whole numbers: a scale with half steps has fewer


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
    z: NDArray[Any], columns: Columns, is_asked_for: bool, path: object
) -> None:
    """Raise BadInputError if an array of logits looks like probabilities.

    A matrix (n, k) is refused if its rows lie in [0, 1] and sum to 1. A single column in [0, 1] is
    refused unless the user named it as logits (`is_asked_for`). Probabilities that are read as
    logits would give wrong numbers without a warning.
    """
    if not _in_unit(z):
        return
    name, remedy = columns.title, columns.option("probabilities")
    sums = z.sum(axis=-1, dtype=np.float64)
    if z.ndim == 2 and (np.abs(sums - 1.0) <= _tolerance(z.shape[1])).all():
        raise BadInputError(
            f"{path}: {name} does not hold logits: every row lies in [0, 1] and sums to 1; give "
            f"{remedy}."
        )
    if z.ndim == 1 and not is_asked_for and ((z > 0) & (z < 1)).any():
        raise BadInputError(
            f"{path}: {name} lies within [0, 1], as probabilities do; give {remedy}, "
            f"or {columns.option('logits')} if it holds logits."
        )


def refuse_fractions_as_labels(arrays: Arrays, title: str, columns: Columns, path: object) -> None:
    """Raise BadInputError if the array `title` of labels holds probabilities or measurements.

    Only labels beside a single column of predictions are checked. They are refused if they are
    fractions in [0, 1] and the predictions have at most two values, as labels do: the columns seem
    to be swapped. They are also refused if they are more than `MOST_FRACTIONS` different fractions.
    """
    labels, width = arrays[title], arrays[columns.names[0]].shape[1:]
    if len(columns.names) > 1 or labels.dtype.kind != "f" or width not in ((), (1,)):
        return
    labels, name = labels.reshape(-1), columns.names[0]
    fractions = np.unique(labels[labels != np.floor(labels)])
    if not len(fractions):
        return
    values = pd.unique(arrays[name].reshape(-1))
    are_whole = values.dtype.kind != "f" or bool((values == np.floor(values)).all())
    if _in_unit(labels) and len(values) in (1, 2) and are_whole:
        raise BadInputError(
            f"{path}: {title} holds numbers between 0 and 1, as probabilities do, and {name} holds "
            f"only {' and '.join(sorted(map(as_text, values)))}, as labels do, so the columns seem "
            f"to be swapped; give {as_option('labels', name)} {as_option('probabilities', title)}."
        )
    if len(fractions) > MOST_FRACTIONS:
        row = int(np.argmax(labels == fractions[0]))
        raise BadInputError(
            f"{path}: {title} holds {len(fractions):,} different numbers that are not whole, such "
            f"as {fractions[0]:g} at row {row}, so it does not hold labels; name the column of "
            "labels by labels=NAME."
        )


def checked_probabilities(
    matrix: NDArray[Any], columns: Columns, renormalise: bool, path: object
) -> tuple[NDArray[np.float64], str]:
    """Return the probabilities and a note on how they were changed; BadInputError if invalid.

    Values must lie in [0, 1], and rows must sum to 1. Errors by rounding are accepted: values that
    miss [0, 1] by at most 1e-4 become 0 or 1, and rows of numbers of 16 bits are divided by their
    sums. With `renormalise`, rows of rounded probabilities are divided by their sums.
    """
    p: NDArray[np.float64] = matrix.astype(np.float64, copy=False)
    notes = []
    if not _in_unit(p):
        if p.size and not _in_unit(p, TOLERANCE):
            _refuse_values(p, columns, path)
        if count := int(((p < 0.0) | (p > 1.0)).sum()):
            notes.append(rounding_note(p, count))
            p = p.clip(0.0, 1.0)
    sums = p.sum(axis=1) if p.ndim == 2 else np.ones(len(p))
    off = np.abs(sums - 1.0)
    worst = int(np.argmax(off)) if len(off) else 0
    tolerance = row_tolerance(matrix)
    if len(off) and off[worst] > tolerance:
        message = (
            f"{path}: row {worst} of {columns.title} sums to {sums[worst]:.6g}; every row must sum "
            f"to 1 within {tolerance:g}"
        )
        if off[worst] > _tolerance(p.shape[1]):
            if renormalise:
                limit = _tolerance(p.shape[1]) - TOLERANCE
                message = (
                    f"{path}: row {worst} of {columns.title} sums to {sums[worst]:.6g}, but "
                    f"renormalise=true only divides rows that sum to 1 within {limit:g}, as "
                    "probabilities that are rounded to 2 digits do"
                )
            raise BadInputError(
                f"{message}: a class is missing, or there is one column too many; list the columns "
                "with probabilities=[...]."
            )
        if not renormalise:
            raise BadInputError(
                f"{message}. If the probabilities were rounded, set renormalise=true."
            )
    if p.ndim == 2 and (renormalise or (len(off) and off[worst] > TOLERANCE)):
        low, high = float(sums.min()), float(sums.max())
        notes.append(f"rows summed to {low:.4g} to {high:.4g} and were divided by their sums")
        p = p / sums[:, None]
    return p, f" ({'; '.join(notes)})" if notes else ""


def rounding_note(p: NDArray[np.float64], count: int) -> str:
    """Return a phrase on the `count` values of p that miss [0, 1] by rounding."""
    largest = max(float(p.max()) - 1.0, -float(p.min()))
    return f"{format_count(count, 'value')} outside [0, 1] by at most {largest:.1g} set to 0 or 1"


def _in_unit(values: NDArray[Any], tolerance: float = 0.0) -> bool:
    """Return True if there are values and all lie in [0, 1]; False if one is NaN."""
    low, high = -tolerance, 1.0 + tolerance
    return values.size > 0 and bool(((values >= low) & (values <= high)).all())


def _tolerance(k: int) -> float:
    """Return the largest error of the sum of k probabilities that are rounded to 2 digits."""
    return min(k * ROUNDING, 0.5) + TOLERANCE


def _refuse_values(p: NDArray[np.float64], columns: Columns, path: object) -> None:
    """Raise BadInputError that names the first value outside [0, 1]."""
    wrong = np.argwhere(~((p >= -TOLERANCE) & (p <= 1.0 + TOLERANCE)))
    row, *column = map(int, wrong[0])
    name = columns.names[column[0]] if column and len(columns.names) > 1 else columns.names[0]
    place = f"row {row}" + (f", column {column[0]}" if column and len(columns.names) == 1 else "")
    value = p[row, column[0]] if column else p[row]
    shown = f"{value:.10g}"
    remedy = f"divide percent by 100, and name logits by {columns.option('logits')}"
    if np.isnan(value):
        shown, remedy = "NaN", "fill in or leave out the rows that lack one"
    count = format_count(len(wrong), "such value")
    raise BadInputError(
        f"{path}: {name} holds {shown} at {place} ({count}); probabilities must lie in [0, 1]: "
        f"{remedy}."
    )
