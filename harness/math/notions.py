"""Which reduction of (p, y) is judged: the only place where predictions are validated and reduced.

| notion      | p given                    | reduced p  | reduced y                  | judged is                              |
|-------------|----------------------------|------------|----------------------------|----------------------------------------|
| `binary`    | (n,) or (n, 2)             | (n,)       | (n,) in {0, 1}             | P(Y = 1 given p)                       |
| `top_label` | (n, k) or (n,) confidences | (n,)       | (n,) 1 = top class correct | P(Y = argmax p given max p)            |
| `classwise` | (n, k) or (n,)             | (n, k)     | (n, k) indicators          | mean over classes of the binary errors |
| `canonical` | (n, k) or (n,)             | (n, k)     | (n,) in 0..k-1             | E[one-hot Y given the whole vector p]  |

One-dimensional p means P(Y = 1), except under `top_label`, where it means confidences and y says whether each was right.
Written on the two columns of a binary problem, L1 is twice, and the squared error twice, the scalar value.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from harness.errors import BadInputError
from harness.math.columns import matched

NOTIONS = ("binary", "top_label", "classwise", "canonical")
SCALAR_NOTIONS = NOTIONS[:3]  # what an estimator is taken to judge that declares nothing
ROW_SUM_TOLERANCE = 1e-4
BLOCK = 2**15  # rows at a time


def checked(
    p: ArrayLike, y: ArrayLike, classes: Sequence[Any] | None = None
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Validate predictions and labels; return them as float64 and int64 arrays (copies only when the type changes).

    p: (n,) or (n, k >= 2), in [0, 1], rows summing to 1 within 1e-4. y: (n,) integers, 0..1 or 0..k-1, or names of classes.
    Columns of a data frame are matched with the classes by name (harness.math.columns).
    Raises BadInputError naming the argument, what was found and what is allowed. Nothing is clipped or renormalised.
    """
    p, y, _ = matched(p, y, classes)
    p = numeric("p", p)
    y = numeric("y", y)
    if p.ndim not in (1, 2):
        raise BadInputError(f"p has {p.ndim} dimensions; allowed are (n,) or (n, k).")
    if p.ndim == 2 and p.shape[1] < 2:
        raise BadInputError(
            f"p has shape {p.shape}; a matrix of probabilities needs at least 2 columns, else give shape (n,)."
        )
    if y.ndim != 1:
        raise BadInputError(f"y has shape {y.shape}; it must be (n,), one label per row of p.")
    if len(p) == 0:
        raise BadInputError("p is empty; at least one sample is needed.")
    if len(p) != len(y):
        raise BadInputError(
            f"p has {len(p)} rows but y has {len(y)} labels; they must be equally many."
        )
    p = p.astype(np.float64, copy=False)
    low, high = _range(p)
    if not (low >= 0.0 and high <= 1.0):  # also false for NaN
        _refuse_values(p)
    if p.ndim == 2:
        sums = p.sum(axis=1)
        worst = int(np.argmax(np.abs(sums - 1.0)))
        if abs(sums[worst] - 1.0) > ROW_SUM_TOLERANCE:
            raise BadInputError(
                f"p: row {worst} sums to {sums[worst]:.6g}, the worst of {len(p)} rows; every row must sum to 1 "
                f"within {ROW_SUM_TOLERANCE:g}."
            )
    return p, _labels(y, 2 if p.ndim == 1 else p.shape[1])


def reduce(
    p: ArrayLike, y: ArrayLike, notion: str, classes: Sequence[Any] | None = None
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Reduce predictions and labels to what a notion judges.

    Parameters
    ----------
    p : array_like, (n,) or (n, k)
        Probabilities in [0, 1], rows summing to 1 within 1e-4. One-dimensional p means P(Y = 1), under `top_label` confidences.
        Columns of a data frame that are named by class are matched with the classes by name.
    y : array_like, (n,)
        Integers 0..k-1 (0 and 1 for one-dimensional p), or names of classes.
    notion : str
        binary, top_label, classwise or canonical.
    classes : sequence, optional
        Names of the k classes: of the numbers 0..k-1 in y, and of the columns of an array.

    Returns
    -------
    p, y : numpy.ndarray
        binary: P(Y = 1) and y, (n,). top_label: the largest probability and whether its class is the label, (n,). classwise: p
        and the indicators of the labels, (n, k). canonical: p (n, k) and y (n,).

    Raises
    ------
    BadInputError
        Naming the argument, what was found and what is allowed. Nothing is clipped or renormalised.

    Examples
    --------
    >>> p, y = reduce([[0.7, 0.2, 0.1], [0.3, 0.3, 0.4]], [0, 1], "top_label")
    >>> p, y
    (array([0.7, 0.4]), array([1, 0]))
    """
    if notion not in NOTIONS:
        raise BadInputError(f"notion is {notion!r}; allowed are {', '.join(NOTIONS)}.")
    p, y = checked(p, y, classes)
    if notion == "binary":
        if p.ndim == 2 and p.shape[1] != 2:
            raise BadInputError(
                f"p has {p.shape[1]} classes; the binary notion needs (n,) or (n, 2)."
            )
        return (p, y) if p.ndim == 1 else (p[:, 1], y)
    if notion == "top_label":
        if p.ndim == 1:
            return p, y
        top = p.argmax(axis=1)
        return p[np.arange(len(p)), top], (top == y).astype(np.int64)
    if p.ndim == 1:
        p = np.column_stack([1.0 - p, p])
    if notion == "classwise":
        return p, one_hot(y, p.shape[1]).astype(np.int64)
    return p, y


def one_hot(y: NDArray[Any], classes: int) -> NDArray[Any]:
    """(n,) labels -> (n, classes) float64 indicators."""
    found: NDArray[Any] = (y[:, None] == np.arange(classes)).astype(np.float64)
    return found


def numeric(name: str, values: ArrayLike) -> NDArray[Any]:
    """The values as an array of numbers; BadInputError on text, objects and ragged rows."""
    try:
        values = np.asarray(values)
    except ValueError:
        raise BadInputError(f"{name} is ragged; an array of numbers is needed.") from None
    if values.dtype.kind not in "fiub":
        raise BadInputError(f"{name} has type {values.dtype}; numbers are needed.")
    return values


def number(x: Any) -> float:
    """x as a float; TypeError on texts, truth values, complex numbers and arrays, some of which float() would take."""
    if type(x) is float or type(x) is np.float64:  # what estimators return, cell after cell
        return float(x)
    if isinstance(x, np.ndarray) and x.ndim == 0:
        x = x[()]  # of a text or an object too, which float() would take from its array
    if (
        isinstance(x, (str, bytes, bool, np.bool_, np.void))
        or np.iscomplexobj(x)
        or np.ndim(x) != 0
    ):
        raise TypeError(f"{x!r} is no number")
    return float(x)


def _range(a: NDArray[Any]) -> tuple[Any, Any]:
    """(least, largest) of an array, NaN where it holds one; rows are taken in blocks, so that they are read from memory once."""
    if len(a) <= BLOCK:
        return a.min(), a.max()
    blocks = [a[at : at + BLOCK] for at in range(0, len(a), BLOCK)]
    return np.min([block.min() for block in blocks]), np.max([block.max() for block in blocks])


def _refuse_values(p: NDArray[Any]) -> None:
    wrong = np.argwhere(~((p >= 0.0) & (p <= 1.0)))
    where = tuple(int(i) for i in wrong[0])
    place = f"row {where[0]}" + (f", column {where[1]}" if p.ndim == 2 else "")
    found = "NaN" if np.isnan(p[where]) else f"{p[where]:.6g}"
    raise BadInputError(
        f"p holds {found} at {place} ({len(wrong)} such values); probabilities must lie in [0, 1]."
    )


def _labels(y: NDArray[Any], classes: int) -> NDArray[Any]:
    if y.dtype.kind == "f":
        whole = np.isfinite(y) & (y == np.floor(y))
        if not whole.all():
            i = int(np.argmin(whole))
            raise BadInputError(
                f"y holds {y[i]:.6g} at row {i}; labels must be integers 0..{classes - 1}."
            )
    low, high = _range(y)
    if low < 0 or high >= classes:
        i = int(np.argmax((y < 0) | (y >= classes)))
        raise BadInputError(
            f"y holds label {y[i]:g} at row {i}; labels must be integers 0..{classes - 1}."
        )
    return y.astype(np.int64, copy=False)
