"""What the figures of papers have in common: panels in a paper's width, marks with error bars, names as an axis, one legend."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from harness.figures.style import COLOURS, MARKERS, WIDTH, nothing, pyplot

N_AXIS = "number of samples $n$"


def look(i: int, filled: bool = True, line: Any = "none", **more) -> dict[str, Any]:
    """Colour, marker and line of series `i` for matplotlib's plot and errorbar; an open marker where it is not `filled`."""
    colour = COLOURS[i % len(COLOURS)]
    face = {} if filled else {"markerfacecolor": "white"}
    return {"color": colour, "marker": MARKERS[i % len(MARKERS)], "linestyle": line, **face, **more}


def grid(rows: int, columns: int, height: float, **more):
    """Panels side by side.

    Parameters
    ----------
    rows, columns : int
        How many.
    height : float
        Of the whole figure, inches.
    **more
        To pyplot.subplots: sharex, sharey, width_ratios ...

    Returns
    -------
    (Figure, ndarray of Axes (rows, columns))
    """
    return pyplot().subplots(
        rows,
        columns,
        **{"figsize": (WIDTH, height), "squeeze": False, "layout": "constrained", **more},
    )


def panels(count: int, per_row: int = 3, height: float = 2.0, xlabel: str | None = N_AXIS, **more):
    """`count` panels in as many rows as they need, with the label of the x axis below the lowest of each column.

    Returns
    -------
    (Figure, list of Axes (count,))
    """
    columns = max(1, min(per_row, count))
    rows = -(-count // columns)
    figure, axes = grid(rows, columns, 0.6 + height * rows, **more)
    for ax in axes.flat[count:]:
        ax.set_visible(False)
    for ax in list(axes.flat)[max(0, count - columns) : count]:
        ax.tick_params(labelbottom=True)
        if xlabel:
            ax.set_xlabel(xlabel)
    return figure, list(axes.flat[:count])


def curve(
    ax,
    part: pd.DataFrame,
    x: str = "n",
    value: str = "mean",
    error: str | None = "se",
    log: bool = False,
    **how,
) -> None:
    """A line with error bars over the frame's columns `x`, `value` and `error`, in the order of x; nothing where it is empty.

    `log` makes the x axis logarithmic; `how` goes to errorbar, as from `look(i, line="-", label=...)`.
    """
    if len(part):
        part = part.sort_values(x)
        bars = {"capsize": 1.5, "elinewidth": 0.7, **how}
        ax.errorbar(part[x], part[value], yerr=None if error is None else part[error], **bars)
    if log:
        ax.set_xscale("log")


def column_line(ax, frame: pd.DataFrame, column: str, x: str, value: str = "value", **how) -> None:
    """The frame's rows whose `column` is this one as a plain line over the frame's column `x`; `how` goes to plot."""
    mine = frame[frame["column"].eq(column)]
    ax.plot(mine[x], mine[value], **how)


def marks(
    ax,
    at,
    part: pd.DataFrame,
    value: str = "mean",
    error: str | None = "se",
    scale: float = 1.0,
    **how,
) -> None:
    """Marks with horizontal error bars: the frame's columns `value` and `error` times `scale`, at the height `at` (one, or one
    per row); nothing where it is empty. `how` goes to errorbar, as from `look(i, filled=False, label=...)`."""
    if len(part):
        bars = {"capsize": 1.5, "elinewidth": 0.8, "linestyle": "none", **how}
        height = np.broadcast_to(np.asarray(at, dtype=float), len(part))
        ax.errorbar(
            scale * part[value], height, xerr=None if error is None else scale * part[error], **bars
        )


def named_marks(
    ax,
    part: pd.DataFrame,
    by: str,
    names: Sequence[str],
    value: str = "mean",
    error: str | None = "se",
    **how,
) -> None:
    """`marks` in the rows that `name_rows` names: that of the frame's column `by`, which is one of `names`, moved down by
    `shift`; other rows of the frame, and those without a value, are not drawn."""
    shift = how.pop("shift", 0.0)
    part = part[part[by].isin(names) & part[value].notna()]
    marks(ax, [names.index(name) + shift for name in part[by]], part, value, error, **how)


def dodged(
    ax,
    frame: pd.DataFrame,
    by: str,
    names: Sequence[str],
    series: str,
    styles: Mapping[str, Mapping],
    room=0.8,
) -> float:
    """`named_marks` of several series, one below the other within `room` of a row.

    Parameters
    ----------
    frame : DataFrame
        One mark per row; its column `by` names the row of the panel, its column `series` the series.
    styles : mapping
        {series: how it is drawn, as from `look`}.

    Returns
    -------
    float
        Where one more series would stand, below the others: its `shift`.
    """
    step = room / (len(styles) + 1)
    for i, (name, style) in enumerate(styles.items()):
        named_marks(
            ax, frame[frame[series].eq(name)], by, names, shift=step * (i + 0.5) - room / 2, **style
        )
    return room / 2 - step / 2


def by_size(ax, part: pd.DataFrame, by: str, names: Sequence[str], scale: float = 1.0) -> None:
    """A row of marks per name, one for each of two sample sizes n, open at the smaller, with the `truth_line`; a name that the
    frame's column `by` does not have says that there is no estimate."""
    for j, (n, of_n) in enumerate(part.groupby("n")):
        at = of_n[by].map(list(names).index) + 0.28 * (j - 0.5)
        marks(ax, at, of_n, scale=scale, **look(j, bool(j), label=f"$n$ = {n:,}"))
    truth_line(ax, part, upright=True, scale=scale)
    for absent in set(names) - set(part[by]):
        place = {
            "transform": ax.get_yaxis_transform(),
            "ha": "right",
            "va": "center",
            "fontsize": 6,
            "color": "0.45",
        }
        ax.text(0.98, list(names).index(absent), "no estimate", **place)


def true_values(ax, frame: pd.DataFrame, by: str, names: Sequence[str]) -> None:
    """The frame's column `truth` as an upright stroke in the row of every name."""
    for i, name in enumerate(names):
        truth = frame.loc[frame[by].eq(name), "truth"].head(1)
        ax.vlines(
            truth, i - 0.45, i + 0.45, color="0.2", linewidth=1.0, zorder=1, label="true value"
        )


def dots_and_mean(
    ax, frame: pd.DataFrame, by: str, names: Sequence[str], value: str = "value"
) -> None:
    """The values of every name as dots above each other, with a stroke at their mean; the names are the x axis."""
    for i, name in enumerate(names):
        mine, colour = frame.loc[frame[by].eq(name), value], COLOURS[i % len(COLOURS)]
        ax.plot(np.full(len(mine), i), mine, ".", color=colour, alpha=0.35, markersize=3)
        ax.plot([i - 0.3, i + 0.3], [mine.mean()] * 2, color=colour, linewidth=1.6)
    ax.set_xlim(-0.6, len(names) - 0.4)
    ax.set_xticks(range(len(names)), [name.split()[0] for name in names], rotation=45, ha="right")
    ax.grid(axis="x", visible=False)


def name_columns(ax, names: Sequence[str]) -> None:
    """The x axis as columns that bear these names, with a pale line between two of them, without ticks."""
    ax.set_xticks(range(len(names)), names)
    ax.set_xlim(-0.5, len(names) - 0.5)
    ax.grid(axis="x", visible=False)
    ax.tick_params(axis="x", length=0)
    for x in np.arange(1, len(names)) - 0.5:
        ax.axvline(x, color="0.88", linewidth=0.6, zorder=0)


def two_errors(ax, part: pd.DataFrame, by: str, names: Sequence[str], text: str, **how) -> None:
    """`named_marks` of the frame's mean and se, and as a pale bar, named `text`, its se_clustered; a row without a mean says that
    it has no number."""
    at, pale = (
        how.get("shift", 0.0),
        {"linewidth": 4.5, "solid_capstyle": "butt", "alpha": 0.3, "label": text},
    )
    for r in part[part[by].isin(names)].itertuples():
        height = names.index(getattr(r, by)) + at
        if r.mean == r.mean:
            ax.plot(
                [r.mean - r.se_clustered, r.mean + r.se_clustered],
                [height] * 2,
                color=how["color"],
                **pale,
            )
        else:
            where = {
                "transform": ax.get_yaxis_transform(),
                "va": "center",
                "fontsize": 6,
                "color": "0.45",
            }
            ax.text(0.03, height, "no number", **where)
    named_marks(ax, part, by, names, **how)


def name_rows(ax, names: Sequence[str], below: float = 0.5, above: float = 0.5) -> None:
    """The y axis as rows that bear these names, the first at the top, without ticks and lines; `above` and `below` is the room at
    the ends, in rows."""
    ax.set_yticks(range(len(names)), names)
    ax.set_ylim(len(names) - 1 + below, -above)
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="y", visible=False)


def truth_line(
    ax,
    part: pd.DataFrame,
    text: str = "true value",
    upright: bool = False,
    scale: float = 1.0,
    **how,
) -> None:
    """A dashed line at the first known `truth` of the frame; upright where values are on the x axis."""
    known = part["truth"].dropna()
    if len(known):
        rule(ax, scale * known.iloc[0], upright, **{"label": text, **how})


def legend(
    figure,
    axes,
    columns: int = 4,
    first: Iterable[str] = (),
    last: Iterable[str] = (),
    texts: Mapping[str, str] | None = None,
    **more,
) -> None:
    """One legend above all panels, every text once; nothing where no panel has a labelled mark.

    Parameters
    ----------
    axes : Axes or array of Axes
        Whose labels are shown.
    columns : int
        At most so many entries in a line.
    first, last : iterable of str
        Labels that come first, and last, in this order; the others stand as they were drawn.
    texts : mapping, optional
        {label: what the legend says in its place}.
    """
    found = {
        text: handle
        for ax in np.ravel(axes)
        for handle, text in zip(*ax.get_legend_handles_labels())
    }
    ends = {*first, *last}
    order = [*first, *(text for text in found if text not in ends), *last]
    shown = [text for text in order if text in found]
    if shown:
        named = [(texts or {}).get(text, text) for text in shown]
        options = {"loc": "outside upper center", "handlelength": 2.0, "columnspacing": 1.2, **more}
        figure.legend(
            [found[text] for text in shown], named, ncols=min(columns, len(shown)), **options
        )


def each(
    names: Sequence[str],
    draw: Callable[[Any, str], None],
    height: float = 2.0,
    ylabel: str = "",
    per_row: int = 3,
    columns: int = 5,
    **more,
):
    """A figure with a panel for every name, drawn by draw(ax, name), and one legend; `nothing` where there is no name.

    Parameters
    ----------
    names : sequence of str
        As of `items.chosen`.
    draw : callable
        Draws a panel, title and scales included.
    height, per_row, **more
        As for `panels`.
    ylabel : str
        The label of the y axis of the first panel of every row.
    columns : int
        As for `legend`.
    """
    if not len(names):
        return nothing()
    figure, axes = panels(len(names), per_row, height, **more)
    for k, (ax, name) in enumerate(zip(axes, names)):
        draw(ax, name)
        ax.set_ylabel("" if k % per_row else ylabel)
    legend(figure, axes, columns=columns)
    return figure


def means(ax, frame: pd.DataFrame, looks: Mapping[str, Mapping[str, Any]], value: str) -> None:
    """A line per estimator: the mean of the frame's column `value` against n, both axes logarithmic.

    `looks`: {id of an estimator: its label, colour, marker and line}, as plot takes them.
    """
    for estimator, look in looks.items():
        mean = frame[frame["estimator"].eq(estimator)].groupby("n")[value].mean()
        ax.plot(mean.index, mean, **look)
    ax.set(xscale="log", yscale="log")


def band(ax, part: pd.DataFrame, low: str, high: str, value: str = "mean", **how) -> None:
    """A line over the frame's columns n and `value` in a pale band from `low` to `high`; nothing where it is empty. `how` goes to
    plot; it has the colour."""
    if len(part):
        part = part.sort_values("n")
        ax.fill_between(
            part["n"], part[low], part[high], color=how["color"], alpha=0.2, linewidth=0
        )
        ax.plot(part["n"], part[value], **how)


def guide(ax, frame: pd.DataFrame, value: str, slope: float, text: str) -> None:
    """A grey line of this slope on logarithmic axes over the frame's sizes n, below the smallest positive `value` at the smallest
    of them; nothing where there is none or one size only."""
    sizes = np.array(sorted(frame["n"].unique()), float)
    least = frame.loc[frame["n"].eq(frame["n"].min()) & frame[value].gt(0), value].min()
    if len(sizes) > 1 and least == least:
        how = {"color": "0.6", "linewidth": 0.8, "label": text, "zorder": 1}
        ax.plot(sizes, 0.3 * least * (sizes / sizes[0]) ** slope, **how)


def rule(ax, at: float, upright: bool = False, **how) -> None:
    """A dashed line across the panel at this value; upright where values are on the x axis."""
    line = {"color": "0.2", "linestyle": "--", "linewidth": 1.0, "zorder": 1, **how}
    (ax.axvline if upright else ax.axhline)(at, **line)


def lines(
    ax,
    frame: pd.DataFrame,
    by: str,
    names: Iterable,
    x: str = "n",
    value: str = "mean",
    error: str | None = "se",
    **how,
) -> None:
    """A `curve` for each of these values of the column `by`, in the look of its place among `names`.

    `names` may map a value to its text in the legend (default: the value), or to what its look has otherwise (label, linestyle
    ...); `first` is the place of the first; other `how` goes to `curve`.
    """
    texts = names if isinstance(names, Mapping) else {name: name for name in names}
    for i, (name, text) in enumerate(texts.items(), how.pop("first", 0)):
        own = text if isinstance(text, Mapping) else {"label": text}
        curve(ax, frame[frame[by].eq(name)], x, value, error, **{**look(i, line="-"), **own, **how})


def facets(
    frame: pd.DataFrame,
    rows: tuple[str, Mapping],
    columns: tuple[str, Mapping],
    by: str,
    names: Iterable,
    height: float,
    xlabel: str = N_AXIS,
    truth: bool = False,
    how: Mapping[str, Any] | None = None,
    **more,
):
    """A panel for each value of one column in each row of panels, and in each panel the `lines` of a third column.

    Parameters
    ----------
    frame : DataFrame
        As `curve` takes it.
    rows, columns : (str, mapping)
        The frame's column, and {value: label}: of a row the label of the y axis, of a column the title. A value that the frame
        does not have leaves an empty panel.
    by, names
        As `lines` takes them.
    height : float
        Of the whole figure, inches.
    truth : bool
        Whether to draw the `truth_line`.
    how : mapping, optional
        To `lines`: x, value, error, log ...
    **more
        To `grid`.

    Returns
    -------
    (Figure, dict)
        The dict holds {(value of the row, value of the column): Axes}.
    """
    figure, axes = grid(len(rows[1]), len(columns[1]), height, **more)
    drawn = {}
    for of_row, (in_row, ylabel) in zip(axes, rows[1].items()):
        of_row[0].set_ylabel(ylabel)
        for ax, (in_column, title) in zip(of_row, columns[1].items()):
            drawn[in_row, in_column] = ax
            part = frame[frame[rows[0]].eq(in_row) & frame[columns[0]].eq(in_column)]
            if truth:
                truth_line(ax, part)
            lines(ax, part, by, names, **(how or {}))
            ax.set(title=title if ax in axes[0] else "", xlabel=xlabel if ax in axes[-1] else "")
    return figure, drawn


def zoom(ax, frame: pd.DataFrame, x: str, y: str, room: float = 0.06) -> None:
    """Axes that hold these points with the error bars `<x>_se` and `<y>_se`, and this share of their range around them."""
    for limits, value in ((ax.set_xlim, x), (ax.set_ylim, y)):
        at, se = frame[value], frame[f"{value}_se"].fillna(0.0)
        low, high = (at - se).min(), (at + se).max()
        margin = room * (high - low or 1.0)
        limits(low - margin, high + margin)


def plane(
    ax, frame: pd.DataFrame, x: str, y: str, front: str, name: str, far: float, what: str
) -> None:
    """Points by two errors, those that no other betters in both joined and named.

    Parameters
    ----------
    frame : DataFrame
        One point per row: `x` and `y` with the errors `<x>_se` and `<y>_se`; `front`, whether no other betters it
        (`rates.pareto`); and the number `name`.
    far : float
        Points with more than that times the least of either error are outside of the axes, which then say so; none of the front.
    what : str
        What a point is, in one word: "epoch".
    """
    mine = frame.sort_values(x)
    look = {"marker": "o", "markersize": 3.5, "linewidth": 0.8, "elinewidth": 0.5}
    others = {"label": "others", "linestyle": "none", "alpha": 0.55, "zorder": 2}
    for best, how in (
        (False, others),
        (True, {"label": "Pareto optimal", "linestyle": "-", "zorder": 3}),
    ):
        part = mine[mine[front].eq(best)]
        bars = {"xerr": part[f"{x}_se"], "yerr": part[f"{y}_se"], "color": COLOURS[best]}
        ax.errorbar(part[x], part[y], **bars, **look, **how)
    best = mine[mine[front]]
    for i, (at_x, at_y, text) in enumerate(
        zip(best[x], best[y], best[name])
    ):  # on alternating sides: they lie close
        side = (
            {"xytext": (4, 1), "ha": "left", "va": "bottom"}
            if i % 2
            else {"xytext": (-4, -1), "ha": "right", "va": "top"}
        )
        ax.annotate(
            f"{text:g}",
            (at_x, at_y),
            textcoords="offset points",
            fontsize=6,
            color="0.25",
            zorder=4,
            **side,
        )
    near = mine[x].le(far * mine[x].min()) & mine[y].le(far * mine[y].min()) | mine[front]
    zoom(ax, mine[near], x, y)
    if not near.all():
        text = f"outside: {what}{'s' * (sum(~near) > 1)} " + ", ".join(
            f"{n:g}" for n in sorted(mine.loc[~near, name])
        )
        ax.text(
            0.99,
            0.985,
            text,
            transform=ax.transAxes,
            ha="right",
            va="top",
            fontsize=6.5,
            color="0.25",
        )
