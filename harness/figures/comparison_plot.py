"""The pictures of a comparison: regret by family and against cost, or the RMSE of the best estimators on an own problem."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.ticker import LogLocator, NullFormatter, ScalarFormatter

from harness.common.wording import AXIS_NAMES, NOTIONS
from harness.evaluation import arena
from harness.evaluation.comparison import RATE
from harness.figures.style import COLOURS, WIDTH, grid_shape, pyplot, series_style


def figure(cells: pd.DataFrame, board: pd.DataFrame, own: str) -> Any:
    """Regret by family, notion, k and n, with + and - where it wins and loses; and regret against cost among all estimators."""
    plt = pyplot()
    shown = list(
        dict.fromkeys(
            name for name in (*arena.MAIN, *cells["estimand"]) if name in set(cells["estimand"])
        )
    )[:2]
    families = sorted(cells["family"].unique())
    columns = sorted(
        {*zip(cells["notion"], cells["k"], cells["n"])},
        key=lambda one: (list(NOTIONS).index(one[0]), *one[1:]),
    )
    drawn, axes = plt.subplots(
        len(shown), 2, figsize=(WIDTH, len(shown) * (1.3 + 0.17 * max(len(families), 6))), layout="constrained", squeeze=False,
        width_ratios=[max(1.4, 0.11 * len(columns)), 1.0],
    )  # fmt: skip
    image = None
    for (heat, scatter), estimand in zip(axes, shown):
        part = cells[cells["estimand"].eq(estimand)]
        image = _heat(heat, part, families, columns)
        heat.set_title(f"regret, {AXIS_NAMES.get(estimand, estimand)}")
        _scatter(scatter, board[board["estimand"].eq(estimand)], own)
    bar = drawn.colorbar(
        image, ax=[row[0] for row in axes], location="bottom", shrink=0.6, aspect=40, pad=0.02
    )
    bar.set_ticks([-2, -1, 0, 1, 2], labels=["1/4", "1/2", "1", "2", "4"])
    bar.set_label("RMSE over that of the best published estimator")
    drawn.set_label(
        f"Left: the RMSE of {own} over that of the best published estimator of each setting, geometric mean over the problems "
        "of a "
        "family at one n and k; + where it is more accurate than all of them, \u2212 where it is less accurate than at least "
        "one "
        f"(false discovery rate {RATE:.0%}). Right: mean regret against CPU time of an estimate, over the same settings."
    )
    return drawn


def _heat(ax, part, families, columns):
    colours = LinearSegmentedColormap.from_list("regret", ["#0072B2", "#FFFFFF", "#D55E00"])
    ax.set_facecolor("#E0E0E0")  # nothing is there
    grid = np.full((len(families), len(columns)), np.nan)
    for one in part.itertuples(index=False):
        i, j = families.index(one.family), columns.index((one.notion, one.k, one.n))
        grid[i, j] = math.log2(one.regret)
        ax.text(
            j,
            i,
            {"wins": "+", "loses": "\u2212"}.get(one.verdict, ""),
            ha="center",
            va="center",
            fontsize=7,
        )
    image = ax.imshow(grid, cmap=colours, vmin=-2, vmax=2, aspect="auto")
    ax.grid(False)
    ax.set_yticks(range(len(families)), families)
    starts = [j for j, column in enumerate(columns) if j == 0 or columns[j - 1][:2] != column[:2]]
    many = len(columns) > 9
    ax.set_xticks(
        range(len(columns)),
        [f"{n:,}" for _, _, n in columns],
        fontsize=5.5,
        rotation=90 if many else 0,
    )
    for start, end in zip(starts, [*starts[1:], len(columns)]):
        if start:
            ax.axvline(start - 0.5, color="black", linewidth=0.6)
        notion, k, _ = columns[start]
        label = f"k = {k}" if notion == "binary" else f"{NOTIONS[notion]}\nk = {k}"
        middle = (start + end - 1) / 2.0
        ax.annotate(
            label, (middle, 0), xycoords=("data", "axes fraction"), xytext=(0, -24 if many else -14), textcoords="offset points",
            ha="center", va="top", fontsize=5.5,
        )  # fmt: skip
    return image


def _scatter(ax, board, own):
    if not len(board):
        ax.set_axis_off()
        return
    notion = (
        board.loc[board["estimator"].eq(own)]
        .sort_values("settings", ascending=False)["notion"]
        .iloc[0]
    )
    part = board[board["notion"].eq(notion) & board["cpu_seconds"].gt(0)]
    others = part[part["estimator"].ne(own) & part["estimator"].map(arena.is_published)]
    ax.plot(others["cpu_seconds"], others["regret"], "o", color=COLOURS[7], markersize=3)
    edge = others.iloc[arena.frontier(list(others["cpu_seconds"]), list(others["regret"]))]
    ax.step(edge["cpu_seconds"], edge["regret"], where="post", color=COLOURS[7], linewidth=0.8)
    for one in edge.itertuples(index=False):
        ax.annotate(
            one.estimator,
            (one.cpu_seconds, one.regret),
            xytext=(2, 3),
            textcoords="offset points",
            fontsize=5,
        )
    mine = part[part["estimator"].eq(own)]
    ax.errorbar(
        mine["cpu_seconds"], mine["regret"], yerr=[mine["regret"] - mine["low"], mine["high"] - mine["regret"]], fmt="D",
        color=COLOURS[1], markersize=4,
    )  # fmt: skip
    for one in mine.itertuples(index=False):
        ax.annotate(
            own,
            (one.cpu_seconds, one.regret),
            xytext=(3, -8),
            textcoords="offset points",
            fontsize=6.5,
            color=COLOURS[1],
        )
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    ax.yaxis.set_major_formatter(ScalarFormatter())
    ax.yaxis.set_minor_formatter(NullFormatter())
    ax.set_xlabel("CPU seconds of an estimate")
    ax.set_title(f"mean regret, {NOTIONS[notion]}")


def problem_figure(judged: pd.DataFrame, name: str, most: int = 6) -> Any:
    """RMSE against n of the best estimators on an own problem, and of 15 bins; a panel per notion and estimand."""
    plt = pyplot()
    panels = list(judged.groupby(["notion", "estimand"], sort=True))
    rows, across = grid_shape(len(panels), 2)
    drawn, axes = plt.subplots(
        rows, across, figsize=(WIDTH, 2.4 * rows), layout="constrained", squeeze=False
    )
    for ax in axes.ravel()[len(panels) :]:
        ax.set_axis_off()
    for ax, ((notion, estimand), part) in zip(axes.ravel(), panels):
        order = (
            part.groupby("estimator")["regret"]
            .agg(lambda r: float(np.log(r).mean()))
            .sort_values()
            .index
        )
        for i, estimator in enumerate(
            [*order[:most], *(["binned15"] if "binned15" in order[most:] else [])]
        ):
            line = part[part["estimator"].eq(estimator)].sort_values("n")
            ax.errorbar(
                line["n"],
                line["rmse"],
                yerr=2 * line["rmse_se"],
                label=estimator,
                **series_style(i),
            )
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.set_xlabel("n")
        ax.set_ylabel("RMSE")
        ax.set_title(f"{NOTIONS[notion]}, {AXIS_NAMES.get(estimand, estimand)}")
        ax.legend(fontsize=6)
    drawn.set_label(
        f"RMSE on {name} of the {most} estimators with the least mean regret and of 15 bins; bars: 2 Monte Carlo errors."
    )
    return drawn
