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
from harness.judging.judged import Judged
from harness.sources import files

Ids = Mapping[str, NDArray[Any]]


def read_ids(path: str | Path, split: str, n: int) -> dict[str, NDArray[Any]]:
    """Return the columns of a file with n different texts or whole numbers, none missing."""
    columns = files.arrays(data_files.find(str(path)), split)
    return {name: values for name, values in columns.items() if _are_ids(values, n)}


def _are_ids(values: NDArray[Any], n: int) -> bool:
    if values.shape != (n,) or pd.isna(values).any():
        return False
    if values.dtype.kind == "f" and not (values == np.floor(values)).all():
        return False
    return len(pd.unique(values)) == n


def match_rows(models: Sequence[Judged], ids: Sequence[Ids]) -> list[Judged]:
    """Return the models with the rows of the first one, as far as shared columns tell.

    `ids` holds the columns of `read_ids` for each model. If a column holds the same values in
    another order, the rows are matched by it. If it holds other values, the rows may differ. A
    `note` of the model says so. Nothing is done if another column is the same in every row, unless
    it only counts the rows.

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
    shared = [name for name in columns if name in own]
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
    return other


def _equal(values: NDArray[Any], others: NDArray[Any]) -> bool:
    return bool(np.array_equal(values, others))


def _counts(values: NDArray[Any]) -> bool:
    """Return True if a column only counts the rows, from 0 or 1."""
    if values.dtype.kind not in "iuf" or not len(values):
        return False
    return bool((values - values[0] == np.arange(len(values))).all()) and values[0] in (0, 1)
