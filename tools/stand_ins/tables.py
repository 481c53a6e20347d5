"""Classification tables for stand-ins: those of scikit-learn, CSV files and OpenML data sets.

The label of a CSV is the column named target, or else the last column. Text columns become codes in
sorted order, with a code for missing values. Missing numbers become the column's median. Neither
step uses the labels. A table that cannot be used is printed with the reason.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn import datasets

from harness.errors import BadInputError

SEED = 0
BUNDLED = ("breast_cancer", "digits", "iris", "wine")
SMALLEST_TABLE, CLASS_LIMIT = 100, 100  # smallest number of rows, largest number of classes


class Table(NamedTuple):
    """A classification table: x (n, columns) float64, nothing missing; y (n,) in 0..classes-1."""

    name: str
    x: np.ndarray
    y: np.ndarray

    @property
    def classes(self) -> int:
        return int(self.y.max()) + 1


def gather(
    folders: list[Path], openml: list[int], max_rows: int, only: list[str] | None
) -> list[Table]:
    """Return the usable tables, bundled ones first. Print why other tables cannot be used."""
    tables: dict[str, Table] = {}
    candidates = [(name, None, lambda name=name: _bundled(name)) for name in BUNDLED]
    candidates += [
        (_safe(path.stem), path, lambda path=path: _csv(path))
        for folder in folders
        for path in sorted(folder.glob("*.csv"))
    ]
    candidates += [
        (None, f"OpenML {number}", lambda number=number: _openml(number)) for number in openml
    ]
    for name, origin, load in candidates:
        if only is not None and name is not None and name not in only:
            continue
        try:
            if name in tables:
                raise BadInputError(f"another table has the name {name}")
            if name is not None and (name == "index" or name.startswith("sanity_")):
                raise BadInputError("it is a list of tables, not a table")
            name, frame, target = load()
            if name in tables:
                raise BadInputError(f"another table has the name {name}")
            if only is None or name in only:
                tables[name] = prepare(name, frame, target, max_rows)
        except BadInputError as reason:
            print(f"  {origin or name} is not taken: {str(reason).rstrip('.')}", file=sys.stderr)
    unknown = [name for name in only or () if name not in tables]
    if unknown:
        raise BadInputError(f"--tables has {unknown[0]}, but no such table was found.")
    return list(tables.values())


def prepare(name: str, frame: pd.DataFrame, target: Any, max_rows: int) -> Table:
    """Return a table with numeric columns and labels in 0..k-1.

    A larger table is reduced to `max_rows` rows, drawn without replacement.

    Raises
    ------
    BadInputError
        If the data are no classification table, or one that is too small.
    """
    labels = pd.Series(target).reset_index(drop=True)
    missing = labels.isna().to_numpy()
    if missing.any():
        raise BadInputError(f"{int(missing.sum())} of its labels are missing")
    if len(labels) > max_rows:
        rows = np.sort(np.random.default_rng(SEED).permutation(len(labels))[:max_rows])
        frame, labels = frame.iloc[rows], labels.iloc[rows]
    if pd.api.types.is_float_dtype(labels) and (labels != np.floor(labels)).any():
        raise BadInputError("its labels are fractions, as in regression")
    classes, y = np.unique(
        labels.to_numpy() if labels.dtype.kind in "iufb" else labels.astype(str),
        return_inverse=True,
    )
    if len(y) < SMALLEST_TABLE or not 2 <= len(classes) <= CLASS_LIMIT:
        raise BadInputError(
            f"it has {len(y)} rows and {len(classes)} classes; "
            f"at least {SMALLEST_TABLE} rows and 2 to {CLASS_LIMIT} classes are needed"
        )
    if np.bincount(y).min() < 2:
        raise BadInputError(
            f"its class {classes[np.bincount(y).argmin()]} has a single row; two are needed"
        )
    columns = [_numbers(frame[column]) for column in frame]
    columns = [column for column in columns if (column != column[0]).any()]
    if not columns:
        raise BadInputError("all its columns are constant")
    return Table(name, np.column_stack(columns), y.astype(np.int64))


def _numbers(column: pd.Series) -> np.ndarray:
    """Return a column as float64.

    Missing numbers become the median. Text becomes codes in sorted order.
    """
    if pd.api.types.is_numeric_dtype(column) or pd.api.types.is_bool_dtype(column):
        values = column.astype("float64").replace([np.inf, -np.inf], np.nan)
        return values.fillna(values.median() if values.notna().any() else 0.0).to_numpy()
    codes, _ = pd.factorize(column.astype("str").where(column.notna()), sort=True)
    return codes.astype(np.float64)  # a missing value has the code -1


def _bundled(name: str) -> tuple[str, pd.DataFrame, pd.Series]:
    table = getattr(datasets, f"load_{name}")(as_frame=True)
    return name, table.data, table.target


def _csv(path: Path) -> tuple[str, pd.DataFrame, pd.Series]:
    try:
        frame = pd.read_csv(path)
    except Exception as error:
        raise BadInputError(
            f"it cannot be read ({type(error).__name__}: {str(error).partition(chr(10))[0]})"
        ) from error
    if frame.shape[1] < 2:
        raise BadInputError("it has fewer than two columns")
    target = "target" if "target" in frame else frame.columns[-1]
    return _safe(path.stem), frame.drop(columns=target), frame[target]


def _openml(number: int) -> tuple[str, pd.DataFrame, pd.Series]:
    try:
        table = datasets.fetch_openml(data_id=number, as_frame=True, parser="auto")
    except Exception as error:
        raise BadInputError(
            f"it cannot be fetched ({type(error).__name__}: {str(error).partition(chr(10))[0]})"
        ) from error
    if table.target is None:
        raise BadInputError("it has no label column")
    return _safe(str(table.details["name"])), table.data, table.target


def _safe(name: str) -> str:
    """Replace characters that a folder name or a problem's id may not have by underscores."""
    return "".join(c if c.isalnum() or c in "-_" else "_" for c in name)
