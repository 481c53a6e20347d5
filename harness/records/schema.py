"""Define the columns and statuses of records, and the files of a folder of results.

Records are only appended, as Parquet files, and any number of processes may write at once.

<out>/records/part-<random>-<digest>.parquet   one row per estimate, or per cell without one
<out>/truths/<problem key>.json   {"notion|estimand": [value, error, method]}, null if unknown
<out>/runs/<run id>.json              provenance

The status of a record is one of these:

ok            the estimate is a finite number
undefined     the estimator has no finite number for this sample
skipped       the cell is outside the estimator's range, or cannot run on this machine
failed        the estimator raised an error or ended its process
interrupted   the run stopped before the cell was finished
imported      the number was read from a file (harness.records.imported)

Cells with ok, undefined or skipped are finished; cells with failed or interrupted run again.
Imported records are not written to a folder of results.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pandas as pd
    from numpy.typing import NDArray

STATUSES = ("ok", "skipped", "undefined", "failed", "interrupted", "imported")
FINISHED = ("ok", "skipped", "undefined")
WITH_NUMBER = ("ok", "imported")  # statuses of records that contain a number
COLUMNS = {
    "key": "str", "problem": "str", "problem_key": "str", "problem_parameters": "str",
    "notion": "str", "n": "int", "rep": "int", "estimator": "str", "estimator_key": "str",
    "estimator_parameters": "str", "seed": "int", "estimand": "str", "value": "float",
    "low": "float", "high": "float", "level": "float", "kind": "str", "diagnostics": "str",
    "arrays": "arrays", "status": "str", "reason": "str", "seconds": "float",
    "cpu_seconds": "float", "peak_mb": "float", "run_id": "str", "written": "float",
}  # fmt: skip
TRUTHS = ("truth", "truth_error")  # columns that are added when records are loaded
LATER = ("diagnostics", "arrays")  # columns that records of earlier versions may lack
FORMER = {"parts": "diagnostics"}  # {former name of a column: its present name}
ARRAYS = pa.map_(pa.string(), pa.list_(pa.float64()))  # type of the arrays of an estimate
_ARROW = {
    "str": pa.dictionary(pa.int32(), pa.string()), "int": pa.int64(), "float": pa.float64(),
    "arrays": ARRAYS,
}  # fmt: skip


def schema() -> pa.Schema:
    """Return the Arrow schema of records. Texts are dictionary-encoded, except for the key."""
    return pa.schema(
        [(name, pa.string() if name == "key" else _ARROW[kind]) for name, kind in COLUMNS.items()]
    )


def dtype(kind: str) -> str:
    """Return the pandas dtype for a kind of column: "str", "int", "float" or "arrays"."""
    return {"str": "object", "int": "int64", "float": "float64", "arrays": "object"}[kind]


def array_mappings(column: Iterable[Any]) -> NDArray[np.object_]:
    """Return the column `arrays` with values {name: array}, or None without arrays.

    `column` has the values that pandas makes of the type ARRAYS: lists of pairs (name, array).
    """
    return np.fromiter((None if pairs is None else dict(pairs) for pairs in column), dtype=object)


def has_number(records: pd.DataFrame) -> pd.Series:
    """Return a mask of the records that contain a number, computed or imported."""
    return records["status"].isin(WITH_NUMBER)


def has_numbers(records: pd.DataFrame) -> bool:
    """Return True if any record has a number."""
    return bool(has_number(records).any())
