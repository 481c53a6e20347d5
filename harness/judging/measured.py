"""What the arena measured, as shipped in measured.json (benchmarks/distil_arena.py makes it)."""

from __future__ import annotations

import json
import math
from functools import lru_cache
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("measured.json")


@lru_cache(maxsize=1)
def measured() -> dict[str, Any]:
    """{"size": [...], "halves": [...], "classes": [...], "estimators": [...]}: rows with notion, n, k and what was measured."""
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
    rows = [row for row in measured().get("estimators", []) if (row["notion"], row["estimand"]) == (notion, estimand)]
    at = nearest(rows, n, k)
    if at is None:
        return []
    return [row for row in rows if (row["n"], row["k"]) == (at["n"], at["k"])]


def estimator_of(name: str, notion: str, estimand: str, n: int, k: int) -> dict[str, Any] | None:
    """What was measured of one estimator at the nearest n and k at which it was run."""
    rows = measured().get("estimators", [])
    return nearest([row for row in rows if (row["estimator"], row["notion"], row["estimand"]) == (name, notion, estimand)], n, k)


def halves_of(notion: str, estimator: str, n: int) -> dict[str, Any] | None:
    """Coverage of the true error by an estimator's intervals from halves, over problems of all families: n, trials, covered."""
    rows = [row for row in measured().get("halves", []) if (row["notion"], row["estimator"]) == (notion, estimator)]
    return min(rows, key=lambda row: (abs(math.log(row["n"] / n)), row["n"]), default=None)


def classes_of(estimator: str, n: int, k: int) -> dict[str, Any] | None:
    """Coverage of the true class-wise error by an estimator's intervals at the nearest n and k: n, k, trials, covered."""
    return nearest([row for row in measured().get("classes", []) if row["estimator"] == estimator], n, k)
