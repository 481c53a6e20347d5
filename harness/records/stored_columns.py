"""Encode and decode the columns of stored records.

A cell is stored as its position in the plan. The diagnostics of an estimate (JSON text) are stored
as a template and the numbers that fill its gaps, because templates repeat.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from harness.math.notions import NOTIONS
from harness.plan.cells import Cell
from harness.plan.plan import Plan

TEXTS = ("estimand", "kind", "status", "reason", "run_id")
NUMBERS = ("value", "low", "high", "level")
TIMES = ("seconds", "cpu_seconds")
DIAGNOSTICS = ("template", "numbers")
_FLOAT = re.compile(r"-?\d+\.\d+(?:e[-+]?\d+)?|-?\d+e[-+]?\d+")


def decode(
    path: Path,
    plan: Plan,
    columns: Collection[str],
    rows: pd.Series | None = None,
    cells: NDArray[Any] | None = None,
) -> pd.DataFrame:
    """Return the records in a stored file, without truths.

    Parameters
    ----------
    path : Path
        The stored file.
    plan : Plan
        Plan whose cells the file contains.
    columns : collection of str
        Wanted columns of records.
    rows : Series of bool, optional
        Mask of the wanted rows. By default, all rows are returned.
    cells : array, optional
        Result of `cell_table(plan)`, for a caller that needs several decoded frames.
    """
    cells = cell_table(plan) if cells is None else cells
    names = ["cell", *(name for name in (*TEXTS, *NUMBERS, *TIMES) if name in columns)]
    if "value" in columns:
        names = list(dict.fromkeys([*names, "low", "high"]))
    with_diagnostics = "diagnostics" in columns
    table = pq.read_table(path, columns=[*names, *DIAGNOSTICS] if with_diagnostics else names)
    if rows is not None:
        table = table.filter(pa.array(rows))
    position = table["cell"].to_numpy()
    frame: dict[str, Any] = {}

    # Columns that describe the cell follow from its position in the plan.
    if "key" in columns:
        distinct, codes = np.unique(position, return_inverse=True)
        keys = [key.decode() for key in cells["key"][distinct]]
        frame["key"] = pd.Categorical.from_codes(codes.astype(np.int32), keys)
    frame["notion"] = pd.Categorical(NOTIONS).take(cells["notion"][position])
    for name in ("n", "rep", "seed"):
        frame[name] = cells[name][position]
    for group, components in (("problem", plan.problems), ("estimator", plan.estimators)):
        codes = cells[group][position]
        for name, field in (("", "id"), ("_key", "key"), ("_parameters", "parameters")):
            texts = [getattr(component, field) for component in components.values()]
            frame[f"{group}{name}"] = pd.Categorical(texts).take(codes)

    # Columns that describe the estimate are in the file.
    for name in names[1:]:
        if name in TEXTS:
            frame[name] = table[name].to_pandas(strings_to_categorical=True).array
            continue
        frame[name] = table[name].to_numpy().astype(float)
        if name in TIMES:
            frame[name] = rounded(frame[name], 3)
    if "value" in columns:
        bound = np.where(np.isnan(frame["high"]), frame["low"], frame["high"])
        frame["value"] = np.where(table["value"].is_null().to_numpy(), bound, frame["value"])
    if with_diagnostics:
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
