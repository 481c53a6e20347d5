"""Peak memory of the arena's estimators, each measured on one estimate in a process of its own.

benchmarks/arena_memory.py makes the measurements. The column peak_mb of ordinary records does not
tell the memory of an estimator: it is the maximum of a worker process that has computed other
cells before.
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
    "Peak memory: the increase of resident memory during one estimate, measured once in a separate "
    "process, in MB (10^6 bytes). Values of a few tenths or less are not distinguishable from 0. A "
    "dash means that there is no measurement; memory.csv has the reason."
)


def read(folder: Path) -> pd.DataFrame:
    """Read the measured peak memory from a results folder, else from the repository's results.

    Columns: estimator, notion, n, k (number of classes), peak_mb, method, and reason for a missing
    value. Without a file, return a frame without rows.
    """
    folders = [folder, *([CHECKOUT / "results" / "arena"] if CHECKOUT else [])]
    for path in (folder / FILE for folder in folders):
        if path.is_file():
            return pd.read_csv(path, keep_default_na=False, na_values={"peak_mb": [""]})
    return nothing()


def nothing() -> pd.DataFrame:
    """Return a frame in the form of `read` without measurements."""
    return pd.DataFrame(columns=[*KEYS, "peak_mb", "method", "reason"])


def add_peaks(table: pd.DataFrame, measured: pd.DataFrame) -> pd.DataFrame:
    """Add the measured peak_mb to a table by estimator, notion, n and k.

    `measured` is the result of `read`. The value is NaN where nothing was measured.
    """
    return table.drop(columns="peak_mb", errors="ignore").merge(
        measured[[*KEYS, "peak_mb"]], how="left", on=KEYS
    )


def format_peaks(measured: pd.DataFrame, notion: str, estimators: list[str]) -> pd.DataFrame:
    """Return the peak memory of estimators under one notion as a table of texts.

    A row is an estimator. A column is a measured pair of n and number of classes, such as "n =
    200, k = 2".
    """
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
