"""Measurements that `judge` quotes: false alarms of its tests, regret of estimators, coverage.

benchmarks/distil_arena.py writes measured.json. benchmarks/interval_coverage.py writes
coverage.csv, and benchmarks/stated_coverage.py writes coverage_few_values.csv.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

from harness.common.wording import format_count, join_numbers

FILE = Path(__file__).with_name("measured.json")
COVERAGE = Path(__file__).with_name("coverage.csv")
FEW_COVERAGE = Path(__file__).with_name("coverage_few_values.csv")
FEW_QUANTITY = "few_values.l1.best"  # the only quantity in FEW_COVERAGE
FEW_VALUES = (6, 11)  # smallest and largest number of different scores in FEW_COVERAGE
MEASURED_LEVEL = 0.95  # level of the intervals in coverage.csv
KINDS = "calibrated or overconfident predictions"  # kinds of predictions in coverage.csv
# Scores in coverage.csv have at least this many expected events and non-events: 12.9 top labels are
# expected to be wrong in 50 rows with three classes.
FEWEST_EXPECTED = 12
NEAR = 2.0  # largest factor between a number of rows or classes and the nearest measured one


@cache
def measurements(table: str) -> pd.DataFrame:
    """Return a table of measurements: "size", "estimators" or "coverage".

    size        notion ("any" for all tests together), n, k, trials, false_alarms, level
    estimators  notion, estimand, n, k, estimator, its revision, regret (smallest first)
    coverage    quantity, n, k, kind of predictions, truth, draws, covered, mean_width

    n is the number of rows and k the number of classes. `covered` is the number of draws whose
    interval contains the truth. It is not an integer if a draw has several intervals, one per
    class.
    """
    if table == "coverage":
        return pd.concat(map(pd.read_csv, (COVERAGE, FEW_COVERAGE)), ignore_index=True)
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

    The rows are those of the nearest measured k, and then of the nearest measured n. The result is
    empty if `beyond_sizes` names a difference.
    """
    rows = _rows_of_classes(quantity, k)
    if beyond_sizes(quantity, n, k) is not None:
        return rows[:0]
    return rows[rows["n"] == _nearest(rows["n"], n)]


def beyond_sizes(quantity: str, n: int, k: int) -> str | None:
    """Return how n or k differ from those at which the coverage of a quantity was measured.

    The result completes "was not measured ...". It is None if k is within a factor of two of a
    measured k, and n is not further than this outside the range of the measured n.

    Examples
    --------
    >>> beyond_sizes("canonical.l1.best", 1500, 30)
    'with 30 classes (but with 3, 10 and 100)'
    >>> beyond_sizes("canonical.l1.best", 20_001, 3)
    'with 20,001 rows (but with 50 to 10,000)'
    >>> beyond_sizes("canonical.l1.best", 1500, 3) is None
    True
    """
    table = measurements("coverage")
    classes = sorted(table[table["quantity"] == quantity]["k"].unique().tolist())
    if not classes:
        return "for this estimate"
    if not 1.0 / NEAR <= k / _nearest(classes, k) <= NEAR:
        return f"with {k:,} classes (but with {join_numbers(classes)})"
    sizes = _rows_of_classes(quantity, k)["n"]
    if not sizes.min() / NEAR <= n <= sizes.max() * NEAR:
        return f"with {format_count(n, 'row')} (but with {sizes.min():,} to {sizes.max():,})"
    return None


def _rows_of_classes(quantity: str, k: int) -> pd.DataFrame:
    """Return the measured coverage of a quantity at the measured k that is nearest to k."""
    rows = measurements("coverage")
    rows = rows[rows["quantity"] == quantity]
    return rows if rows.empty else rows[rows["k"] == _nearest(rows["k"], k)]


def _nearest(values: Iterable[int], value: int) -> int:
    """Return the nearest of the values on a log scale. Of two at the same distance, the smaller."""
    return min(sorted(set(values)), key=lambda other: round(abs(math.log(other / value)), 9))
