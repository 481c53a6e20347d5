"""Validate predictions and labels, and reduce them to the probability that a notion judges.

This is the only place where that happens. A notion of calibration compares a reduced prediction p
with a reduced outcome y:

| notion      | p given                    | reduced p | reduced y         | compared with p      |
|-------------|----------------------------|-----------|-------------------|----------------------|
| `binary`    | (n,) or (n, 2)             | (n,)      | (n,), 0 or 1      | P(Y = 1 given p)     |
| `top_label` | (n, k) or (n,) confidences | (n,)      | (n,), 1 if t = Y  | P(t = Y given p_t)   |
| `classwise` | (n, k) or (n,)             | (n, k)    | (n, k) indicators | P(Y = j given p_j)   |
| `canonical` | (n, k) or (n,)             | (n, k)    | (n,), 0..k-1      | E[e_Y given p]       |

Y is the label, e_Y its one-hot vector, t the class with the largest probability, and j a class.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from harness.common.wording import format_count
from harness.errors import BadInputError
from harness.math.arrays import as_known_type, refuse_masked
from harness.math.class_names import IGNORED, IGNORED_MEANING
from harness.math.columns import match_columns

NOTIONS = ("binary", "top_label", "classwise", "canonical")
SCALAR_NOTIONS = NOTIONS[:3]  # default of an estimator that declares no notions
# Largest error by rounding of a probability below 0 or above 1, and of the sum of a row. A float32
# softmax over 1,000 classes misses 1 by about 1e-5.
TOLERANCE = 1e-4


def checked(
    p: ArrayLike,
    y: ArrayLike,
    classes: Sequence[Any] | None = None,
    tolerance: float | None = None,
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Validate predictions and labels; return them as float64 and int64 arrays.

    * `p`: (n,) or (n, k) with k >= 2, in [0, 1], with rows that sum to 1.
    * `y`: (n,), integers 0..k-1 (0 and 1 for one-dimensional p), or names of classes.
    * `classes`: names of the k classes. Columns of a data frame are matched with them by name
      (harness.math.columns).
    * `tolerance`: largest error of the sum of a row. Default: `row_tolerance(p)`.

    Values that miss [0, 1] by at most 1e-4 are rounding errors and become 0 or 1. Rows may miss 1
    by 1e-4, and are not divided by their sums. Rows of numbers of 16 bits may miss 1 by more
    (`row_tolerance`), and then are. Masked values are refused. Arrays are copied only if their type
    or a value changes. BadInputError names the argument, the offending value and the allowed
    values.
    """
    tolerance = row_tolerance(p) if tolerance is None else tolerance
    p, y, _ = match_columns(p, y, classes)
    p = numeric("p", p)
    y = numeric("y", y)
    if p.ndim not in (1, 2):
        raise BadInputError(f"p has {p.ndim} dimensions; allowed are (n,) or (n, k).")
    if p.ndim == 2 and p.shape[1] < 2:
        raise BadInputError(
            f"p has shape {p.shape}; a matrix of probabilities needs at least 2 columns. Give a "
            "single column as shape (n,)."
        )
    if y.ndim != 1:
        several = ""
        if y.shape == p.shape:
            several = (
                " Rows with several labels are judged by harness.judge(p, y), and one label by "
                "p[:, j] and y[:, j] with the binary notion; one-hot rows are y.argmax(axis=1)."
            )
        raise BadInputError(
            f"y has shape {y.shape}; it must be (n,), one label per row of p.{several}"
        )
    if len(p) == 0:
        raise BadInputError("p is empty; at least one sample is needed.")
    if len(p) != len(y):
        raise BadInputError(
            f"p has {len(p)} rows but y has {len(y)} labels; the numbers must be equal."
        )
    q = within_unit(p.astype(np.float64, copy=False))
    if q.ndim == 2:
        sums = q.sum(axis=1)
        worst = int(np.argmax(np.abs(sums - 1.0)))
        off = abs(sums[worst] - 1.0)
        if off > tolerance:
            raise BadInputError(
                f"p: row {worst} sums to {sums[worst]:.6g}, the worst of {len(q)} rows; "
                f"every row must sum to 1 within {tolerance:g}."
            )
        if off > TOLERANCE:
            q = q / sums[:, None]
    return q, _labels(y, 2 if q.ndim == 1 else q.shape[1])


def row_tolerance(p: Any) -> float:
    """Return the largest error by rounding of the sum of a row of probabilities.

    It is 1e-4, and for types of 16 bits the distance from 1 to the next larger number.
    """
    dtype = str(getattr(p, "dtype", ""))
    if dtype.endswith("bfloat16"):
        return 2.0**-7
    return 2.0**-10 if dtype.endswith("float16") else TOLERANCE


def within_unit(p: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return p with values that miss [0, 1] by at most 1e-4 as 0 or 1.

    BadInputError for NaN and for other values outside [0, 1].
    """
    low, high = p.min(), p.max()
    if low >= 0.0 and high <= 1.0:
        return p
    if not (low >= -TOLERANCE and high <= 1.0 + TOLERANCE):  # also true for NaN
        _refuse_values(p)
    return p.clip(0.0, 1.0)


def checked_scalars(p: ArrayLike, y: ArrayLike) -> tuple[NDArray[Any], NDArray[Any]]:
    """Validate one probability and one outcome per sample, both (n,), as `checked` does.

    BadInputError if p is a matrix, because its reduction depends on the notion.

    Examples
    --------
    >>> checked_scalars([[0.7, 0.2, 0.1]], [0])  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    harness.errors.BadInputError: p has shape (1, 3), but this estimator takes one probability ...
    """
    p, y = checked(p, y)
    if p.ndim != 1:
        raise BadInputError(
            f"p has shape {p.shape}, but this estimator takes one probability per sample; reduce "
            "it first, as in p, y = harness.reduce(p, y, notion)."
        )
    return p, y


def checked_for(
    notions: Sequence[str], p: ArrayLike, y: ArrayLike
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Validate predictions and labels of an estimator with these notions.

    Vectors p (n, k) need the canonical notion; otherwise `checked_scalars` refuses them.
    """
    return checked(p, y) if "canonical" in notions else checked_scalars(p, y)


def checked_by_class(p: ArrayLike, y: ArrayLike) -> list[tuple[NDArray[Any], NDArray[Any]]]:
    """Validate class-wise predictions and indicators; return the pair (p_j, y_j) of every class.

    p and y are both (n, k), or both (n,) for a single class. BadInputError for labels y (n,) of
    vectors p (n, k), which `reduce` turns into indicators.
    """
    if np.ndim(p) == 1:
        return [checked(p, y)]
    p, y = numeric("p", p), numeric("y", y)
    if p.ndim != 2 or p.shape != y.shape:
        raise BadInputError(
            f"p has shape {p.shape} and y has shape {y.shape}, but this estimator takes one "
            "probability and one indicator per class; reduce them first, as in "
            'p, y = harness.reduce(p, y, "classwise").'
        )
    return [checked(p[:, j], y[:, j]) for j in range(p.shape[1])]


def reduce(
    p: ArrayLike, y: ArrayLike, notion: str, classes: Sequence[Any] | None = None
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Reduce predictions and labels to the pairs that a notion judges.

    Parameters
    ----------
    p : array_like, (n,) or (n, k)
        Probabilities in [0, 1]; rows sum to 1 (`checked`). One-dimensional p means P(Y = 1), and
        under `top_label` the confidence. Columns of a data frame that are named by class are
        matched with the classes by name.
    y : array_like, (n,)
        Integers 0..k-1 (0 and 1 for one-dimensional p), or names of classes.
    notion : str
        binary, top_label, classwise or canonical.
    classes : sequence, optional
        Names of the k classes, in the order of the numbers 0..k-1 in y and of the columns of an
        array p.

    Returns
    -------
    p, y : numpy.ndarray
        Depending on the notion:

        * binary: P(Y = 1) and y, both (n,).
        * top_label: the largest probability, and 1 if its class is the label, both (n,).
        * classwise: p and the indicators of the labels, both (n, k).
        * canonical: p (n, k) and y (n,).

    Raises
    ------
    BadInputError
        If an argument is invalid. The message names the argument, the offending value and the
        allowed values.

    Notes
    -----
    If several classes share the largest probability of a row, the first of them is the predicted
    class. Top-label numbers of such rows depend on the order of the columns. `harness.judge` says
    how many there are.

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
    """Return labels (n,) as a float64 matrix of indicators (n, classes)."""
    indicators: NDArray[Any] = (y[:, None] == np.arange(classes)).astype(np.float64)
    return indicators


def numeric(name: str, values: ArrayLike) -> NDArray[Any]:
    """Return `values` as an array of numbers.

    BadInputError for text, objects, ragged rows and masked values; `name` is the name of the
    argument in the message.
    """
    refuse_masked(name, values)
    try:
        values = as_known_type(np.asarray(values))
    except ValueError:
        raise BadInputError(f"{name} is ragged; an array of numbers is needed.") from None
    if values.dtype.kind not in "fiub":
        raise BadInputError(f"{name} has type {values.dtype}; numbers are needed.")
    return values


def number(x: Any) -> float:
    """Return x as a float; TypeError for texts, booleans, complex numbers and arrays.

    `float()` alone would accept texts, booleans and arrays of one entry.
    """
    if type(x) is float or type(x) is np.float64:  # the common case, once per cell
        return float(x)
    if isinstance(x, np.ndarray) and x.ndim == 0:
        x = x[()]  # float() would accept an array that holds a text or an object
    if (
        isinstance(x, (str, bytes, bool, np.bool_, np.void))
        or np.iscomplexobj(x)
        or np.ndim(x) != 0
    ):
        raise TypeError(f"{x!r} is not a number")
    return float(x)


def _refuse_values(p: NDArray[Any]) -> None:
    """Raise BadInputError that names the first value of p outside [0, 1]."""
    wrong = np.argwhere(~((p >= -TOLERANCE) & (p <= 1.0 + TOLERANCE)))
    where = tuple(int(i) for i in wrong[0])
    place = f"row {where[0]}" + (f", column {where[1]}" if p.ndim == 2 else "")
    value = "NaN" if np.isnan(p[where]) else f"{p[where]:.10g}"
    count = format_count(len(wrong), "such value")
    raise BadInputError(f"p holds {value} at {place} ({count}); probabilities must lie in [0, 1].")


def _labels(y: NDArray[Any], classes: int) -> NDArray[Any]:
    """Return y as int64; BadInputError unless all are whole numbers from 0 to classes - 1."""
    if y.dtype.kind == "f":
        whole = np.isfinite(y) & (y == np.floor(y))
        if not whole.all():
            i = int(np.argmin(whole))
            raise BadInputError(
                f"y holds {y[i]:.6g} at row {i}; labels must be integers 0..{classes - 1}."
            )
    if y.min() < 0 or y.max() >= classes:
        if count := int((y == int(IGNORED)).sum()):
            raise BadInputError(
                f"y holds label {IGNORED} in {format_count(count, 'row')}; {IGNORED_MEANING}. "
                f"Leave them out: keep = np.asarray(y) != {IGNORED}, then p[keep] and y[keep]."
            )
        i = int(np.argmax((y < 0) | (y >= classes)))
        raise BadInputError(
            f"y holds label {y[i]:g} at row {i}; labels must be integers 0..{classes - 1}."
        )
    return y.astype(np.int64, copy=False)
