"""Schema of records. They are append-only Parquet parts, with any number of writers.

<out>/records/part-<random>-<digest>.parquet   one row per estimate, or per cell without one
<out>/truths/<problem key>.json   {"notion|estimand": [value, error, method]}, null if unknown
<out>/runs/<run id>.json              provenance

status: ok | skipped (outside the estimator's range) | failed (it raised) | undefined (no finite
number for this sample) | interrupted (the machine stopped first). Cells with ok, skipped or
undefined are finished; the others run again. Records from outside (harness.records.imported) are
`imported` or undefined and are in no folder of results.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    import pandas as pd

STATUSES = ("ok", "skipped", "undefined", "failed", "interrupted", "imported")
FINISHED = ("ok", "skipped", "undefined")
WITH_NUMBER = ("ok", "imported")  # the statuses of records that hold a number
COLUMNS = {
    "key": "str", "problem": "str", "problem_key": "str", "problem_parameters": "str",
    "notion": "str", "n": "int", "rep": "int", "estimator": "str", "estimator_key": "str",
    "estimator_parameters": "str", "seed": "int", "estimand": "str", "value": "float",
    "low": "float", "high": "float", "level": "float", "kind": "str", "diagnostics": "str",
    "status": "str", "reason": "str", "seconds": "float", "cpu_seconds": "float",
    "peak_mb": "float", "run_id": "str", "written": "float",
}  # fmt: skip
TRUTHS = ("truth", "truth_error")  # joined when records are loaded
LATER = ("diagnostics",)  # columns that records of the first version may lack
FORMER = {"parts": "diagnostics"}  # old name of a column: today's name
_ARROW = {"str": pa.dictionary(pa.int32(), pa.string()), "int": pa.int64(), "float": pa.float64()}


def schema() -> pa.Schema:
    """Return the Arrow schema of a part. Texts are dictionaries, except for the key."""
    return pa.schema(
        [(name, pa.string() if name == "key" else _ARROW[kind]) for name, kind in COLUMNS.items()]
    )


def dtype(kind: str) -> str:
    """Return the pandas type for str, int or float."""
    return {"str": "object", "int": "int64", "float": "float64"}[kind]


def has_number(records: pd.DataFrame) -> pd.Series:
    """Return a mask of the rows with a number, computed or imported."""
    return records["status"].isin(WITH_NUMBER)
