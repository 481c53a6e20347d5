"""Choose the arrays that hold labels and predictions, by their names alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.errors import BadInputError, guess
from harness.math.class_names import (
    PROBABILITY_NAMES,
    are_numbers,
    as_text,
    few,
    find,
    match,
    order_by_value,
    suffix,
    without_prefix,
)
from harness.sources.forms.terms import (
    LABEL_NAMES,
    LOGIT_NAMES,
    Arrays,
    Columns,
    Labels,
    Options,
    as_option,
)

MOST_CHARACTERS = 1000  # of a label, because an array of text has room for the longest one
MOST = 20  # most names of arrays that a message lists


def label_name(arrays: Arrays, chosen: str | None, path: object) -> str:
    """Return the name of the array of labels.

    This is the array that the user chose, or the only array with a known name. BadInputError if
    there is no such array, or more than one.
    """
    if chosen:
        found = find(chosen, list(arrays))
        if found is None:
            raise _absent(arrays, chosen, "labels", path)
        return found
    known = matching_names(arrays, LABEL_NAMES)
    if len(known) > 1:
        choices = " or ".join(as_option("labels", name) for name in known)
        raise BadInputError(f"{path} holds {' and '.join(known)}; choose the labels by {choices}.")
    if not known:
        raise BadInputError(
            f"{path} holds {few(list(arrays), MOST)}, but no {' or '.join(LABEL_NAMES)}; choose "
            "the labels by labels=NAME."
        )
    return known[0]


def refuse_unknown_names(arrays: Arrays, options: Options, path: object) -> None:
    """Raise BadInputError if neither the labels nor the predictions have a known name.

    The message names all missing options at once.
    """
    if options.labels or options.probabilities or options.logits:
        return
    if matching_names(arrays, LABEL_NAMES):
        return
    if any(_known(arrays, names, path) for names in (PROBABILITY_NAMES, LOGIT_NAMES)):
        return
    if _named_by_class(arrays, ()):
        return
    raise BadInputError(
        f"{path} holds {few(list(arrays), MOST)}, but no known name of labels or of probabilities; "
        "name both by labels=NAME and probabilities=NAME (logits=NAME for logits, [NAME,...] for "
        "one column per class)."
    )


def read_labels(title: str, values: NDArray[Any], path: object) -> Labels:
    """Return the labels in an array of shape (n,) or (n, 1).

    `title` is the name of the array in messages. BadInputError if a label is missing.
    """
    values = np.asarray(values)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise BadInputError(
            f"{path}: {title} has shape {values.shape}; one label per row is needed. Replace "
            "one-hot rows by their argmax(axis=1); rows with several labels are judged by "
            "harness.judge(p, y), or by calharness judge from a single file."
        )
    if values.dtype.kind not in "fiubUO":
        raise BadInputError(
            f"{path}: {title} has type {values.dtype}; labels are numbers, booleans or names (save "
            "names by labels.astype(str))."
        )
    missing = [row for row, value in enumerate(values.tolist()) if _is_missing(value)]
    if missing:
        raise BadInputError(
            f"{path}: {title} holds no label at row {missing[0]}; remove the rows without a label "
            f"({len(missing):,} in all)."
        )
    if values.dtype.kind == "O":
        names = [as_text(value) for value in values.tolist()]
        if (longest := max(map(len, names), default=0)) > MOST_CHARACTERS:
            raise BadInputError(
                f"{path}: {title} holds a label of {longest:,} characters; at most "
                f"{MOST_CHARACTERS:,} are allowed."
            )
        values = np.array(names, dtype=str)
    distinct, index = np.unique(values, return_inverse=True)
    texts = [as_text(value) for value in distinct.tolist()]
    merged = tuple(dict.fromkeys(texts))  # " yes" and "yes" are the same label
    place = {text: number for number, text in enumerate(merged)}
    places = np.array([place[text] for text in texts], dtype=np.int64)
    return Labels(title, merged, places[index.reshape(-1)], are_numbers=all(map(_is_whole, merged)))


def prediction_columns(
    arrays: Arrays, labels: Labels, options: Options, path: object
) -> tuple[Columns, bool]:
    """Return the arrays of the predictions, and True if they are logits.

    These are the arrays that the options `probabilities` or `logits` name, or the only arrays with
    a known name, or columns whose names are the classes or the numbers 0..k-1, or columns that can
    only be probabilities. BadInputError if there are none, or several candidates.
    """
    if options.probabilities and options.logits:
        raise BadInputError(
            f"{path}: probabilities={options.probabilities} and logits={options.logits} exclude "
            "each other; give only one of them."
        )
    if options.probabilities:
        return _asked_for(arrays, options.probabilities, "probabilities", path), False
    if options.logits:
        return _asked_for(arrays, options.logits, "logits", path), True
    probabilities = _known(arrays, PROBABILITY_NAMES, path)
    logits = _known(arrays, LOGIT_NAMES, path)
    titles = [columns.title for columns in (*probabilities, *logits)]
    if not titles:
        columns = None
        if not options.top_label:
            columns = (
                _named_by_class(arrays, options.class_names or ())
                or _named_by_class(arrays, labels.texts)
                or _only_probabilities(arrays, labels, path)
            )
        if columns:
            return columns, False
        raise BadInputError(
            f"{path} holds neither probabilities nor logits among {few(list(arrays), MOST)}; name "
            "them by probabilities=NAME or logits=NAME, or one column per class by "
            f"probabilities=[NAME,...]{_missing_positive(labels, options)}."
        )
    if probabilities and logits:
        choices = [columns.option("probabilities") for columns in probabilities]
        choices += [columns.option("logits") for columns in logits]
        raise BadInputError(
            f"{path} holds both probabilities and logits ({', '.join(titles)}); choose one by "
            f"{' or '.join(choices)}."
        )
    if len(titles) > 1:
        name = "logits" if logits else "probabilities"
        choices = [columns.option(name) for columns in (*probabilities, *logits)]
        raise BadInputError(
            f"{path} holds {' and '.join(titles)}; choose the {name} by {' or '.join(choices)}."
        )
    return (*probabilities, *logits)[0], bool(logits)


def _missing_positive(labels: Labels, options: Options) -> str:
    """Return a clause on the option `positive` if a single column of predictions needs it."""
    is_known = match(labels.texts, ["0", "1"]) is not None
    if len(labels.texts) != 2 or is_known or options.positive is not None or options.class_names:
        return ""
    choices = " or ".join(as_option("positive", text) for text in labels.texts)
    return f"; a single column also needs {choices}"


def matching_names(arrays: Arrays, names: Sequence[str]) -> list[str]:
    """Return the names of the arrays that match one of `names`, ignoring case.

    The result has the order of `names`.
    """
    return [name for known in names for name in arrays if name.lower() == known]


def prediction_matrix(columns: Columns, arrays: Arrays, what: str, path: object) -> NDArray[Any]:
    """Return the predictions as numbers in C order, shape (n,) or (n, k) with k >= 2.

    `what` says "logits" or "probabilities" in messages.
    """
    parts = [_numbers(arrays[name], name, what, path) for name in columns.names]
    matrix = parts[0] if len(parts) == 1 else np.column_stack(parts)
    if matrix.ndim == 2 and matrix.shape[1] == 0:
        raise BadInputError(f"{path}: {columns.title} has no columns; one per class is needed.")
    if matrix.ndim == 2 and matrix.shape[1] == 1:
        matrix = matrix[:, 0]
    if matrix.ndim not in (1, 2):
        raise BadInputError(
            f"{path}: {columns.title} has {matrix.ndim} dimensions; allowed are (n,) and (n, k)."
        )
    return np.ascontiguousarray(matrix)


def _known(arrays: Arrays, names: Sequence[str], path: object) -> list[Columns]:
    """Return all candidates for predictions: arrays with a known name, and groups of columns.

    A group consists of columns whose names begin with a known name.
    """
    single = [Columns(name, (name,)) for name in matching_names(arrays, names)]
    groups = [group for group in (_group(arrays, name, path) for name in names) if group]
    taken = [array.title for array in single]
    return single + [
        group._replace(title=f"{group.title}_*") if group.title in taken else group
        for group in groups
    ]


def _asked_for(arrays: Arrays, wanted: str | tuple[str, ...], option: str, path: object) -> Columns:
    """Return the arrays that the user chose by `option`.

    `wanted` is the name of an array, the common prefix of a group of columns, or a list of columns.
    """
    if not isinstance(wanted, str):
        names = tuple(find(name, list(arrays)) or name for name in wanted)
        absent = next((name for name in names if name not in arrays), None)
        if absent is not None:
            raise _absent(arrays, absent, option, path)
        if any(arrays[name].ndim != 1 for name in names):
            raise BadInputError(
                f"{path}: {option}=[...] takes one column per class; for a matrix give "
                f"{option}=NAME."
            )
        classes = without_prefix(names) if len(names) > 1 else None
        return Columns(option, names, classes, is_listed=True)
    found = find(wanted, list(arrays))
    if found is not None:
        return Columns(found, (found,))
    group = _group(arrays, wanted.rstrip("_. -*") or wanted, path)
    if group is None:
        raise _absent(arrays, wanted, option, path)
    return group


def _group(arrays: Arrays, prefix: str, path: object) -> Columns | None:
    """Return the group of columns such as <prefix>0, <prefix>_0 or <prefix>_cat, or None.

    Numbered columns are sorted by number. A group needs at least two columns.
    """
    names: dict[str, str] = {}
    for name, values in arrays.items():
        end = suffix(name, prefix)
        if end is None or values.ndim != 1:
            continue
        if end in names:
            raise BadInputError(
                f"{path} holds both {names[end]} and {name}; one column per class is needed."
            )
        names[end] = name
    if len(names) < 2:
        return None
    classes, columns = without_prefix(list(names)), tuple(names.values())
    order = order_by_value(classes)
    return Columns(prefix, tuple(columns[j] for j in order), tuple(classes[j] for j in order))


def _named_by_class(arrays: Arrays, texts: Sequence[str]) -> Columns | None:
    """Return the columns of numbers whose whole names are classes, or None.

    The names are the numbers 0..k-1, or all `texts` (labels or names of classes) are among them.
    """
    names = [
        name for name, values in arrays.items() if values.ndim == 1 and values.dtype.kind in "fiu"
    ]
    chosen = [name for name in names if are_numbers([name])]
    is_counted = match(list(map(str, range(len(chosen)))), chosen) is not None
    if len(chosen) < 2 or not (is_counted or (texts and match(texts, chosen) is not None)):
        places = match(texts, names) if len(texts) > 1 else None
        if places is None:
            return None
        chosen = [names[j] for j in sorted(places)]
    return _in_order(chosen)


def _only_probabilities(arrays: Arrays, labels: Labels, path: object) -> Columns | None:
    """Return columns that can only be probabilities of classes 0..k-1, or None.

    These are the columns class_0 to class_<k-1>, or all columns of floats if their names are not
    numbered. The labels are among 0..k-1. The columns lie in [0, 1], sum to 1 in every row, and are
    no indicators of classes.
    """
    floats = {name: v for name, v in arrays.items() if v.dtype.kind == "f" and v.ndim == 1}
    group = _group(floats, "class", path)
    columns = group or _in_order(list(floats))
    classes, counted = columns.classes or (), list(map(str, range(len(columns.names))))
    if len(counted) < 2 or match(labels.texts, counted) is None:
        return None
    # Other numbered columns, such as x0 and x1, may be anything.
    if are_numbers(classes) and (group is None or match(counted, classes) is None):
        return None
    if len({len(floats[name]) for name in columns.names}) > 1:
        return None
    p = np.column_stack([floats[name] for name in columns.names])
    is_indicator = bool(np.isin(p, (0.0, 1.0)).all())
    sums_to_1 = bool(np.allclose(p.sum(axis=1), 1.0, rtol=0.0, atol=1e-4))
    return columns if p.min(initial=1.0) >= 0.0 and sums_to_1 and not is_indicator else None


def _in_order(names: Sequence[str]) -> Columns:
    """Return columns that nothing but their classes names; numbers are sorted."""
    classes = without_prefix(names)
    order = order_by_value(classes)
    columns = tuple(names[j] for j in order)
    return Columns(few(columns), columns, tuple(classes[j] for j in order), is_bare=True)


def _numbers(values: NDArray[Any], name: str, what: str, path: object) -> NDArray[Any]:
    """Return an array as numbers; BadInputError names the first row that holds no number."""
    if values.dtype.kind in "fiub":
        return values
    if values.dtype.kind not in "OU":
        raise BadInputError(f"{path}: {what} has type {values.dtype} ({name}); numbers are needed.")
    try:
        return values.astype(np.float64)
    except (TypeError, ValueError):
        pass
    for index, value in np.ndenumerate(values):
        try:
            float(value)
        except (TypeError, ValueError):
            row = index[0] if len(index) == 1 else index
            remedy = "numbers are needed, with a decimal point"
            if str(value).strip().endswith("%"):
                remedy = "remove the % signs, and divide these numbers by 100"
            raise BadInputError(
                f"{path}: {what} has type {values.dtype}: {name} holds {str(value)[:40]!r} at row "
                f"{row}; {remedy}."
            ) from None
    raise BadInputError(f"{path}: {what} has type {values.dtype} ({name}); numbers are needed.")


def _absent(arrays: Arrays, name: str, option: str, path: object) -> BadInputError:
    """Return the error for a chosen array that the file lacks."""
    hint = guess(str(name), list(arrays))
    return BadInputError(
        f"{path} has no array {name!r} for {option}{hint}; it holds {few(list(arrays), MOST)}."
    )


def _is_missing(value: Any) -> bool:
    """Return True for None, NaN, pandas' NA and NaT, and empty text."""
    if isinstance(value, float):
        return math.isnan(value)
    return value is None or str(value).strip() in ("", "<NA>", "NaT")


def _is_whole(text: str) -> bool:
    return text.removeprefix("-").isdecimal()
