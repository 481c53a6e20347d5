"""Peak memory of the arena's estimators: one estimate, measured in a process of its own.

benchmarks/arena_memory.py measures it. The column peak_mb of the records is no estimator's: it is
the high-water mark of a worker process that computed other cells before.
"""

from __future__ import annotations

import math
from pathlib import Path

import pandas as pd

from harness.common.paths import CHECKOUT
from harness.common.wording import DASH

FILE = "memory.csv"
KEYS = ["estimator", "notion", "n", "k"]
MEANING = (
    "Peak memory: the largest resident memory of one estimate above what was resident just before, "
    "measured once in a process of its own, in MB (10^6 bytes); below some tenths it means next to "
    "nothing. A dash: not measured, or no value; memory.csv has the reason."
)


def read(folder: Path) -> pd.DataFrame:
    """Read the measured table of a results folder, else that of the checkout.

    Columns: estimator, notion, n, k, peak_mb, method, reason (for a missing value). No rows if
    there is no table.
    """
    folders = [folder, *([CHECKOUT / "results" / "arena"] if CHECKOUT else [])]
    for path in (folder / FILE for folder in folders):
        if path.is_file():
            return pd.read_csv(path, keep_default_na=False, na_values={"peak_mb": [""]})
    return pd.DataFrame(columns=[*KEYS, "peak_mb", "method", "reason"])


def add_peaks(table: pd.DataFrame, measured: pd.DataFrame) -> pd.DataFrame:
    """Give `table` (with the columns KEYS) the column peak_mb, NaN where nothing was measured."""
    return table.drop(columns="peak_mb", errors="ignore").merge(
        measured[[*KEYS, "peak_mb"]], how="left", on=KEYS
    )


def format_peaks(measured: pd.DataFrame, notion: str, estimators: list[str]) -> pd.DataFrame:
    """Return texts: a row per estimator, a column per measured size, such as "n = 200, k = 2"."""
    rows = measured[measured["notion"].eq(notion)]
    table = pd.DataFrame(index=estimators)
    for (k, n), part in rows.groupby(["k", "n"]):
        peaks = part.set_index("estimator")["peak_mb"].reindex(estimators)
        table[f"n = {n:,}, k = {k}"] = [_format_mb(peak) for peak in peaks]
    return table


def _format_mb(peak: float) -> str:
    if math.isnan(peak):
        return DASH
    return f"{peak:,.0f}" if peak >= 10 else f"{peak:.2g}"
