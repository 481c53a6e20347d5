"""The figure of a sweep: estimates and CPU time with a swept parameter as the x axis, or a heat map over two."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from harness.common.wording import AXIS_NAMES
from harness.configure import sweeps
from harness.evaluation import captions
from harness.evaluation.selection import figure_estimands, has_bounds, label
from harness.evaluation.summary import are_of
from harness.evaluation.sweep_tables import are_numbers, comparable
from harness.figures import plots
from harness.figures.marks import legend, marks
from harness.figures.style import COLOURS, WIDTH, pyplot, series_style
from harness.math.notions import NOTIONS
from harness.records.schema import has_number

PANEL_VALUES = 4  # a second parameter with more values than these is the other axis of a heat map
LOGARITHMIC_FROM = (
    20.0  # values whose largest is this many times their smallest are on a logarithmic axis
)
PLACE = ["problem", "notion", "n"]


def render(results, records, settings):
    """Estimates (mean and standard error) and CPU time against the swept parameter with the most values; a panel per problem,
    notion, n, estimand and value of the other parameters, or a heat map over two of many values each. The figure bears its
    caption as its label."""
    plt = pyplot()
    estimands = figure_estimands(records, settings)
    frame = results.rows(records[records["estimand"].isin(estimands)], settings)
    frame = frame[has_number(frame)]
    chosen = settings.figure.estimators
    frame = frame[frame["estimator"].isin(chosen)] if chosen and len(frame) else frame
    axes = _axes(results, frame)
    if not len(frame) or not axes:
        return plots.overview(records, settings)
    x, *others = axes
    crossed = [name for name in others if frame[[x, name]].notna().all(axis=1).any()]
    wide = [name for name in crossed if len(results.values(name)) > PANEL_VALUES]
    if wide and len(axes) == 2:
        return _heat_maps(results, plt, frame, x, wide[0], settings)
    return _lines(
        results,
        plt,
        frame,
        x,
        others,
        [e for e in estimands if frame["estimand"].eq(e).any()],
        settings,
    )


def _axes(results, frame):
    """The swept parameters that change anything in the frame: numbers before names, then by how many values they have."""
    names = [
        name for name in results.plan.swept.values() if name in frame and frame[name].notna().any()
    ]
    return sorted(
        names, key=lambda name: (not are_numbers(results.values(name)), -len(results.values(name)))
    )


def _lines(results, plt, frame, x, others, estimands, settings):

    swept = frame[frame[x].notna()]
    count = {name: len(results.values(name)) for name in others}
    across = max(
        (name for name in others if count[name] <= PANEL_VALUES), key=count.get, default=None
    )
    beside = [name for name in others if name != across]
    order = {name: i for i, name in enumerate(settings.problem)}
    rows = {tuple(row) for row in swept[["estimand", *PLACE]].itertuples(index=False)}
    rows = sorted(
        rows,
        key=lambda row: (
            estimands.index(row[0]),
            order.get(row[1], len(order)),
            NOTIONS.index(row[2]),
            row[3],
        ),
    )
    sizes = sorted({n for *_, n in rows})
    if across is None:  # the sample sizes stand side by side
        rows, columns = list(dict.fromkeys(row[:3] for row in rows)), sizes
    else:
        columns = [
            v
            for v in results.values(across)
            if any(comparable(v) == comparable(held) for held in swept[across])
        ]
    series = _series(results, frame, beside, settings)
    at = _positions(results, x)
    kept = settings.figure.size
    figure, grid = plt.subplots(
        len(rows) + 1,
        len(columns),
        figsize=kept or (max(WIDTH, 0.6 + 1.6 * len(columns)), 0.9 + 1.8 * len(rows) + 1.3),
        squeeze=False,
        sharex=True,
        sharey="row",
        layout="constrained",
    )
    several = len({row[2] for row in rows}) > 1
    drawn = []
    for j, column in enumerate(columns):
        costs: dict[int, list] = {}
        for i, row in enumerate(rows):
            ax, n = grid[i, j], column if across is None else row[3]
            here = frame[frame[["estimand", *PLACE]].eq([*row[:3], n]).all(axis=1)]
            changed = across is not None and here[across].notna().any()
            if (
                across is not None and not changed and j > 0
            ):  # a problem that the parameter does not change is drawn once
                ax.set_visible(False)
                continue
            if across is not None:
                here = here[
                    [comparable(value) in (None, comparable(column)) for value in here[across]]
                ]
            for position, (name, chosen) in enumerate(series.items()):
                line = here[[key in chosen for key in _kinds(results, here, beside)]]
                _draw(results, ax, line, x, at, position, settings, name)
                costs.setdefault(position, []).append(line[line[x].notna()])
            _truth(results, ax, here, x, at, beside)
            drawn.append(here)
            words = [
                label(settings, "problem", row[1]),
                *([row[2].replace("_", "-")] if several else []),
            ]
            words += [f"n = {n:,}"] if len(sizes) > 1 or across is None else []
            words += [f"{across} = {sweeps.said(column)}"] if changed else []
            ax.set_title(_folded(words, 34 if len(columns) < 4 else 26))
        for position, lines in costs.items():
            _cost(results, grid[-1, j], lines, x, at, position)
        grid[-1, j].set(xlabel=x, yscale="log")
        _scale(results, grid[-1, j], x, at)
    for ax, row in zip(grid[:-1, 0], rows):
        ax.set_ylabel(AXIS_NAMES.get(row[0], row[0]))
    grid[-1, 0].set_ylabel("CPU time of a cell [ms]")
    _room(grid[-1, 0])
    legend(figure, grid[:-1].flat, list(series), settings, swept)
    figure.set_label(_caption(results, drawn, x, across, beside, settings))
    return figure


def _series(results, frame, beside, settings):
    """{label: (estimator, values of the parameters that neither axis nor panels show)}, in the order of the configuration."""
    chosen = settings.figure.estimators
    order = [e for e in chosen or settings.estimator]
    order += [] if chosen else [e for e in dict.fromkeys(frame["estimator"]) if e not in order]
    kinds = dict.fromkeys(_kinds(results, frame, beside))
    shown = {comparable(v): sweeps.said(v) for name in beside for v in results.values(name)}
    found = {}
    for estimator in order:
        for kind in (kind for kind in kinds if kind[0] == estimator):
            values = {
                name: shown[value] for name, value in zip(beside, kind[1:]) if value is not None
            }
            text = ", ".join(f"{name}={value}" for name, value in values.items())
            found[label(settings, "estimator", estimator) + (f" ({text})" if text else "")] = [kind]
    return found


def _kinds(results, frame, beside):
    """[(estimator, value of each of the parameters `beside`)] of the rows."""
    return list(
        zip(frame["estimator"], *([comparable(value) for value in frame[name]] for name in beside))
    )


def _draw(results, ax, line, x, at, position, settings, text):
    """One series in one panel: against x where it was swept, else a level."""
    swept = line[line[x].notna()]
    if len(swept):
        place = np.array([at[comparable(value)] for value in swept[x]])
        order = np.argsort(place, kind="stable")
        swept, place = swept.iloc[order], place[order]
        for kind in dict.fromkeys(swept["kind"]):
            mine = swept["kind"].eq(kind).to_numpy()
            marks(ax, kind, place[mine], swept[mine], position, settings, True, text)
    elif len(line):
        colour = COLOURS[position % 8]
        ax.axhline(
            line["mean"].iloc[0],
            color=colour,
            linewidth=0.9,
            linestyle=(0, (1, 1.5)),
            label=text,
            zorder=2,
        )


def _cost(results, ax, lines, x, at, position):
    """CPU milliseconds of a cell of one series, mean over the panels of a column."""

    line = pd.concat(lines)
    if len(line):
        mean = line["cpu_seconds"].groupby([comparable(value) for value in line[x]]).mean()
        points = sorted((at[value], 1e3 * seconds) for value, seconds in mean.items())
        ax.plot(*zip(*points), **series_style(position))


def _truth(results, ax, part, x, at, beside):
    """The true value, a dashed level, or a dashed line where it changes with the parameter; one for each value of the
    parameters `beside`, where it changes with these too."""
    known = part[part["truth"].notna()]
    if not len(known):
        return
    dashed = {
        "color": "0.2",
        "linestyle": "--",
        "linewidth": 1.0,
        "label": "true value",
        "zorder": 2,
    }
    moving = known[known[x].notna()]
    if moving["truth"].nunique() <= 1:
        ax.axhline(known["truth"].iloc[0], **dashed)
        return
    lines: dict[tuple, dict] = {}
    one = moving["truth"].groupby([comparable(value) for value in moving[x]]).nunique().max() == 1
    for kind, value, truth in zip(_kinds(results, moving, beside), moving[x], moving["truth"]):
        lines.setdefault(() if one else kind[1:], {})[at[comparable(value)]] = truth
    for points in lines.values():
        ax.plot(*zip(*sorted(points.items())), **dashed)


def _positions(results, name):
    """{value: its place on the axis}: the number itself, or the names one after the other."""
    values = results.values(name)
    return {
        comparable(v): float(v) if are_numbers(values) else float(i) for i, v in enumerate(values)
    }


def _scale(results, ax, name, at):
    values = results.values(name)
    places = list(at.values())
    if not are_numbers(values):
        ax.set_xticks(
            places, [sweeps.said(v) for v in values], rotation=30 if len(values) > 4 else 0
        )
        return
    if is_log(places):
        ax.set_xscale("log")
    if len(values) <= 5 or is_log(places):
        step = -(-len(values) // 6)
        ax.set_xticks(sorted(places)[::step], [sweeps.said(v) for v in sorted(values)[::step]])
        ax.minorticks_off()


def _heat_maps(results, plt, frame, x, y, settings):

    crossed = frame[[x, y]].notna().all(axis=1)
    frame = frame[crossed]
    estimand, *more = dict.fromkeys(frame["estimand"])  # one scale of colours is of one quantity
    frame = frame[frame["estimand"].eq(estimand)]
    known = frame["truth"].notna().all()
    what = "rmse" if known else "mean"
    panels = [
        tuple(row) for row in frame[[*PLACE, "estimator"]].drop_duplicates().itertuples(index=False)
    ]
    columns = min(len(panels), settings.figure.panels_per_row)
    rows = -(-len(panels) // columns)
    size = settings.figure.size or (max(WIDTH, 2.6 * columns), 0.4 + 2.4 * rows)
    figure, grid = plt.subplots(rows, columns, figsize=size, squeeze=False, layout="constrained")
    xs, ys = results.values(x), results.values(y)
    low, high = frame[what].min(), frame[what].max()
    for panel, ax in zip(panels, grid.flat):
        problem, notion, n, estimator = panel
        part = frame[(frame[[*PLACE, "estimator"]] == list(panel)).all(axis=1)]
        values = np.full((len(ys), len(xs)), np.nan)
        for _, row in part.iterrows():
            values[_index(ys, row[y]), _index(xs, row[x])] = row[what]
        image = ax.imshow(
            values, origin="lower", aspect="auto", cmap="cividis", vmin=low, vmax=high
        )
        if len(xs) * columns <= 15:
            for (i, j), value in np.ndenumerate(values):
                if math.isfinite(value):
                    dark = value < (low + high) / 2
                    ax.text(
                        j,
                        i,
                        f"{value:.3f}",
                        ha="center",
                        va="center",
                        fontsize=6,
                        color="white" if dark else "black",
                    )
        ax.set_xticks(
            range(len(xs)), [sweeps.said(v) for v in xs], rotation=45 if len(xs) > 6 else 0
        )
        ax.set_yticks(range(len(ys)), [sweeps.said(v) for v in ys])
        ax.grid(False)
        ax.set(xlabel=x, ylabel=y)
        ax.set_title(
            f"{label(settings, 'estimator', estimator)}\n{label(settings, 'problem', problem)}, {notion}, n = {n:,}"
        )
    for ax in list(grid.flat)[len(panels) :]:
        ax.set_visible(False)
    name = AXIS_NAMES.get(estimand, estimand)
    figure.colorbar(image, ax=grid, label=f"RMSE of the {name}" if known else name, shrink=0.8)
    said = (
        f"Root mean squared error of {estimand}"
        if known
        else f"Mean of {estimand}, whose truth is not known everywhere,"
    )
    sentences = [f"{said} by {x} and {y}, over {captions.count_range(frame['reps'])} replications."]
    if more:
        sentences.append(f"Not drawn, but in the table: {', '.join(more)}.")
    if not crossed.all():
        sentences.append(f"Drawn is what both {x} and {y} change; the table has the rest.")
    figure.set_label(" ".join(sentences))
    return figure


def _caption(results, drawn, x, across, beside, settings):
    """What the panels show, in words."""

    table = pd.concat(drawn)
    files, subsets = (
        np.array(are_of(table, getattr(settings, name)), dtype=bool)
        for name in ("files", "subsets")
    )
    panels = f", a column of panels for each {across}" if across else ""
    lines = f", a line for each {' and '.join(beside)}" if beside else ""
    sentences = [f"Estimates against {x}{panels}{lines}."]
    sentences += captions.of_means(
        table[~files], table[files & ~subsets], table[subsets], dots=False
    )
    bounds = table[has_bounds(table, settings) & table[x].notna()]
    if len(bounds):
        sentences.append(captions.of_bounds_of_estimates(bounds))
    sentences += captions.of_bounds(table[table[x].notna()], upright=True)
    if table[x].isna().any():
        sentences.append(f"Dotted levels: what {x} does not change.")
    if table["truth"].notna().any():
        sentences.append("Dashed: the true value.")
    several = " (median over the replications)" if table["reps"].max() > 1 else ""
    above = (
        ", mean over the panels above"
        if len(table[["problem", "notion"]].drop_duplicates()) > 1
        else ""
    )
    return " ".join([*sentences, f"Below: CPU time of a cell{several}{above}."])


def _folded(words, width):
    """The words of a title on as many lines as they need."""
    lines = [words[0]]
    for word in words[1:]:
        if len(f"{lines[-1]}, {word}") > width:
            lines[-1] += ","
            lines.append(word)
        else:
            lines[-1] += f", {word}"
    return "\n".join(lines)


def _room(ax):
    """A logarithmic axis of at least a decade, so that noise of times does not look like a trend, and with its ticks labelled."""
    low, high = ax.get_ylim()
    middle, reach = math.sqrt(low * high), max(math.sqrt(high / low), math.sqrt(10.0))
    ax.set_ylim(middle / reach, middle * reach)
    ax.yaxis.set_major_locator(LogLocator(base=10, subs=(1.0, 3.0) if reach < 30 else (1.0,)))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.yaxis.set_minor_formatter(NullFormatter())


def _index(values, value):
    return [comparable(v) for v in values].index(comparable(value))


def is_log(places) -> bool:
    """Whether positive values span so much that they belong on a logarithmic axis."""
    return min(places) > 0 and max(places) / min(places) >= LOGARITHMIC_FROM
