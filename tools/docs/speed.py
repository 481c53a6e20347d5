"""Write the comparison with other libraries, measured by benchmarks/peers.py, as Markdown."""

from __future__ import annotations

import json
from typing import Any

import pandas as pd
from marks import DOCS, table

BENCHMARKS = DOCS.parent / "benchmarks"


def _rows() -> pd.DataFrame:
    return pd.read_csv(BENCHMARKS / "peers.csv")


def _about() -> dict[str, Any]:
    return dict(json.loads((BENCHMARKS / "peers.json").read_text()))


def machine() -> str:
    """Return a paragraph on the commit, processor, software versions and load of the run."""
    about = _about()
    versions = about["packages"].items()
    packages = ", ".join(f"{name} {version}" for name, version in versions if version)
    left_out = ", ".join(name for name, version in versions if not version)
    lacking = f" Not installed, and left out: {left_out}." if left_out else ""
    return (
        f"Measured on `{about['commit']}` ({about['date']}) in one run of "
        f"{about['cpu_seconds']:,} CPU seconds: {about['processor']}, {about['cores']} cores of "
        "which every call takes one, "
        f"Python {about['python']}, {packages}.{lacking} The load was {about['load_before']} when "
        f"the run began and {about['load_after']} when it ended."
    )


def peers() -> str:
    """Return a table of all quantities at the largest n that was measured for both libraries."""
    lines = []
    for quantity, rows in _rows().groupby("what", sort=False):
        comparable = rows[
            rows["notion"].eq(rows["notion"].iloc[0])
            & rows["k"].eq(rows["k"].iloc[0])
            & rows["cpu_seconds"].notna()
        ]
        ours = comparable[comparable["who"].eq("ours")].drop_duplicates("n").set_index("n")
        for who, mine in comparable.groupby("who", sort=False):
            row = mine[mine["n"].isin(ours.index)].nlargest(1, "n").iloc[0]
            exponents = rows[rows["who"].eq(who)].iloc[0]
            times = row["cpu_seconds"] / ours.loc[row["n"], "cpu_seconds"]
            lines.append([
                quantity if who == "ours" else "", who, f"{row['n']:,}", str(row["k"]),
                _seconds(row["cpu_seconds"]), "" if who == "ours" else f"{times:.2g}",
                _plain(row["peak_mb"]),
                "" if who == "ours" else f"{row['difference']:.1g}",
                *(_plain(exponents[f"exponent_{name}"], 2) for name in "nk"),
            ])  # fmt: skip
    columns = [
        "what",
        "who",
        "n",
        "k",
        "CPU s",
        "times ours",
        "peak MB",
        "difference",
        "exponent of n",
        "exponent of k",
    ]
    return table(columns, lines)


def wins() -> str:
    """Return a table of the settings in which another library took less CPU time than ours.

    Calls that failed follow as rows with their reason.
    """
    rows = _rows()
    keys = ["what", "notion", "n", "k"]
    ours = rows[rows["who"].eq("ours")].drop_duplicates(keys).set_index(keys)["cpu_seconds"]
    lines = []
    for _, row in rows[rows["who"].ne("ours")].drop_duplicates([*keys, "who"]).iterrows():
        own = ours[tuple(row[keys])]
        if row["cpu_seconds"] < own:
            text = f"{_seconds(row['cpu_seconds'])} s, ours {_seconds(own)} s"
            lines.append([*_setting(row), text])
    for _, row in rows[rows["cpu_seconds"].isna()].iterrows():
        lines.append([*_setting(row), f"no number: {row['reason']}"])
    if not lines:
        return "At no size that was measured."
    head = ["what", "who", "notion", "n", "k", "CPU"]
    return f"Measured on `{_about()['commit']}`:\n\n{table(head, lines)}"


def _setting(row: pd.Series) -> list[str]:
    return [row["what"], row["who"], row["notion"], f"{row['n']:,}", str(row["k"])]


def _seconds(x: float) -> str:
    return f"{x:.2g}" if x < 10 else f"{x:.0f}"


def _plain(x: float, digits: int = 1) -> str:
    return "" if pd.isna(x) else f"{x:.{digits}f}"


def scale() -> str:
    """Return a table of the runs of benchmarks/scale.py --curve, with commit and processor."""
    rows = pd.read_csv(BENCHMARKS / "scale.csv", dtype={"commit": str})
    lines = [
        [
            row["engine"], f"{row['cells']:,}", f"{row['wall_s']:.0f}", f"{row['cpu_s']:.0f}",
            f"{row['cpu_ms_per_cell']:.2f}", f"{row['driver_mb']:,}", f"{row['parts']:,}",
            f"{row['bytes_per_cell']:.0f}", f"{row['load']:.1f}",
        ]
        for _, row in rows.iterrows()
    ]  # fmt: skip
    columns = [
        "engine",
        "cells",
        "wall s",
        "CPU s",
        "CPU ms per cell",
        "driver MB",
        "parts",
        "bytes per cell",
        "load at the end",
    ]
    commits = ", ".join(f"`{commit}`" for commit in rows["commit"].unique())
    processors = ", ".join(rows["processor"].unique())
    return f"Measured on {commits}: {processors}.\n\n{table(columns, lines)}"
