"""General figures of estimates: against n, next to each other at one n, or over many problems."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from harness.common.names import AXIS_NAMES, notion_name
from harness.configure.settings import Settings
from harness.evaluation import captions
from harness.evaluation.selection import figure_estimands, label
from harness.evaluation.summary import ROUNDING
from harness.figures import convergence_plot, papers_points
from harness.figures.estimate_panels import (
    MAX_PANELS,
    Panel,
    has_notions,
    hide_unused,
    panel_title,
    place_panels,
    prepare,
)
from harness.figures.marks import (
    KIND_NAMES,
    arrow,
    fit_texts,
    legend,
    marks,
    sample_ticks,
    spacing,
    truth_line,
)
from harness.figures.options import figure_size
from harness.figures.panels import row_note
from harness.figures.style import COLOURS, nothing, pale, subplots
from harness.math.notions import NOTIONS
from harness.records.schema import has_number

MANY_DOTS = 5000  # more dots are drawn as pixels, because a vector graphic would be slow


def overview(records: pd.DataFrame, settings: Settings) -> Figure:
    """Draw the general figure that fits the records.

    It shows errors if `figure.y` names one. Otherwise it is `across_problems` for more than
    MAX_PANELS pairs of problem and notion, `convergence` for several n, and `side_by_side` for one
    n. Numbers of a paper are not drawn.
    """
    settings = replace(settings, item=None)
    if settings.figure.y:
        return convergence_plot.render(records, settings)
    if len(records.drop_duplicates(["problem", "notion"])) > MAX_PANELS:
        return across_problems(records, settings)
    draw = convergence if records["n"].nunique() > 1 else side_by_side
    return draw(records, settings)


def convergence(records: pd.DataFrame, settings: Settings) -> Figure:
    """Draw mean estimates with standard errors against n, with a panel per problem and estimand.

    The true value is a dashed line with its error as a band. Numbers that the paper reported
    against n are open marks. If `figure.y` names an error, the figure shows that error instead.
    """
    if settings.figure.y:
        return convergence_plot.render(records, settings)
    table, panels, series = prepare(records, settings)
    if not series:
        return nothing()
    rows, columns, places = place_panels(panels, settings)
    size = figure_size(settings, 0.6 + (1.95 + 0.15 * has_notions(panels)) * rows)
    figure, axes = subplots(rows, columns, 0, figsize=size, sharex=True)
    sizes = sorted(table["n"].unique())
    step = spacing(table, series, sizes, settings)
    paper = {
        panel.estimand: papers_points.against_n(records, settings, panel.estimand)
        for panel in panels
    }
    drawn: list[pd.DataFrame] = []  # numbers of the paper, which a variation may lack
    for panel, place in zip(panels, places):
        ax, part = axes[place], panel.rows(table)
        for i, estimator in enumerate(series):
            line = part[part["estimator"] == estimator].sort_values("n")
            name = label(settings, "estimator", estimator)
            for kind in KIND_NAMES:
                rows_of_kind = line[line["kind"] == kind]
                x = rows_of_kind["n"] * step ** (i - (len(series) - 1) / 2)
                marks(ax, kind, x, rows_of_kind, i, settings, upright=True, name=name)
            points = paper[panel.estimand]
            same = points["problem"].eq(panel.problem) & points["estimator"].eq(estimator)
            points = points[same & points["n"].isin(sizes)]
            drawn.append(points)
            papers_points.draw(ax, points, i, bool(settings.same_draws_as_paper))
        is_log = settings.figure.yscale == "log"
        if not (is_log and part["truth"].abs().max() < ROUNDING):  # such a line hides all else
            truth_line(ax, part, upright=False)
        if len(sizes) == 1:  # otherwise matplotlib warns and chooses limits
            ax.set_xlim(sizes[0] / 1.5, sizes[0] * 1.5)
        ax.set_xscale("log")
        if settings.figure.yscale:
            ax.set_yscale(settings.figure.yscale)
        sample_ticks(ax, sizes)
        ax.set_title(panel_title(panel, panels, settings))
        if place[1] == 0:
            ax.set_ylabel(AXIS_NAMES.get(panel.estimand, panel.estimand))
    hide_unused(axes, places)
    for row, column in places:
        if (row + 1, column) not in places:
            axes[row, column].set_xlabel("number of samples $n$")
            axes[row, column].tick_params(labelbottom=True)
    names = [label(settings, "estimator", e) for e in series]
    shown = [axes[place] for place in places]
    legend(figure, shown, [*names, *papers_points.TEXTS], settings, table)
    fit_texts(figure, axes, settings)
    points = next((frame for frame in drawn if len(frame)), pd.DataFrame())
    caption = captions.describe_figure(table[table["estimator"].isin(series)], settings)
    figure.set_label(f"{caption} {papers_points.caption(points, settings)}".strip())
    return figure


def side_by_side(records: pd.DataFrame, settings: Settings) -> Figure:
    """Draw mean estimates with standard errors at one n, with a panel per problem and estimand.

    The estimators are the rows of a panel. Pale dots are single replications, and the dashed line
    is the true value.
    """
    table, panels, series = prepare(records, settings)
    if not series:
        return nothing()
    rows, columns, places = place_panels(panels, settings)
    size = figure_size(settings, 0.6 + rows * (0.55 + 0.2 * len(series)))
    figure, axes = subplots(rows, columns, 0, figsize=size, sharey=True)
    fine = records.loc[has_number(records), [*Panel._fields, "estimator", "kind", "value"]]
    estimand_at = {place: panel.estimand for panel, place in zip(panels, places)}
    for panel, place in zip(panels, places):
        ax, part, dots = axes[place], panel.rows(table), panel.rows(fine)
        for i, estimator in enumerate(series):
            line = part[part["estimator"] == estimator]
            y = len(series) - 1 - i
            if not len(line):
                row_note(ax, 0.98, y, "no estimate", ha="right")
            for kind in KIND_NAMES:
                rows_of_kind = line[line["kind"] == kind]
                heights = [y] * len(rows_of_kind)
                marks(ax, kind, heights, rows_of_kind, i, settings, upright=False)
            single = dots["estimator"].eq(estimator) & dots["kind"].ne("interval")
            values = dots.loc[single, "value"]
            if len(values) > 1:
                style = {"color": pale(COLOURS[i % 8], 0.3), "markersize": 3, "zorder": 1.5}
                row = np.full(len(values), y)
                ax.plot(values, row, ".", rasterized=len(values) > MANY_DOTS, **style)
        truth_line(ax, part, upright=True)
        _name_series(ax, series, settings)
        ax.locator_params(axis="x", nbins=8 if columns == 1 else 4)  # more would overlap
        ax.set_title(panel_title(panel, panels, settings))
        if estimand_at.get((place[0] + 1, place[1])) != panel.estimand:
            ax.set_xlabel(AXIS_NAMES.get(panel.estimand, panel.estimand))
    hide_unused(axes, places)
    legend(figure, [axes[place] for place in places], [], settings, table, upright=False)
    fit_texts(figure, axes, settings, names_per_panel=len(series))
    drawn = table[table["estimator"].isin(series)]
    figure.set_label(captions.describe_figure(drawn, settings, dots=True))
    return figure


def across_problems(records: pd.DataFrame, settings: Settings) -> Figure:
    """Draw the mean estimate of every problem as a dot, with one panel per notion and estimand.

    Panels of one estimand form a row. The mean is over replications and n. Bounds are ticks with
    an arrow, and intervals are bars. A stroke marks the median over the problems.
    """
    table, _, series = prepare(records, settings)
    if not len(table):
        return nothing()
    estimands = [e for e in figure_estimands(records, settings) if table["estimand"].eq(e).any()]
    notions = [notion for notion in NOTIONS if table["notion"].eq(notion).any()]
    size = figure_size(settings, 0.7 + 0.24 * len(series) * len(estimands))
    figure, axes = subplots(len(estimands), len(notions), 0, figsize=size, sharey=True)
    jitter = np.random.default_rng(0)
    for (row, column), ax in np.ndenumerate(axes):
        part = table[table["notion"].eq(notions[column]) & table["estimand"].eq(estimands[row])]
        for i, estimator in enumerate(series):
            y, colour = len(series) - 1 - i, pale(COLOURS[i % 8], 0.4)
            for kind in KIND_NAMES:
                rows = part[part["estimator"].eq(estimator) & part["kind"].eq(kind)]
                means = rows.groupby("problem")[["mean", "low", "high"]].mean()
                spread = y + jitter.uniform(-0.22, 0.22, len(means))
                style: dict[str, Any] = {"color": colour, "rasterized": len(means) > 500}
                if kind == "interval":
                    ax.hlines(spread, means["low"], means["high"], linewidth=0.7, **style)
                else:
                    marker: dict[str, Any] = {"marker": "."}
                    if kind != "point":
                        marker = {"marker": arrow(kind, upright=False), "markersize": 9}
                        marker["markerfacecolor"] = "none"
                    ax.plot(means["mean"], spread, linestyle="none", **marker, **style)
                ends = ["low", "high"] if kind == "interval" else ["mean"]
                for end in ends if len(means) else ():
                    ax.plot(
                        [means[end].median()] * 2,
                        [y - 0.35, y + 0.35],
                        color="0.1",
                        linewidth=1.4,
                        zorder=3,
                    )
        title = f"{notion_name(notions[column])}: {part['problem'].nunique():,} problems"
        ax.set_title(title)
        ax.set_xlabel(AXIS_NAMES.get(estimands[row], estimands[row]))
    _name_series(axes[0, 0], series, settings)
    if set(table["kind"]) != {"point"}:
        legend(figure, [], [], settings, table, upright=False, ends_of_points=False)
    fit_texts(figure, axes, settings, names_per_panel=len(series))
    drawn = table[table["estimator"].isin(series)]
    figure.set_label(captions.describe_distribution(drawn, settings))
    return figure


def _name_series(ax: Any, series: list[str], settings: Settings) -> None:
    """Write the names of the estimators on the y axis, the first one at the top."""
    names = [label(settings, "estimator", e) for e in reversed(series)]
    ax.set_yticks(range(len(series)), names)
    ax.set_ylim(-0.6, len(series) - 0.4)
