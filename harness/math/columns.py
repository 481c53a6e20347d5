"""Which column of predictions belongs to which class: the names of a data frame's columns, matched with the classes.

Columns are named by class (`cat`, `p_cat`, `prob_cat`), or numbered (0, 1, 2; p_0, p_1, p_2), or have no names (an array).

| columns    | classes given                                   | classes not given                              |
|------------|-------------------------------------------------|------------------------------------------------|
| no names   | in their order                                  | in their order                                 |
| numbered   | by name if the classes are these numbers, else  | by their numbers                               |
|            | by their numbers                                |                                                |
| by class   | by name; other names than the classes: refused  | labels must be names: a number says no class   |
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
SHOWN = 6


def matched(
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
        If the names of the columns are not the classes, or do not say which label is which.

    Examples
    --------
    >>> import pandas as pd
    >>> p = pd.DataFrame({"p_dog": [0.9, 0.2], "p_cat": [0.1, 0.8]})
    >>> matched(p, ["dog", "dog"], ["cat", "dog"])
    (array([[0.1, 0.9],
           [0.8, 0.2]]), array([1, 1]), ('cat', 'dog'))
    """
    if classes is None and not hasattr(p, "columns") and not _has_text(y):  # cell after cell
        return p, y, None
    names = None if classes is None else _checked_names(classes, p)
    columns = column_names(p)
    if columns is not None and names is None:
        if not _numbered(columns):
            names = columns
            if not (_has_text(y) or _are_truth_values(y, names)):
                raise BadInputError(
                    f"p has columns named {few(columns)}, and y holds numbers: give classes= with the "
                    "name of each number in turn, or p.to_numpy() to take the columns in their order."
                )
        elif sorted(map(int, columns)) != list(range(len(columns))):
            _refuse_two_countings(columns, y)
    if names is None and _has_text(y):
        first = str(np.ravel(np.asarray(y))[0])
        raise BadInputError(
            f"y holds names, such as {first!r}; say by classes= which column of p is which."
        )
    p = arranged(p, names)
    return p, y if names is None else encoded(y, names), names


def arranged(p: ArrayLike, classes: Sequence[str] | None) -> Any:
    """p as an array, the columns of a data frame in the order of the classes, else of their numbers.

    Raises
    ------
    BadInputError
        If the columns are named by other classes.
    """
    order = order_of(p, classes)
    return np.asarray(p) if order is None else np.asarray(p)[:, order]


def order_of(p: ArrayLike, classes: Sequence[str] | None) -> list[int] | None:
    """Place of the column of each class in a data frame; None if p has no names of columns."""
    columns = column_names(p)
    if columns is None:
        _refuse_first_of_two(p, classes)
        return None
    return order(columns, _texts(p.columns), classes)  # type: ignore[union-attr]


def order(
    columns: Sequence[str], full_names: Sequence[str], classes: Sequence[str] | None
) -> list[int]:
    """Place of the column of each class.

    columns: what the columns are named by, without what all begin with; full_names: with it.

    Examples
    --------
    >>> order(["cat", "dog"], ["p_cat", "p_dog"], ["dog", "cat"])
    [1, 0]
    >>> order(["2", "1", "0"], ["p_2", "p_1", "p_0"], ["cat", "dog", "cow"])
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
        return order(columns, full_names, None)
    raise BadInputError(
        f"the columns of p are named {few(full_names)}, but the classes are {few(classes)}; name the "
        "columns by class, or give p.to_numpy() to take them in their order."
    )


def column_names(p: Any) -> tuple[str, ...] | None:
    """What the columns of a data frame are named by, without what all of them begin with.

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
        raise BadInputError(f"p has two columns named {twice!r}; give each a name of its own.")
    return without_prefix(texts)


def without_prefix(texts: Sequence[str]) -> tuple[str, ...]:
    """Names of columns without a common beginning: of numbered columns any, else one that
    probabilities have.

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
            return tuple(str(one) for one in suffixes)
    return tuple(texts)


def suffix(text: str, prefix: str) -> str | None:
    """What follows the prefix in the name of a column, a number without leading zeros; None if
    nothing does, or the name begins otherwise.

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


def encoded(y: ArrayLike, names: Sequence[str]) -> NDArray[Any]:
    """Labels as places in `names`. Numbers stay, unless all names are numbers and y holds only these.

    Examples
    --------
    >>> encoded(["b", "a"], ["a", "b"]), encoded([1, 0], ["a", "b"]), encoded([3, 1], ["1", "2", "3"])
    (array([1, 0]), array([1, 0]), array([2, 0]))
    """
    labels = np.asarray(y)
    numeric = labels.dtype.kind in "fiub"
    truth_values = _are_truth_values(y, names)
    if labels.dtype.kind == "b" and not truth_values:
        labels = labels.astype(np.int64)
    if numeric and not (truth_values or _numbered(names)):
        return labels
    distinct, index = np.unique(labels, return_inverse=True) if numeric else _distinct(labels)
    place = {name: j for j, name in enumerate(names)}
    texts = [as_text(one) for one in distinct]
    absent = [i for i, text in enumerate(texts) if text not in place]
    if absent and numeric:
        return labels
    if absent:
        row = int(np.argmax(np.isin(index, absent)))
        raise BadInputError(
            f"y holds label {texts[index.flat[row]]!r} at row {row}, which is none of the classes."
        )
    return np.array([place[text] for text in texts], dtype=np.int64)[index].reshape(labels.shape)


def as_text(value: Any) -> str:
    """A class or label as text: whole numbers without a decimal point, no spaces around it."""
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        return str(int(value))
    return str(value).strip()


def few(names: Sequence[Any], most: int = SHOWN) -> str:
    """Names in a sentence, the first and the last of many."""
    texts = [str(name) for name in names]
    if len(texts) <= most + 1:
        return ", ".join(texts)
    return f"{', '.join(texts[: most - 1])}, ... {texts[-1]} ({len(texts):,} in all)"


def _checked_names(classes: Sequence[Any], p: Any) -> tuple[str, ...]:
    names = tuple(as_text(one) for one in classes)
    shape = np.shape(p)
    k = shape[1] if len(shape) == 2 else 2
    if len(names) != k:
        raise BadInputError(
            f"classes has {len(names)} names, but p has {k} classes; one name per class is needed."
        )
    if len(set(names)) != k:
        raise BadInputError("classes has a name twice; give each class a name of its own.")
    return names


def _refuse_two_countings(columns: Sequence[str], y: ArrayLike) -> None:
    """Refuse columns numbered 1..k with labels that may be these numbers as well as 0..k-1."""
    labels = {as_text(one) for one in np.unique(np.asarray(y)).tolist()}
    if labels <= set(columns):
        raise BadInputError(
            f"the columns of p are numbered {few(columns)}, and y holds {few(sorted(labels))}: is "
            f"label {columns[0]} that column? Then give classes=[{', '.join(columns[:3])}"
            f"{', ...' if len(columns) > 3 else ''}]; if labels count from 0, p.to_numpy()."
        )


def _refuse_first_of_two(p: Any, classes: Sequence[str] | None) -> None:
    """Refuse a series of probabilities of the first of two classes, as p (n,) is of the second."""
    name = getattr(p, "name", None)
    if name is None or classes is None or len(classes) != 2 or np.ndim(p) != 1:
        return
    text = as_text(name)
    if classes[0] in (text, *(suffix(text, prefix) for prefix in PROBABILITY_NAMES)):
        raise BadInputError(
            f"p is named {text!r}, but one column of probabilities is of the second of the classes, "
            f"{classes[1]!r}; give 1 - p, or the classes in the other order."
        )


def _texts(columns: Any) -> list[str]:
    return [as_text(name) for name in columns]


def _numbered(names: Sequence[str]) -> bool:
    return all(re.fullmatch(r"\d{1,9}", name) for name in names)


def _are_truth_values(y: Any, names: Sequence[str]) -> bool:
    """True if labels are booleans and the classes are named False and True."""
    return np.asarray(y).dtype.kind == "b" and set(names) == {"False", "True"}


def _has_text(y: Any) -> bool:
    """True if labels are names: text, or objects of which the first is text."""
    try:
        labels = np.asarray(y)
    except ValueError:  # ragged, which `notions.checked` refuses
        return False
    if labels.dtype.kind == "O":
        return labels.size > 0 and isinstance(labels.flat[0], (str, bytes))
    return labels.dtype.kind in "US"


def _distinct(labels: NDArray[Any]) -> tuple[list[Any], NDArray[np.int64]]:
    """Distinct labels of text or mixed objects, and the place of each row's label among them."""
    codes: dict[Any, int] = {}
    rows = labels.ravel().tolist()
    index = np.array([codes.setdefault(row, len(codes)) for row in rows], dtype=np.int64)
    return list(codes), index
