"""Match the columns of predictions with the classes, by the names of the columns.

The columns of a data frame are named by class (`cat`, `p_cat`, `prob_cat`) or numbered (0, 1, 2 or
p_0, p_1, p_2). The columns of an array have no names. The table says how columns are matched,
depending on whether the caller names the classes:

| columns        | classes are named                                | classes are not named        |
|----------------|--------------------------------------------------|------------------------------|
| without names  | by position                                      | by position                  |
| numbered       | by name if the class names are the same numbers, | by number                    |
|                | otherwise by number                              |                              |
| named by class | by name; an error if the names differ            | by position; labels must be  |
|                |                                                  | names too                    |
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from harness.errors import BadInputError
from harness.math.arrays import to_array

PROBABILITY_NAMES = (
    "p", "prob", "probs", "probability", "probabilities", "proba", "probas", "confidence", "score",
    "scores", "y_prob", "y_proba", "y_score", "y_pred_proba", "y_pred_prob",
)  # fmt: skip
SHOWN = 6  # most names that a message lists


def match_columns(
    p: ArrayLike, y: ArrayLike, classes: Sequence[Any] | None = None
) -> tuple[ArrayLike, ArrayLike, tuple[str, ...] | None]:
    """Put the columns of p in the order of the classes, and turn labels into numbers.

    Parameters
    ----------
    p : array_like or data frame, (n,) or (n, k)
        Predictions. Only the columns of a data frame have names.
    y : array_like (n,)
        Labels: numbers 0..k-1, or names of classes. If all class names are numbers and y holds only
        these numbers, they are read as names.
    classes : sequence, optional
        Names of the k classes.

    Returns
    -------
    p : array_like
        Predictions with columns in the order of the classes.
    y : array_like (n,)
        Labels as numbers 0..k-1.
    names : tuple of str, or None
        Names of the classes. None if neither `classes` nor the columns name them.

    Raises
    ------
    BadInputError
        If the names of the columns differ from the classes, or if it stays unclear which label
        belongs to which column.

    Examples
    --------
    >>> import pandas as pd
    >>> p = pd.DataFrame({"p_dog": [0.9, 0.2], "p_cat": [0.1, 0.8]})
    >>> match_columns(p, ["dog", "dog"], ["cat", "dog"])
    (array([[0.1, 0.9],
           [0.8, 0.2]]), array([1, 1]), ('cat', 'dog'))
    """
    p, y = to_array(p), to_array(y)
    if classes is None and not hasattr(p, "columns") and not _has_text(y):  # the common case
        return p, y, None
    names = None if classes is None else _checked_names(classes, p)
    columns = column_names(p)
    if columns is not None and names is None:
        if not _numbered(columns):
            names = columns
            if not (_has_text(y) or _are_truth_values(y, names)):
                raise BadInputError(
                    f"p has columns named {few(columns)}, but y holds numbers. Give classes= with "
                    "the class names in the order of these numbers, or p.to_numpy() to keep the "
                    "order of the columns."
                )
        elif sorted(map(int, columns)) != list(range(len(columns))):
            _refuse_two_countings(columns, y)
    if names is None and _has_text(y):
        first = str(np.ravel(np.asarray(y))[0])
        raise BadInputError(
            f"y holds names, such as {first!r}. Give classes= with the class name of each column "
            "of p."
        )
    p = arrange_columns(p, names)
    return p, y if names is None else encode_labels(y, names), names


def arrange_columns(p: ArrayLike, classes: Sequence[str] | None) -> Any:
    """Return p as an array with its columns in the order of the classes.

    If `classes` is None, numbered columns are sorted by their numbers. BadInputError if the columns
    are named by other classes.
    """
    p = to_array(p)
    order = column_order(p, classes)
    return np.asarray(p) if order is None else np.asarray(p)[:, order]


def column_order(p: ArrayLike, classes: Sequence[str] | None) -> list[int] | None:
    """Return the column index of each class in a data frame; None if p has no column names.

    If `classes` is None, numbered columns are sorted by their numbers. BadInputError if the columns
    are named by other classes.
    """
    columns = column_names(p)
    if columns is None:
        _refuse_first_of_two(p, classes)
        return None
    return class_order(columns, _texts(p.columns), classes)  # type: ignore[union-attr]


def class_order(
    columns: Sequence[str], full_names: Sequence[str], classes: Sequence[str] | None
) -> list[int]:
    """Return the column index of each class.

    `columns` are the names of the columns without their common prefix, `full_names` the names with
    it. If `classes` is None, numbered columns are sorted by their numbers.

    Examples
    --------
    >>> class_order(["cat", "dog"], ["p_cat", "p_dog"], ["dog", "cat"])
    [1, 0]
    >>> class_order(["2", "1", "0"], ["p_2", "p_1", "p_0"], ["cat", "dog", "cow"])
    [2, 1, 0]
    """
    if classes is None:
        if not _numbered(columns):
            return list(range(len(columns)))
        return sorted(range(len(columns)), key=lambda j: int(columns[j]))
    for names in (full_names, columns):
        if set(names) == set(classes):
            return [list(names).index(name) for name in classes]
    if _numbered(columns) and len(columns) == len(classes) and not set(columns) & set(classes):
        return class_order(columns, full_names, None)
    raise BadInputError(
        f"the columns of p are named {few(full_names)}, but the classes are {few(classes)}. Name "
        "the columns by class, or give p.to_numpy() to keep the order of the columns."
    )


def column_names(p: Any) -> tuple[str, ...] | None:
    """Return the names of a data frame's columns without their common prefix.

    Return None for an array, and for a data frame with fewer than two columns.

    Examples
    --------
    >>> import pandas as pd
    >>> column_names(pd.DataFrame([[0.3, 0.7]], columns=["p_cat", "p_dog"]))
    ('cat', 'dog')
    """
    if not hasattr(p, "columns") or len(p.columns) < 2:
        return None
    texts = _texts(p.columns)
    if len(set(texts)) < len(texts):
        twice = next(text for text in texts if texts.count(text) > 1)
        raise BadInputError(
            f"p has two columns named {twice!r}; give each column a different name."
        )
    return without_prefix(texts)


def without_prefix(texts: Sequence[str]) -> tuple[str, ...]:
    """Return column names without their common prefix.

    Numbered columns may have any prefix. From other columns, only a usual prefix for probabilities
    (such as `p` or `prob`) is removed.

    Examples
    --------
    >>> without_prefix(["prob_cat", "prob_dog"]), without_prefix(["class_01", "class_02"])
    (('cat', 'dog'), ('1', '2'))
    >>> without_prefix(["cat", "p_dog"])
    ('cat', 'p_dog')
    """
    numbered = [re.fullmatch(r"(.*?)[_. -]?(\d{1,9})", text) for text in texts]
    if all(numbered) and len({match[1] for match in numbered if match}) == 1:
        numbers = tuple(str(int(match[2])) for match in numbered if match)
        if len(set(numbers)) == len(numbers):
            return numbers
    for prefix in PROBABILITY_NAMES:
        suffixes = [suffix(text, prefix) for text in texts]
        if all(suffixes) and len(set(suffixes)) == len(texts):
            return tuple(map(str, suffixes))
    return tuple(texts)


def suffix(text: str, prefix: str) -> str | None:
    """Return the part of a column name that follows the prefix, or None if there is no such part.

    Numbers lose their leading zeros.

    Examples
    --------
    >>> suffix("p_cat", "p"), suffix("p01", "p"), suffix("pig", "p")
    ('cat', '1', None)
    """
    form = re.escape(prefix) + r"(?:[_. -]?(\d{1,9})|[_. -](.+))"
    match = re.fullmatch(form, text, re.IGNORECASE)
    if not match:
        return None
    return str(int(match[1])) if match[1] else match[2].strip()


def encode_labels(y: ArrayLike, names: Sequence[str]) -> NDArray[Any]:
    """Return labels as positions in `names`.

    Numeric labels are returned unchanged, unless all names are numbers and y holds only these.

    Examples
    --------
    >>> encode_labels(["b", "a"], ["a", "b"]), encode_labels([1, 0], ["a", "b"])
    (array([1, 0]), array([1, 0]))
    >>> encode_labels([3, 1], ["1", "2", "3"])
    array([2, 0])
    """
    labels = np.asarray(y)
    numeric = labels.dtype.kind in "fiub"
    truth_values = _are_truth_values(y, names)
    if labels.dtype.kind == "b" and not truth_values:
        labels = labels.astype(np.int64)
    if numeric and not (truth_values or _numbered(names)):
        return labels
    distinct, index = np.unique(labels, return_inverse=True) if numeric else _distinct(labels)
    positions = {name: j for j, name in enumerate(names)}
    texts = [as_text(label) for label in distinct]
    absent = [i for i, text in enumerate(texts) if text not in positions]
    if absent and numeric:
        return labels
    if absent:
        row = int(np.argmax(np.isin(index, absent)))
        raise BadInputError(
            f"y holds label {texts[index.flat[row]]!r} at row {row}, but the classes are "
            f"{few(names)}."
        )
    return np.array([positions[text] for text in texts], dtype=np.int64)[index].reshape(
        labels.shape
    )


def as_text(value: Any) -> str:
    """Return a class name or label as text; whole numbers get no decimal point."""
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        return str(int(value))
    return str(value).strip()


def few(names: Sequence[Any], most: int = SHOWN) -> str:
    """Return names as a comma-separated list; long lists show only the first names and the last."""
    texts = [str(name).replace("\n", "\\n") for name in names]  # a message has one line
    if len(texts) <= most + 1:
        return ", ".join(texts)
    return f"{', '.join(texts[: most - 1])}, ... {texts[-1]} ({len(texts):,} in all)"


def _checked_names(classes: Sequence[Any], p: Any) -> tuple[str, ...]:
    """Return the class names as texts; BadInputError if they are not distinct or not k in number.

    k is the number of classes of the predictions p.
    """
    names = tuple(map(as_text, classes))
    shape = np.shape(p)
    k = shape[1] if len(shape) == 2 else 2
    if len(names) != k:
        raise BadInputError(
            f"classes has {len(names)} names, but p has {k} classes; one name per class is needed."
        )
    if len(set(names)) != k:
        raise BadInputError("classes has a name twice; give each class a different name.")
    return names


def _refuse_two_countings(columns: Sequence[str], y: ArrayLike) -> None:
    """Raise BadInputError if labels may count either from 0 or from the first column's number.

    `columns` are numbers that do not start at 0, for example 1..k. The labels are ambiguous if all
    of them are among these numbers.
    """
    labels = set(map(as_text, np.unique(np.asarray(y)).tolist()))
    if labels <= set(columns):
        dots = ", ..." if len(columns) > 3 else ""
        raise BadInputError(
            f"the columns of p are numbered {few(columns)}, and y holds the labels "
            f"{few(sorted(labels))}. If label {columns[0]} means column {columns[0]}, give "
            f"classes=[{', '.join(columns[:3])}{dots}]. If labels count from 0, give p.to_numpy()."
        )


def _refuse_first_of_two(p: Any, classes: Sequence[str] | None) -> None:
    """Raise BadInputError if a series holds the probabilities of the first of two classes.

    A one-dimensional p must hold the probabilities of the second class. The name of the series
    tells which class it belongs to.
    """
    name = getattr(p, "name", None)
    if name is None or classes is None or len(classes) != 2 or np.ndim(p) != 1:
        return
    text = as_text(name)
    if classes[0] in (text, *(suffix(text, prefix) for prefix in PROBABILITY_NAMES)):
        raise BadInputError(
            f"p is named {text!r}, but a single column must hold the probabilities of the second "
            f"class, {classes[1]!r}. Give 1 - p, or swap the classes."
        )


def _texts(columns: Any) -> list[str]:
    return [as_text(name) for name in columns]


def _numbered(names: Sequence[str]) -> bool:
    return all(re.fullmatch(r"\d{1,9}", name) for name in names)


def _are_truth_values(y: Any, names: Sequence[str]) -> bool:
    """Return True if the labels y are booleans and the classes are named False and True."""
    return np.asarray(y).dtype.kind == "b" and set(names) == {"False", "True"}


def _has_text(y: Any) -> bool:
    """Return True if the labels y are text, or objects of which the first is text."""
    try:
        labels = np.asarray(y)
    except ValueError:  # ragged; `notions.checked` refuses it
        return False
    if labels.dtype.kind == "O":
        return labels.size > 0 and isinstance(labels.flat[0], (str, bytes))
    return labels.dtype.kind in "US"


def _distinct(labels: NDArray[Any]) -> tuple[list[Any], NDArray[np.int64]]:
    """Return the distinct labels of an array of objects, and the index of each row's label."""
    codes: dict[Any, int] = {}
    rows = labels.ravel().tolist()
    index = np.array([codes.setdefault(row, len(codes)) for row in rows], dtype=np.int64)
    return list(codes), index
