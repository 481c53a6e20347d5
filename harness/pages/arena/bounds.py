"""Tables of bounds and intervals in the arena, which have no rank among point estimates."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd

from harness.common.names import NOTIONS, estimand_name, notion_name
from harness.common.wording import format_number, format_seconds, format_whole_percent
from harness.evaluation import arena

Row = Mapping[str, Any]

BOUND_HEADS = (
    "Estimator", "Kind", "Estimand", "n", "Valid", "Holds in", "Distance to the truth, or width",
    "CPU time",
)  # fmt: skip
BOUND_MEANING = (
    "Valid: share of settings in which the mean bound lies on the right side of the truth; for "
    "intervals, share of settings in which at least 90 % of them contain it. Holds in: share of "
    "samples in which the bound or interval is right. Distance: median over settings of the "
    "distance of the mean bound from the truth, or of the mean width of the intervals. Bounds that "
    "are valid in 90 % of the settings come first. Settings whose truth is 0 do not count."
)
INTERVAL_MEANING = (
    "Coverage: share of intervals that contain the truth, as a mean over families. Width: in the "
    "unit of the estimand, as a mean over families. Relative width: the width divided by that of "
    "the narrowest interval of fixed width around the estimate that contains the truth in 93 % of "
    "the samples. Settings whose truth is 0 do not count."
)
INTERVAL_HEADS = (
    "Estimator", "Estimand", "n", "Coverage", "Lowest coverage of a family",
    "Problems with 90 % or more", "Mean width", "Relative width",
)  # fmt: skip


def bound_sections(bounds: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the result of `arena.bounds`, formatted: a dict of notion, name and rows per notion.

    A row is a list of texts in the order of BOUND_HEADS.
    """
    return _sections(bounds, _bound_row)


def interval_sections(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the result of `arena.interval_table`, formatted as by `bound_sections`.

    A row is a list of texts in the order of INTERVAL_HEADS.
    """
    return _sections(table, _interval_row)


def _sections(table: pd.DataFrame, describe: Callable[[Row], list[str]]) -> list[dict[str, Any]]:
    sections = []
    for notion in NOTIONS:
        of_notion = table[table["notion"].eq(notion)]
        sizes = sorted(of_notion["n"].unique())
        parts = (
            of_notion[of_notion["estimand"].eq(estimand) & of_notion["n"].eq(n)]
            for estimand, n in itertools.product(arena.MAIN, sizes)
        )
        rows = [describe(row) for part in parts for row in part.to_dict("records")]
        if rows:
            sections.append({"notion": notion, "name": notion_name(notion), "rows": rows})
    return sections


def _bound_row(row: Row) -> list[str]:
    return [
        row["estimator"], row["kind"], estimand_name(row["estimand"]), f"{row['n']:,}",
        format_whole_percent(row["valid"]), format_whole_percent(row["coverage"]),
        format_number(row["gap"], 2), format_seconds(row["cpu_seconds"]),
    ]  # fmt: skip


def _interval_row(row: Row) -> list[str]:
    family = str(row["lowest_family"]).replace("_", " ")
    lowest = f"{format_whole_percent(row['lowest'])} ({family})"
    return [
        row["estimator"], estimand_name(row["estimand"]), f"{row['n']:,}",
        format_whole_percent(row["coverage"]), lowest, format_whole_percent(row["share"]),
        format_number(row["width"], 2), format_number(row["relative_width"], 2),
    ]  # fmt: skip
