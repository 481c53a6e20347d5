"""Which arrays of a file hold the labels and which the predictions."""

from __future__ import annotations

import difflib
import re

import numpy as np

from harness.errors import BadInputError, guess
from harness.math.columns import PROBABILITY_NAMES, few, suffix
from harness.sources.forms.numbers import in_unit, sums_to_one
from harness.sources.forms.terms import (
    HARD_NAMES,
    INDEX_NAMES,
    LABEL_NAMES,
    LOGIT_NAMES,
    MISSING,
    Columns,
    Labels,
)


def find_labels(arrays, asked, path):
    """((name, values), names of the arrays): one array of labels or of indicators, or columns of indicators."""
    if asked:
        if asked in arrays:
            return (asked, arrays[asked]), (asked,)
        group = _indicators(arrays, asked)
        if group is None:
            hint = guess(asked, list(arrays))
            raise BadInputError(f"{path} has no array {asked!r} for labels{hint}; it holds {few(list(arrays), 20)}.")
        return group
    found = named_among(arrays, LABEL_NAMES)
    if len(found) > 1:
        raise BadInputError(f"{path} holds {' and '.join(found)}; say which are the labels by labels=.")
    if found:
        return (found[0], arrays[found[0]]), (found[0],)
    groups = [group for group in (_indicators(arrays, name) for name in LABEL_NAMES) if group]
    if len(groups) == 1:
        return groups[0]
    near = near_names(arrays, LABEL_NAMES)
    raise BadInputError(
        f"{path} holds {few(list(arrays), 20)}; none is named {', '.join(LABEL_NAMES)}: "
        f"name the labels by labels={near or 'NAME'}."
    )


def _indicators(arrays, prefix):
    """Columns <prefix>_<class> of 0 and 1, one 1 per row, as labels; None if there are none."""
    found = with_suffixes(arrays, prefix.rstrip("_. -"))
    if len(found) < 2:
        return None
    matrix = [arrays[name] for name in found.values()]
    if any(column.dtype.kind not in "fiub" or not np.isin(column, (0, 1)).all() for column in matrix):
        return None
    matrix = np.column_stack(matrix)
    if not (matrix.sum(axis=1) == 1).all():
        return None
    labels = np.array(list(found))[matrix.argmax(axis=1)]
    return (prefix, labels), tuple(found.values())


def labels_of(named, path):
    """The labels as distinct values and their index per row."""
    title, values = named
    values = np.asarray(values)
    if values.ndim == 2 and 1 in values.shape:
        values = values.reshape(-1)
    elif values.ndim == 2:
        whole = values.dtype.kind in "fiub" and np.isin(values, (0, 1)).all() and (values.sum(axis=1) == 1).all()
        if not whole:
            raise BadInputError(
                f"{path}: {title} has shape {values.shape} and is not one-hot; "
                "give one label per row, or rows of one 1 and 0 else."
            )
        return Labels(title, list(range(values.shape[1])), values.argmax(axis=1), one_hot=values.shape[1])
    if values.ndim != 1:
        raise BadInputError(f"{path}: {title} has shape {values.shape}; one label per row of p is needed.")
    if values.dtype.kind in "fiub":
        distinct, index = np.unique(values, return_inverse=True)
        return Labels(title, [_value(v) for v in distinct.tolist()], index.reshape(-1))
    if values.dtype.kind not in "OUS":
        raise BadInputError(f"{path}: {title} has type {values.dtype}; labels are numbers, booleans or names.")
    codes: dict = {}
    index = np.array([codes.setdefault(_plain(v), len(codes)) for v in values.tolist()], dtype=np.int64)
    distinct = [None if key is None else key[1] for key in codes]
    numbers = [v for v in distinct if not isinstance(v, str)]
    words = [v for v in distinct if isinstance(v, str)]
    digits = [v for v in words if re.fullmatch(r"[+-]?\d{1,300}", v) and str(int(v)) == v.lstrip("+")]
    if (digits or numbers) and len(digits) + len(numbers) + sum(w.lower() in MISSING for w in words) == len(distinct):
        distinct = [int(v) if v in digits else None if isinstance(v, str) else v for v in distinct]
    return _merged(title, distinct, index)


def _merged(title, distinct, index):
    """Values that are equal once read ('1' and 1, NaN and 'n/a') become one."""
    values = list(dict.fromkeys(distinct))
    return Labels(title, values, np.array([values.index(v) for v in distinct], dtype=np.int64)[index])


def _plain(value):
    """(type, value) of one label of an array of text or objects; None if it is missing."""
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    if isinstance(value, str):
        return (str, value.strip()) if value.strip() else None
    if isinstance(value, (bool, np.bool_)):
        return bool, bool(value)
    if isinstance(value, (int, float, np.integer, np.floating)):
        value = _value(float(value) if isinstance(value, (float, np.floating)) else int(value))
        return None if value is None else (type(value), value)
    return None if value is None or str(value) in ("<NA>", "NaT") else (str, str(value))


def _value(v):
    """int where it is whole, None for NaN, else the float."""
    if isinstance(v, float):
        return None if v != v else int(v) if v.is_integer() else v
    return v


def find_predictions(arrays, labels, asked, path, everything):
    """(Columns, whether they are logits): what was named, else what is recognised by its name, else columns named by class."""
    for option, wanted in (("probabilities", asked.probabilities), ("logits", asked.logits)):
        if wanted and not (asked.probabilities and asked.logits):
            return _asked_for(arrays, wanted, option, labels, path), option == "logits"
    if asked.probabilities and asked.logits:
        raise BadInputError(f"{path}: probabilities={asked.probabilities} and logits={asked.logits} are both given; give one.")
    probabilities = _candidates(arrays, PROBABILITY_NAMES, labels, path)
    logits = _candidates(arrays, LOGIT_NAMES, labels, path)
    for found, option in ((probabilities, "probabilities"), (logits, "logits")):
        if len(found) > 1:
            names = " and ".join(one.title for one in found)
            raise BadInputError(f"{path} holds {names}; say which are the {option} by {option}=.")
    if probabilities and logits:
        both = f"{probabilities[0].title}, {logits[0].title}"
        raise BadInputError(f"{path} holds both probabilities and logits ({both}); name one by probabilities= or logits=.")
    if logits:
        return logits[0], True
    if not probabilities:
        free = {n: a for n, a in arrays.items() if n.lower() not in (*INDEX_NAMES, *HARD_NAMES) and not n.startswith("Unnamed: ")}
        by_class = _by_class("", {name: name for name, a in free.items() if a.ndim == 1}, arrays, labels, bare=True)
        if by_class is None:
            near, hard = near_names(free, PROBABILITY_NAMES), named_among(arrays, HARD_NAMES)
            hint = f" ({hard[0]} is taken for predicted labels)" if hard else ""
            raise BadInputError(
                f"{path} holds neither probabilities nor logits among {few(everything, 20)}{hint}; "
                f"name them by probabilities={near or 'NAME'} or logits=NAME."
            )
        return by_class, False
    return probabilities[0], False


def _asked_for(arrays, wanted, option, labels, path):
    """The array, the columns with a common prefix, or the list of columns that the user named."""
    if not isinstance(wanted, str):
        absent = [name for name in wanted if name not in arrays]
        if absent:
            hint = guess(str(absent[0]), list(arrays))
            raise BadInputError(f"{path} has no array {absent[0]!r} for {option}{hint}; it holds {few(list(arrays), 20)}.")
        if any(arrays[name].ndim != 1 for name in wanted):
            raise BadInputError(f"{path}: {option}=[...] lists columns, one per class; a matrix is named alone.")
        return Columns(option, tuple(wanted), None, tuple(wanted), listed=True)
    if wanted in arrays:
        return Columns(wanted, (wanted,), arrays[wanted])
    found = _prefixed(arrays, wanted.rstrip("_. -") or wanted, labels, path, single=True)
    if found is None:
        hint = guess(wanted, list(arrays))
        raise BadInputError(f"{path} has no array {wanted!r} for {option}{hint}; it holds {few(list(arrays), 20)}.")
    return found


def _candidates(arrays, names, labels, path):
    direct = [Columns(name, (name,), arrays[name]) for name in named_among(arrays, names)]
    grouped = [one for one in (_prefixed(arrays, name, labels, path) for name in names) if one]
    if not direct and not grouped:
        grouped = [one for one in (_prefixed(arrays, name, labels, path, single=True) for name in names) if one]
    titles = [one.title for one in direct]
    return direct + [one._replace(title=f"{one.title}_*") if one.title in titles else one for one in grouped]


def with_suffixes(arrays, prefix, path=None):
    """{suffix: array} of the vectors named <prefix>0, <prefix>_0, <prefix>_cat; numbers without leading zeros."""
    found: dict[str, str] = {}
    for name, values in arrays.items():
        end = suffix(name, prefix)
        if end is None or values.ndim != 1:
            continue
        if end in found:
            raise BadInputError(f"{path or 'the file'} holds both {found[end]} and {name}; one column per class is needed.")
        found[end] = name
    return found


def _prefixed(arrays, prefix, labels, path, single=False):
    """Columns with a common prefix and a number or a class each; None if there are none, or only one and `single` is false."""
    found = with_suffixes(arrays, prefix, path)
    if len(found) < 2 and not (single and found):
        return None
    numbers = sorted(int(s) for s in found if re.fullmatch(r"\d{1,9}", s))
    if len(numbers) < len(found):
        return _by_class(prefix, found, arrays, labels, single=single)
    names = tuple(found[str(j)] for j in numbers)
    gap = numbers != list(range(numbers[0], numbers[0] + len(numbers)))
    if gap and set(map(str, numbers)) != set(labels.texts):
        raise BadInputError(f"{path}: the columns {prefix}* are numbered {numbers}; a gap leaves a class out.")
    return Columns(prefix, names, None, tuple(map(str, numbers)), numbered=not gap)


def _by_class(prefix, found, arrays, labels, single=False, bare=False):
    """Columns named by class: all of `found` ({class: array}) if every label is among them and their rows sum to 1, else those
    whose class is a label. Columns that no label names are taken only with a prefix, and if their rows sum to 1."""
    numeric = {c: n for c, n in found.items() if arrays[n].dtype.kind in "fiu" and in_unit(arrays[n])}
    hit = {c: n for c, n in found.items() if c in labels.texts}
    complete = len(numeric) >= 2 and (set(labels.texts) <= set(numeric) or (not bare and not hit))
    if complete and sums_to_one(np.column_stack([arrays[n] for n in numeric.values()])):
        chosen = numeric
    else:
        chosen = hit
    if len(chosen) < 2 and not (single and chosen):
        return None
    title = prefix or "the columns named by class"
    return Columns(title, tuple(chosen.values()), None, tuple(chosen))


def near_names(arrays, names):
    """The array whose name is nearest to one of `names`, if any is near."""
    near = [(name, difflib.get_close_matches(name.lower(), names, n=1, cutoff=0.7)) for name in arrays]
    return next((name for name, close in near if close), None)


def named_among(arrays, names):
    return [name for known in names for name in arrays if name.lower() == known]


def matrix_of(columns, arrays, what, path):
    """The predictions as an array of numbers, (n,) or (n, k >= 2), in C order."""
    if columns.values is None:
        made = [_column(arrays[name], name, what, path) for name in columns.names]
        matrix = made[0] if len(made) == 1 else np.column_stack(made)
    else:
        matrix = _column(np.asarray(columns.values), columns.title, what, path)
    if matrix.ndim == 2 and matrix.shape[1] == 0:
        raise BadInputError(f"{path}: {columns.title} has no columns; one per class is needed.")
    if matrix.ndim == 2 and matrix.shape[1] == 1:
        matrix = matrix[:, 0]
    if matrix.ndim not in (1, 2):
        raise BadInputError(f"{path}: {columns.title} has {matrix.ndim} dimensions; allowed are (n,) and (n, k).")
    return np.ascontiguousarray(matrix)


def _column(values, name, what, path):
    if values.dtype.kind in "fiub":
        return values
    if values.dtype.kind not in "OUS":
        raise BadInputError(f"{path}: {what} has type {values.dtype} ({name}); numbers are needed.")
    made = np.empty(values.shape, dtype=np.float64)
    for i, value in np.ndenumerate(values):
        try:
            made[i] = np.nan if value is None or str(value).strip().lower() in ("", *MISSING) else float(value)
        except (TypeError, ValueError):
            text = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
            comma = re.fullmatch(r"\s*[+-]?\d*,\d+\s*", text)
            percent = re.fullmatch(r"\s*\d+([.,]\d+)?\s*%\s*", text)
            hint = "; write points, or commas throughout and semicolons between columns" if comma else ""
            hint = "; leave out the sign and divide by 100" if percent else hint
            row = i[0] if len(i) == 1 else i
            raise BadInputError(
                f"{path}: {what} has type {values.dtype}: {name} holds {text[:40]!r} at row {row}; numbers are needed{hint}."
            ) from None
    return made
