"""Match the columns of predictions with the classes, by the names of the columns.

The columns of a data frame are named by class (`cat`, `p_cat`, `prob_cat`) or numbered (0, 1, 2 or
p_0, p_1, class_2). The columns of an array have no names. The table says how columns are matched,
depending on whether the caller names the classes:

| columns        | classes are named                                | classes are not named        |
|----------------|--------------------------------------------------|------------------------------|
| without names  | by position                                      | by position                  |
| numbered       | by name if the class names are the same numbers, | by number                    |
|                | otherwise by number                              |                              |
| named by class | by name; an error if the names differ            | by name; labels must be      |
|                |                                                  | these names, or truth values |

`harness.math.class_names` says which names are the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from harness.errors import BadInputError
from harness.math.arrays import refuse_masked, to_array
from harness.math.class_names import (
    SHOWN,
    are_numbers,
    are_swapped,
    as_text,
    class_of_column,
    classes_of_columns,
    counts_twice,
    few,
    label_places,
    match,
    order_by_value,
    spellings,
    without_prefix,
)


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
    refuse_masked("p", p)
    refuse_masked("y", y)
    if classes is None and not hasattr(p, "columns") and not _has_text(y):  # the common case
        _refuse_first_of_two(p, None)
        return p, y, None
    names = None if classes is None else _checked_names(classes, p)
    columns = column_names(p)
    if columns is not None and names is None:
        names = _names_of_columns(p, columns, y)
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
    refuse_masked("p", p)
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
    return class_order(_texts(p.columns), classes)  # type: ignore[union-attr]


def class_order(names: Sequence[str], classes: Sequence[str] | None) -> list[int]:
    """Return the column index of each class. `names` are the names of the columns.

    If `classes` is None, numbered columns are sorted by their numbers.

    Examples
    --------
    >>> class_order(["p_cat", "p_dog"], ["dog", "cat"])
    [1, 0]
    >>> class_order(["p_2", "p_1", "p_0"], ["cat", "dog", "cow"])
    [2, 1, 0]
    """
    columns = without_prefix(names)
    if classes is None:
        return order_by_value(columns)
    for stated in spellings(names):
        # Numbered columns are the positions of other classes: not the truth values yes and no.
        places = match(classes, stated) if are_numbers(classes) or not are_numbers(stated) else None
        if places is not None and len(places) == len(names):
            return places
    if are_numbers(columns) and len(columns) == len(classes) and not set(columns) & set(classes):
        return order_by_value(columns)
    raise BadInputError(
        f"the columns of p are named {few(names)}, but the classes are {few(classes)}. Name "
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


def encode_labels(y: ArrayLike, names: Sequence[str]) -> NDArray[Any]:
    """Return labels as positions in `names`.

    Numeric labels are positions themselves, unless the names are or carry these numbers.

    Examples
    --------
    >>> encode_labels(["b", "a"], ["a", "b"]), encode_labels([1, 0], ["a", "b"])
    (array([1, 0]), array([1, 0]))
    >>> encode_labels([3, 1], ["1", "2", "3"]), encode_labels([2], ["c_1", "c_2", "c_0"])
    (array([2, 0]), array([1]))
    """
    labels = np.asarray(y)
    texts, index = _distinct_texts(labels)
    if are_swapped(texts, names) and labels.dtype.kind != "b":
        raise BadInputError(
            f"classes names {names[0]} first, but y holds 0 and 1, and 1 means {names[0]}. Give "
            f"classes={[names[1], names[0]]}, with the columns of p in this order."
        )
    places = label_places(texts, names)
    if places is not None:
        return np.array(places, dtype=np.int64)[index].reshape(labels.shape)
    if labels.dtype.kind in "fiub":
        return labels.astype(np.int64) if labels.dtype.kind == "b" else labels
    absent = [i for i, text in enumerate(texts) if match([text], names) is None]
    row = int(np.argmax(np.isin(index, absent)))
    raise BadInputError(
        f"y holds label {texts[index[row]]!r} at row {row}, but the classes are {few(names)}."
    )


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


def _names_of_columns(p: Any, columns: tuple[str, ...], y: Any) -> tuple[str, ...] | None:
    """Return the class names of a data frame, in the order of the classes.

    `columns` are the names of its columns without their prefix. Return None for numbered columns
    whose classes are 0..k-1.
    """
    labels, _ = _distinct_texts(np.asarray(y))
    classes = classes_of_columns(_texts(p.columns), labels)
    if classes is not None:
        names = tuple(classes[j] for j in order_by_value(classes))
        is_counted = names == tuple(map(str, range(len(names))))
        return None if is_counted and not _has_text(y) else names
    if are_numbers(columns):
        if counts_twice(labels, columns):
            ordered = [columns[j] for j in order_by_value(columns)]
            raise BadInputError(
                f"the columns of p are numbered {few(columns)}, and y holds the labels "
                f"{few(sorted(labels))}. If label {ordered[0]} means column {ordered[0]}, give "
                f"classes={_as_code(ordered)}. If labels count from 0, give these classes and "
                f"y + {ordered[0]}."
            )
        return None
    if not _has_text(y):
        raise BadInputError(
            f"p has columns named {few(columns)}, but y holds numbers. Give classes= with the "
            "class names in the order of these numbers, or p.to_numpy() to keep the order of the "
            "columns."
        )
    return columns


def _as_code(numbers: Sequence[str]) -> str:
    """Return numbers in ascending order as a list or range of Python."""
    first, last = int(numbers[0]), int(numbers[-1])
    if len(numbers) > SHOWN and last - first + 1 == len(numbers):
        return f"range({first}, {last + 1})"
    return f"[{', '.join(numbers)}]"


def _refuse_first_of_two(p: Any, classes: Sequence[str] | None) -> None:
    """Raise BadInputError if a series holds the probabilities of the first of two classes.

    A one-dimensional p must hold the probabilities of the second class. The name of the series
    tells which class it belongs to: the first of `classes`, or without them 0 or False. A bare 0
    may be the default name of a column, and is accepted.
    """
    name = getattr(p, "name", None)
    if name is None or np.ndim(p) != 1:
        return
    stated = class_of_column(as_text(name))
    if classes is None:
        is_first = any(match([text], ["0", "1"]) == [0] for text in stated if text != as_text(name))
        first, second = "0", "1"
    elif len(classes) != 2:
        return
    else:
        first, second = classes
        is_first = first in stated
    if is_first:
        raise BadInputError(
            f"p is named {as_text(name)!r}, but a single column must hold the probabilities of the "
            f"second class, {second!r}. Give 1 - p, or swap the classes."
        )


def _texts(columns: Any) -> list[str]:
    return [as_text(name) for name in columns]


def _has_text(y: Any) -> bool:
    """Return True if the labels y are text, or objects of which the first is text."""
    try:
        labels = np.asarray(y)
    except ValueError:  # ragged; `notions.checked` refuses it
        return False
    if labels.dtype.kind == "O":
        return labels.size > 0 and isinstance(labels.flat[0], (str, bytes))
    return labels.dtype.kind in "US"


def _distinct_texts(labels: NDArray[Any]) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    """Return the different labels as texts, and the index of each row's label.

    Labels that are the same text, such as " yes" and "yes", have one index.
    """
    rows = labels.ravel()
    distinct, index = (
        np.unique(rows, return_inverse=True) if rows.dtype.kind in "fiub" else _distinct(rows)
    )
    texts = [as_text(label) for label in distinct]
    merged = {text: i for i, text in enumerate(dict.fromkeys(texts))}
    places = np.array([merged[text] for text in texts], dtype=np.int64)
    return tuple(merged), places[index] if len(places) else index


def _distinct(labels: NDArray[Any]) -> tuple[list[Any], NDArray[np.int64]]:
    """Return the distinct labels of an array of objects, and the index of each row's label."""
    codes: dict[Any, int] = {}
    index = [codes.setdefault(row, len(codes)) for row in labels.tolist()]
    return list(codes), np.array(index, dtype=np.int64)
