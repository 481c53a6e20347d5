"""The leaderboard of the arena's page, with filters by notion, estimand, family, n and k.

k is the number of classes. All numbers are aggregated in advance, with a row for every combination
of filters, so that the browser neither averages nor formats anything: leaderboard.js only writes
the rows of the chosen combination into the table. Without scripts, the page has the first one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pandas as pd

from harness.common.names import ESTIMANDS, NOTIONS, estimand_name, notion_name
from harness.common.wording import (
    DASH,
    format_factor,
    format_interval,
    format_number,
    format_rank,
    format_seconds,
    format_signed,
    format_whole_percent,
)
from harness.evaluation import arena
from harness.evaluation.arena import blocks
from harness.evaluation.arena.content import BOARDS, Content, near

HEADS = (
    "Estimator", "Rank", "Mean regret", "Worst regret", "RMSE", "RMSE, truth 0", "Bias", "Over",
    "Coverage", "Width", "CPU time", "Settings",
)  # fmt: skip
CHOICES = ("notion", "estimand")  # every leaderboard has one of each
FILTERS = ("family", "n", "k")
# Combinations of filters that have leaderboards, besides the one without a filter. Family and n
# together would be 30,000 rows, most of them over one to three settings.
COMBINATIONS: tuple[tuple[str, ...], ...] = (("family",), ("n",), ("k",), ("n", "k"))
BY_N: tuple[tuple[str, ...], ...] = (("n",),)  # for a page that must be ready in seconds
RESAMPLES = 200  # of families, for the intervals of ranks where a filter is set
ALL = "all"  # the value of a filter that is not set
REFERENCE, FRONTIER, ABSENT = "reference", "frontier", "absent"  # marks of a row


def section(
    content: Content,
    combinations: Sequence[Sequence[str]] = COMBINATIONS,
    absent: pd.DataFrame | None = None,
) -> dict[str, Any] | None:
    """Return the values of the leaderboard's section of a page, or None without a leaderboard.

    `combinations` are those of filters that the page offers, besides no filter. All COMBINATIONS of
    the whole arena take about 40 seconds. `absent` is the result of `blocks.states`: a leaderboard
    of one n names the estimators that were not run there.

    Returns
    -------
    dict
        heads
            Headings of the table.
        filters
            {name of a filter: [(value, name on the page)]}. "all" comes first. A filter with one
            value is not shown.
        rows
            {"notion|estimand|family|n|k": rows}. A row is a mark ("reference", "frontier", "absent"
            or "") and texts in the order of the headings. A reference, such as an oracle, is no
            estimator. The frontier consists of the ranked estimators of which no other is both
            cheaper and more accurate. An absent estimator was not run at this n.
        first
            Key of the rows that the page shows before a filter is set.
    """
    boards = filtered(content, combinations)
    if not len(boards):
        return None
    rows = {
        "|".join(key): _rows(part) for key, part in boards.groupby([*CHOICES, *FILTERS], sort=False)
    }
    if absent is not None:
        for key, board in boards.groupby([*CHOICES, *FILTERS], sort=False):
            rows["|".join(key)] += _absent_rows(boards, board, absent)
    filters = _filters(boards)
    first = next(key for key in _keys(filters) if key in rows)
    return {"heads": HEADS, "filters": filters, "rows": rows, "first": first}


def filtered(
    content: Content, combinations: Sequence[Sequence[str]] = COMBINATIONS
) -> pd.DataFrame:
    """Return the leaderboards of `content` for combinations of filters.

    The columns FILTERS are texts, "all" where a filter is not set.

    The leaderboards without a filter are those of `content.board`. Numbers of classes are replaced
    by the nearest of 2, 3, 10 and 100.
    """
    every = content.every[content.every["estimand"].isin(BOARDS)]
    every = every.assign(k=near(every["k"]))
    parts = [content.board, *arena.leaderboards(every, combinations, RESAMPLES)]
    filled = [
        part.assign(**{name: ALL for name in FILTERS if name not in part})
        for part in parts
        if len(part)
    ]
    if not filled:
        return content.board
    return pd.concat(filled, ignore_index=True).astype(dict.fromkeys(FILTERS, str))


def _filters(boards: pd.DataFrame) -> dict[str, list[tuple[str, str]]]:
    """Return {filter: [(value, name on the page)]}."""
    order = {"notion": list(NOTIONS), "estimand": list(ESTIMANDS)}
    words = {"notion": notion_name, "estimand": estimand_name}
    filters = {}
    for name in CHOICES:
        values = sorted(boards[name].unique(), key=order[name].index)
        filters[name] = [(value, words[name](value)) for value in values]
    families = sorted(set(boards["family"]) - {ALL})
    filters["family"] = [(ALL, ALL), *((name, name.replace("_", " ")) for name in families)]
    for name in ("n", "k"):
        numbers = sorted(int(value) for value in set(boards[name]) - {ALL})
        filters[name] = [(ALL, ALL), *((str(value), f"{value:,}") for value in numbers)]
    return filters


def _keys(filters: dict[str, list[tuple[str, str]]]) -> list[str]:
    """Return the keys of the leaderboards without a filter, in the order of the page."""
    return [
        "|".join([notion, estimand, *[ALL] * len(FILTERS)])
        for notion, _ in filters["notion"]
        for estimand, _ in filters["estimand"]
    ]


def _rows(board: pd.DataFrame) -> list[list[str]]:
    return [[_mark(row), *format_row(row)] for row in add_frontier(board).to_dict("records")]


def _absent_rows(
    boards: pd.DataFrame, board: pd.DataFrame, absent: pd.DataFrame
) -> list[list[str]]:
    """Return rows for the estimators that a leaderboard of one n lacks, but not that of all n."""
    place = board.iloc[0]
    if place["n"] == ALL or place["family"] != ALL or place["k"] != ALL:
        return []
    is_whole = (boards[list(CHOICES)] == place[list(CHOICES)]).all(axis=1)
    is_whole &= boards[list(FILTERS)].eq(ALL).all(axis=1)
    names = set(boards.loc[is_whole, "estimator"]) - set(board["estimator"])
    here = absent["notion"].eq(place["notion"]) & absent["n"].eq(int(place["n"]))
    return [
        [ABSENT, block.estimator, DASH, blocks.describe(block), *[DASH] * (len(HEADS) - 3)]
        for block in absent[here & absent["estimator"].isin(names)].itertuples()
    ]


def _mark(row: dict[Any, Any]) -> str:
    if arena.is_anchor(row["estimator"]):
        return REFERENCE
    return FRONTIER if row[FRONTIER] else ""


def add_frontier(board: pd.DataFrame) -> pd.DataFrame:
    """Add the column `frontier`: True if no ranked estimator is both cheaper and better."""
    ranked = board["rank"].notna()
    cost, regret = (board[name].where(ranked, math.inf) for name in ("cpu_seconds", "regret"))
    on_frontier = set(arena.frontier(list(cost), list(regret)))
    return board.assign(**{FRONTIER: [i in on_frontier for i in range(len(board))]})


def format_row(row: dict[Any, Any]) -> list[str]:
    """Format a row of `arena.leaderboard` as texts in the order of HEADS."""
    lost = [name for name in ("failed", "undefined", "skipped") if row[name]]
    settings = f"{int(row['settings']):,} ({format_whole_percent(row['share'])})"
    return [
        row["estimator"], format_rank(row["rank"], row["rank_low"], row["rank_high"]),
        format_interval(row["regret"], row["low"], row["high"]), worst_regret(row),
        format_number(row["rmse"]), format_number(row["rmse_calibrated"]),
        format_signed(row["bias"]), format_whole_percent(row["over"]),
        format_whole_percent(row["coverage"]), format_number(row["width"], 2),
        format_seconds(row["cpu_seconds"]),
        ", ".join([settings, *(f"{int(row[name]):,} {name}" for name in lost)]),
    ]  # fmt: skip


def worst_regret(row: Any) -> str:
    """Format the worst regret in a row of `arena.leaderboard`, with its family."""
    return f"{format_factor(row['worst'])} ({str(row['worst_at']).replace('_', ' ')})"
