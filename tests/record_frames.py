"""Frames of records made by hand, for tests of what is evaluated and drawn."""

import json

import pandas as pd

from harness.records.schema import COLUMNS

USUAL = {
    "notion": "binary",
    "n": 100,
    "rep": 0,
    "status": "ok",
    "estimand": "l1",
    "kind": "point",
    "written": 0.0,
    "cpu_seconds": 1.0,
    "seconds": 2.0,
    "run_id": "a",
    "problem_parameters": "{}",
}
IDENTITY = ("experiment", "problem", "notion", "n", "rep", "estimator", "level")
NUMBERS = ("value", "low", "high", "truth", "truth_error")


def record_frame(rows, **common):
    """Return records of these dictionaries: what a row lacks is `common` or usual.

    The key of a cell is made of the fields that identify it.
    """
    records = []
    for row in rows:
        record = {**USUAL, **common, **row}
        record.setdefault("key", json.dumps([str(record.get(name)) for name in IDENTITY]))
        record.setdefault("problem_key", record["problem"])
        record.setdefault("estimator_key", record["estimator"])
        records.append(record)
    columns = [*COLUMNS, "truth", "truth_error", "experiment"]
    frame = pd.DataFrame(records, columns=columns)
    return frame.astype(dict.fromkeys(NUMBERS, float))
