"""Match labels with the columns of predictions, and name the classes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from harness.errors import BadInputError, guess
from harness.math.columns import PROBABILITY_NAMES, as_text, few, suffix
from harness.sources.forms.columns import matching_names
from harness.sources.forms.terms import CLASS_NAMES, Arrays, Columns, Labels, Options

Encoded = tuple[NDArray[np.int64], tuple[str, ...] | None, str]


def encode(labels: Labels, columns: Columns, k: int, options: Options, path: object) -> Encoded:
    """Return labels 0..k-1, the names of the classes, and a note on the labels.

    `k` is the number of columns of predictions. With k = 1, labels are 0 and 1. The names are None
    if the file does not name the classes.

    Raises
    ------
    BadInputError
        If it is unclear which label belongs to which column. The message names the option that
        decides it, `positive` or `class_names`.
    """
    if k > 1 and options.top_label:
        raise BadInputError(
            f"{path}: top_label=true needs one column of confidences, but {columns.title} has {k} "
            "columns; set notion=[top_label] instead, which judges the largest probability."
        )
    if k > 1 and options.positive is not None:
        raise BadInputError(
            f"{path}: positive={options.positive} needs one column of probabilities, but "
            f"{columns.title} has {k} columns; leave positive out."
        )
    if options.class_names:
        return _by_class_names(labels, columns, k, tuple(map(as_text, options.class_names)), path)
    return (
        _one_column(labels, columns, options, path) if k == 1 else _matrix(labels, columns, k, path)
    )


def stored_class_names(arrays: Arrays, k: int, rows: int) -> str | None:
    """Return the name of the array that lists the k class names of a file, or None.

    The array must have k entries. It is ignored if the file also has k rows of data (`rows`),
    because its entries may then describe the rows.
    """
    k = max(k, 2)
    names = (
        name
        for name in matching_names(arrays, CLASS_NAMES)
        if arrays[name].shape == (k,) != (rows,)
    )
    return next(names, None)


def _one_column(labels: Labels, columns: Columns, options: Options, path: object) -> Encoded:
    """Return labels 0 and 1 for a single column of probabilities, with names and a note.

    The column is the probability of label 1, of True, or of the option `positive`.
    """
    if options.positive is not None:
        wanted = as_text(options.positive)
        if wanted not in labels.texts:
            raise BadInputError(
                f"{path}: positive={wanted} is not a label of {labels.title}"
                f"{guess(wanted, labels.texts)}; the labels are {few(labels.texts)}."
            )
        others = [text for text in labels.texts if text != wanted]
        names = (others[0] if len(others) == 1 else "other", wanted)
        y = (labels.codes == labels.texts.index(wanted)).astype(np.int64)
        return y, names, f"1 = {wanted}, 0 = {few(others) or 'none'}"
    for pair, note in ((("0", "1"), ""), (("False", "True"), "booleans")):
        if set(labels.texts) <= set(pair):
            return _places(labels, pair), None, note
    raise BadInputError(
        f"{path}: {labels.title} holds {few(labels.texts)}, and {columns.title} is the probability "
        f"of one of these labels; name this label, such as positive={few(labels.texts[-1:])}."
    )


def _matrix(labels: Labels, columns: Columns, k: int, path: object) -> Encoded:
    """Return labels 0..k-1 for one column per class, with names and a note.

    Labels are matched with columns by number, or by the names of the columns.
    """
    classes, numbers = columns.classes, tuple(map(str, range(k)))
    if classes is None or classes == numbers:
        for texts, note in ((numbers, ""), (("False", "True"), "booleans")):
            if len(texts) == k and set(labels.texts) <= set(texts):
                return _places(labels, texts), None, note
        raise _no_class(labels, numbers, f"integers 0..{k - 1}", columns, path)
    numbered = all(text.isdecimal() for text in classes)
    if columns.is_listed and set(labels.texts) <= set(numbers):
        names = None if numbered else classes
        return _places(labels, numbers), names, f"label 0 = column {columns.names[0]}"
    if numbered:
        raise BadInputError(
            f"{path}: the columns {few(columns.names)} are not numbered from 0; give "
            f"class_names={_option(classes)} if {columns.names[0]} belongs to label {classes[0]}, "
            f"class_names={_option(numbers)} if it belongs to label 0."
        )
    if set(labels.texts) <= set(classes):
        return _places(labels, classes), classes, ""
    if labels.are_numbers:
        raise BadInputError(
            f"{path}: {labels.title} holds the numbers {few(labels.texts)}, but the columns are "
            f"{few(columns.names)}; name the classes in the order of the numbers, such as "
            f"class_names={_option(classes)}."
        )
    raise _no_class(labels, classes, f"the classes of the columns, {few(classes)}", columns, path)


def _by_class_names(
    labels: Labels, columns: Columns, k: int, names: tuple[str, ...], path: object
) -> Encoded:
    """Return labels 0..k-1 that are matched by the class names that the user gave.

    Labels are these names, or their numbers. Columns without class names are matched by position.
    """
    count = max(k, 2)
    if len(names) != count or len(set(names)) != count:
        raise BadInputError(
            f"{path}: class_names has {len(set(names))} different names; {count} are needed, in "
            "the order of the columns."
        )
    numbers = tuple(map(str, range(count)))
    if set(labels.texts) <= set(names):
        y = _places(labels, names)
    elif set(labels.texts) <= set(numbers) and not any(name.isdecimal() for name in names):
        y = _places(labels, numbers)
    else:
        wrong = next(text for text in labels.texts if text not in names)
        raise BadInputError(
            f"{path}: {labels.title} holds the label {wrong} at row {labels.first_row(wrong)}"
            f"{guess(wrong, names)}; class_names has {few(names)}."
        )
    place = np.array(_places_of_columns(columns, names, path), dtype=np.int64)
    in_order = tuple(names[j] for j in np.argsort(place))
    return place[y], in_order, f"1 = {names[1]}" if k == 1 else ""


def _places_of_columns(columns: Columns, names: tuple[str, ...], path: object) -> list[int]:
    """Return the column index of each class.

    Columns that are named by class are matched by name, other columns by position.
    """
    classes = columns.classes
    if classes is None:
        _refuse_first_of_two(columns, names, path)
        return list(range(len(names)))
    for stated in (columns.names, classes):
        if set(stated) == set(names):
            return [stated.index(name) for name in names]
    if all(text.isdecimal() for text in classes) or (
        columns.is_listed and not set(classes) & set(names)
    ):
        return list(range(len(names)))
    absent = next(name for name in names if name not in classes)
    raise BadInputError(
        f"{path}: class_names has {absent}, but no column has this name; the columns belong to the "
        f"classes {few(classes)}."
    )


def _refuse_first_of_two(columns: Columns, names: tuple[str, ...], path: object) -> None:
    """Raise BadInputError if a single column has the name of the first of two classes.

    A single column is read as the probability of the second class.
    """
    stated = (columns.title, *(suffix(columns.title, prefix) for prefix in PROBABILITY_NAMES))
    if len(names) == 2 and names[0] in stated:
        raise BadInputError(
            f"{path}: a single column is read as the probability of the second class, {names[1]}, "
            f"but {columns.title} names the first class, {names[0]}; give "
            f"class_names=[{names[1]},{names[0]}]."
        )


def _places(labels: Labels, names: Sequence[str]) -> NDArray[np.int64]:
    """Return the position in `names` of the label of each row."""
    return np.array([names.index(text) for text in labels.texts], dtype=np.int64)[labels.codes]


def _no_class(
    labels: Labels, known: Sequence[str], allowed: str, columns: Columns, path: object
) -> BadInputError:
    """Return the error for the first label that is none of the known classes."""
    wrong = next(text for text in labels.texts if text not in known)
    shown = f" {few(columns.names)}" if columns.classes else ""
    return BadInputError(
        f"{path}: {labels.title} holds label {wrong!r} at row {labels.first_row(wrong)}"
        f"{guess(wrong, known)}; labels must be {allowed}. List other labels with "
        f"class_names=[...] in the order of the columns{shown}."
    )


def _option(names: Sequence[str]) -> str:
    """Return at most three names in the syntax of the command line: [cat,dog,cow,...]."""
    return f"[{','.join(names[:3])}{',...' if len(names) > 3 else ''}]"
