"""Encode and decode the columns of stored records.

A cell is stored as its position in the plan. The diagnostics of an estimate (JSON text) are stored
as a template and the numbers that fill its gaps, because templates repeat.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from pandas.api.types import union_categoricals

from harness.math.notions import NOTIONS
from harness.plan.cells import Cell
from harness.plan.plan import Plan

TEXTS = ("estimand", "kind", "status", "reason", "run_id")
NUMBERS = ("value", "low", "high", "level")
TIMES = ("seconds", "cpu_seconds")
KEYS = pd.ArrowDtype(pa.string())  # type of the column `key` of stored records
DIAGNOSTICS = ("template", "numbers")
_FLOAT = re.compile(r"-?\d+\.\d+(?:e[-+]?\d+)?|-?\d+e[-+]?\d+")


def tables(path: Path, columns: Collection[str], batch: int | None = None) -> Iterator[pa.Table]:
    """Yield the rows of a stored file as tables of at most `batch` rows, by default as one table.

    `columns` are the columns of records that will be decoded.
    """
    names = ["cell", *(name for name in (*TEXTS, *NUMBERS, *TIMES) if name in columns)]
    if "value" in columns:
        names = list(dict.fromkeys([*names, "low", "high"]))
    if "diagnostics" in columns:
        names += DIAGNOSTICS
    if batch is None:
        yield pq.read_table(path, columns=names)
        return
    with pq.ParquetFile(path) as file:
        for part in file.iter_batches(batch, columns=names):
            yield pa.Table.from_batches([part])


def decode(
    table: pa.Table, plan: Plan, columns: Collection[str], cells: NDArray[Any]
) -> pd.DataFrame:
    """Return the records in a table of `tables`, without truths.

    Parameters
    ----------
    table : Table
        Rows of a stored file, with the needed columns.
    plan : Plan
        Plan whose cells the file contains.
    columns : collection of str
        Wanted columns of records.
    cells : array
        The result of `cell_table(plan)`.
    """
    names = [name for name in (*TEXTS, *NUMBERS, *TIMES) if name in columns]
    if "value" in columns:
        names = list(dict.fromkeys([*names, "low", "high"]))
    position = table["cell"].to_numpy()
    frame: dict[str, Any] = {}

    # Columns that describe the cell follow from its position in the plan.
    if "key" in columns:
        # Python strings and their index would take five times the memory.
        keys = pa.array(cells["key"][position]).cast(pa.string())
        frame["key"] = pd.array(keys, dtype=KEYS)
    frame["notion"] = pd.Categorical(NOTIONS).take(cells["notion"][position])
    for name in ("n", "rep", "seed"):
        frame[name] = cells[name][position]
    for group, components in (("problem", plan.problems), ("estimator", plan.estimators)):
        codes = cells[group][position]
        for name, field in (("", "id"), ("_key", "key"), ("_parameters", "parameters")):
            texts = [getattr(component, field) for component in components.values()]
            frame[f"{group}{name}"] = pd.Categorical(texts).take(codes)

    # Columns that describe the estimate are in the file.
    for name in names:
        if name in TEXTS:
            frame[name] = table[name].to_pandas(strings_to_categorical=True).array
            continue
        frame[name] = table[name].to_numpy().astype(float)
        if name in TIMES:
            frame[name] = rounded(frame[name], 3)
    if "value" in columns:
        bound = np.where(np.isnan(frame["high"]), frame["low"], frame["high"])
        frame["value"] = np.where(table["value"].is_null().to_numpy(), bound, frame["value"])
    if "diagnostics" in columns:
        exact = table.schema.field("numbers").type.value_type == pa.float64()
        pairs = zip(table["template"].to_pylist(), table["numbers"].to_pylist())
        frame["diagnostics"] = [
            text and _joined(text, numbers or [], exact) for text, numbers in pairs
        ]
    return pd.DataFrame({name: frame[name] for name in columns if name in frame}, copy=False)


def cell_table(plan: Plan) -> NDArray[Any]:
    """Return the cells of a plan as a structured array.

    Problems, notions and estimators are stored as positions in the lists of their names. This saves
    memory: the 312,000 cells of the arena took 350 MB as tuples.
    """
    problem = {name: position for position, name in enumerate(plan.problems)}
    estimator = {name: position for position, name in enumerate(plan.estimators)}
    notion = {name: position for position, name in enumerate(NOTIONS)}
    rows = (
        (c.key, problem[c.problem], notion[c.notion], c.n, c.rep, estimator[c.estimator], c.seed)
        for c in plan.cells
    )
    kinds = ("S16", np.int32, np.int8, np.int64, np.int64, np.int32, np.int64)
    return np.fromiter(rows, dtype=[*zip(Cell._fields, kinds)], count=len(plan.cells))


def concatenate(frames: list[pd.DataFrame]) -> pd.DataFrame:
    """Return one frame with the rows of all frames, which have the same columns.

    Unlike `pandas.concat`, this keeps categories as categories, in alphabetical order.
    """
    columns: dict[str, Any] = {}
    for name in frames[0]:
        parts = [frame[name] for frame in frames]
        if isinstance(parts[0].dtype, pd.CategoricalDtype):
            parts = [p.cat.rename_categories(p.cat.categories.astype(object)) for p in parts]
            columns[name] = union_categoricals(parts, sort_categories=True)
        else:
            columns[name] = pd.concat(parts, ignore_index=True).array
    return pd.DataFrame(columns, copy=False)


def rounded(numbers: NDArray[np.float64], digits: int) -> NDArray[np.float64]:
    """Round numbers to `digits` significant digits.

    Each result is the double that is nearest to the decimal number.
    """
    distinct, codes = np.unique(numbers, return_inverse=True)
    return np.array([float(f"{number:.{digits}g}") for number in distinct], dtype=float)[codes]


def _joined(template: str, numbers: list[float], exact: bool) -> str:
    """Return the text of diagnostics: a template with numbers in its gaps.

    Unless `exact`, the numbers are rounded to six significant digits.
    """
    values = iter(numbers if exact else [float(f"{number:.6g}") for number in numbers])
    return re.sub("\x00", lambda _: repr(next(values)), template)


def split_diagnostics(
    diagnostics: pd.Series,
) -> tuple[list[str | None], list[list[float] | None]]:
    """Split texts of diagnostics into templates and numbers.

    A template has a gap for each number that has a decimal point or an exponent.
    """
    texts = [text if isinstance(text, str) else None for text in diagnostics]
    templates = [None if text is None else _FLOAT.sub("\x00", text) for text in texts]
    numbers = [None if text is None else [float(x) for x in _FLOAT.findall(text)] for text in texts]
    return templates, numbers
