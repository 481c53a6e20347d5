"""Figures of the arena: regret against cost, recommended estimators, regret by family, pairs."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from harness.common.names import notion_name
from harness.common.wording import DASH
from harness.evaluation import arena, arena_pairs
from harness.figures.estimator_kinds import kind
from harness.figures.style import nothing, pale, plain_table, pyplot, subplots

NOTIONS = {name: notion_name(name) for name in ("binary", "top_label", "canonical")}
ESTIMANDS = {"l1": "$L_1$", "l2_squared": "squared error"}
TRUTHS = {"l1": "L1 calibration error", "l2_squared": "squared calibration error"}
MATRIX_ROWS = 20
PAIR_ROWS = 34
COST_N = 1000
SHORT = (
    ("variational_", "var. "),
    ("_insample", " in-s."),
    ("nadaraya_watson", "NW"),
    ("temperature", "temp."),
    ("_", " "),
)
REGRET_TICKS = (0.1, 0.2, 0.5, 1, 1.2, 1.5, 2, 3, 5, 10, 20, 50, 100, 500, 1000)
UNDECIDED = "#ececec"


def short(estimator: str) -> str:
    """Abbreviate the id of an estimator for a figure.

    Examples
    --------
    >>> short("variational_isotonic_insample")
    'var. isotonic in-s.'
    """
    for long, brief in SHORT:
        estimator = estimator.replace(long, brief)
    return estimator


def _ranked_rows(board: pd.DataFrame, notion: str, estimand: str) -> pd.DataFrame:
    """Return the rows of a leaderboard that have a rank, for one notion and estimand."""
    same = board["notion"].eq(notion) & board["estimand"].eq(estimand)
    return board[same & board["rank"].notna()]


def cost(settings: pd.DataFrame, board: pd.DataFrame) -> Figure:
    """Draw mean regret against the CPU time of an estimate, a panel per notion and estimand.

    Parameters
    ----------
    settings : DataFrame
        The result of `arena.settings`. CPU times are those at n = 1,000, or at the nearest n.
    board : DataFrame
        The result of `arena.leaderboard` for these settings.
    """
    parts = {
        estimand: {
            notion: rows for notion in NOTIONS if len(rows := _ranked_rows(board, notion, estimand))
        }
        for estimand in ESTIMANDS
    }
    parts = {estimand: rows for estimand, rows in parts.items() if rows}
    if not parts:
        return nothing()
    sizes = np.array(sorted(settings["n"].unique()))
    n = int(sizes[np.abs(np.log(sizes / COST_N)).argmin()])
    timed = settings[settings["n"].eq(n) & settings["cpu_seconds"].notna()]
    logs = np.log(timed["cpu_seconds"].clip(lower=1e-5))
    seconds = np.exp(logs.groupby([timed["notion"], timed["estimator"]]).mean())
    columns = max(map(len, parts.values()))
    figure, axes = subplots(len(parts), columns, 0.35 + 2.6 * len(parts), sharey="row")
    used: dict[str, str] = {}
    for row_axes, (estimand, rows) in zip(axes, parts.items()):
        ranked = board.loc[board["estimand"].eq(estimand) & board["rank"].notna(), "regret"]
        limits = float(ranked.min()) * 0.75, float(ranked.max()) * 1.15
        for ax in row_axes[len(rows) :]:
            ax.set_visible(False)
        for ax, (notion, part) in zip(row_axes, rows.items()):
            costs = [seconds.get((notion, e), math.nan) for e in part["estimator"]]
            part = part.assign(seconds=costs).dropna(subset=["seconds"])
            _draw_cost(ax, part, limits)
            used |= dict(map(kind, part["estimator"]))
            ax.set_title(f"{NOTIONS[notion]}, {ESTIMANDS[estimand]}")
    figure.supxlabel(f"CPU seconds of an estimate at $n$ = {n:,}", fontsize=8)
    figure.supylabel("mean regret", fontsize=8)
    handles = [
        pyplot().Line2D([], [], marker="o", linestyle="none", color=colour, label=name)
        for name, colour in used.items()
    ]
    figure.legend(handles=handles, loc="outside upper center", ncols=len(handles))
    figure.set_label(
        f"Mean regret against the CPU seconds of an estimate at n = {n:,} (geometric mean). The "
        "regret of a setting is the RMSE divided by the best published RMSE; its geometric mean is "
        "over families, n and k. Bars: 95 % intervals from resampled problems and replications. "
        "Line: the frontier; no estimator is both cheaper and better than one on it. Bounds, "
        "oracles and estimators that are applicable in less than 80 % of the settings are not "
        "drawn."
    )
    return figure


def _draw_cost(ax: Any, part: pd.DataFrame, limits: tuple[float, float]) -> None:
    x, y = part["seconds"].to_numpy(), part["regret"].to_numpy()
    colours = [kind(name)[1] for name in part["estimator"]]
    bars = [np.maximum(y - part["low"], 0.0), np.maximum(part["high"] - y, 0.0)]
    ax.errorbar(x, y, yerr=bars, fmt="none", ecolor="#bbbbbb", elinewidth=0.5, zorder=1)
    ax.scatter(x, y, c=colours, s=11, zorder=3, linewidths=0)
    ax.set(xscale="log", yscale="log")
    best = arena.frontier(x, y)
    ring = {"facecolors": "none", "edgecolors": "black", "s": 22, "linewidths": 0.8, "zorder": 4}
    ax.step(x[best], y[best], where="post", color="black", linewidth=0.8, zorder=2)
    ax.scatter(x[best], y[best], **ring)
    ax.set_ylim(*limits)
    # Write the names below and left of the frontier, where there are no marks.
    ax.set_xlim(x.min() / 200, x.max() * 3)
    line = {"arrowstyle": "-", "linewidth": 0.3, "color": "#888888", "shrinkA": 0, "shrinkB": 2}
    height, span = math.inf, math.log(limits[1] / limits[0])
    for i in best:  # from the cheapest on, each name is at least a line below the previous one
        height = min(math.log(y[i]), height - 0.052 * span)
        name, place = short(part["estimator"].iloc[i]), (x[i] / 1.35, math.exp(height))
        ax.annotate(name, (x[i], y[i]), place, fontsize=6, ha="right", va="center", arrowprops=line)
    ticks = [tick for tick in REGRET_TICKS if limits[0] <= tick <= limits[1]]
    ax.yaxis.set_major_locator(FixedLocator(ticks))
    ax.yaxis.set_minor_locator(NullLocator())
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def to_use(chosen: pd.DataFrame, estimand: str, notions: Sequence[str]) -> Figure:
    """Draw the recommended estimator by n and (notion, number of classes), a panel per family.

    Parameters
    ----------
    chosen : DataFrame
        The result of `arena.choices` by family, n and k.
    estimand : str
        Estimand of the figure.
    notions : list of str
        Notions of the figure.
    """
    part = chosen[chosen["estimand"].eq(estimand) & chosen["notion"].isin(notions)]
    if not len(part):
        return nothing()
    rectangle = pyplot().Rectangle
    families, sizes = sorted(part["family"].unique()), sorted(part["n"].unique())
    order = list(NOTIONS)
    lines = sorted({*zip(part["notion"], part["k"])}, key=lambda nk: (order.index(nk[0]), nk[1]))
    names = [f"{NOTIONS[notion]}, {k}" if len(notions) > 1 else f"k = {k}" for notion, k in lines]
    rows = -(-len(families) // 2)
    inches = 0.6 + rows * (0.34 + 0.3 * len(lines))
    figure, axes = subplots(rows, 2, inches, sharex=True, sharey=True)
    used: dict[str, str] = {}
    middle = {"ha": "center", "va": "center"}
    for family, ax in zip(families, axes.flat):
        winners = part[part["family"].eq(family)].set_index(["notion", "k", "n"])
        for (y, (notion, k)), (x, n) in (
            (line, size) for line in enumerate(lines) for size in enumerate(sizes)
        ):
            if (notion, k, n) not in winners.index:
                ax.text(x, y, DASH, fontsize=6, color="#888888", **middle)
                continue
            row = winners.loc[(notion, k, n)]
            fill: Any = UNDECIDED
            ink = "#4d4d4d"
            if row["verdict"] in ("better", "alone"):
                name, colour = kind(row["estimator"])
                used[name] = colour
                fill, ink = pale(colour, 0.35), "black"
            field = {"facecolor": fill, "edgecolor": "white", "linewidth": 1.0}
            ax.add_patch(rectangle((x - 0.5, y - 0.5), 1, 1, **field))
            text = f"{short(row['estimator'])}\n{row['regret']:.2f}"
            ax.text(x, y, text, fontsize=5.6, linespacing=1.05, color=ink, **middle)
        ax.set(xlim=(-0.5, len(sizes) - 0.5), ylim=(len(lines) - 0.5, -0.5))
        ax.set_xticks(range(len(sizes)), [f"{n:,}" for n in sizes])
        ax.set_yticks(range(len(lines)), names)
        ax.set_title(family.replace("_", ": "), fontweight="bold")
        plain_table(ax)
        ax.tick_params(labelbottom=True)
    for ax in axes.flat[len(families) :]:
        ax.set_visible(False)
    figure.supxlabel("number of samples $n$", fontsize=8)
    fills: dict[str, Any] = {name: pale(colour, 0.35) for name, colour in used.items()}
    fills["not significantly better than the runner-up"] = UNDECIDED
    handles = [rectangle((0, 0), 1, 1, facecolor=fill, label=name) for name, fill in fills.items()]
    figure.legend(handles=handles, loc="outside upper center", ncols=3)
    figure.set_label(
        f"The estimator with the smallest mean regret for the {TRUTHS[estimand]}, with this "
        "regret, by family of problems, number of samples n and number of classes k. The colour "
        "is that of its kind if it is significantly better than the runner-up (5 % for all fields "
        "together), else grey."
    )
    return figure


def matrix(by_family: pd.DataFrame, board: pd.DataFrame, notion: str) -> Figure:
    """Draw a table of the mean regret by estimator and family, with one panel per estimand.

    The rows are the 20 estimators with the smallest mean regret, and those of this project.

    Parameters
    ----------
    by_family, board : DataFrame
        Results of `arena.leaderboard`, by family and over all families.
    notion : str
        Notion of the figure.
    """
    estimands = [e for e in ESTIMANDS if len(_ranked_rows(board, notion, e))]
    if not estimands:
        return nothing()
    board = board[board["notion"].eq(notion) & board["estimand"].isin(estimands)]
    logs = np.log(board.loc[board["rank"].notna()].set_index("estimator")["regret"])
    means = logs.groupby("estimator").mean().sort_values(kind="quicksort").index
    order = [e for i, e in enumerate(means) if i < MATRIX_ROWS or e.startswith("best")]
    part = by_family[by_family["notion"].eq(notion)]
    families = sorted(part["family"].unique())
    figure, axes = subplots(1, len(estimands), 1.1 + 0.125 * len(order), sharey=True)
    for ax, estimand in zip(axes.flat, estimands):
        rows = part[part["estimand"].eq(estimand)]
        rows = rows.pivot(index="estimator", columns="family", values="regret")
        over_all = board[board["estimand"].eq(estimand)].set_index("estimator")["regret"]
        values = rows.reindex(index=order, columns=families)
        values.insert(0, "all", over_all.reindex(order))
        shades = np.clip(values, 1.0, 10.0)
        _draw_matrix(ax, values, shades, _format_regret, 4.4, 4.5, norm=LogNorm(1.0, 16.0))
        ax.axvline(0.5, color="black", linewidth=0.8)
        ax.set_title(ESTIMANDS[estimand])
    figure.set_label(
        f"Mean regret by family of problems ({NOTIONS[notion]}), for the {MATRIX_ROWS} ranked "
        "estimators with the smallest mean regret and for those of this project. The table of "
        "families has the others. A regret of 1 equals the best published estimator of every "
        "setting; a regret of 2 means that the RMSE is twice as large. The left column is the mean "
        "over all families, n and k, by which the rows are sorted. An empty field means that the "
        "estimator is not applicable."
    )
    return figure


def _format_regret(value: float) -> str:
    if math.isnan(value):
        return ""
    if value >= 1000:
        return ">999"
    return f"{value:.2f}" if value < 9.95 else f"{value:.0f}"


def _draw_matrix(
    ax: Any,
    values: pd.DataFrame,
    shades: pd.DataFrame,
    text: Callable[[float], str],
    fontsize: float,
    white_above: float,
    **mesh: Any,
) -> None:
    """Draw a table of numbers on fields in shades of blue.

    `values` are the numbers, with estimators as rows, and `shades` the numbers that determine the
    colours. `text` formats a number. Numbers above `white_above` are written in white.
    """
    edges = [np.arange(size + 1) - 0.5 for size in values.shape[::-1]]
    ax.pcolormesh(
        *edges, shades.to_numpy(), cmap="Blues", edgecolors="white", linewidth=0.4, **mesh
    )
    for (y, x), value in np.ndenumerate(values.to_numpy()):
        if content := text(value):
            colour = "white" if value > white_above else "black"
            ax.text(x, y, content, ha="center", va="center", fontsize=fontsize, color=colour)
    columns = [str(name).replace("_", " ") for name in values.columns]
    ax.set_xticks(range(len(columns)), columns, rotation=60, ha="right")
    ax.set_yticks(range(len(values)), [short(e) for e in values.index], fontsize=5.6)
    ax.set_ylim(len(values) - 0.5, -0.5)
    plain_table(ax)


def model_pairs(shares: pd.DataFrame, estimand: str) -> Figure:
    """Draw the share of pairs of models that each estimator puts into the right order.

    There is a panel per notion and number of classes. Its columns are the sample sizes, first for
    close pairs, then for far pairs.

    Parameters
    ----------
    shares : DataFrame
        The result of `arena_pairs.shares`.
    estimand : {"l1", "l2_squared"}
        The estimand whose true values define the right order.
    """
    if not shares["by"].eq(estimand).any():
        return nothing()
    table = arena_pairs.wide(shares, estimand)
    table = table[[i < PAIR_ROWS or name.startswith("best") for i, name in enumerate(table.index)]]
    panels = list(dict.fromkeys(column[:2] for column in table.columns))
    figure, axes = subplots(1, len(panels), 1.05 + 0.135 * len(table), sharey=True)
    for ax, (notion, k) in zip(axes.flat, panels):
        columns = [column for column in table.columns if column[:2] == (notion, k)]
        values = table[columns].set_axis([f"{n:,}" for _, _, n, _ in columns], axis=1)
        shades = values.clip(0.5, 1.0)
        _draw_matrix(ax, values, shades, _format_share, 5, 0.93, vmin=0.45, vmax=1.15)
        close = sum(half == arena_pairs.CLOSE for *_, half in columns)
        ax.axvline(close - 0.5, color="black", linewidth=0.8)
        ax.set_title(f"{NOTIONS[notion]}, k = {k}\n")
        above = {"ha": "center", "va": "bottom", "fontsize": 6.5}
        ax.text((close - 1) / 2, -0.75, arena_pairs.CLOSE, **above)
        ax.text((close + len(columns) - 1) / 2, -0.75, arena_pairs.FAR, **above)
    figure.supxlabel("number of samples $n$", fontsize=8)
    figure.set_label(
        f"Percentage of pairs of models, judged on the same rows, whose true {TRUTHS[estimand]}s "
        "are in the order of the estimates. Guessing gives 50. The close pairs are the half with "
        "the smaller differences. Rows are sorted by their mean difference from the column means. "
        "A dash means that the estimator does not support the notion. An estimator of another "
        "quantity has its name in brackets. An estimator whose bias grows with the error can order "
        "models well and still be far from the truth."
    )
    return figure


def _format_share(value: float) -> str:
    return DASH if math.isnan(value) else f"{100 * value:.0f}"
