"""Figures: convergence (estimate against n) and, where there is one n only, estimates side by side."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from harness.common.wording import AXIS_NAMES
from harness.configure.settings import as_list
from harness.evaluation import captions
from harness.evaluation.reproduction import TRUTH
from harness.evaluation.selection import figure_estimands, label
from harness.evaluation.summary import evaluated_once
from harness.figures import papers_points
from harness.figures.marks import (
    KIND_NAMES,
    arrow,
    fit_texts,
    legend,
    marks,
    sample_ticks,
    say_no_estimate,
    spacing,
    truth_line,
)
from harness.figures.style import COLOURS, figure_size, grid_shape, nothing, pale, pyplot
from harness.math.notions import NOTIONS
from harness.records.schema import has_number

MAX_PANELS = 40
PLACES = 20_000  # on an axis, far more than a picture has pixels


def overview(records, settings):
    """Convergence over n if there are several n, else the estimates side by side; a family of problems, too many for a panel
    each, as one distribution."""
    return _view(records)(records, replace(settings, item=None))


def _view(records):
    if len(records.drop_duplicates(["problem", "notion"])) > MAX_PANELS:
        return across_problems
    return convergence if records["n"].nunique() > 1 else side_by_side


def convergence(records, settings):
    """One panel per problem, notion and estimand: mean +- standard error over the reps against n (log axis); truth dashed, with
    its error as a band; the paper's own points, where its reported numbers have them, as open marks."""
    plt = pyplot()
    table, panels, series = _prepared(records, settings)
    if not series:
        return nothing()
    rows, columns, places = _places(panels, settings)
    figure, axes = plt.subplots(
        rows,
        columns,
        figsize=figure_size(settings, 0.6 + (1.95 + 0.15 * _several(panels)) * rows),
        squeeze=False,
        sharex=True,
        layout="constrained",
    )
    sizes = sorted(table["n"].unique())
    aside = spacing(table, series, sizes, settings)
    theirs = {
        name: papers_points.against_n(records, settings, name)
        for name in dict.fromkeys(panel[0] for panel in panels)
    }
    for panel, place in zip(panels, places):
        ax, part = axes[place], _of(table, panel)
        for i, estimator in enumerate(series):
            line = part[part["estimator"] == estimator].sort_values("n")
            for kind in KIND_NAMES:
                of_kind = line[line["kind"] == kind]
                at = of_kind["n"] * aside ** (i - (len(series) - 1) / 2)
                marks(
                    ax,
                    kind,
                    at,
                    of_kind,
                    i,
                    settings,
                    upright=True,
                    name=label(settings, "estimator", estimator),
                )
            points = theirs[panel[0]]
            points = points[points["problem"].eq(panel[1]) & points["estimator"].eq(estimator)]
            papers_points.draw(
                ax, points[points["n"].isin(sizes)], i, bool(settings.same_draws_as_paper)
            )
        truth_line(ax, part, horizontal=True)
        if len(sizes) == 1:  # of one place matplotlib would choose the limits, with a warning
            ax.set_xlim(sizes[0] / 1.5, sizes[0] * 1.5)
        ax.set_xscale("log")
        sample_ticks(ax, sizes)
        ax.set_title(_panel_title(panel, panels, settings))
        if place[1] == 0:
            ax.set_ylabel(AXIS_NAMES.get(panel[0], panel[0]))
    _hide_unused(axes, places)
    for row, column in places:
        if (row + 1, column) not in places:
            axes[row, column].set_xlabel("number of samples $n$")
            axes[row, column].tick_params(labelbottom=True)
    names = [label(settings, "estimator", e) for e in series]
    legend(figure, [axes[place] for place in places], [*names, papers_points.TEXT], settings, table)
    fit_texts(figure, axes, settings)
    said = captions.of_figure(table[table["estimator"].isin(series)], settings, "convergence")
    points = next((found for found in theirs.values() if len(found)), next(iter(theirs.values())))
    figure.set_label(" ".join([said, papers_points.caption(points, settings)]).strip())
    return figure


def side_by_side(records, settings):
    """One panel per problem, notion and estimand: the mean +- standard error of every estimator at the only n (dots of the single
    reps behind), truth dashed."""
    plt = pyplot()
    table, panels, series = _prepared(records, settings)
    if not series:
        return nothing()
    rows, columns, places = _places(panels, settings)
    height = 0.6 + rows * (0.55 + 0.2 * len(series))
    figure, axes = plt.subplots(
        rows,
        columns,
        figsize=figure_size(settings, height),
        squeeze=False,
        sharey=True,
        layout="constrained",
    )
    fine = records.loc[
        has_number(records), ["estimand", "problem", "notion", "estimator", "kind", "value"]
    ]
    for panel, place in zip(panels, places):
        ax, part, dots = axes[place], _of(table, panel), _of(fine, panel)
        for i, estimator in enumerate(series):
            line = part[part["estimator"] == estimator]
            at = len(series) - 1 - i
            if not len(line):
                say_no_estimate(ax, 0.98, at, ha="right")
            for kind in KIND_NAMES:
                marks(
                    ax,
                    kind,
                    [at] * line["kind"].eq(kind).sum(),
                    line[line["kind"] == kind],
                    i,
                    settings,
                    upright=False,
                )
            own = dots.loc[dots["estimator"].eq(estimator) & dots["kind"].ne("interval"), "value"]
            if len(own) > 1:
                dotted = _apart(own.to_numpy())
                ax.plot(
                    dotted,
                    np.full(len(dotted), at),
                    ".",
                    color=pale(COLOURS[i % 8], 0.3),
                    markersize=3,
                    zorder=1.5,
                    rasterized=len(own) > 5000,
                )
        truth_line(ax, part, horizontal=False)
        ax.set_yticks(
            range(len(series)), [label(settings, "estimator", e) for e in reversed(series)]
        )
        ax.set_ylim(-0.6, len(series) - 0.4)
        ax.locator_params(
            axis="x", nbins=8 if columns == 1 else 4
        )  # more would run into each other
        ax.set_title(_panel_title(panel, panels, settings))
        below = (
            panels[places.index((place[0] + 1, place[1]))]
            if (place[0] + 1, place[1]) in places
            else None
        )
        if below is None or below[0] != panel[0]:
            ax.set_xlabel(AXIS_NAMES.get(panel[0], panel[0]))
    _hide_unused(axes, places)
    legend(figure, [axes[place] for place in places], [], settings, table, upright=False)
    fit_texts(figure, axes, settings, named=len(series))
    figure.set_label(
        captions.of_figure(table[table["estimator"].isin(series)], settings, "side_by_side")
    )
    return figure


def _apart(values):
    """The values, of many those that a picture tells apart: the first of every 20,000th of their range, and both ends."""
    if len(values) <= PLACES:
        return values
    values = np.sort(values[np.isfinite(values)])
    width = (values[-1] - values[0]) / PLACES if len(values) else 0.0
    if not width > 0:
        return values[:1]
    return values[np.unique(np.floor((values - values[0]) / width), return_index=True)[1]]


def across_problems(records, settings):
    """One panel per notion, a row per estimand: every problem's mean estimate (over reps and n) as a dot (a bound as a tick with
    an arrow, an interval as a bar), the median over problems as a stroke."""
    plt = pyplot()
    table, _, series = _prepared(records, settings)
    if not len(table):
        return nothing()
    estimands = [
        name for name in figure_estimands(records, settings) if (table["estimand"] == name).any()
    ]
    notions = [notion for notion in NOTIONS if (table["notion"] == notion).any()]
    height = 0.7 + 0.24 * len(series) * len(estimands)
    shape = (len(estimands), len(notions))
    figure, axes = plt.subplots(
        *shape,
        figsize=figure_size(settings, height),
        squeeze=False,
        sharey=True,
        layout="constrained",
    )
    jitter = np.random.default_rng(0)
    for (row, column), ax in np.ndenumerate(axes):
        part = table[table["notion"].eq(notions[column]) & table["estimand"].eq(estimands[row])]
        for i, estimator in enumerate(series):
            own = part[part["estimator"] == estimator]
            at, colour = len(series) - 1 - i, pale(COLOURS[i % 8], 0.4)
            for kind in KIND_NAMES:
                means = own[own["kind"] == kind].groupby("problem")[["mean", "low", "high"]].mean()
                spread = at + jitter.uniform(-0.22, 0.22, len(means))
                many = len(means) > 500
                ends = ["low", "high"] if kind == "interval" else ["mean"]
                if kind == "interval":
                    ax.hlines(
                        spread,
                        means["low"],
                        means["high"],
                        color=colour,
                        linewidth=0.7,
                        rasterized=many,
                    )
                else:
                    mark = (
                        {"marker": "."}
                        if kind == "point"
                        else {
                            "marker": arrow(kind, upright=False),
                            "markersize": 9,
                            "markerfacecolor": "none",
                        }
                    )
                    ax.plot(
                        means["mean"],
                        spread,
                        linestyle="none",
                        color=colour,
                        rasterized=many,
                        **mark,
                    )
                for end in ends if len(means) else ():
                    ax.plot(
                        [means[end].median()] * 2,
                        [at - 0.35, at + 0.35],
                        color="0.1",
                        linewidth=1.4,
                        zorder=3,
                    )
        ax.set_title(f"{notions[column].replace('_', '-')}: {part['problem'].nunique():,} problems")
        ax.set_xlabel(AXIS_NAMES.get(estimands[row], estimands[row]))
    axes[0, 0].set_yticks(
        range(len(series)), [label(settings, "estimator", e) for e in reversed(series)]
    )
    axes[0, 0].set_ylim(-0.6, len(series) - 0.4)
    if set(table["kind"]) != {"point"}:
        legend(figure, [], [], settings, table, upright=False, ends_of_points=False)
    fit_texts(figure, axes, settings, named=len(series))
    figure.set_label(
        captions.of_figure(table[table["estimator"].isin(series)], settings, "across_problems")
    )
    return figure


def caption(records, settings) -> str:
    """What `overview` draws of these records, in words. Every figure bears its caption as its label (figure.get_label())."""
    table, _, series = _prepared(records, settings)
    drawn = table[table["estimator"].isin(series)]
    return captions.of_figure(drawn, replace(settings, item=None), _view(records).__name__)


def _prepared(records, settings):
    """(evaluated estimates, panels (estimand, problem, notion) in their order, estimators in theirs)."""
    estimands = figure_estimands(records, settings)
    table = evaluated_once(records, settings.files)
    table = table[table["estimand"].isin(estimands) & has_number(table)].reset_index(drop=True)
    order = {problem: i for i, problem in enumerate(settings.problem)}
    seen = list(records[["problem", "notion"]].drop_duplicates().itertuples(index=False, name=None))
    ranked = sorted(seen, key=lambda p: (order.get(p[0], len(order)), NOTIONS.index(p[1])))
    with_numbers = set(zip(table["estimand"], table["problem"], table["notion"]))
    panels = [(e, *p) for e in estimands for p in ranked if (e, *p) in with_numbers]
    have = dict.fromkeys(table["estimator"])
    known = set(table["problem"]) == set(
        table.loc[table["truth"].notna(), "problem"]
    )  # a line of its own: drawn once
    drawn = [
        e for e in settings.estimator if not (known and label(settings, "estimator", e) == TRUTH)
    ]
    chosen = as_list(settings.figure.estimators) or [
        *drawn,
        *(e for e in have if e not in settings.estimator),
    ]
    return table, panels, [e for e in chosen if e in have]


def _of(table, panel):
    return table[
        table["estimand"].eq(panel[0])
        & table["problem"].eq(panel[1])
        & table["notion"].eq(panel[2])
    ]


def _places(panels, settings):
    """(rows, columns, [(row, column) of every panel]): an estimand begins a row of its own."""
    blocks: dict[str, int] = {}
    for estimand, *_ in panels:
        blocks[estimand] = blocks.get(estimand, 0) + 1
    _, columns = grid_shape(max(blocks.values()), settings.figure.panels_per_row)
    places, first = [], 0
    for count in blocks.values():
        places += [(first + i // columns, i % columns) for i in range(count)]
        first += -(-count // columns)
    return first, columns, places


def _hide_unused(axes, places):
    for place, ax in np.ndenumerate(axes):
        ax.set_visible(place in places)


def _several(panels):
    return len({notion for *_, notion in panels}) > 1


def _panel_title(panel, panels, settings):
    _, problem, notion = panel
    return label(settings, "problem", problem) + (
        f"\n{notion.replace('_', '-')}" if _several(panels) else ""
    )
