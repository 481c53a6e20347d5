"""Columns and indexes that identify rows, by which the rows of predictions are matched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from harness.common import data_files
from harness.common.wording import format_count
from harness.judging.judged import Judged
from harness.math.class_names import as_text
from harness.sources import files

Ids = Mapping[str, NDArray[Any]]


def read_ids(path: str | Path, split: str, n: int) -> dict[str, NDArray[Any]]:
    """Return the columns of a file with a text or whole number in each of the n rows.

    Values may be missing or repeated: only another file tells whether a column should identify
    rows.
    """
    columns = files.arrays(data_files.find(str(path)), split)
    return {name: values for name, values in columns.items() if _may_be_ids(values, n)}


def _may_be_ids(values: NDArray[Any], n: int) -> bool:
    """Return True for a column of n texts or whole numbers. Missing values are ignored."""
    if values.shape != (n,):
        return False
    if values.dtype.kind != "f":
        return True
    present = values[~np.isnan(values)]
    return bool((present == np.floor(present)).all())


def _are_ids(values: NDArray[Any]) -> bool:
    """Return True if no value is missing or repeated."""
    return not pd.isna(values).any() and len(pd.unique(values)) == len(values)


def match_rows(models: Sequence[Judged], ids: Sequence[Ids]) -> list[Judged]:
    """Return the models with the rows of the first one, as far as shared columns tell.

    `ids` holds the columns of `read_ids` for each model. If a column holds the same values in
    another order, the rows are matched by it. If it holds other values, the rows may differ. The
    same is true if it names every row of one file, but has missing or repeated values in the other
    file. A `note` of the model says so. Nothing is done if another column is the same in every row,
    unless it only counts the rows. Columns with repeated values in both files are ignored.

    Examples
    --------
    >>> from harness.judging.data import from_arrays
    >>> first = from_arrays([0.1, 0.2, 0.8], [0, 0, 1], name="a")
    >>> second = from_arrays([0.7, 0.1, 0.3], [1, 0, 0], name="b")
    >>> ids = {"id": np.array([1, 2, 3])}, {"id": np.array([3, 1, 2])}
    >>> _, second = match_rows([first, second], ids)
    >>> second.p[:, 1].tolist(), second.note
    ([0.1, 0.3, 0.7], 'The rows of b were matched with those of a by column id.')
    """
    first, columns = models[0], ids[0]
    return [
        first,
        *(_matched(first, columns, model, own) for model, own in zip(models[1:], ids[1:])),
    ]


def in_order(first: Any, other: Any) -> Any:
    """Return `other` with its rows in the order of `first`, if the indexes of both tell.

    Both must be pandas objects with the same distinct labels in their indexes. Indexes that only
    count the rows tell nothing, because pandas makes them for every array.

    Examples
    --------
    >>> first, other = pd.Series([0.1, 0.2], index=["a", "b"]), pd.Series([1, 0], index=["b", "a"])
    >>> in_order(first, other).tolist(), in_order(first.to_numpy(), other).tolist()
    ([0, 1], [1, 0])
    """
    if not all(isinstance(values, (pd.Series, pd.DataFrame)) for values in (first, other)):
        return other
    index, own = first.index, other.index
    if index.equals(own) or any(_counts(labels.to_numpy()) for labels in (index, own)):
        return other
    if len(index) != len(own) or not (index.is_unique and own.is_unique):
        return other
    order = own.get_indexer(index)
    return other.iloc[order] if (order >= 0).all() else other


def _matched(first: Judged, columns: Ids, other: Judged, own: Ids) -> Judged:
    """Return `other` with its rows in the order of `first`, or with a note if they may differ."""
    if first.n != other.n:
        return other
    in_both = [name for name in columns if name in own]
    shared = [name for name in in_both if _are_ids(columns[name]) and _are_ids(own[name])]
    if any(_equal(columns[name], own[name]) and not _counts(own[name]) for name in shared):
        return other
    differing = [name for name in shared if not _equal(columns[name], own[name])]
    for name in differing:
        order = pd.Index(own[name]).get_indexer(pd.Index(columns[name]))
        if (order >= 0).all():
            note = (
                f"The rows of {other.name} were matched with those of {first.name} by column "
                f"{name}."
            )
            understood = f"{other.understood}; rows matched by column {name}"
            return replace(
                other, p=other.p[order], y=other.y[order], note=note, understood=understood
            )
    for name in differing:
        i = int(np.argmax(columns[name] != own[name]))
        note = (
            f"Column {name} differs between {first.name} and {other.name}, first in row {i} "
            f"({columns[name][i]} and {own[name][i]}): their rows may not be the same."
        )
        return replace(other, note=note)
    for name in in_both:
        if _are_ids(columns[name]) == _are_ids(own[name]):
            continue
        whole, broken, complete, values = first, other, columns[name], own[name]
        if _are_ids(values):
            whole, broken, complete, values = other, first, values, columns[name]
        if pd.Series(values).isin(complete).mean() <= 0.5:
            continue  # the columns hold something else than ids, such as a measurement
        note = (
            f"Column {name} names every row of {whole.name}, but in {broken.name} "
            f"{_defect(values)}: rows were paired by position and may not be the same. Give every "
            "row a value of its own to match the rows."
        )
        return replace(other, note=note)
    return other


def _defect(values: NDArray[Any]) -> str:
    """Return a clause on the missing values of a column, or on its first repeated value."""
    missing = pd.isna(values)
    if missing.any():
        rows = format_count(int(missing.sum()), "row")
        return f"it has no value in {rows} (first in row {int(np.argmax(missing))})"
    second = int(np.argmax(pd.Series(values).duplicated()))
    value = values[second]
    rest = pd.Series(values).isin([value]).to_numpy()
    return f"it repeats {as_text(value)} (rows {int(np.argmax(rest))} and {second})"


def _equal(values: NDArray[Any], others: NDArray[Any]) -> bool:
    return bool(np.array_equal(values, others))


def _counts(values: NDArray[Any]) -> bool:
    """Return True if a column only counts the rows, from 0 or 1."""
    if values.dtype.kind not in "iuf" or not len(values):
        return False
    return bool((values - values[0] == np.arange(len(values))).all()) and values[0] in (0, 1)
