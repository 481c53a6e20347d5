"""Statements of the arena in two runs that differ in their base seed alone.

A statement is one of the arena's page: the estimator to use by (n, k), by n and by (family, n, k)
against the runner-up, and the best of a leaderboard against every other. The first run makes them,
the second compares the same two estimators (benchmarks/arena_seeds.py, which writes seeds.csv).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from harness.evaluation.arena_content import find_table

FILE = "seeds.csv"


def summary(table: pd.DataFrame) -> dict[str, Any]:
    """Count the statements of a table by their verdicts in both runs.

    statements
        All.
    established, undecided
        Those that establish a difference in the first run, and the others.
    again, lost, reversed
        Established ones that are established again, undecided in the second run, or established
        the other way round.
    turned
        Established ones whose ratio is on the other side of 1 in the second run.
    new
        Undecided ones that are established in the second run.
    """
    established = table[table["verdict"].isin(["better", "worse"])]
    again = established["verdict_again"]
    undecided = table[table["verdict"].eq("undecided")]
    same, lost = again.eq(established["verdict"]), again.eq("undecided")
    turned = established["ratio"].lt(1.0) != established["ratio_again"].lt(1.0)
    return {
        "statements": len(table),
        "established": len(established),
        "again": int(same.sum()),
        "lost": int(lost.sum()),
        "reversed": int((~same & ~lost).sum()),
        "turned": int(turned.sum()),
        "new": int(undecided["verdict_again"].ne("undecided").sum()),
        "undecided": len(undecided),
    }


def read(folder: Path) -> dict[str, Any] | None:
    """Summarise the table of a results folder, else that of the checkout; None without a table."""
    path = find_table(folder, FILE)
    if path is None:
        return None
    table = pd.read_csv(path)
    names = {*table["first"], *table["second"]}
    return {**summary(table), "estimators": len(names), "problems": int(table["problems"].max())}
