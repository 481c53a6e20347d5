"""Figure of a paper's propositions: one row per statement, with its variant and the verdict."""

from __future__ import annotations

import textwrap
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from harness.evaluation import propositions
from harness.figures.style import COLOURS, WIDTH, pale, pyplot

LOOKS: dict[str, dict[str, Any]] = {
    "holds": {"color": COLOURS[2], "marker": "o"},
    "fails": {"color": COLOURS[1], "marker": "X"},
}
VARIANT = {"color": "0.4", "marker": "D", "markerfacecolor": "white"}
LINE = 0.125  # inches


def figure(frame: pd.DataFrame) -> Figure:
    """Draw one row per proposition: the distance from failure of the statement and its variant.

    `frame` is a result of `propositions.compute`. The distance is the margin of an inequality, or
    what an equality leaves of its allowed error. The unit is the larger distance in the row.
    """
    rows = list(frame.itertuples())
    names = [textwrap.wrap(f"{row.place}: {row.says}", 52) for row in rows]
    results = [
        textwrap.wrap(propositions.describe_result(row), 46)
        + (textwrap.wrap(f"rejected: {row.variant}", 46) if row.verdict == "holds" else [])
        + (textwrap.wrap(f"accepted: {row.variant}", 46) if row.verdict == "fails" else [])
        for row in rows
    ]
    lines = [max(len(name), len(result)) + 1.2 for name, result in zip(names, results)]
    edges = np.concatenate([[0.0], np.cumsum(lines)])
    height = LINE * edges[-1] + 0.85
    drawing, ax = pyplot().subplots(figsize=(WIDTH, height))
    drawing.subplots_adjust(left=0.4, right=0.63, top=1 - 0.25 / height, bottom=0.6 / height)
    ax.axvspan(0, 1.25, color=pale(COLOURS[2], 0.12), linewidth=0, zorder=0)
    ax.axvline(0, color="0.2", linewidth=0.9, zorder=1)
    for y in edges[1:-1]:
        ax.axhline(y, xmin=-1.75, xmax=2.6, color="0.88", linewidth=0.6, clip_on=False, zorder=0)
    block = {"transform": ax.get_yaxis_transform(), "ha": "left", "va": "center"}
    block |= {"fontsize": 7, "linespacing": 1.15}
    for row, y, name, result in zip(rows, (edges[:-1] + edges[1:]) / 2, names, results):
        ax.text(-1.72, y, "\n".join(name), **block)
        ax.text(1.05, y, "\n".join(result), color=_colour(row.verdict), **block)
        _draw_marks(ax, row, y)
    ax.set(xlim=(-1.25, 1.25), ylim=(edges[-1], 0), yticks=[], xticks=[-1, 0, 1])
    ax.grid(axis="y", visible=False)
    ax.spines["left"].set_visible(False)
    ax.set_xlabel("distance from failure\n(1 = larger distance in the row)", fontsize=7)
    head = {"va": "baseline", "fontsize": 7, "color": "0.3"}
    ax.text(-0.06, -0.4, "false", ha="right", **head)
    ax.text(0.06, -0.4, "true", ha="left", **head)
    counts = ", ".join(f"{n} {word}" for word, n in propositions.count(frame).items())
    drawing.set_label(
        f"Propositions of the paper ({counts}). Filled mark: the statement. White mark: a variant "
        "that the same code decides the other way. The x axis is the distance from failure."
    )
    return drawing  # type: ignore[no-any-return]


def _colour(verdict: str) -> str:
    return str(LOOKS.get(verdict, {"color": "0.4"})["color"])


def _draw_marks(ax: Any, row: Any, y: float) -> None:
    if row.verdict not in LOOKS:
        ax.text(-0.06, y, "not tested", ha="right", va="center", fontsize=7, color="0.4")
        return
    distances = np.array(
        [
            _distance(row.measure, row.value, row.allowed),
            _distance(row.measure, row.variant_value, row.variant_allowed),
        ]
    )
    place, other = distances / (np.abs(distances).max() or 1.0)
    ax.plot([other], [y], linestyle="none", markersize=5, zorder=2, **VARIANT)
    ax.plot([place], [y], linestyle="none", markersize=6, zorder=3, **LOOKS[row.verdict])


def _distance(measure: str, value: float, allowed: float) -> float:
    return propositions.Result(measure, value, allowed).distance
