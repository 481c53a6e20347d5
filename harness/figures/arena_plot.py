"""Figures of the arena: regret against cost, typical error against n, pairs of models."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullLocator

from harness.common.names import NOTIONS
from harness.common.wording import DASH, format_number
from harness.evaluation import arena
from harness.evaluation.arena import pairs as arena_pairs
from harness.evaluation.arena.limits import LIMIT_ID
from harness.figures.estimator_kinds import kind
from harness.figures.style import COLOURS, nothing, plain_table, pyplot, subplots

ESTIMANDS = {"l1": "$L_1$", "l2_squared": "squared error"}
TRUTHS = {"l1": "L1 calibration error", "l2_squared": "squared calibration error"}
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
OWN, RIVAL = "best", "best published at each n"
KNOWN = {  # well-known estimators with their colours; the first three with results are drawn
    "binned15": COLOURS[1], "debiased15_l1": COLOURS[0], "debiased15": COLOURS[5],
    "sweep_mass": COLOURS[2], "kmeans15": COLOURS[4], "kde": COLOURS[5], "simplex_ece": COLOURS[2],
}  # fmt: skip
MOST_KNOWN = 3
OF_LIMIT = (
    " The limit is the RMSE of a Bayes estimate that knows the shape of the error on each problem, "
    "but not its size (benchmarks/arena_limits.py). It is no lower bound: at small n an estimator "
    "can be below it."
)
ROOM_FOR_NAMES = 0.4  # of the height of a panel
TRUTH_SIDES = {False: "true error above 0", True: "true error 0"}
MEANS = {  # captions of the two sides
    False: "Where the true error is above 0: geometric mean of the RMSE over the families.",
    True: "Where {it} is 0: root mean square.",
}


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


def cost(settings: pd.DataFrame, board: pd.DataFrame, own: str | None = None) -> Figure:
    """Draw mean regret against the CPU time of an estimate, a panel per notion and estimand.

    Parameters
    ----------
    settings : DataFrame
        The result of `arena.settings`. CPU times are those at n = 1,000, or at the nearest n.
    board : DataFrame
        The result of `arena.leaderboard` for these settings.
    own : str, optional
        Id of a user's estimator. Its mark is a named diamond.
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
            _draw_cost(ax, part, limits, own)
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
        "over families. Bars: 95 % intervals over families. "
        "Line: the frontier; no estimator is both cheaper and better than one on it. Bounds, "
        "oracles and estimators that are applicable in less than 80 % of the settings are not "
        "drawn."
    )
    return figure


def _draw_cost(ax: Any, part: pd.DataFrame, limits: tuple[float, float], own: str | None) -> None:
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
        if part["estimator"].iloc[i] == own:
            continue  # named at its own mark, below
        height = min(math.log(y[i]), height - 0.052 * span)
        name, place = short(part["estimator"].iloc[i]), (x[i] / 1.35, math.exp(height))
        ax.annotate(name, (x[i], y[i]), place, fontsize=6, ha="right", va="center", arrowprops=line)
    mine = part[part["estimator"].eq(own)]
    ax.plot(mine["seconds"], mine["regret"], "D", color="black", markersize=5, zorder=5)
    style = {"textcoords": "offset points", "fontsize": 7, "fontweight": "bold"}
    for place in zip(mine["seconds"], mine["regret"]):
        ax.annotate(own, place, (5, 4), **style)
    ticks = [tick for tick in REGRET_TICKS if limits[0] <= tick <= limits[1]]
    ax.yaxis.set_major_locator(FixedLocator(ticks))
    ax.yaxis.set_minor_locator(NullLocator())
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def errors(
    trends: pd.DataFrame, recommendations: pd.DataFrame, notion: str, own: str | None = None
) -> Figure:
    """Draw the typical error against n, for `best`, the best published and some known estimators.

    There is a row of panels per main estimand. The left panel has the problems with an error above
    0, the right one the calibrated problems.

    Parameters
    ----------
    trends : DataFrame
        The result of `arena_trends.trends`.
    recommendations : DataFrame
        The result of `arena.recommendations`, which names the best published estimator at each n.
    notion : str
        Notion of the figure.
    own : str, optional
        Id of a user's estimator, which gets a line of its own.
    """
    part = trends[trends["notion"].eq(notion)]
    estimands = [name for name in ESTIMANDS if part["estimand"].eq(name).any()]
    if not estimands:
        return nothing()
    sides = [side for side in TRUTH_SIDES if part["calibrated"].eq(side).any()]
    height = 0.5 + 2.55 * len(estimands)
    figure, axes = subplots(len(estimands), len(sides), height, sharex=True, sharey="row")
    rivals: dict[str, dict[int, str]] = {}
    lines: dict[str, dict[str, pd.DataFrame]] = {}
    for estimand in estimands:
        chosen = recommendations["notion"].eq(notion) & recommendations["estimand"].eq(estimand)
        rivals[estimand] = dict(recommendations[chosen].set_index("n")["rival"].dropna())
        lines[estimand] = _series(part[part["estimand"].eq(estimand)], rivals[estimand], own)
    styles = _line_styles(dict.fromkeys(name for series in lines.values() for name in series), own)
    for estimand, row_axes in zip(estimands, axes):
        series = lines[estimand]
        for side, ax in zip(sides, row_axes):
            ax.set(xscale="log", yscale="log")
            for shift, (name, of_name) in enumerate(series.items()):
                of_side = of_name[of_name["calibrated"].eq(side)].sort_values("n")
                _draw_error(ax, of_side, styles[name], shift - (len(series) - 1) / 2)
            ax.set_title(f"{ESTIMANDS[estimand]}, {TRUTH_SIDES[side]}")
            if estimand == "l1":
                ax.axhline(0.01, color="#888888", linewidth=0.7, linestyle=":", zorder=1)
        _format_errors(row_axes[0], ROOM_FOR_NAMES if rivals[estimand] else 0.0)
        _write_names(row_axes[0], rivals[estimand])
    sizes = sorted(part["n"].unique())
    for ax in axes.flat:
        ax.set_xticks(sizes, [f"{n:,}" for n in sizes])
        ax.xaxis.set_minor_locator(NullLocator())
        ax.tick_params(labelbottom=True)
    figure.supxlabel("number of samples $n$", fontsize=8)
    order = sorted(styles, key=lambda name: (name in KNOWN, name == RIVAL))
    handles = [pyplot().Line2D([], [], label=name, **styles[name]) for name in order]
    figure.legend(handles=handles, loc="outside upper center", ncols=min(3, len(handles)))
    it = "it" if len(sides) > 1 else "the true error"
    caption = [f"Typical error by n ({NOTIONS[notion]})."]
    caption += [MEANS[side].format(it=it) for side in sides]
    caption.append("Bars: 95 % t intervals over the families.")
    if RIVAL in styles:
        place = "in the left panel" if len(sides) > 1 else "along the lower edge"
        caption.append(
            "The best published estimator was chosen for each n on the development families; "
            f"its name is written {place}."
        )
    if "l1" in estimands:
        caption.append("Dotted line: an error of 0.01.")
    figure.set_label(" ".join(caption) + (OF_LIMIT if LIMIT_ID in styles else ""))
    return figure


def _series(
    rows: pd.DataFrame, rivals: Mapping[int, str], own: str | None
) -> dict[str, pd.DataFrame]:
    """Return {name in the legend: rows of the trend} for the lines of a panel, without empty ones.

    `rivals` is {n: best published estimator}, and `own` the id of a user's estimator.
    """
    known = [name for name in KNOWN if rows["estimator"].eq(name).any()][:MOST_KNOWN]
    series = {name: rows[rows["estimator"].eq(name)] for name in known}
    series[RIVAL] = rows[rows["estimator"].eq(rows["n"].map(rivals))]
    for name in (LIMIT_ID, OWN, own):
        if name is not None:
            series[name] = rows[rows["estimator"].eq(name)]
    return {name: part for name, part in series.items() if len(part)}


def _line_styles(names: Iterable[str], own: str | None) -> dict[str, dict[str, Any]]:
    """Return {name: style of its line}. `own` gets the first colour that no other line has."""
    styles = {name: {} if name == own else _line_style(name) for name in names}
    if own in styles:
        used = {style["color"] for name, style in styles.items() if name != own}
        colour = next((colour for colour in COLOURS if colour not in used), COLOURS[2])
        styles[own] = {"color": colour, "marker": "D", "linewidth": 1.8, "markersize": 4}
    return styles


def _line_style(name: str) -> dict[str, Any]:
    if name == OWN:
        return {"color": kind(OWN)[1], "marker": "o", "linewidth": 1.8, "markersize": 4}
    if name == LIMIT_ID:
        return {"color": "#777777", "marker": "v", "linewidth": 1.2, "markersize": 3.5,
                "linestyle": ":"}  # fmt: skip
    if name == RIVAL:
        return {"color": COLOURS[6], "marker": "s", "linewidth": 1.4, "markersize": 3.5}
    return {"color": KNOWN[name], "marker": ".", "linewidth": 0.9, "linestyle": "--"}


def _draw_error(ax: Any, rows: pd.DataFrame, style: dict[str, Any], shift: float) -> None:
    """Draw one line with its intervals, moved sideways so that the intervals do not overlap."""
    n, error = rows["n"].to_numpy() * 1.04**shift, rows["rmse"].to_numpy()
    bars = [error - rows["low"], rows["high"] - error]
    thin = {"elinewidth": 0.7, "capsize": 1.2, "capthick": 0.7}
    ax.errorbar(n, error, yerr=np.nan_to_num(bars), **style, **thin)


def _format_errors(ax: Any, room: float) -> None:
    """Label the axis of errors, with `room` for names along the lower edge."""
    low, high = ax.get_ylim()
    ax.set_ylim(low * (low / high) ** room, high)
    subs = (1.0, 3.0) if high / low < 300 else (1.0,)
    ax.yaxis.set_major_locator(LogLocator(subs=subs))
    ax.yaxis.set_minor_locator(NullLocator())
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: format_number(value)))
    ax.set_ylabel("typical error (RMSE)")


def _write_names(ax: Any, rivals: Mapping[int, str]) -> None:
    """Write the name of the best published estimator of each n along the lower edge."""
    box = {"facecolor": "white", "edgecolor": "none", "pad": 0.4}
    place = {"rotation": 90, "ha": "center", "va": "bottom", "fontsize": 5.5, "bbox": box}
    for n, name in rivals.items():
        ax.text(n, 0.015, short(name), transform=ax.get_xaxis_transform(), **place)


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
