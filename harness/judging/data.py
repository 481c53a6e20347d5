"""Read and validate predictions, from arrays or from a file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from harness.common import data_files
from harness.common.wording import format_count
from harness.errors import BadInputError
from harness.judging.judged import Judged
from harness.judging.model_answers import answers_of_models
from harness.judging.weights import describe
from harness.math.arrays import refuse_masked, to_array
from harness.math.class_names import as_text, find
from harness.math.columns import match_columns
from harness.math.notions import checked, numeric, reduce, row_tolerance
from harness.math.weights import checked_weights
from harness.problems.predictions import Predictions
from harness.sources import files, forms
from harness.sources.forms.numbers import rounding_note

MOST_CLASSES = 1000  # the tests of vectors need matrices with a row and a column per class


def from_arrays(
    p: ArrayLike,
    y: ArrayLike,
    *,
    classes: Sequence[Any] | None = None,
    groups: Mapping[str, ArrayLike] | ArrayLike | None = None,
    group_rows: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    name: str = "predictions",
    confidences: bool = False,
) -> Judged:
    """Return validated predictions and labels that are given as arrays.

    Parameters
    ----------
    p : array_like, (n,) or (n, k)
        Probabilities of class 1, or of k classes with rows that sum to 1. With `confidences`, p
        has shape (n,) and holds the confidences in the predicted classes.
    y : array_like, (n,)
        Labels 0..k-1, or names in `classes`. With `confidences`, 1 where a prediction was right.
    classes : sequence, optional
        Names of the k classes, in the order of the columns. Columns of a data frame are matched by
        name.
    groups : mapping of name to array_like (n,), data frame, or one array_like, optional
        Columns that divide the rows into groups. A single array is named "group".
    group_rows : array_like (n,), optional
        Group of each row, such as a patient. Rows of a group may depend on one another.
    sample_weight : array_like (n,), optional
        Weights of the rows (`harness.judging.weights`).
    name : str
        Name of the model.
    confidences : bool
        True if p (n,) holds confidences.

    Raises
    ------
    BadInputError
        If an argument cannot be used.

    Examples
    --------
    >>> data = from_arrays([0.9, 0.2, 0.6], [1, 0, 0], classes=["no", "yes"])
    >>> data.n, data.k, data.notions, data.p[0].round(3).tolist()
    (3, 2, ('binary',), [0.1, 0.9])
    """
    refuse_masked("p", p)
    numeric("p", to_array(p))
    tolerance = row_tolerance(p)
    p, y, names = match_columns(p, y, classes)
    given = numeric("p", p)
    p, y = checked(p, y, tolerance=tolerance)
    notes = _rounding_notes(given, p)
    if confidences and p.ndim != 1:
        raise BadInputError(
            f"confidences is true, but p has shape {p.shape}; pass p of shape (n,)."
        )
    p = np.column_stack([1.0 - p, p]) if p.ndim == 1 else p
    k = p.shape[1]
    if k > MOST_CLASSES:
        raise BadInputError(
            f"p has {k:,} classes; at most {MOST_CLASSES:,} are judged, so pass the confidences of "
            "the predicted labels instead (confidences=True, for a file top_label=true)."
        )
    default_names = ("wrong", "right") if confidences else tuple(map(str, range(k)))
    columns = "confidences of predictions" if confidences else f"{k} classes"
    weights = None
    if sample_weight is not None:
        weights = checked_weights(sample_weight, len(y))
        notes = [*notes, describe(weights, "sample_weight")]
    return Judged(
        name=str(name),
        p=p,
        y=y,
        classes=names or default_names,
        understood="; ".join([f"{format_count(len(y), 'row')}, {columns}", *notes, *_tied(p)]),
        groups=_checked_groups(groups, len(y)),
        confidences=bool(confidences),
        row_groups=checked_row_groups(group_rows, len(y)),
        weights=weights,
    )


def from_file(
    path: str | Path,
    group: str | Iterable[str] = (),
    group_rows: str | None = None,
    weights: str | None = None,
    **options: Any,
) -> Judged:
    r"""Read predictions and labels from a file with `harness.problems.Predictions`.

    The rows stay in the order of the file.

    Parameters
    ----------
    path : str or Path
        A .npz, .csv, .tsv, .parquet or .jsonl file, or published logits. In a .jsonl file, the
        column `confidence` holds confidences of answers, and repeated prompts are groups of rows
        (`harness.judging.model_answers`).
    group : str or iterable of str
        Names of columns or arrays (n,) in the file that divide the rows into groups.
    group_rows : str, optional
        Name of the column that tells which rows may depend on one another, such as a patient.
    weights : str, optional
        Name of the column of weights (`harness.judging.weights`).
    **options
        Options of `Predictions`: probabilities, logits, labels, top_label, split, positive,
        class_names, renormalise, float32.

    Raises
    ------
    BadInputError
        If the file cannot be read in exactly one way.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "preds.csv"
    >>> _ = path.write_text("p,y,site\n0.2,0,a\n0.7,1,b\n0.4,0,a\n")
    >>> data = from_file(path, group="site")
    >>> data.name, data.p[:, 1].tolist(), data.groups["site"].tolist()
    ('preds', [0.2, 0.7, 0.4], ['a', 'b', 'a'])
    """
    options, prompts = answers_of_models(path, options)
    problem: Any = Predictions(str(path), order="file", **options)
    p, y = problem.sample(problem.n_max, np.random.default_rng(0))
    confidences = p.ndim == 1 and problem.top_label
    name = Path(path).name
    stem = name.removesuffix(".gz").rsplit(".", 1)[0] or name
    data = from_arrays(p, y, name=stem, confidences=confidences)
    named = problem.names is not None and not confidences
    columns = [group] if isinstance(group, str) else list(group)
    row_groups = None
    if group_rows is not None:
        values = _read_columns(path, problem.split, [group_rows])[group_rows]
        row_groups = checked_row_groups(values, data.n, f"column {group_rows!r}")
    groups = columns if group_rows is None else [*columns, group_rows]
    repeats = []
    if prompts and row_groups is None:
        ((name, values),) = prompts.items()
        row_groups = checked_row_groups(values, data.n, name)
        repeats = [f"rows with the same {name} are a group"]
        groups = [*columns, name]
    weight = None
    if weights is not None:
        values = _read_columns(path, problem.split, [weights], "weights")[weights]
        weight = checked_weights(values, data.n, f"column {weights!r}")
        repeats.append(describe(weight, f"column {weights}"))
        groups = [*groups, weights]
    return replace(
        data,
        classes=tuple(problem.names) if named else data.classes,
        understood="; ".join([_described(problem, groups), *repeats, *_tied(data.p)]),
        weights=weight,
        groups=_checked_groups(_read_columns(path, problem.split, columns), data.n),
        row_groups=row_groups,
    )


def _described(problem: Any, groups: list[str]) -> str:
    """Return the description of a file, in which columns of groups are not called unused."""
    used = {find(as_text(name), list(problem.unused)) for name in groups}
    rest = [name for name in problem.unused if name not in used]
    text: str = problem.described
    if len(rest) == len(problem.unused):
        return text
    told, still = forms.describe_unused(problem.unused), forms.describe_unused(rest)
    return text.replace(f"; {told}", f"; {still}" if still else "")


def _rounding_notes(given: NDArray[Any], p: NDArray[np.float64]) -> list[str]:
    """Return phrases on how the given probabilities were changed to be p."""
    notes = []
    values = given.astype(np.float64, copy=False)
    if count := int(((values < 0.0) | (values > 1.0)).sum()):
        notes.append(rounding_note(values, count))
    if p.ndim == 2 and not np.array_equal(values.clip(0.0, 1.0), p):
        notes.append("rows were divided by their sums")
    return notes


def _tied(p: NDArray[np.float64]) -> list[str]:
    """Return a phrase on the rows of p (n, k) in which several classes are the most probable."""
    if p.shape[1] < 3:
        return []
    count = int(((p == p.max(axis=1, keepdims=True)).sum(axis=1) > 1).sum())
    if not count:
        return []
    rows = format_count(count, "row")
    return [f"in {rows} several classes are the most probable, and the first counts as predicted"]


def reduced(data: Judged, notion: str) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Reduce predictions to a notion as `harness.math.notions.reduce` does, and return (p, y).

    Confidences are returned unchanged.
    """
    return (data.p[:, 1], data.y) if data.confidences else reduce(data.p, data.y, notion)


def aligned(first: Judged, other: Judged) -> Judged:
    """Return `other` with its classes in the order of `first`.

    Raises
    ------
    BadInputError
        If the two differ in the number of rows, in the classes or in the labels. The message names
        the first difference.
    """
    both = f"{first.name} and {other.name}"
    if first.n != other.n:
        raise BadInputError(
            f"{both} have {first.n:,} and {other.n:,} rows; pass predictions for the same rows."
        )
    other = with_classes_of(first, other)
    other = replace(other, row_groups=first.row_groups, weights=first.weights)
    # Labels of confidences depend on the model, as models are right on different rows.
    if not first.confidences and not np.array_equal(first.y, other.y):
        i = int(np.argmax(first.y != other.y))
        labels = first.classes[first.y[i]], other.classes[other.y[i]]
        raise BadInputError(
            f"{both} have different labels, first in row {i}: {labels[0]!r} and {labels[1]!r}; "
            "pass the same rows in the same order."
        )
    return other


def with_classes_of(first: Judged, other: Judged) -> Judged:
    """Return `other` with its classes in the order of `first`. Their rows may differ.

    Raises
    ------
    BadInputError
        If the two differ in the classes or in the form of the predictions.
    """
    both = f"{first.name} and {other.name}"
    if first.confidences != other.confidences:
        raise BadInputError(f"only one of {both} holds confidences; pass both in the same form.")
    if first.k != other.k:
        raise BadInputError(
            f"{both} have {first.k} and {other.k} classes; pass predictions of the same classes."
        )
    if first.classes != other.classes and set(first.classes) == set(other.classes):
        order = [other.classes.index(name) for name in first.classes]
        place = np.argsort(order)
        other = replace(other, p=other.p[:, order], y=place[other.y], classes=first.classes)
    numbers = tuple(map(str, range(first.k)))
    if first.classes != other.classes and numbers not in (first.classes, other.classes):
        j = next(j for j in range(first.k) if first.classes[j] != other.classes[j])
        raise BadInputError(
            f"{both} have different names for class {j}, {first.classes[j]!r} and "
            f"{other.classes[j]!r}; pass predictions of the same classes."
        )
    return other


def _checked_groups(groups: Any, n: int) -> dict[str, NDArray[Any]]:
    if groups is None:
        return {}
    groups = to_array(groups)
    if hasattr(groups, "columns"):  # a data frame
        groups = {name: groups[name] for name in groups.columns}
    if not isinstance(groups, Mapping):
        groups = {"group": groups}
    for name, values in groups.items():
        refuse_masked(f"groups[{str(name)!r}]", values)
    columns = {str(name): np.asarray(to_array(values)) for name, values in groups.items()}
    for name, values in columns.items():
        if values.shape != (n,):
            raise BadInputError(
                f"group {name!r} has shape {values.shape}; pass one value per row, shape ({n},)."
            )
    return columns


def checked_row_groups(values: Any, n: int, name: str = "group_rows") -> NDArray[np.int64] | None:
    """Return the group of each row as a number 0..G-1. `name` names the argument in messages."""
    if values is None:
        return None
    refuse_masked(name, values)
    column = np.asarray(to_array(values))
    if column.shape != (n,):
        raise BadInputError(
            f"{name} has shape {column.shape}; pass one value per row, shape ({n},)."
        )
    missing = pd.isna(column) | (column.astype(object) == "")
    if missing.any():
        raise BadInputError(
            f"{name} has no value in row {int(np.argmax(missing))}; give every row a group."
        )
    codes, groups = pd.factorize(column)
    if len(groups) < 2:
        raise BadInputError(
            f"{name} holds a single group, {groups[0]}; intervals need at least two groups of rows."
        )
    row_groups: NDArray[np.int64] = codes.astype(np.int64)
    return row_groups


def _read_columns(
    path: str | Path, split: str, names: list[str], kind: str = "group"
) -> dict[str, NDArray[Any]]:
    """Read columns of a file by name. The file is read a second time if `names` is not empty."""
    if not names:
        return {}
    arrays = files.arrays(data_files.find(str(path)), split)
    columns = {}
    for name in names:
        found = find(as_text(name), list(arrays))
        if found is None:
            raise BadInputError(
                f"{path} has no {kind} column {name!r}; choose among {', '.join(arrays)}."
            )
        columns[name] = arrays[found]
    return columns
