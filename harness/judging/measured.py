"""Measurements that `judge` quotes.

measured.json is made by benchmarks/distil_arena.py, coverage.csv by benchmarks/interval_coverage.py.
"""

from __future__ import annotations

import csv
import json
import math
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("measured.json")
COVERAGE = Path(__file__).with_name("coverage.csv")
MEASURED_LEVEL = 0.95  # of the intervals whose coverage is stored


@lru_cache(maxsize=1)
def measured() -> dict[str, Any]:
    """Return {"size": [...], "estimators": [...]}: rows with notion, n, k and a measurement."""
    found: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return found


def nearest(rows: list[dict[str, Any]], n: int, k: int) -> dict[str, Any] | None:
    """The row whose n and k are nearest on a logarithmic scale; of two as near, the one of smaller n.

    Examples
    --------
    >>> nearest([{"n": 200, "k": 3}, {"n": 5000, "k": 3}], 900, 4)["n"]
    200
    """

    def distance(row: dict[str, Any]) -> tuple[float, int]:
        return round(abs(math.log(row["n"] / n)) + abs(math.log(row["k"] / k)), 9), row["n"]

    return min(rows, key=distance, default=None)


def size_of(notion: str, n: int, k: int) -> dict[str, Any] | None:
    """False alarms of the test of a notion (or of "any" of them together) near n and k: n, k, trials, false_alarms, level."""
    return nearest([row for row in measured().get("size", []) if row["notion"] == notion], n, k)


def estimators_of(notion: str, estimand: str, n: int, k: int) -> list[dict[str, Any]]:
    """What was measured of every estimator of an estimand at the nearest n and k, smallest regret first."""
    rows = [
        row
        for row in measured().get("estimators", [])
        if (row["notion"], row["estimand"]) == (notion, estimand)
    ]
    at = nearest(rows, n, k)
    if at is None:
        return []
    return [row for row in rows if (row["n"], row["k"]) == (at["n"], at["k"])]


def estimator_of(name: str, notion: str, estimand: str, n: int, k: int) -> dict[str, Any] | None:
    """What was measured of one estimator at the nearest n and k at which it was run."""
    rows = measured().get("estimators", [])
    return nearest(
        [
            row
            for row in rows
            if (row["estimator"], row["notion"], row["estimand"]) == (name, notion, estimand)
        ],
        n,
        k,
    )


@dataclass(frozen=True)
class Coverage:
    """How often the intervals of one quantity held its true value, on one kind of predictions of n rows and k classes."""

    k: int
    n: int
    kind: str
    quantity: str
    draws: int
    covered: (
        float  # of the draws; not an integer where a draw has several intervals, one for each class
    )

    @property
    def error(self) -> float:
        """The L1 error of the kind, top-label or binary."""
        return 0.0 if self.kind == "calibrated" else float(self.kind.removeprefix("l1_"))


@lru_cache(maxsize=1)
def coverages() -> dict[str, list[Coverage]]:
    """Return the rows of coverage.csv by quantity (benchmarks/interval_coverage.py makes the file)."""
    table: dict[str, list[Coverage]] = {}
    with COVERAGE.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            one = Coverage(
                int(row["k"]),
                int(row["n"]),
                row["kind"],
                row["quantity"],
                int(row["draws"]),
                float(row["covered"]),
            )
            table.setdefault(one.quantity, []).append(one)
    return table


def coverage_of(quantity: str, n: int, k: int) -> list[Coverage]:
    """Return the coverage of a quantity at the measured size nearest to n and k, one row for each kind of predictions.

    Nothing if n or k is more than a factor of two away from every measured size.
    """
    rows = coverages().get(quantity, [])
    size = nearest([{"n": row.n, "k": row.k} for row in rows], n, k)
    if size is None or not (is_near(size["n"], n) and is_near(size["k"], k)):
        return []
    return [row for row in rows if (row.n, row.k) == (size["n"], size["k"])]


def is_near(measured_size: int, size: int) -> bool:
    """True if the two differ by at most a factor of two."""
    return measured_size / 2 <= size <= measured_size * 2
