"""The table beside other libraries, and where they win, from what benchmarks/peers.py measured."""

from __future__ import annotations

import json

import pandas as pd
from marks import DOCS, table

BENCHMARKS = DOCS.parent / "benchmarks"


def _rows() -> pd.DataFrame:
    return pd.read_csv(BENCHMARKS / "peers.csv")


def machine() -> str:
    """What it was measured on, in words."""
    about = json.loads((BENCHMARKS / "peers.json").read_text())
    packages = ", ".join(
        f"{name} {version}" for name, version in about["packages"].items() if version
    )
    left_out = [name for name, version in about["packages"].items() if not version]
    lacking = f" Not installed, and left out: {', '.join(left_out)}." if left_out else ""
    return (
        f"Measured on {about['date']} in one run of {about['cpu_seconds']:,} CPU seconds: {about['processor']}, {about['cores']} "
        f"cores of which every call takes one, Python {about['python']}, {packages}.{lacking} The load was "
        f"{about['load_before']} when the run began and {about['load_after']} when it ended."
    )


def beside() -> str:
    """Every quantity at the largest n at which ours and the other were both measured."""
    lines = []
    for what, rows in _rows().groupby("what", sort=False):
        of_n = rows[
            rows["notion"].eq(rows["notion"].iloc[0])
            & rows["k"].eq(rows["k"].iloc[0])
            & rows["cpu_seconds"].notna()
        ]
        ours = of_n[of_n["who"].eq("ours")].drop_duplicates("n").set_index("n")
        for who, mine in of_n.groupby("who", sort=False):
            one = mine[mine["n"].isin(ours.index)].nlargest(1, "n").iloc[0]
            times = one["cpu_seconds"] / ours.loc[one["n"], "cpu_seconds"]
            lines.append([
                what if who == "ours" else "", who, f"{one['n']:,}", str(one["k"]), _seconds(one["cpu_seconds"]),
                "" if who == "ours" else f"{times:.2g}", _plain(one["peak_mb"]),
                "" if who == "ours" else f"{one['difference']:.1g}",
                *(_plain(rows.loc[rows["who"].eq(who), f"exponent_{name}"].iloc[0], 2) for name in "nk"),
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
    """The sizes at which another took less CPU time than ours, and the calls that were not made or failed."""
    rows = _rows()
    keys = ["what", "notion", "n", "k"]
    ours = rows[rows["who"].eq("ours")].drop_duplicates(keys).set_index(keys)["cpu_seconds"]
    lines = []
    for _, one in rows[rows["who"].ne("ours")].drop_duplicates([*keys, "who"]).iterrows():
        own = ours[tuple(one[keys])]
        if one["cpu_seconds"] < own:
            said = f"{_seconds(one['cpu_seconds'])} s, ours {_seconds(own)} s"
            lines.append(
                [one["what"], one["who"], one["notion"], f"{one['n']:,}", str(one["k"]), said]
            )
    missing = rows[rows["cpu_seconds"].isna()]
    for _, one in missing.iterrows():
        lines.append(
            [
                one["what"],
                one["who"],
                one["notion"],
                f"{one['n']:,}",
                str(one["k"]),
                f"no number: {one['reason']}",
            ]
        )
    return (
        table(["what", "who", "notion", "n", "k", "CPU"], lines)
        if lines
        else "At no size that was measured."
    )


def _seconds(x: float) -> str:
    return f"{x:.2g}" if x < 10 else f"{x:.0f}"


def _plain(x: float, digits: int = 1) -> str:
    return "" if pd.isna(x) else f"{x:.{digits}f}"
