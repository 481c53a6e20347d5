"""Interpret named arrays as probabilities and labels.

Arrays are chosen by their names. Labels are matched with columns by names or numbers. Nothing is
guessed from values: if the names are unknown, an error says which option names the columns.
`harness.problems.Predictions` documents the names, forms and options. Rows are counted from 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from harness.common.wording import format_count
from harness.errors import BadInputError
from harness.math.class_names import as_text, few
from harness.sources.forms.classes import encode, in_spelling_of_labels, stored_class_names
from harness.sources.forms.columns import (
    label_name,
    prediction_columns,
    prediction_matrix,
    read_labels,
    refuse_unknown_names,
)
from harness.sources.forms.confidences import as_shares
from harness.sources.forms.numbers import (
    checked_probabilities,
    refuse_fractions_as_labels,
    refuse_probabilities_as_logits,
    softmax,
)
from harness.sources.forms.terms import (
    ANSWER_NAMES,
    TOP_LABEL_NAMES,
    Arrays,
    Columns,
    Options,
)

__all__ = ["Options", "softmax", "read_arrays"]

Names = tuple[str, ...]
Content = tuple[NDArray[np.float64], NDArray[np.int64], str, Names | None, Names]


def read_arrays(arrays: Arrays, path: object, options: Options) -> Content:
    """Return predictions and labels from the named arrays of a file, in the order of its rows.

    Parameters
    ----------
    arrays : dict
        Arrays by name.
    path : path
        Path of the file, for messages.
    options : Options
        The user's options.

    Returns
    -------
    p : ndarray of float64, (n,) or (n, k)
        Probabilities.
    y : ndarray of int64, (n,)
        Labels 0..k-1.
    text : str
        One line that says how the arrays were read.
    names : tuple of str, or None
        Names of the classes.
    unused : tuple of str
        Names of the arrays that were not used.

    Raises
    ------
    BadInputError
        If the file cannot be used. The message names the array, and the option to set or the change
        to make.
    """
    everything = list(arrays)
    label_columns: tuple[str, ...]
    arrays = _without_other_labels(arrays, options)
    if answers := _answer_columns(arrays, options):
        arrays, title = _with_correctness(arrays, answers, options, path), "correct"
        label_columns, note = answers, "1 where they agree"
    else:
        refuse_unknown_names(arrays, options, path)
        title = label_name(arrays, options.labels, path)
        label_columns, note = (title,), ""
    labels = read_labels(title, arrays[title], path)
    rest = {name: values for name, values in arrays.items() if name != title}
    columns, are_logits = prediction_columns(rest, labels, options, path)
    columns = in_spelling_of_labels(columns, labels)
    refuse_fractions_as_labels(arrays, title, columns, path)
    stated_note = ""
    if options.top_label and not are_logits and len(columns.names) == 1:
        name = columns.names[0]
        shares, stated_note = as_shares(rest[name], name, path)
        rest = {**rest, name: shares}
    matrix = prediction_matrix(columns, rest, "logits" if are_logits else "probabilities", path)
    if len(matrix) == 0:
        raise BadInputError(f"{path}: {columns.title} is empty; at least one sample is needed.")
    if len(matrix) != len(labels.codes):
        raise BadInputError(
            f"{path}: {columns.title} has {len(matrix)} rows, but {title} has {len(labels.codes)} "
            "labels; the numbers must be equal."
        )
    p, p_note = _to_probabilities(matrix, columns, are_logits, options, path)
    k = 1 if p.ndim == 1 else p.shape[1]
    stored = None
    if not (options.class_names or options.top_label or options.positive is not None):
        stored = stored_class_names(rest, k, len(p))
    if stored:
        options = options._replace(class_names=tuple(map(as_text, rest[stored].tolist())))
    y, names, y_note = encode(labels, columns, k, options, path)
    classes = f"classes: {few(names)}" if names else f"{max(k, 2)} classes"
    used = {*label_columns, *columns.names, stored}
    unused = tuple(name for name in everything if name not in used)
    note = note or y_note
    parts = [
        format_count(len(y), "row"),
        "confidences of predicted labels" if options.top_label else classes,
        _array_text(columns, matrix, are_logits) + stated_note + p_note,
        f"label column{'s' if len(label_columns) > 1 else ''} {few(label_columns)}"
        + (f" ({note})" if note else ""),
        f"classes named by {stored}" if stored else "",
        describe_unused(unused),
    ]
    return p, y, "; ".join(part for part in parts if part), names, unused


def describe_unused(names: Sequence[str]) -> str:
    """Return a phrase on arrays that were not used, or '' if there are none.

    Examples
    --------
    >>> describe_unused(["id", "sex"]), describe_unused([])
    ('not used: id, sex', '')
    """
    return f"not used: {', '.join(names)}" if names else ""


def _without_other_labels(arrays: Arrays, options: Options) -> Arrays:
    """Return the arrays without the labels that belong to another reading of answers.

    `correct` tells about stated confidences, and `gold` about the probabilities of all options.
    """
    if options.labels or not {"correct", "gold"} <= set(arrays):
        return arrays
    other = "gold" if options.top_label else "correct"
    return {name: values for name, values in arrays.items() if name != other}


def _answer_columns(arrays: Arrays, options: Options) -> Names:
    """Return the names of predicted and true labels from which `correct` is computed, or ()."""
    if options.labels:
        return ()
    if set(TOP_LABEL_NAMES) <= set(arrays):
        return TOP_LABEL_NAMES[1:]
    is_answers = options.top_label and set(ANSWER_NAMES) <= set(arrays)
    return ANSWER_NAMES[1:] if is_answers and "correct" not in arrays else ()


def _with_correctness(arrays: Arrays, names: Names, options: Options, path: object) -> Arrays:
    """Return the arrays with `correct` in place of predicted and true labels, which `names` names.

    `correct` is 1 where both labels agree, else 0.
    """
    if not options.top_label:
        raise BadInputError(
            f"{path} holds confidences of predicted labels, not the probability of a class; set "
            "top_label=true (in a run, problem.predictions.top_label=true) to judge them."
        )
    predicted, true = (arrays[name] for name in names)
    for name in names:
        missing = np.flatnonzero(pd.isna(arrays[name]))
        if len(missing):
            raise BadInputError(
                f"{path}: {name} holds no label at row {missing[0]}; remove the rows without one "
                f"({len(missing):,} in all), or give them a text such as none."
            )
    if (predicted.dtype.kind in "fiub") != (true.dtype.kind in "fiub"):
        raise BadInputError(
            f"{path}: {names[0]} has type {predicted.dtype}, but {names[1]} has type {true.dtype}; "
            "both must have the same type."
        )
    rest = {name: values for name, values in arrays.items() if name not in names}
    return {**rest, "correct": (predicted == true).astype(np.int64)}


def _to_probabilities(
    matrix: NDArray[Any], columns: Columns, are_logits: bool, options: Options, path: object
) -> tuple[NDArray[np.float64], str]:
    """Return probabilities (n,) or (n, k), and a note on how they were computed.

    `matrix` holds the logits (`are_logits`) or probabilities of the file.
    """
    if are_logits:
        matrix = matrix.astype(np.float32 if options.float32 else np.float64)
        refuse_probabilities_as_logits(matrix, columns, bool(options.logits), path)
        p = softmax(matrix, path).astype(np.float64)
        return p, f" ({'logistic function' if p.ndim == 1 else 'softmax'} applied)"
    if options.float32:
        matrix = matrix.astype(np.float32)
    return checked_probabilities(matrix, columns, options.renormalise, path)


def _array_text(columns: Columns, matrix: NDArray[Any], are_logits: bool) -> str:
    """Return a phrase that names the arrays of the predictions."""
    noun = "logit" if are_logits else "probability"
    if len(columns.names) > 1:
        return f"{noun} columns {few(columns.names)}"
    if matrix.ndim == 1:
        return f"{noun} column {columns.title}"
    return f"{noun} array {columns.title} of shape {matrix.shape[0]:,} x {matrix.shape[1]:,}"
