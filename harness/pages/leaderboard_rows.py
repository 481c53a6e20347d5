"""A row of a leaderboard: the same entries in the arena's page and in those with filters, whose script writes them too."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness.common.wording import (
    format_interval,
    format_number,
    format_rank,
    format_seconds,
    format_signed,
    format_whole_percent,
)

HEADS = (
    "Estimator", "Rank", "Mean regret", "Worst regret", "RMSE", "Bias", "Over", "Coverage", "CPU time", "Settings",
)  # fmt: skip


def cells(row: Mapping[str, Any]) -> list[str]:
    """The entries of a row of `arena.leaderboard`, in the order of HEADS."""
    lost = "".join(
        f", {int(row[name]):,} {name}" for name in ("failed", "undefined", "skipped") if row[name]
    )
    return [
        row["estimator"], format_rank(row["rank"], row["rank_low"], row["rank_high"]),
        format_interval(row["regret"], row["low"], row["high"]), worst(row), format_number(row["rmse"]),
        format_signed(row["bias"]), format_whole_percent(row["over"]), format_whole_percent(row["coverage"]),
        format_seconds(row["cpu_seconds"]), f"{int(row['settings']):,} ({format_whole_percent(row['share'])}){lost}",
    ]  # fmt: skip


def worst(row: Mapping[str, Any]) -> str:
    """The worst regret with its interval, and where it is; no line ends inside of "n = 200"."""
    place = str(row["worst_at"]).replace(" = ", "\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}")
    return f"{format_interval(row['worst'], row['worst_low'], row['worst_high'])} at {place}"
