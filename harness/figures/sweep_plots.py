"""Figure of a parameter sweep: estimates and CPU time against a swept parameter."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from harness.common.names import AXIS_NAMES, notion_name
from harness.configure import sweeps
from harness.configure.settings import Settings, as_list
from harness.evaluation import captions
from harness.evaluation.selection import figure_estimands, label
from harness.evaluation.sweep_tables import SweepResults, are_numbers, comparable
from harness.figures import plots
from harness.figures.marks import legend, marks
from harness.figures.panels import rule
from harness.figures.style import COLOURS, WIDTH, series_style, subplots
from harness.math.notions import NOTIONS
from harness.records.schema import has_number

NO_BREAK = "\N{NO-BREAK SPACE}"
PANEL_VALUES = 4  # a parameter with more values has a line per value instead of a panel per value
LOG_RATIO = 20.0  # smallest ratio of largest to smallest value for a logarithmic axis
PLACE = ["problem", "notion", "n"]
ROW = ["estimand", *PLACE]


def render(results: SweepResults, records: pd.DataFrame, settings: Settings) -> Figure:
    """Draw estimates (mean and standard error) and CPU time against a swept parameter.

    The x axis is the parameter with the most values. There is a panel per problem, notion, n,
    estimand and value of one further parameter. Other parameters, and those with more than
    PANEL_VALUES values, have a line per value instead.
    """
    estimands = figure_estimands(records, settings)
    frame = results.rows(records[records["estimand"].isin(estimands)], settings)
    frame = frame[has_number(frame)]
    chosen = as_list(settings.figure.estimators)
    if chosen:
        frame = frame[frame["estimator"].isin(chosen)]
    swept = [p for p in results.plan.swept.values() if p in frame and frame[p].notna().any()]
    if not swept:
        return plots.overview(records, settings)
    # The x axis is preferably a numeric parameter, then the parameter with the most values.
    values = {name: results.values(name) for name in swept}
    x, *others = sorted(swept, key=lambda name: (not are_numbers(values[name]), -len(values[name])))
    return _lines(values, frame, Axis(x, values[x]), others, estimands, settings)


@dataclass(frozen=True)
class Axis:
    """The x axis of the figure: a swept parameter and its values.

    Numbers are drawn at their value, names at equal distances.
    """

    name: str
    values: Sequence[Any]

    @property
    def places(self) -> dict[Any, float]:
        """The coordinate of each value, as {value: coordinate}."""
        numbers = are_numbers(self.values)
        return {comparable(v): float(v if numbers else i) for i, v in enumerate(self.values)}

    def coordinates(self, frame: pd.DataFrame) -> np.ndarray:
        """Return the x coordinate of each row of a frame."""
        places = self.places
        return np.array([places[comparable(value)] for value in frame[self.name]])

    def scale(self, ax: Any) -> None:
        """Set the scale and the ticks of the x axis of a panel."""
        places, values = list(self.places.values()), list(self.values)
        if not are_numbers(values):
            rotation = 30 if len(values) > 4 else 0
            ax.set_xticks(places, [sweeps.value_text(v) for v in values], rotation=rotation)
            return
        if is_log(places):
            ax.set_xscale("log")
        if len(values) <= 5 or is_log(places):
            step = -(-len(values) // 6)
            ax.set_xticks(
                sorted(places)[::step], [sweeps.value_text(v) for v in sorted(values)[::step]]
            )
            ax.minorticks_off()


def _lines(
    values: dict[str, Any],
    frame: pd.DataFrame,
    axis: Axis,
    others: list[str],
    estimands: list[str],
    settings: Settings,
) -> Figure:
    swept = frame[frame[axis.name].notna()]
    # One parameter with few values has a column of panels per value; the others have lines.
    few = [name for name in others if len(values[name]) <= PANEL_VALUES]
    across = max(few, key=lambda name: len(values[name]), default=None)
    lines_by = [name for name in others if name != across]
    order = {name: i for i, name in enumerate(settings.problem)}
    rows = sorted(
        set(swept[ROW].itertuples(index=False, name=None)),
        key=lambda r: (
            estimands.index(r[0]), order.get(r[1], len(order)), NOTIONS.index(r[2]), r[3],
        ),
    )  # fmt: skip
    sizes = sorted(swept["n"].unique())
    if across is None:  # each sample size has a column of panels
        rows, columns = list(dict.fromkeys((*row[:3], None) for row in rows)), sizes
    else:
        present = {comparable(v) for v in swept[across]}
        columns = [v for v in values[across] if comparable(v) in present]
    series = _series(values, frame, lines_by, settings)
    size = (max(WIDTH, 0.6 + 1.6 * len(columns)), 0.9 + 1.8 * len(rows) + 1.3)
    shape = {"figsize": settings.figure.size or size, "sharex": True, "sharey": "row"}
    figure, grid = subplots(len(rows) + 1, len(columns), 0, **shape)
    several_notions = swept["notion"].nunique() > 1
    drawn = []
    for j, column in enumerate(columns):
        costs: dict[int, list[pd.DataFrame]] = {}
        for i, (estimand, problem, notion, size_of_row) in enumerate(rows):
            ax, n = grid[i, j], column if across is None else size_of_row
            here = frame[frame[ROW].eq([estimand, problem, notion, n]).all(axis=1)]
            changed = across is not None and here[across].notna().any()
            if across is not None:
                if not changed and j > 0:  # the panel would be the same in each column
                    ax.set_visible(False)
                    continue
                same = [comparable(v) in (None, comparable(column)) for v in here[across]]
                here = here[same]
            for position, (name, kind) in enumerate(series.items()):
                line = here[[key == kind for key in _kinds(here, lines_by)]]
                _draw(ax, line, axis, position, settings, name)
                costs.setdefault(position, []).append(line[line[axis.name].notna()])
            _truth(ax, here, axis, lines_by)
            drawn.append(here)
            words = [label(settings, "problem", problem)]
            words += [notion_name(notion)] if several_notions else []
            words += [f"n = {n:,}"] if len(sizes) > 1 or across is None else []
            words += [f"{across} = {sweeps.value_text(column)}"] if changed else []
            title = ", ".join(word.replace(" ", NO_BREAK) for word in words)
            folded = textwrap.fill(title, 34 if len(columns) < 4 else 26)
            ax.set_title(folded.replace(NO_BREAK, " "))
        below = grid[-1, j]
        for position, lines in costs.items():
            _cost(below, pd.concat(lines), axis, position)
        below.set(xlabel=axis.name, yscale="log")
        axis.scale(below)
    for ax, row in zip(grid[:-1, 0], rows):
        ax.set_ylabel(AXIS_NAMES.get(row[0], row[0]))
    grid[-1, 0].set_ylabel("CPU time of a cell [ms]")
    _widen(grid[-1, 0])
    legend(figure, grid[:-1].flat, list(series), settings, swept)
    figure.set_label(_caption(pd.concat(drawn), axis.name, across, lines_by, settings))
    return figure


def _series(
    values: dict[str, Any], frame: pd.DataFrame, lines_by: list[str], settings: Settings
) -> dict[str, tuple[Any, ...]]:
    """Return {label: (estimator, values of the parameters in `lines_by`)} for the drawn lines.

    The lines are in the order of the configured estimators.
    """
    order = as_list(settings.figure.estimators)
    if not order:
        order = list(settings.estimator)
        order += [e for e in dict.fromkeys(frame["estimator"]) if e not in order]
    kinds = dict.fromkeys(_kinds(frame, lines_by))
    texts = {comparable(v): sweeps.value_text(v) for name in lines_by for v in values[name]}
    series = {}
    for kind in sorted(kinds, key=lambda kind: order.index(kind[0])):
        pairs = [(name, v) for name, v in zip(lines_by, kind[1:]) if v is not None]
        text = ", ".join(f"{name}={texts[value]}" for name, value in pairs)
        series[label(settings, "estimator", kind[0]) + (f" ({text})" if text else "")] = kind
    return series


def _kinds(frame: pd.DataFrame, lines_by: list[str]) -> list[tuple[Any, ...]]:
    """Return (estimator, values of the parameters in `lines_by`) for each row of a frame."""
    return list(zip(frame["estimator"], *(map(comparable, frame[name]) for name in lines_by)))


def _draw(
    ax: Any, line: pd.DataFrame, axis: Axis, position: int, settings: Settings, name: str
) -> None:
    """Draw one line in one panel. It is horizontal and dotted if the x parameter has no effect."""
    swept = line[line[axis.name].notna()]
    if len(swept):
        swept = swept.assign(_place=axis.coordinates(swept)).sort_values("_place", kind="stable")
        for kind, part in swept.groupby("kind", sort=False):
            places = part["_place"].to_numpy()
            marks(ax, str(kind), places, part, position, settings, True, name)
    elif len(line):
        ax.axhline(
            line["mean"].iloc[0],
            label=name,
            zorder=2,
            color=COLOURS[position % 8],
            linewidth=0.9,
            linestyle=(0, (1, 1.5)),
        )


def _cost(ax: Any, line: pd.DataFrame, axis: Axis, position: int) -> None:
    """Draw the CPU milliseconds of a cell for one line, averaged over a column of panels."""
    if len(line):
        mean = 1e3 * line["cpu_seconds"].groupby(axis.coordinates(line)).mean()
        ax.plot(mean.index, mean, **series_style(position))


def _truth(ax: Any, part: pd.DataFrame, axis: Axis, lines_by: list[str]) -> None:
    """Draw the true value: a dashed level, or a dashed curve if it changes with the x parameter.

    If the true value also changes with the parameters in `lines_by`, there is one curve for each
    of their values.
    """
    known = part[part["truth"].notna()]
    moving = known[known[axis.name].notna()]
    if moving["truth"].nunique() <= 1:
        if len(known):
            rule(ax, known["truth"].iloc[0], label="true value", zorder=2)
        return
    places = axis.coordinates(moving)
    is_common = moving["truth"].groupby(places).nunique().max() == 1
    lines: dict[tuple[Any, ...], dict[float, float]] = {}
    for kind, place, truth in zip(_kinds(moving, lines_by), places, moving["truth"]):
        lines.setdefault(() if is_common else kind[1:], {})[place] = truth
    dashed = {"color": "0.2", "linestyle": "--", "linewidth": 1.0, "zorder": 2}
    for points in lines.values():
        ax.plot(*zip(*sorted(points.items())), label="true value", **dashed)


def _caption(
    table: pd.DataFrame, x: str, across: str | None, lines_by: list[str], settings: Settings
) -> str:
    """Return the caption of the figure that `_lines` draws."""
    panels = f", a column of panels for each {across}" if across else ""
    lines = f", a line for each {' and '.join(lines_by)}" if lines_by else ""
    sentences = [f"Estimates against {x}{panels}{lines}."]
    sentences += captions.describe_means(table, settings)
    sentences += captions.describe_bounds(table[table[x].notna()], settings)
    if table[x].isna().any():
        sentences.append(f"Dotted levels: estimators that {x} does not change.")
    if table["truth"].notna().any():
        sentences.append("Dashed line: the true value.")
    median = " (median over the replications)" if table["reps"].max() > 1 else ""
    several = len(table[["problem", "notion"]].drop_duplicates()) > 1
    mean = ", mean over the panels above" if several else ""
    return " ".join([*sentences, f"Below: CPU time of a cell{median}{mean}."])


def _widen(ax: Any) -> None:
    """Label a logarithmic y axis, and extend it to at least a decade.

    On a shorter axis, random variation of the measured times would look like a trend.
    """
    low, high = ax.get_ylim()
    middle, reach = math.sqrt(low * high), max(math.sqrt(high / low), math.sqrt(10.0))
    ax.set_ylim(middle / reach, middle * reach)
    ax.yaxis.set_major_locator(LogLocator(base=10, subs=(1.0, 3.0) if reach < 30 else (1.0,)))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.yaxis.set_minor_formatter(NullFormatter())


def is_log(places: Sequence[float]) -> bool:
    """Return True if the values are positive and span enough for a logarithmic axis."""
    return min(places) > 0 and max(places) / min(places) >= LOG_RATIO
