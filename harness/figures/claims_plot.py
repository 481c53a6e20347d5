"""Figure of a paper's claims: one row per claim, with its statistic, interval and verdict."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from harness.configure.settings import Settings
from harness.evaluation import claim_tables, claims, verdicts
from harness.figures.options import figure_settings, font_scale
from harness.figures.style import COLOURS, WIDTH, nothing, pale, pyplot

LOOKS: dict[str, dict[str, Any]] = {
    "holds": {"color": COLOURS[2], "marker": "o"},
    "fails": {"color": COLOURS[1], "marker": "X"},
    "undecided": {"color": "0.4", "marker": "D", "markerfacecolor": "white"},
}
SYMBOLS = {"holds": "●", "fails": "✖", "undecided": "◇"}  # characters that look like the markers


def item_functions(
    statistics: Callable[[pd.DataFrame, Settings], Mapping[str, claims.Statistic]],
) -> tuple[Callable[[pd.DataFrame, Settings], Any], ...]:
    """Return the functions render, table, summary and reproduced for the claims of a paper.

    `statistics` is a function of (records, settings) that returns {short name of the claim:
    Statistic}.
    """

    def with_statistics(function: Callable[..., Any]) -> Callable[[pd.DataFrame, Settings], Any]:
        return lambda records, settings: function(statistics(records, settings), settings)

    functions = (figure, claim_tables.table, claim_tables.summary, claim_tables.reproduced)
    return tuple(with_statistics(function) for function in functions)


def figure(statistics: Mapping[str, claims.Statistic], settings: Settings) -> Figure:
    """Draw one row per claim, with its statistic, interval, threshold and verdict.

    The x axis is the distance from the threshold, positive on the claimed side. As claims have
    different scales, the unit is the largest distance in the row. A claim holds if its interval is
    in the shaded half.
    """
    judged = claim_tables.judged(statistics, settings)
    if not judged["ours"].notna().any():
        return nothing("no claim could be tested; the page lists the reasons")
    scale = font_scale(settings)
    rows = list(judged.itertuples())
    names = [_wrap(r.row, 43 / scale) for r in rows]
    columns = [_wrap(r.column, 50 / scale) for r in rows]
    results = [_wrap(_result(r), 44 / scale) for r in rows]
    lines = [
        max(1.7 + 0.9 * len(result), len(name) + len(column) + 0.6)
        for name, column, result in zip(names, columns, results)
    ]
    edges = np.concatenate([[0.0], np.cumsum(lines)])
    height = 0.125 * scale * edges[-1] + 0.85  # inches, 0.125 per line of text
    size = figure_settings(settings).size or (WIDTH, height)
    height = size[1]
    drawing, ax = pyplot().subplots(figsize=tuple(size))
    drawing.subplots_adjust(left=0.355, right=0.655, top=1 - 0.25 / height, bottom=0.6 / height)
    ax.axvspan(0, 1.25, color=pale(COLOURS[2], 0.12), linewidth=0, zorder=0)
    ax.axvline(0, color="0.2", linewidth=0.9, zorder=1)
    for y in edges[1:-1]:
        ax.axhline(y, xmin=-1.2, xmax=2.2, color="0.88", linewidth=0.6, clip_on=False, zorder=0)
    for r, y, name, column, result in zip(
        rows, (edges[:-1] + edges[1:]) / 2, names, columns, results
    ):
        _draw_mark(ax, r, y)
        _write_claim(ax, y, name, column)
        _write_result(ax, r, y, result)
    ax.set(xlim=(-1.25, 1.25), ylim=(edges[-1], 0), yticks=[], xticks=[-1, -0.5, 0, 0.5, 1])
    ax.grid(axis="y", visible=False)
    ax.spines["left"].set_visible(False)
    distance = (
        "distance from the threshold, > 0 on the claimed side\n(1 = largest distance in the row)"
    )
    ax.set_xlabel(distance, fontsize=7)
    head = {"va": "baseline", "fontsize": 7, "color": "0.3"}
    ax.text(-0.04, -0.4, "against the claim", ha="right", **head)
    ax.text(0.04, -0.4, "as claimed", ha="left", **head)
    head |= {"transform": ax.get_yaxis_transform(), "ha": "left"}
    ax.text(-1.17, -0.4, "claim, and what was measured", **head)
    ax.text(1.04, -0.4, "result, with its 99 % interval", **head)
    drawing.set_label(
        f"Claims of the paper ({verdicts.counts_text(verdicts.count(judged))}): our statistic for "
        "each claim with its 99 % interval. The x axis is the distance from the claimed threshold, "
        "positive on the claimed side, in units of the largest distance in the row. A claim holds "
        "if the whole interval is in the shaded half, and fails if the whole interval is in the "
        "other half."
    )
    return drawing  # type: ignore[no-any-return]


def _wrap(text: str, width: float) -> list[str]:
    return textwrap.wrap(text, int(width), break_on_hyphens=False)


def _draw_mark(ax: Any, r: Any, y: float) -> None:
    """Draw the mark of a claim's statistic, and its interval if it has one."""
    if math.isnan(r.ours):
        ax.text(-0.04, y, "not tested here", ha="right", va="center", fontsize=7, color="0.4")
        return
    side = 1.0 if r.unit == "above" else -1.0
    low, value, high = (side * (x - r.reported) for x in (r.low, r.ours, r.high))
    largest = np.nanmax(np.abs([low, value, high])) or 1.0
    look = LOOKS[r.verdict]
    ends = np.array([low, high]) / largest  # NaN, and not drawn, without an interval
    line = {"color": look["color"], "linewidth": 1.6, "marker": "|", "markersize": 6}
    ax.plot(ends, [y, y], solid_capstyle="butt", zorder=2, **line)
    ax.plot([value / largest], [y], linestyle="none", markersize=6, zorder=3, **look)


def _write_claim(ax: Any, y: float, name: list[str], column: list[str]) -> None:
    block = {"transform": ax.get_yaxis_transform(), "ha": "left", "va": "top", "linespacing": 1.15}
    top = y - (len(name) + len(column)) / 2
    ax.text(-1.17, top, "\n".join(name), fontsize=7.5, **block)
    ax.text(-1.17, top + len(name), "\n".join(column), fontsize=6.5, color="0.4", **block)


def _result(r: Any) -> str:
    text = claim_tables.describe_result(
        r.verdict, r.unit, r.reported, r.ours, r.low, r.high, r.column
    )
    return f"{SYMBOLS[r.verdict]} {text}" if r.verdict in SYMBOLS else text


def _write_result(ax: Any, r: Any, y: float, result: list[str]) -> None:
    block = {"transform": ax.get_yaxis_transform(), "ha": "left", "va": "top", "fontsize": 7}
    colour = LOOKS.get(r.verdict, {"color": "0.4"})["color"]
    data = ""
    if isinstance(r.where, str):
        data = f"on {'our data' if r.where == claims.OURS else r.where}"
    top = y - 0.45 * (len(result) + bool(data))
    ax.text(1.04, top, "\n".join(result), color=colour, linespacing=1.15, **block)
    ax.text(1.04, top + 0.95 * len(result), data, color="0.4", **block)
