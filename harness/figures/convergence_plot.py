"""Figure of convergence: the error of each estimator against n, with intervals and slopes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from harness.common.names import AXIS_NAMES
from harness.configure.settings import Settings
from harness.errors import BadInputError
from harness.evaluation import captions
from harness.evaluation.convergence import add_errors
from harness.evaluation.selection import label
from harness.figures import papers_points
from harness.figures.estimate_panels import (
    MAX_PANELS,
    has_notions,
    hide_unused,
    panel_title,
    place_panels,
    prepare,
)
from harness.figures.marks import fit_texts, legend, sample_ticks
from harness.figures.options import figure_size
from harness.figures.style import nothing, series_style, subplots

ERROR_NAMES = {"rmse": "RMSE", "bias": "Bias", "sd": "Standard deviation"}
GUIDE = "$n^{-1/2}$"


def render(records: pd.DataFrame, settings: Settings) -> Figure:
    """Draw the error that `figure.y` names against n, with a panel per problem and estimand.

    There is one line per estimator. The slopes are in the table, and also in the legend if there is
    only one panel. On a logarithmic y axis, the absolute value of a bias is drawn, and a dotted
    line shows the rate n^(-1/2). Reported numbers of a paper's item are open marks. They must be
    values of the same error.
    """
    table, panels, series = prepare(records, settings)
    table = add_errors(table, records, settings)
    table = table[table["y"].notna()]
    panels = [panel for panel in panels if len(panel.rows(table))]
    series = [estimator for estimator in series if table["estimator"].eq(estimator).any()]
    if not series:
        return nothing("no problem of this figure has a true value, so there are no errors to draw")
    if len(panels) > MAX_PANELS:
        raise BadInputError(
            f"figure.y draws a panel for each problem and notion, and this run has {len(panels)}; "
            f"choose at most {MAX_PANELS}."
        )
    rows, columns, places = place_panels(panels, settings)
    size = figure_size(settings, 0.6 + (1.95 + 0.15 * has_notions(panels)) * rows)
    figure, axes = subplots(rows, columns, 0, figsize=size, sharex=True)
    sizes = sorted(table["n"].unique())
    names = {estimator: label(settings, "estimator", estimator) for estimator in series}
    if len(panels) == 1:
        names = {e: names[e] + _slope_text(table[table["estimator"].eq(e)]) for e in series}
    reported = {
        e: papers_points.against_n(records, settings, e) for e in table["estimand"].unique()
    }
    drawn = []
    for panel, place in zip(panels, places):
        ax, part = axes[place], panel.rows(table)
        points = reported[panel.estimand]
        points = points[points["problem"].eq(panel.problem) & points["n"].isin(sizes)]
        points = points.assign(value=shown_error(points["value"], settings))
        for i, estimator in enumerate(series):
            line = part[part["estimator"].eq(estimator)].sort_values("n")
            error_line(ax, line["n"], line, i, settings, names[estimator])
            drawn.append(points[points["estimator"].eq(estimator)])
            papers_points.draw(ax, drawn[-1], i, same_draws=True)
        ax.set_xscale("log")
        ax.set_yscale(settings.figure.yscale or "linear")
        if settings.figure.yscale == "log":
            _draw_guide(ax, part, settings)
        elif settings.figure.y == "bias":
            ax.axhline(0.0, color="0.2", linewidth=0.8, zorder=1)
        if len(sizes) == 1:  # otherwise matplotlib warns and chooses limits
            ax.set_xlim(sizes[0] / 1.5, sizes[0] * 1.5)
        sample_ticks(ax, sizes)
        ax.set_title(panel_title(panel, panels, settings))
        if place[1] == 0:
            ax.set_ylabel(error_name(panel.estimand, settings))
    hide_unused(axes, places)
    for row, column in places:
        if (row + 1, column) not in places:
            axes[row, column].set_xlabel("number of samples $n$")
            axes[row, column].tick_params(labelbottom=True)
    order = [*names.values(), *papers_points.TEXTS, GUIDE]
    legend(figure, [axes[place] for place in places], order, settings)
    fit_texts(figure, axes, settings)
    caption = _caption(table[table["estimator"].isin(series)], settings)
    points = next((frame for frame in drawn if len(frame)), pd.DataFrame())
    figure.set_label(f"{caption} {papers_points.caption(points, settings)}".strip())
    return figure


def error_line(
    ax: Any,
    places: Any,
    line: pd.DataFrame,
    i: int,
    settings: Settings,
    name: str,
    joined: bool = True,
) -> None:
    """Draw the columns y, y_low and y_high of `add_errors` as series i, at x coordinates.

    A line connects them if `joined`.
    """
    if not len(line):
        return
    y = shown_error(line["y"], settings)
    low, high = line["y_low"].fillna(line["y"]), line["y_high"].fillna(line["y"])
    if settings.figure.yscale == "log" and settings.figure.y == "bias":
        ends = np.sort(np.abs([low, high]), axis=0)
        low, high = np.where(low * high > 0, ends[0], 0.0), ends[1]
    bars = np.maximum(0.0, np.array([y - low, high - y]))
    style = series_style(i) | ({} if joined else {"linestyle": "none"})
    ax.errorbar(places, y, yerr=bars, label=name, elinewidth=0.7, capsize=1.5, zorder=3, **style)


def shown_error(values: pd.Series, settings: Settings) -> pd.Series:
    """Return errors as they are drawn: the absolute values of biases on a logarithmic axis."""
    return values.abs() if settings.figure.yscale == "log" else values


def error_name(estimand: str, settings: Settings) -> str:
    """Return the label of the y axis: the error that `figure.y` names, or the estimand itself."""
    axis: str = AXIS_NAMES.get(estimand, estimand)
    if not settings.figure.y:
        return axis
    name = ERROR_NAMES[settings.figure.y]
    if settings.figure.y == "bias" and settings.figure.yscale == "log":
        name = "|Bias|"
    return f"{name} of the\n{axis}"


def _draw_guide(ax: Any, part: pd.DataFrame, settings: Settings) -> None:
    """Draw a dotted line with the slope -1/2 through the middle of the errors in a panel."""
    y = shown_error(part["y"], settings)
    drawn = part[y > 0]
    if drawn["n"].nunique() < 2:
        return
    ends = np.array([drawn["n"].min(), drawn["n"].max()], dtype=float)
    level = np.exp(np.mean(np.log(y[y > 0]) + 0.5 * np.log(drawn["n"])))
    style: dict[str, Any] = {"color": "0.5", "linestyle": ":", "linewidth": 1.0, "zorder": 1}
    ax.plot(ends, level / np.sqrt(ends), label=GUIDE, **style)


def _slope_text(rows: pd.DataFrame) -> str:
    slope, low, high = rows[["slope", "slope_low", "slope_high"]].iloc[0]
    return "" if np.isnan(slope) else f"\nslope {slope:.2f} [{low:.2f}, {high:.2f}]"


def _caption(table: pd.DataFrame, settings: Settings) -> str:
    name = ERROR_NAMES[str(settings.figure.y)]
    sentences = [f"{name} of the estimates against n.", captions.describe_errors(table, settings)]
    if settings.figure.yscale == "log":
        sentences.append("Dotted line: the rate n^(-1/2).")
    if table["slope"].notna().any():
        sentences.append(
            "Slopes (in the table): of the least-squares line of log error on log n; their "
            "intervals contain the variation over replications, not the curvature of the lines."
        )
    return " ".join(sentences)
