"""Which class each label stands for."""

from __future__ import annotations

import numpy as np

from harness.errors import BadInputError, guess
from harness.math.columns import as_text, few, without_prefix
from harness.sources.forms.columns import named_among
from harness.sources.forms.terms import CLASS_NAMES, PAIRS


def encode(labels, columns, p, asked, path):
    """(y in 0..k-1, the names of the classes or None, what is said of the labels)."""
    k = 2 if p.ndim == 1 else p.shape[1]
    wrong = [i for i, v in enumerate(labels.values) if v is None] or [
        i for i, v in enumerate(labels.values) if isinstance(v, float)
    ]
    if wrong:
        rows = np.flatnonzero(np.isin(labels.index, wrong))
        bad, many = labels.values[labels.index[rows[0]]], len(rows)
        allowed = "names" if any(isinstance(v, str) for v in labels.values) else f"integers 0..{k - 1}"
        remedy = ": leave out such rows" if bad is None else ", names or booleans; mend such rows"
        shown = "nan" if bad is None else f"{bad:.6g}"
        raise BadInputError(
            f"{path}: {labels.title} holds {shown} at row {rows[0]}; labels must be {allowed}{remedy}, {many:,} in all."
        )
    if p.ndim == 2 and asked.top_label:
        raise BadInputError(
            f"{path}: top_label=true is for one column of confidences, {columns.title} has {k} columns; "
            "leave it out, and notion=[top_label] judges the largest of them."
        )
    if p.ndim == 2 and asked.positive is not None:
        raise BadInputError(f"{path}: positive={asked.positive} is for one column of p, {columns.title} has {k}; leave it out.")
    if labels.one_hot not in (0, k):
        raise BadInputError(
            f"{path}: {labels.title} is one-hot of {labels.one_hot} classes, but p has {k}; they must be as many."
        )
    codes, names, meaning = (_one_column if p.ndim == 1 else _matrix)(labels, columns, k, asked, path)
    y = np.array(codes, dtype=np.int64)[labels.index]
    notes = ", ".join(note for note in ("one-hot" if labels.one_hot else "", meaning) if note)
    return y, names, f" ({notes})" if notes else ""


def _one_column(labels, columns, k, asked, path):
    """(0 or 1 per distinct label, class names, what is said) where p is the probability of one of two classes."""
    values, texts = labels.values, labels.texts
    if asked.class_names:
        return _by_names(labels, columns, k, asked.class_names, path)
    own = columns.classes[0] if columns.classes else None
    wanted = as_text(asked.positive) if asked.positive is not None else own if own in texts else None
    if wanted is not None and asked.positive is None and wanted == "0" and set(texts) <= {"0", "1"}:
        raise BadInputError(
            f"{path}: {columns.names[0]} is named by label 0; if it is the probability of label 0 say positive=0, else 1."
        )
    if wanted is not None:
        if wanted not in texts:
            hint = guess(wanted, texts)
            raise BadInputError(f"{path}: positive={wanted} is no label of {labels.title}{hint}; it holds {few(texts)}.")
        others = [t for t in texts if t != wanted]
        names = [others[0] if len(others) == 1 else "other", wanted]
        return [int(t == wanted) for t in texts], names, f"1 = {wanted}, 0 = {few(others) or 'none'}"
    if all(isinstance(v, bool) for v in values):
        return [int(v) for v in values], None, "booleans"
    if all(isinstance(v, int) for v in values):
        if set(values) <= {0, 1}:
            return values, None, ""
        if set(values) <= {-1, 1}:
            return [(v + 1) // 2 for v in values], None, "labels -1 and 1"
        wrong = next(v for v in values if v not in (0, 1))
        raise BadInputError(
            f"{path}: {labels.title} holds label {wrong} at row {labels.row(wrong)}; labels must be integers 0..1 for one column "
            f"of probabilities, or positive=LABEL says whose probability {columns.title} is ({few(sorted(map(str, values)))})."
        )
    pair = _pair(texts)
    if pair:
        return [pair.index(t.lower()) for t in texts], list(pair), f"1 = {pair[1]}"
    raise BadInputError(
        f"{path}: {labels.title} holds the names {few(sorted(texts))}; {columns.title} is one column, the probability of which? "
        f"say positive={sorted(texts)[-1]}, or another of them."
    )


def _matrix(labels, columns, k, asked, path):
    """(column per distinct label, class names, what is said) where every class has a column of p."""
    values, texts, names = labels.values, labels.texts, columns.classes
    if asked.class_names:
        return _by_names(labels, columns, k, asked.class_names, path)
    ints = all(isinstance(v, int) and not isinstance(v, bool) for v in values)
    decide = f"class_names=[...] gives the labels in the order of the columns{f' {few(columns.names)}' if names else ''}"
    if names and set(texts) <= set(names):
        if columns.numbered and names[0] == "1" and names[-1] not in texts:
            raise BadInputError(
                f"{path}: the columns {few(columns.names)} count from 1, and {labels.title} holds neither 0 nor {k}: "
                f"do labels count from 0 or from 1? {decide}."
            )
        first = f"label {names[0]} = column {columns.names[0]}" if columns.numbered and names[0] != "0" else ""
        return [names.index(t) for t in texts], None if columns.numbered else list(names), first
    if ints and names and not columns.numbered:
        ordered = columns.listed or list(names) == sorted(names)
        if not (ordered and set(values) <= set(range(k))):
            raise BadInputError(
                f"{path}: {labels.title} holds the labels {few(sorted(values))} and the columns are {few(columns.names)}: "
                f"which is which? {decide}, as class_names=[{','.join(map(str, range(min(k, 3))))}{',...' if k > 3 else ''}]."
            )
        return values, list(names), f"label 0 = column {columns.names[0]}, in the order of the columns"
    if all(isinstance(v, bool) for v in values) and k == 2:
        return [int(v) for v in values], None, "booleans"
    if ints:
        low, high = min(values), max(values)
        if low >= 0 and high < k:
            first = f"label 0 = column {columns.names[0]}" if columns.numbered and names[0] != "0" else ""
            return values, None, first or ("label 0 does not occur" if low > 0 and not labels.one_hot else "")
        if low >= 1 and high == k:
            first = f"column {columns.names[0]}" if names else "first column"
            return [v - 1 for v in values], None, f"labels 1..{k}: label 1 = {first}"
        if k == 2 and set(values) <= {-1, 1}:
            return [(v + 1) // 2 for v in values], None, "labels -1 and 1: 1 = second column"
        wrong = high if high >= k else low
        raise BadInputError(
            f"{path}: {labels.title} holds label {wrong} at row {labels.row(wrong)}; labels must be integers 0..{k - 1}, "
            f"or 1..{k}, for {k} columns of p; {decide}."
        )
    pair = _pair(texts) if k == 2 and not (names and not columns.numbered) else None
    if pair:
        return [pair.index(t.lower()) for t in texts], list(pair), f"second column = {pair[1]}"
    if names and not columns.numbered:
        wrong = next(v for v, t in zip(values, texts) if t not in names)
        raise BadInputError(
            f"{path}: {labels.title} holds the label {wrong!r} at row {labels.row(wrong)}, for which there is no column"
            f"{guess(as_text(wrong), list(names))}; the classes of the columns are {few(names)}."
        )
    raise BadInputError(f"{path}: {labels.title} holds the names {few(sorted(texts))}; which column is which? {decide}.")


def _by_names(labels, columns, k, class_names, path):
    """As `encode`, with the classes that the user gave: matched with columns that are named by class, else in the order of
    the columns."""
    names = [as_text(c) for c in class_names]
    if len(names) != k or len(set(names)) != k:
        raise BadInputError(
            f"{path}: class_names has {len(set(names))} different names; {k} are needed, in the order of the columns."
        )
    for value, text in zip(labels.values, labels.texts):
        if text not in names:
            raise BadInputError(
                f"{path}: {labels.title} holds the label {text} at row {labels.row(value)}{guess(text, names)}; "
                f"class_names has {few(names)}."
            )
    names = _in_order_of_columns(names, columns, path)
    one = columns.values is not None or len(columns.names) == 1
    return [names.index(t) for t in labels.texts], names, f"1 = {names[1]}" if k == 2 and one else ""


def _in_order_of_columns(names, columns, path):
    """The names of the classes as the columns have them; names that no column has are taken in the order of the columns."""
    own = columns.classes if columns.classes and not columns.listed else without_prefix(columns.names)
    for stated in (columns.names, own):
        if set(stated) == set(names):
            return list(stated)
    common = [name for name in own if name in names]
    if len(columns.names) == 1 and common == names[:1]:
        raise BadInputError(
            f"{path}: one column is the probability of the second class, {names[1]}, but {columns.title} is named by "
            f"{names[0]}; give class_names=[{names[1]},{names[0]}]."
        )
    if len(columns.names) == 1 or columns.numbered or not common:
        return names
    absent = next(name for name in names if name not in own)
    raise BadInputError(
        f"{path}: class_names has {absent}, for which there is no column; the classes of the columns are {few(own)}."
    )


def stored_classes(arrays, p, labels):
    """The array that names the columns, as scikit-learn's classes_, if labels are names that it holds."""
    k = 2 if p.ndim == 1 else p.shape[1]
    for name in named_among(arrays, CLASS_NAMES):
        values = arrays[name]
        if values.ndim == 1 and len(values) == k and k != len(p) and set(labels.texts) <= set(map(as_text, values.tolist())):
            return name
    return None


def stored_titles(arrays, p, labels):
    """The array that names the columns where labels are their numbers: k different names, none of them a number or a label, which
    could be meant to count differently."""
    k = 2 if p.ndim == 1 else p.shape[1]
    for name in named_among(arrays, CLASS_NAMES):
        values = arrays[name]
        if values.ndim == 1 and len(values) == k != len(p) and values.dtype.kind in "UO":
            texts = list(map(as_text, values.tolist()))
            if len(set(texts)) == k and not set(texts) & set(labels.texts) and not any(_is_number(t) for t in texts):
                return name
    return None


def _is_number(text):
    try:
        float(text)
    except ValueError:
        return False
    return True


def _pair(texts):
    lower = [t.lower() for t in texts]
    return next((pair for pair in PAIRS if set(lower) <= set(pair) and len(set(lower)) == len(lower)), None)
