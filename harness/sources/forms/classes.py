"""Match labels with the columns of predictions, and name the classes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from harness.common.wording import format_count
from harness.errors import BadInputError, guess
from harness.math.class_names import (
    IGNORED,
    IGNORED_MEANING,
    are_numbers,
    are_swapped,
    class_of_column,
    classes_of_columns,
    counts_twice,
    few,
    find,
    label_places,
    match,
    order_by_value,
    spellings,
)
from harness.sources.forms.columns import matching_names
from harness.sources.forms.terms import CLASS_NAMES, Arrays, Columns, Labels, Options, as_option

Encoded = tuple[NDArray[np.int64], tuple[str, ...] | None, str]
TRUTH = ("False", "True")


def in_spelling_of_labels(columns: Columns, labels: Labels) -> Columns:
    """Return the columns with the names of their classes as the labels spell them.

    Columns that are numbered or named by truth values are sorted. Columns that do not match the
    labels are returned unchanged.
    """
    if len(columns.names) < 2:
        return columns
    classes = classes_of_columns(columns.names, labels.texts)
    if classes is None:
        return columns
    order = order_by_value(classes)
    return columns._replace(
        names=tuple(columns.names[j] for j in order), classes=tuple(classes[j] for j in order)
    )


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
    known = (options.positive, *(options.class_names or ()), *(columns.classes or ()))
    if IGNORED in labels.texts and IGNORED not in known:
        count = int((labels.codes == labels.texts.index(IGNORED)).sum())
        raise BadInputError(
            f"{path}: {labels.title} holds the label {IGNORED} in {format_count(count, 'row')}, "
            f"first in row {labels.first_row(IGNORED)}; {IGNORED_MEANING}. Leave these rows out "
            "and save the file again."
        )
    if options.class_names:
        return _by_class_names(labels, columns, k, options.class_names, path)
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
        wanted = find(options.positive, labels.texts)
        if wanted is None:
            raise BadInputError(
                f"{path}: positive={options.positive} is not a label of {labels.title}"
                f"{guess(options.positive, labels.texts)}; the labels are {few(labels.texts)}."
            )
        others = [text for text in labels.texts if text != wanted]
        names = (others[0] if len(others) == 1 else "other", wanted)
        y = (labels.codes == labels.texts.index(wanted)).astype(np.int64)
        return y, names, f"1 = {wanted}, 0 = {few(others) or 'none'}"
    for pair, note in ((("0", "1"), ""), (TRUTH, "booleans")):
        if set(labels.texts) <= set(pair):
            _refuse_first_class(labels, columns, options, path)
            return _places(labels, pair), None, note
    likely = [text for text in _likely_positive(labels.texts) if text.isprintable()]
    advice = " or ".join(as_option("positive", text) for text in likely) or "positive=LABEL"
    raise BadInputError(
        f"{path}: {labels.title} holds {few(labels.texts)}, and {columns.title} is the probability "
        f"of one of these labels; name this label, {advice}."
    )


def _likely_positive(texts: Sequence[str]) -> list[str]:
    """Return the labels of which a single column may hold the probability, three at most.

    Of two numbers it is the larger, and of two truth values the true one.
    """
    if len(texts) == 2:
        order = order_by_value(texts)
        if order != order_by_value(texts[::-1]):
            return [texts[order[1]]]
    return list(texts[:3])


def _refuse_first_class(labels: Labels, columns: Columns, options: Options, path: object) -> None:
    """Raise BadInputError if the name of a single column says that it belongs to label 0."""
    if options.top_label or not columns.names:
        return
    name = columns.names[0]
    if any(match([text], ["0", "1"]) == [0] for text in class_of_column(name)):
        first = next((text for text in labels.texts if text in ("0", "False")), labels.texts[0])
        raise BadInputError(
            f"{path}: a single column is read as the probability of label 1, but {name} names "
            f"label 0; give {as_option('positive', first)}."
        )


def _matrix(labels: Labels, columns: Columns, k: int, path: object) -> Encoded:
    """Return labels 0..k-1 for one column per class, with names and a note.

    Labels are matched with columns by number, or by the names of the columns.
    """
    classes, numbers = columns.classes, tuple(map(str, range(k)))
    if classes is None or classes == numbers:
        places = match(labels.texts, numbers)
        if places is None:
            raise _no_class(labels, numbers, f"integers 0..{k - 1}", columns, path)
        is_boolean = set(labels.texts) <= set(TRUTH)
        return _encoded(labels, places), None, "booleans" if is_boolean else ""
    numbered = are_numbers(classes)
    is_unclear = counts_twice(labels.texts, classes)
    places = match(labels.texts, classes)
    if places is not None and not is_unclear:
        names = None if numbered and match(classes, numbers) is not None else classes
        return _encoded(labels, places), names, ""
    counted = match(labels.texts, numbers)
    if columns.is_listed and counted is not None and not is_unclear:
        names = None if numbered else classes
        return _encoded(labels, counted), names, f"label 0 = column {columns.names[0]}"
    if numbered and counted is not None:
        reading = f"{as_option('class_names', numbers)} if labels count the columns from 0"
        if is_unclear:
            named = f"{as_option('class_names', classes)} if labels are the numbers of the columns"
            reading = f"{named}, {reading}"
        raise BadInputError(
            f"{path}: the columns {few(columns.names)} are not numbered from 0; give {reading}."
        )
    if counted is not None:
        pairs = [f"label {j} is {name}" for j, name in enumerate(classes[:3])]
        more = f" and so on to label {k - 1}, {classes[-1]}" if k > 3 else ""
        raise BadInputError(
            f"{path}: {labels.title} holds the numbers {few(labels.texts)}, but the columns are "
            f"{few(columns.names)}; name the class of label 0 first: "
            f"{as_option('class_names', classes)} (in a run, problem.predictions.class_names=[...])"
            f" if {', '.join(pairs)}{more}."
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
    if columns.classes and are_swapped(labels.texts, names):
        raise BadInputError(
            f"{path}: class_names has {names[0]} first, which would be the name of label 0; give "
            f"{as_option('class_names', names[::-1])} if label 1 means {names[0]}."
        )
    numbers = tuple(map(str, range(count)))
    places = label_places(labels.texts, names)
    if places is None and not any(name.isdecimal() for name in names):
        places = match(labels.texts, numbers)
    if places is None:
        wrong = _first_unknown(labels, names)
        raise BadInputError(
            f"{path}: {labels.title} holds the label {wrong} at row {labels.first_row(wrong)}"
            f"{_hint(wrong, names)}; class_names has {few(names)}."
        )
    y = _encoded(labels, places)
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
    for stated in spellings(columns.names):
        # Numbered columns are the positions of other classes: not the truth values yes and no.
        places = match(names, stated) if are_numbers(names) or not are_numbers(stated) else None
        if places is not None:
            return places
    if are_numbers(classes) or (columns.is_listed and not set(classes) & set(names)):
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
    stated = class_of_column(columns.title)
    if len(names) == 2 and names[0] in stated:
        raise BadInputError(
            f"{path}: a single column is read as the probability of the second class, {names[1]}, "
            f"but {columns.title} names the first class, {names[0]}; give "
            f"{as_option('class_names', names[::-1])}."
        )


def _places(labels: Labels, names: Sequence[str]) -> NDArray[np.int64]:
    """Return the position in `names` of the label of each row."""
    return np.array([names.index(text) for text in labels.texts], dtype=np.int64)[labels.codes]


def _encoded(labels: Labels, places: Sequence[int]) -> NDArray[np.int64]:
    """Return the class of each row; `places` are the classes of the different labels."""
    return np.array(places, dtype=np.int64)[labels.codes]


def _first_unknown(labels: Labels, known: Sequence[str]) -> str:
    """Return the first label that is none of the known classes."""
    return next((text for text in labels.texts if match([text], known) is None), labels.texts[0])


def _hint(wrong: str, known: Sequence[str]) -> str:
    """Return a clause with the known class that is spelt most like a label; none for numbers."""
    return "" if are_numbers([wrong.removeprefix("-")]) else guess(wrong, known)


def _no_class(
    labels: Labels, known: Sequence[str], allowed: str, columns: Columns, path: object
) -> BadInputError:
    """Return the error for the first label that is none of the known classes."""
    wrong = _first_unknown(labels, known)
    texts = [labels.texts[j] for j in order_by_value(labels.texts)]
    shown = few(columns.names) if len(columns.names) > 1 else f"the columns of {columns.title}"
    remedy = f"class_names=[NAME,...] with the label of each column, {shown}"
    if len(texts) == len(known):
        remedy = f"{as_option('class_names', texts)} if {shown} have this order"
    return BadInputError(
        f"{path}: {labels.title} holds label {wrong!r} at row {labels.first_row(wrong)}"
        f"{_hint(wrong, known)}; labels must be {allowed}. For other labels give {remedy}."
    )
