"""Peak memory of the arena's estimators: one estimate, measured in a process of its own.

benchmarks/arena_memory.py measures it. The column peak_mb of the records is no estimator's: it is
the high-water mark of a worker process that computed other cells before.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from harness.common.wording import DASH
from harness.evaluation.arena_content import find_table

FILE = "memory.csv"
KEYS = ["estimator", "notion", "n", "k"]
NOT_MEASURED = "not measured"
WORDS = (
    "Peak memory: the largest resident memory of one estimate above what was resident just before, measured once in a process of "
    "its own, in MB (10^6 bytes); below some tenths it means next to nothing."
)


def read(folder: Path) -> pd.DataFrame:
    """Read the measured table of a results folder, else that of the checkout.

    Columns: estimator, notion, n, k, peak_mb, method, reason (for a missing value). No rows if
    there is no table.
    """
    path = find_table(folder, FILE)
    if path is None:
        return pd.DataFrame(columns=[*KEYS, "peak_mb", "method", "reason"])
    return pd.read_csv(path, keep_default_na=False, na_values={"peak_mb": [""]})


def joined(table: pd.DataFrame, measured: pd.DataFrame) -> pd.DataFrame:
    """Give `table` (with the columns KEYS) the column peak_mb, NaN where nothing was measured."""
    return table.drop(columns="peak_mb", errors="ignore").merge(
        measured[[*KEYS, "peak_mb"]], how="left", on=KEYS
    )


def sizes(measured: pd.DataFrame, notion: str) -> list[tuple[int, int]]:
    """Return the measured (n, k) of a notion, by k."""
    rows = measured[measured["notion"].eq(notion)]
    return sorted(set(zip(rows["n"].astype(int), rows["k"].astype(int))), key=lambda size: size[1])


def cells(measured: pd.DataFrame, notion: str, estimator: str) -> list[dict[str, str]]:
    """Return {text, reason} for each of `sizes`; the reason is that of a missing value."""
    rows = measured[measured["notion"].eq(notion) & measured["estimator"].eq(estimator)]
    rows = rows.set_index(["n", "k"])
    texts = []
    for size in sizes(measured, notion):
        if size not in rows.index:
            texts.append({"text": DASH, "reason": NOT_MEASURED})
        elif pd.isna(value := rows.loc[size, "peak_mb"]):
            texts.append({"text": DASH, "reason": rows.loc[size, "reason"]})
        else:
            texts.append({"text": f"{value:,.0f}" if value >= 10 else f"{value:.2g}", "reason": ""})
    return texts


def reasons(measured: pd.DataFrame, notion: str, estimators: list[str]) -> list[str]:
    """Say which estimators have no value, and why."""
    names: dict[str, list[str]] = {}
    for position, (n, k) in enumerate(sizes(measured, notion)):
        for name in estimators:
            if reason := cells(measured, notion, name)[position]["reason"]:
                names.setdefault(f"{reason} (n = {n:,}, k = {k})", []).append(name)
    return [f"{', '.join(group)}: {reason}" for reason, group in names.items()]
