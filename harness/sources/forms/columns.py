"""Choose the arrays that hold labels and predictions, by their names alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.errors import BadInputError, guess
from harness.math.columns import PROBABILITY_NAMES, as_text, few, suffix, without_prefix
from harness.sources.forms.terms import LABEL_NAMES, LOGIT_NAMES, Arrays, Columns, Labels, Options

MOST_CHARACTERS = 1000  # of a label, because an array of text has room for the longest one
MOST = 20  # most names of arrays that a message lists


def label_name(arrays: Arrays, chosen: str | None, path: object) -> str:
    """Return the name of the array of labels.

    This is the array that the user chose, or the only array with a known name. BadInputError if
    there is no such array, or more than one.
    """
    if chosen:
        if chosen not in arrays:
            raise _absent(arrays, chosen, "labels", path)
        return chosen
    known = matching_names(arrays, LABEL_NAMES)
    if len(known) > 1:
        raise BadInputError(
            f"{path} holds {' and '.join(known)}; choose the labels by labels=NAME."
        )
    if not known:
        raise BadInputError(
            f"{path} holds {few(list(arrays), MOST)}, but no {' or '.join(LABEL_NAMES)}; choose "
            "the labels by labels=NAME."
        )
    return known[0]


def read_labels(title: str, values: NDArray[Any], path: object) -> Labels:
    """Return the labels in an array of shape (n,) or (n, 1).

    `title` is the name of the array in messages. BadInputError if a label is missing.
    """
    values = np.asarray(values)
    if values.ndim == 2 and 1 in values.shape:
        values = values.reshape(-1)
    if values.ndim != 1:
        raise BadInputError(
            f"{path}: {title} has shape {values.shape}; one label per row is needed. Replace "
            "one-hot rows by their argmax(axis=1)."
        )
    if values.dtype.kind == "S":
        values = np.char.decode(values, "utf-8")
    if values.dtype.kind not in "fiubUO":
        raise BadInputError(
            f"{path}: {title} has type {values.dtype}; labels are numbers, booleans or names."
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


def prediction_columns(arrays: Arrays, options: Options, path: object) -> tuple[Columns, bool]:
    """Return the arrays of the predictions, and True if they are logits.

    These are the arrays that the options `probabilities` or `logits` name, or the only arrays with
    a known name. BadInputError if there are none, or several candidates.
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
        raise BadInputError(
            f"{path} holds neither probabilities nor logits among {few(list(arrays), MOST)}; name "
            "them by probabilities=NAME or logits=NAME, or one column per class by "
            "probabilities=[NAME,...]."
        )
    if probabilities and logits:
        raise BadInputError(
            f"{path} holds both probabilities and logits ({', '.join(titles)}); choose one by "
            "probabilities=NAME or logits=NAME."
        )
    if len(titles) > 1:
        option = "logits" if logits else "probabilities"
        raise BadInputError(
            f"{path} holds {' and '.join(titles)}; choose the {option} by {option}=NAME."
        )
    return (*probabilities, *logits)[0], bool(logits)


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
        absent = next((name for name in wanted if name not in arrays), None)
        if absent is not None:
            raise _absent(arrays, absent, option, path)
        if any(arrays[name].ndim != 1 for name in wanted):
            raise BadInputError(
                f"{path}: {option}=[...] takes one column per class; for a matrix give "
                f"{option}=NAME."
            )
        names = tuple(wanted)
        classes = without_prefix(names) if len(names) > 1 else None
        return Columns(option, names, classes, is_listed=True)
    if wanted in arrays:
        return Columns(wanted, (wanted,))
    group = _group(arrays, wanted.rstrip("_. -") or wanted, path)
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
    classes = tuple(sorted(names, key=int) if all(map(_is_whole, names)) else names)
    return Columns(prefix, tuple(names[name] for name in classes), classes)


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
            raise BadInputError(
                f"{path}: {what} has type {values.dtype}: {name} holds {str(value)[:40]!r} at row "
                f"{row}; numbers are needed, with a decimal point."
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
