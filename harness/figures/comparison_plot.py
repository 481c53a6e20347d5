"""Figures that compare one of our estimators, or a user's problem, with the arena."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter, ScalarFormatter

from harness.common.names import AXIS_NAMES, NOTIONS
from harness.evaluation import arena
from harness.figures.style import COLOURS, GREY, grid_shape, series_style, subplots

LEAST = 1e-6  # smallest RMSE in a mean of logarithms
BEST = 6  # number of estimators in the figure of a user's problem


def figure(cells: pd.DataFrame, board: pd.DataFrame, own: str) -> Figure:
    """Draw the regret of estimator `own` by family, notion, k and n, and against CPU time.

    `cells` is the result of `comparison.groups` by family, n and k, `board` that of
    `arena.leaderboard`. k is the number of classes.
    """
    present = set(cells["estimand"])
    shown = [e for e in dict.fromkeys((*arena.MAIN, *cells["estimand"])) if e in present][:2]
    families = sorted(cells["family"].unique())
    order = list(NOTIONS)
    columns = sorted(
        {*zip(cells["notion"], cells["k"], cells["n"])},
        key=lambda column: (order.index(column[0]), *column[1:]),
    )
    height = len(shown) * (1.3 + 0.17 * max(len(families), 6))
    widths = [max(1.4, 0.11 * len(columns)), 1.0]
    drawing, axes = subplots(len(shown), 2, height, width_ratios=widths)
    for (left, right), estimand in zip(axes, shown):
        image = _draw_heat(left, cells[cells["estimand"].eq(estimand)], families, columns)
        left.set_title(f"regret, {AXIS_NAMES.get(estimand, estimand)}")
        _draw_cost(right, board[board["estimand"].eq(estimand)], own)
    place: Any = {"ax": list(axes[:, 0]), "location": "bottom"}
    bar = drawing.colorbar(image, shrink=0.6, aspect=40, pad=0.02, **place)
    bar.set_ticks([-2, -1, 0, 1, 2], labels=["1/4", "1/2", "1", "2", "4"])
    bar.set_label("RMSE / RMSE of the best published estimator")
    drawing.set_label(
        f"Left: the regret of {own}, its RMSE divided by the RMSE of the best published estimator "
        "of each setting, as a geometric mean over the problems of a family at one n and k. Right: "
        "mean regret against the CPU time of an estimate, over the same settings."
    )
    return drawing


def _draw_heat(
    ax: Any, part: pd.DataFrame, families: list[str], columns: list[tuple[str, int, int]]
) -> Any:
    """Draw the regret as a heat map with families as rows and (notion, k, n) as columns.

    The colour scale is log2 of the regret.
    """
    colours = LinearSegmentedColormap.from_list("regret", [COLOURS[0], "#FFFFFF", COLOURS[1]])
    ax.set_facecolor("#E0E0E0")  # fields without a number are grey
    values = np.full((len(families), len(columns)), np.nan)
    for row in part.itertuples(index=False):
        i, j = families.index(row.family), columns.index((row.notion, row.k, row.n))
        values[i, j] = math.log2(row.regret)
    image = ax.imshow(values, cmap=colours, vmin=-2, vmax=2, aspect="auto")
    ax.grid(False)
    ax.set_yticks(range(len(families)), families)
    many = len(columns) > 9
    ticks = [f"{n:,}" for *_, n in columns]
    ax.set_xticks(range(len(columns)), ticks, fontsize=5.5, rotation=90 if many else 0)
    # Below the sample sizes, write the notion and k that neighbouring columns share.
    starts = [j for j, column in enumerate(columns) if j == 0 or columns[j - 1][:2] != column[:2]]
    text = {"textcoords": "offset points", "ha": "center", "va": "top", "fontsize": 5.5}
    for start, end in zip(starts, [*starts[1:], len(columns)]):
        if start:
            ax.axvline(start - 0.5, color="black", linewidth=0.6)
        notion, k, _ = columns[start]
        name = f"k = {k}" if notion == "binary" else f"{NOTIONS[notion]}\nk = {k}"
        middle, below = ((start + end - 1) / 2.0, 0), (0, -24 if many else -14)
        ax.annotate(name, middle, xycoords=("data", "axes fraction"), xytext=below, **text)
    return image


def _draw_cost(ax: Any, board: pd.DataFrame, own: str) -> None:
    """Draw mean regret against CPU time, for the notion in which `own` has the most settings."""
    if not len(board):
        ax.set_axis_off()
        return
    mine = board["estimator"].eq(own)
    rows = board[mine] if mine.any() else board  # a bound is not on the leaderboard
    notion = rows.sort_values("settings", ascending=False)["notion"].iloc[0]
    part = board[board["notion"].eq(notion) & board["cpu_seconds"].gt(0)]
    others = part[part["estimator"].ne(own) & part["estimator"].map(arena.is_published)]
    ax.plot(others["cpu_seconds"], others["regret"], "o", color=GREY, markersize=3)
    edge = others.iloc[arena.frontier(list(others["cpu_seconds"]), list(others["regret"]))]
    ax.step(edge["cpu_seconds"], edge["regret"], where="post", color=GREY, linewidth=0.8)
    mine = part[part["estimator"].eq(own)]
    bars = [mine["regret"] - mine["low"], mine["high"] - mine["regret"]]
    ax.errorbar(
        mine["cpu_seconds"], mine["regret"], yerr=bars, fmt="D", color=COLOURS[1], markersize=4
    )
    texts: tuple[tuple[pd.DataFrame, dict[str, Any]], ...] = (
        (edge, {"xytext": (2, 3), "fontsize": 5}),
        (mine, {"xytext": (3, -8), "fontsize": 6.5, "color": COLOURS[1]}),
    )
    for rows, style in texts:
        for row in rows.itertuples(index=False):
            place = (row.cpu_seconds, row.regret)
            ax.annotate(row.estimator, place, textcoords="offset points", **style)
    ax.set(xscale="log", yscale="log", xlabel="CPU seconds of an estimate")
    ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    ax.yaxis.set_major_formatter(ScalarFormatter())
    ax.yaxis.set_minor_formatter(NullFormatter())
    ax.set_title(f"mean regret, {NOTIONS[notion]}")


def problem_figure(judged: pd.DataFrame, name: str) -> Figure:
    """Draw the RMSE against n on one problem, with one panel per notion and estimand.

    The estimators are the six with the smallest mean log RMSE and `binned15`. `judged` holds rows
    of `arena.settings` for the problem `name`.
    """
    panels = list(judged.groupby(["notion", "estimand"], sort=True))
    rows, columns = grid_shape(len(panels), 2)
    drawing, axes = subplots(rows, columns, 2.4 * rows)
    for ax in axes.flat[len(panels) :]:
        ax.set_axis_off()
    for ax, ((notion, estimand), part) in zip(axes.flat, panels):
        logs = np.log(part.set_index("estimator")["rmse"].clip(lower=LEAST))
        order = list(logs.groupby("estimator").mean().sort_values().index)
        baseline = ["binned15"] if "binned15" in order[BEST:] else []
        for i, estimator in enumerate(order[:BEST] + baseline):
            line = part[part["estimator"].eq(estimator)].sort_values("n")
            ax.errorbar(
                line["n"],
                line["rmse"],
                yerr=2 * line["rmse_se"],
                label=estimator,
                **series_style(i),
            )
        ax.set(xscale="log", yscale="log", xlabel="n", ylabel="RMSE")
        ax.set_title(f"{NOTIONS[notion]}, {AXIS_NAMES.get(estimand, estimand)}")
        ax.legend(fontsize=6)
    drawing.set_label(
        f"RMSE on {name} of the {BEST} estimators with the smallest mean log RMSE and of binned15. "
        "Bars: 2 Monte Carlo standard errors."
    )
    return drawing
