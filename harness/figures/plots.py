"""General figures of estimates: against n, next to each other at one n, or over many problems."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from harness.common.names import AXIS_NAMES, notion_name
from harness.configure.settings import Settings, as_list
from harness.evaluation import captions
from harness.evaluation.reproduction import TRUTH
from harness.evaluation.selection import figure_estimands, label
from harness.evaluation.summary import evaluate
from harness.figures import papers_points
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
from harness.figures.style import COLOURS, grid_shape, nothing, pale, subplots
from harness.math.notions import NOTIONS
from harness.records.schema import has_number

MAX_PANELS = 40
MANY_DOTS = 5000  # more dots are drawn as pixels, because a vector graphic would be slow


class Panel(NamedTuple):
    """Estimand, problem and notion that one panel of a figure shows."""

    estimand: str
    problem: str
    notion: str

    def rows(self, table: pd.DataFrame) -> pd.DataFrame:
        """Return the rows of the table that belong to this panel."""
        same = table["estimand"].eq(self.estimand) & table["problem"].eq(self.problem)
        return table[same & table["notion"].eq(self.notion)]


def overview(records: pd.DataFrame, settings: Settings) -> Figure:
    """Draw the general figure that fits the records.

    It is `across_problems` for more than MAX_PANELS pairs of problem and notion, `convergence` for
    several n, and `side_by_side` for one n.
    """
    settings = replace(settings, item=None)
    if len(records.drop_duplicates(["problem", "notion"])) > MAX_PANELS:
        return across_problems(records, settings)
    draw = convergence if records["n"].nunique() > 1 else side_by_side
    return draw(records, settings)


def convergence(records: pd.DataFrame, settings: Settings) -> Figure:
    """Draw mean estimates with standard errors against n, with a panel per problem and estimand.

    The true value is a dashed line with its error as a band. Numbers that the paper reported
    against n are open marks.
    """
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
    legend(figure, shown, [*names, papers_points.TEXT], settings, table)
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


def prepare(
    records: pd.DataFrame, settings: Settings
) -> tuple[pd.DataFrame, list[Panel], list[str]]:
    """Return the evaluated estimates, the panels and the estimators, in drawing order."""
    estimands = figure_estimands(records, settings)
    table = evaluate(records, settings.files)
    table = table[table["estimand"].isin(estimands) & has_number(table)].reset_index(drop=True)
    order = {problem: i for i, problem in enumerate(settings.problem)}
    seen = list(records[["problem", "notion"]].drop_duplicates().itertuples(index=False, name=None))
    ranked = sorted(seen, key=lambda p: (order.get(p[0], len(order)), NOTIONS.index(p[1])))
    with_numbers = set(zip(table["estimand"], table["problem"], table["notion"]))
    panels = [Panel(e, *p) for e in estimands for p in ranked if (e, *p) in with_numbers]
    present = dict.fromkeys(table["estimator"])
    chosen = as_list(settings.figure.estimators)
    if not chosen:
        chosen = [*settings.estimator, *(e for e in present if e not in settings.estimator)]
        # If the true value is drawn as a line, an estimator with the label of the truth is not.
        if set(table["problem"]) == set(table.loc[table["truth"].notna(), "problem"]):
            chosen = [e for e in chosen if label(settings, "estimator", e) != TRUTH]
    return table, panels, [e for e in chosen if e in present]


def place_panels(panels: list[Panel], settings: Settings) -> tuple[int, int, list[tuple[int, int]]]:
    """Return the numbers of rows and columns of a figure, and (row, column) of each panel.

    Each estimand begins a new row.
    """
    blocks = Counter(panel.estimand for panel in panels)
    _, columns = grid_shape(max(blocks.values()), settings.figure.panels_per_row)
    places: list[tuple[int, int]] = []
    first = 0
    for count in blocks.values():
        places += [(first + i // columns, i % columns) for i in range(count)]
        first += -(-count // columns)
    return first, columns, places


def hide_unused(axes: Any, places: list[tuple[int, int]]) -> None:
    """Hide the axes of a figure at all other places than these."""
    for place, ax in np.ndenumerate(axes):
        ax.set_visible(place in places)


def _name_series(ax: Any, series: list[str], settings: Settings) -> None:
    """Write the names of the estimators on the y axis, the first one at the top."""
    names = [label(settings, "estimator", e) for e in reversed(series)]
    ax.set_yticks(range(len(series)), names)
    ax.set_ylim(-0.6, len(series) - 0.4)


def has_notions(panels: list[Panel]) -> bool:
    """Return True if the panels show several notions."""
    return len({panel.notion for panel in panels}) > 1


def panel_title(panel: Panel, panels: list[Panel], settings: Settings) -> str:
    """Return the title of a panel: its problem, and its notion if the panels have several."""
    title: str = label(settings, "problem", panel.problem)
    return f"{title}\n{panel.notion.replace('_', '-')}" if has_notions(panels) else title
