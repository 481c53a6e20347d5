"""The forms in which people keep predictions: named arrays -> probabilities, labels and one line that says what was understood.

Whatever can be read in one way only is accepted, and the line names the reading; what could be read in two ways is refused with
the option that decides. `harness.problems.Predictions` documents names, forms and options. Rows are counted from 0.
"""

from __future__ import annotations

import numpy as np

from harness.errors import BadInputError
from harness.math.columns import as_text, few
from harness.sources.forms.columns import find_labels, find_predictions, labels_of, matrix_of
from harness.sources.forms.meaning import encode, stored_classes, stored_titles
from harness.sources.forms.numbers import checked_probabilities, refuse_probabilities_as_logits, softmax
from harness.sources.forms.terms import HARD_NAMES, TOP_LABEL_NAMES, Asked


def understood(arrays: dict[str, np.ndarray], path, asked: Asked):
    """(p, y, line, names of the classes or None) of the arrays of a file, in their order. p: (n,) or (n, k) float64; y: (n,)
    int64 in 0..k-1.
    Raises BadInputError that names the array, what was found and the option or change that mends it."""
    arrays = dict(arrays)
    everything = list(arrays)
    if not asked.labels and set(TOP_LABEL_NAMES) <= set(arrays):
        if not asked.top_label:
            raise BadInputError(
                f"{path} holds confidences of predicted labels, not the probability of a class; add top_label=true "
                "(to a run problem.predictions.top_label=true), and they are judged by whether each prediction was right."
            )
        predicted, true = arrays.pop("pred_label"), arrays.pop("true_label")
        if (predicted.dtype.kind in "fiub") != (true.dtype.kind in "fiub"):
            raise BadInputError(f"{path}: pred_label has type {predicted.dtype} and true_label {true.dtype}; they must be alike.")
        arrays["correct"] = (predicted == true).astype(np.int64)
    named, taken = find_labels(arrays, asked.labels, path)
    labels = labels_of(named, path)
    if len(taken) > 1:
        labels = labels._replace(one_hot=len(taken))
    rest = {name: values for name, values in arrays.items() if name not in taken}
    columns, are_logits = find_predictions(rest, labels, asked, path, everything)
    matrix = matrix_of(columns, rest, "logits" if are_logits else "probabilities", path)
    if len(matrix) == 0:
        raise BadInputError(f"{path}: {columns.title} is empty; at least one sample is needed.")
    if len(matrix) != len(labels.index):
        turned = matrix.ndim == 2 and matrix.shape[1] == len(labels.index)
        hint = f"; transpose it, whose shape is {matrix.shape}" if turned else ""
        raise BadInputError(
            f"{path}: p has {len(matrix)} rows but y has {len(labels.index)} labels; they must be equally many "
            f"({columns.title}, {labels.title}){hint}."
        )
    if are_logits:
        matrix = matrix.astype(np.float32 if asked.float32 else np.float64)
        refuse_probabilities_as_logits(matrix, columns.title, bool(asked.logits), path)
        p, note = softmax(matrix, path).astype(np.float64), ", of which the softmax is taken"
        if p.ndim == 1:
            note = ", of which the logistic function is taken"
    else:
        if asked.float32:
            matrix = matrix.astype(np.float32)
        p, note = checked_probabilities(matrix.astype(np.float64, copy=False), columns, asked, path)
    stored = None if asked.class_names else stored_classes(rest, p, labels)
    if stored:
        asked = asked._replace(class_names=tuple(map(as_text, rest[stored].tolist())))
    y, names, meaning = encode(labels, columns, p, asked, path)
    if names is None and not asked.top_label and (titles := stored_titles(rest, p, labels)):
        stored, names = titles, list(map(as_text, rest[titles].tolist()))
    classes = f"classes: {few(names)}" if names else f"{2 if p.ndim == 1 else p.shape[1]} classes"
    classes = "confidences of predicted labels" if asked.top_label else classes
    used = {*taken, *columns.names, *([stored] if stored else [])}
    if "correct" in taken and "correct" not in everything:
        taken = ("pred_label", "true_label")
        used |= set(taken)
        meaning = " (1 where they agree)"
    parts = [
        f"{len(y):,} rows",
        classes,
        _described(columns, matrix, are_logits) + note,
        f"label column{'s' if len(taken) > 1 else ''} {few(list(taken))}{meaning}",
        f"classes named by {stored}" if stored else "",
        _ignored([name for name in everything if name not in used]),
    ]
    return p, y, "; ".join(part for part in parts if part), tuple(map(str, names)) if names else None


def _described(columns, matrix, are_logits):
    noun = "logit" if are_logits else "probability"
    if columns.values is None:
        return f"{noun} column{'s' if len(columns.names) > 1 else ''} {few(columns.names)}"
    size = f" of shape {matrix.shape[0]:,} x {matrix.shape[1]:,}" if matrix.ndim == 2 else ""
    return f"{noun} {'array' if size else 'column'} {columns.title}{size}"


def _ignored(names):
    """What was not used, said: index columns, predicted labels and the rest."""
    if not names:
        return ""
    return f"not used: {few([f'{name} (predicted labels)' if name.lower() in HARD_NAMES else name for name in names])}"
