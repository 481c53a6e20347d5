"""Peak memory of the arena's estimators, as benchmarks/arena_memory.py measured it: one estimate, in a process of its own.

The records' own peak_mb is the high-water mark of a worker process that did other cells before: it is no estimator's.
"""

from __future__ import annotations

import math
from pathlib import Path

import pandas as pd

from harness.common.paths import CHECKOUT

FILE = "memory.csv"
KEYS = ["estimator", "notion", "n", "k"]
NOT_MEASURED = "not measured"
WORDS = (
    "Peak memory: the largest resident memory of one estimate above what was resident just before, measured once in a process of "
    "its own, in MB (10^6 bytes); below some tenths it means next to nothing."
)


def read(folder: Path) -> pd.DataFrame:
    """The measured table of a results folder, else that of the checkout: estimator, notion, n, k, peak_mb, method, reason (why
    there is no value); without rows where there is none."""
    for path in (folder / FILE, *([CHECKOUT / "results" / "arena" / FILE] if CHECKOUT else [])):
        if path.is_file():
            return pd.read_csv(path, keep_default_na=False, na_values={"peak_mb": [""]})
    return pd.DataFrame(columns=[*KEYS, "peak_mb", "method", "reason"])


def joined(table: pd.DataFrame, measured: pd.DataFrame) -> pd.DataFrame:
    """`table`, which has the columns KEYS, with the column peak_mb: NaN where nothing was measured at that very n and k."""
    return table.drop(columns="peak_mb", errors="ignore").merge(
        measured[[*KEYS, "peak_mb"]], how="left", on=KEYS
    )


def sizes(measured: pd.DataFrame, notion: str) -> list[tuple[int, int]]:
    """[(n, k)] that were measured under a notion, by k."""
    of = measured[measured["notion"].eq(notion)]
    return sorted(set(zip(of["n"].astype(int), of["k"].astype(int))), key=lambda size: size[1])


def cells(measured: pd.DataFrame, notion: str, estimator: str) -> list[dict[str, str]]:
    """By (n, k) of `sizes`: what a table shows (text), and the reason where there is no value."""
    of = measured[measured["notion"].eq(notion) & measured["estimator"].eq(estimator)]
    held = {(row.n, row.k): (row.peak_mb, row.reason) for row in of.itertuples()}
    found = []
    for size in sizes(measured, notion):
        value, reason = held.get(size, (math.nan, NOT_MEASURED))
        missing = math.isnan(value)
        found.append(
            {
                "text": "–" if missing else f"{value:,.0f}" if value >= 10 else f"{value:.2g}",
                "reason": reason if missing else "",
            }
        )
    return found


def reasons(measured: pd.DataFrame, notion: str, estimators: list[str]) -> list[str]:
    """Sentences: who has no value, and why."""
    told: dict[str, list[str]] = {}
    for (n, k), of in zip(
        sizes(measured, notion), zip(*(cells(measured, notion, name) for name in estimators))
    ):
        for name, cell in zip(estimators, of):
            if cell["reason"]:
                told.setdefault(f"{cell['reason']} (n = {n:,}, k = {k})", []).append(name)
    return [f"{', '.join(names)}: {reason}" for reason, names in told.items()]
