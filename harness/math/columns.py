"""Match the columns of a data frame of predictions with the classes, by their names.

Columns are named by class (`cat`, `p_cat`, `prob_cat`), or numbered (0, 1, 2; p_0, p_1, p_2), or
have no names (an array).

| columns  | classes given                                  | classes not given                   |
|----------|------------------------------------------------|-------------------------------------|
| no names | in their order                                 | in their order                      |
| numbered | by name if the classes are these numbers, else | by their numbers                    |
|          | by their numbers                               |                                     |
| by class | by name; names other than the classes: refused | labels must be names, not numbers   |
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from harness.errors import BadInputError

PROBABILITY_NAMES = (
    "p", "prob", "probs", "probability", "probabilities", "proba", "probas", "confidence", "score",
    "scores", "y_prob", "y_proba", "y_score", "y_pred_proba", "y_pred_prob",
)  # fmt: skip
SHOWN = 6  # names listed in a message


def match_columns(
    p: ArrayLike, y: ArrayLike, classes: Sequence[Any] | None = None
) -> tuple[ArrayLike, ArrayLike, tuple[str, ...] | None]:
    """Put the columns of p and the labels in the order of the classes.

    Parameters
    ----------
    p : array_like or data frame, (n,) or (n, k)
        Predictions. Only a data frame has names of columns.
    y : array_like (n,)
        Labels: numbers 0..k-1, or names of classes. Where all classes are numbers, numbers among
        them are names.
    classes : sequence, optional
        Names of the k classes.

    Returns
    -------
    p, y, names
        p with its columns in the order of the classes, labels as numbers 0..k-1, and the names of
        the classes; None if nothing names them.

    Raises
    ------
    BadInputError
        If the names of the columns are not the classes, or leave open which label belongs to which
        column.

    Examples
    --------
    >>> import pandas as pd
    >>> p = pd.DataFrame({"p_dog": [0.9, 0.2], "p_cat": [0.1, 0.8]})
    >>> match_columns(p, ["dog", "dog"], ["cat", "dog"])
    (array([[0.1, 0.9],
           [0.8, 0.2]]), array([1, 1]), ('cat', 'dog'))
    """
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
                    "the name of each number in turn, or p.to_numpy() to keep the columns' order."
                )
        elif sorted(map(int, columns)) != list(range(len(columns))):
            _refuse_two_countings(columns, y)
    if names is None and _has_text(y):
        first = str(np.ravel(np.asarray(y))[0])
        raise BadInputError(
            f"y holds names, such as {first!r}. Give classes= with the name of each column of p."
        )
    p = arrange_columns(p, names)
    return p, y if names is None else encode_labels(y, names), names


def arrange_columns(p: ArrayLike, classes: Sequence[str] | None) -> Any:
    """Return p as an array, its columns in the order of the classes, else of their numbers.

    BadInputError if the columns are named by other classes.
    """
    order = column_order(p, classes)
    return np.asarray(p) if order is None else np.asarray(p)[:, order]


def column_order(p: ArrayLike, classes: Sequence[str] | None) -> list[int] | None:
    """Return the position of each class's column in a data frame; None if p has no column names."""
    columns = column_names(p)
    if columns is None:
        _refuse_first_of_two(p, classes)
        return None
    return class_order(columns, _texts(p.columns), classes)  # type: ignore[union-attr]


def class_order(
    columns: Sequence[str], full_names: Sequence[str], classes: Sequence[str] | None
) -> list[int]:
    """Return the position of each class's column.

    columns: names of the columns without their common prefix; full_names: with it.

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
        "the columns by class, or give p.to_numpy() to keep their order."
    )


def column_names(p: Any) -> tuple[str, ...] | None:
    """Return the names of a data frame's columns without their common prefix.

    None for an array, and for a frame with fewer than two columns.

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
        raise BadInputError(f"p has two columns named {twice!r}; give each its own name.")
    return without_prefix(texts)


def without_prefix(texts: Sequence[str]) -> tuple[str, ...]:
    """Return names of columns without their common prefix.

    Numbered columns may have any prefix, others one that is usual for probabilities.

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
    """Return the part of a column name after the prefix, a number without leading zeros.

    None if nothing follows the prefix, or the name begins otherwise.

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

    Numbers stay, unless all names are numbers and y holds only these.

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
            f"y holds label {texts[index.flat[row]]!r} at row {row}, which is not among the "
            "classes."
        )
    return np.array([positions[text] for text in texts], dtype=np.int64)[index].reshape(
        labels.shape
    )


def as_text(value: Any) -> str:
    """Return a class or label as text; whole numbers have no decimal point."""
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        return str(int(value))
    return str(value).strip()


def few(names: Sequence[Any], most: int = SHOWN) -> str:
    """Return names joined for a sentence; of many, only the first ones and the last."""
    texts = [str(name) for name in names]
    if len(texts) <= most + 1:
        return ", ".join(texts)
    return f"{', '.join(texts[: most - 1])}, ... {texts[-1]} ({len(texts):,} in all)"


def _checked_names(classes: Sequence[Any], p: Any) -> tuple[str, ...]:
    """Return the classes as texts; BadInputError unless each class of p has its own name."""
    names = tuple(map(as_text, classes))
    shape = np.shape(p)
    k = shape[1] if len(shape) == 2 else 2
    if len(names) != k:
        raise BadInputError(
            f"classes has {len(names)} names, but p has {k} classes; one name per class is needed."
        )
    if len(set(names)) != k:
        raise BadInputError("classes has a name twice; give each class its own name.")
    return names


def _refuse_two_countings(columns: Sequence[str], y: ArrayLike) -> None:
    """Refuse columns numbered 1..k with labels that may count from 1 as well as from 0."""
    labels = set(map(as_text, np.unique(np.asarray(y)).tolist()))
    if labels <= set(columns):
        dots = ", ..." if len(columns) > 3 else ""
        raise BadInputError(
            f"the columns of p are numbered {few(columns)}, and y holds {few(sorted(labels))}. If "
            f"label {columns[0]} means that column, give classes=[{', '.join(columns[:3])}{dots}]. "
            "If labels count from 0, give p.to_numpy()."
        )


def _refuse_first_of_two(p: Any, classes: Sequence[str] | None) -> None:
    """Refuse a series of probabilities of the first of two classes; p (n,) means the second."""
    name = getattr(p, "name", None)
    if name is None or classes is None or len(classes) != 2 or np.ndim(p) != 1:
        return
    text = as_text(name)
    if classes[0] in (text, *(suffix(text, prefix) for prefix in PROBABILITY_NAMES)):
        raise BadInputError(
            f"p is named {text!r}, but a single column holds the probabilities of the second "
            f"class, {classes[1]!r}. Give 1 - p, or the classes in the other order."
        )


def _texts(columns: Any) -> list[str]:
    return [as_text(name) for name in columns]


def _numbered(names: Sequence[str]) -> bool:
    return all(re.fullmatch(r"\d{1,9}", name) for name in names)


def _are_truth_values(y: Any, names: Sequence[str]) -> bool:
    """Return True if labels are booleans and the classes are named False and True."""
    return np.asarray(y).dtype.kind == "b" and set(names) == {"False", "True"}


def _has_text(y: Any) -> bool:
    """Return True if labels are names: text, or objects of which the first is text."""
    try:
        labels = np.asarray(y)
    except ValueError:  # ragged; `notions.checked` refuses it
        return False
    if labels.dtype.kind == "O":
        return labels.size > 0 and isinstance(labels.flat[0], (str, bytes))
    return labels.dtype.kind in "US"


def _distinct(labels: NDArray[Any]) -> tuple[list[Any], NDArray[np.int64]]:
    """Return the distinct labels of text or mixed objects, and each row's position among them."""
    codes: dict[Any, int] = {}
    rows = labels.ravel().tolist()
    index = np.array([codes.setdefault(row, len(codes)) for row in rows], dtype=np.int64)
    return list(codes), index
