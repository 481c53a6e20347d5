"""Measurements that `judge` quotes: false alarms of its tests, regret of estimators, coverage.

benchmarks/distil_arena.py writes measured.json. benchmarks/interval_coverage.py writes
coverage.csv.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

FILE = Path(__file__).with_name("measured.json")
COVERAGE = Path(__file__).with_name("coverage.csv")
MEASURED_LEVEL = 0.95  # level of the intervals in coverage.csv


@cache
def measurements(table: str) -> pd.DataFrame:
    """Return a table of measurements: "size", "estimators" or "coverage".

    size        notion ("any" for all tests together), n, k, trials, false_alarms, level
    estimators  notion, estimand, n, k, estimator, regret (smallest first)
    coverage    quantity, n, k, kind of predictions, truth, draws, covered, mean_width

    n is the number of rows and k the number of classes. `covered` is the number of draws whose
    interval contains the truth. It is not an integer if a draw has several intervals, one per
    class.
    """
    if table == "coverage":
        return pd.read_csv(COVERAGE)
    return pd.DataFrame(json.loads(FILE.read_text(encoding="utf-8"))[table])


def nearest_rows(table: str, n: int, k: int, **values: str) -> pd.DataFrame:
    """Return the rows of a table with some values, at the measured (n, k) nearest to n and k.

    Distances are measured on a log scale. Of two sizes at the same distance, the one with the
    smaller n is used.

    Examples
    --------
    >>> nearest_rows("size", 300, 2, notion="binary")[["n", "k"]].to_numpy().tolist()
    [[200, 2]]
    """
    rows = measurements(table)
    for column, value in values.items():
        rows = rows[rows[column] == value]
    if rows.empty:
        return rows
    distance = (np.log(rows["n"] / n).abs() + np.log(rows["k"] / k).abs()).round(9)
    nearest = rows.assign(distance=distance).sort_values(["distance", "n"], kind="stable").iloc[0]
    return rows[(rows["n"] == nearest["n"]) & (rows["k"] == nearest["k"])]


def coverage_rows(quantity: str, n: int, k: int) -> pd.DataFrame:
    """Return the measured coverage of a quantity, with one row per kind of predictions.

    The result is empty if the nearest measured n or k differs by more than a factor of two.
    """
    rows = nearest_rows("coverage", n, k, quantity=quantity)
    is_near = (rows["n"] / n).between(0.5, 2.0) & (rows["k"] / k).between(0.5, 2.0)
    return rows[is_near]
