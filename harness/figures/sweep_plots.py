"""Figure of a parameter sweep: estimates and CPU time against a swept parameter."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from harness.configure import sweeps
from harness.configure.settings import Settings, as_list
from harness.evaluation import captions
from harness.evaluation.selection import figure_estimands, label
from harness.evaluation.sweep_tables import SweepResults, are_numbers, comparable
from harness.figures import plots
from harness.figures.convergence_plot import ERROR_NAMES, error_line, error_name, shown_error
from harness.figures.marks import fit_texts, legend, marks
from harness.figures.options import font_scale
from harness.figures.panels import rule
from harness.figures.style import COLOURS, WIDTH, series_style, subplots
from harness.figures.sweep_axis import Axis
from harness.figures.sweep_panels import cost_title, fold, is_grid, panel_title, place_panels
from harness.records.schema import has_number

PANEL_VALUES = 4  # a parameter with more values has a line per value instead of a panel per value


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
    paired = [name for name in others if _follows(frame, name, x)]
    others = [name for name in others if name not in paired]
    return _lines(values, frame, Axis(x, values[x], paired), others, estimands, settings)


def _follows(frame: pd.DataFrame, name: str, x: str) -> bool:
    """Return True if a parameter follows from the one on the x axis, as in `sweep.zip`."""
    rows = frame[frame[x].notna()]
    pairs = {(comparable(a), comparable(b)) for a, b in zip(rows[x], rows[name])}
    has_other = frame.loc[frame[x].isna(), name].notna().any()
    return len(pairs) == len({first for first, _ in pairs}) and not has_other


def _lines(
    values: dict[str, Any],
    frame: pd.DataFrame,
    axis: Axis,
    others: list[str],
    estimands: list[str],
    settings: Settings,
) -> Figure:
    # One parameter with few values has a column of panels per value; the others have lines.
    few = [name for name in others if len(values[name]) <= PANEL_VALUES]
    across = max(few, key=lambda name: len(values[name]), default=None)
    lines_by = [name for name in others if name != across]
    swept = frame[frame[axis.name].notna()]
    panels = place_panels(swept, frame, across, values, estimands, settings)
    lowest, last = map(max, zip(*panels))
    series = _series(values, frame, lines_by, settings)
    height = (0.9 + 1.8 * (lowest + 1) + 1.3) * max(1.0, font_scale(settings))
    size = (max(WIDTH, 0.6 + 1.6 * (last + 1)), height)
    aligned = is_grid(swept, across)
    shape: dict[str, Any] = {"figsize": settings.figure.size or size, "sharex": True}
    shape["sharey"] = "row" if aligned else False
    figure, grid = subplots(lowest + 2, last + 1, 0, **shape)
    costs: dict[int, dict[int, list[pd.DataFrame]]] = {}
    drawn = []
    for (i, j), panel in panels.items():
        ax, here = grid[i, j], panel.rows(frame, across)
        for position, (name, kind) in enumerate(series.items()):
            is_kind = np.array([key == kind for key in _kinds(here, lines_by)], dtype=bool)
            line = here[is_kind]
            _draw(ax, line, axis, position, settings, name)
            below = costs.setdefault(j if aligned else 0, {})
            below.setdefault(position, []).append(line[line[axis.name].notna()])
        if not settings.figure.y:
            _truth(ax, here, axis, lines_by)
        drawn.append(here)
        ax.set_title(fold(panel_title(panel, across, swept, settings), last + 1, aligned))
        if (i, j - 1) not in panels:
            ax.set_ylabel(error_name(panel.estimand, settings))
        if (i + 1, j) not in panels:
            ax.tick_params(labelbottom=True)
            if not aligned and j > 0:  # no panel of CPU times below
                ax.set_xlabel(axis.text)
        if settings.figure.yscale:
            ax.set_yscale(settings.figure.yscale)
        if settings.figure.yscale != "log":
            _widen_linear(ax)
    for place, ax in np.ndenumerate(grid[:-1]):
        ax.set_visible(place in panels)
    for j, ax in enumerate(grid[-1]):
        ax.set_visible(j in costs)
        for position, lines in costs.get(j, {}).items():
            _cost(ax, pd.concat(lines), axis, position)
        ax.set(xlabel=axis.text, yscale="log")
        ax.set_title(fold(cost_title(panels, j, across, aligned), last + 1, aligned))
        axis.scale(ax)
    grid[-1, 0].set_ylabel("CPU time of a cell [ms]")
    _widen(grid[-1, 0])
    legend(figure, grid[:-1].flat, list(series), settings, swept)
    axis.fit(figure, grid, settings, aligned)
    if not aligned:
        fit_texts(figure, grid, settings)
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
    texts = {comparable(v): sweeps.shown_text(v) for name in lines_by for v in values[name]}
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
        is_joined = axis.is_ordered
        if settings.figure.y:
            places = swept["_place"].to_numpy()
            error_line(ax, places, swept, position, settings, name, is_joined)
            return
        for kind, part in swept.groupby("kind", sort=False):
            places = part["_place"].to_numpy()
            marks(ax, str(kind), places, part, position, settings, True, name, is_joined)
    elif len(line):
        ax.axhline(
            shown_error(line["y"], settings).iloc[0] if settings.figure.y else line["mean"].iloc[0],
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
        style = series_style(position) | ({} if axis.is_ordered else {"linestyle": "none"})
        ax.plot(mean.index, mean, **style)


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
    if not axis.is_ordered:
        dashed |= {"linestyle": "none", "marker": "_"}
    for points in lines.values():
        ax.plot(*zip(*sorted(points.items())), label="true value", **dashed)


def _caption(
    table: pd.DataFrame, x: str, across: str | None, lines_by: list[str], settings: Settings
) -> str:
    """Return the caption of the figure that `_lines` draws."""
    panels = f", a column of panels for each {across}" if across else ""
    lines = f", a line for each {' and '.join(lines_by)}" if lines_by else ""
    errors = settings.figure.y
    drawn = f"{ERROR_NAMES[errors]} of the estimates" if errors else "Estimates"
    sentences = [f"{drawn} against {x}{panels}{lines}."]
    if errors:
        sentences.append(captions.describe_errors(table, settings))
    else:
        sentences += captions.describe_means(table, settings)
        sentences += captions.describe_bounds(table[table[x].notna()], settings)
    if table[x].isna().any():
        sentences.append(f"Dotted levels: estimators that {x} does not change.")
    if table["truth"].notna().any() and not errors:
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


def _widen_linear(ax: Any) -> None:
    """Extend a linear y axis to at least 1e-4, so that rounding errors look like equal values."""
    low, high = ax.get_ylim()
    missing = 1e-4 - (high - low)
    if missing > 0:
        ax.set_ylim(low - missing / 2, high + missing / 2)
    ax.ticklabel_format(axis="y", useOffset=False)
