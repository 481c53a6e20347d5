"""Building blocks for the figures of papers: panels, marks with error bars, named rows, legends."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from harness.figures.style import grid_shape, nothing, series_style
from harness.figures.style import subplots as grid

__all__ = [
    "N_AXIS", "curve", "dodged", "each", "grid", "legend", "look", "marks", "name_rows",
    "named_marks", "nothing", "panels", "row_note", "rule", "truth_line",
]  # fmt: skip

N_AXIS = "number of samples $n$"


def look(i: int, filled: bool = True, line: Any = "none", **more: Any) -> dict[str, Any]:
    """Return the style of series `i` for plot and errorbar, with an open marker unless `filled`.

    `line` is the line style. `more` are further style options.
    """
    face = {} if filled else {"markerfacecolor": "white"}
    return {**series_style(i), "linestyle": line, **face, **more}


def panels(
    count: int, per_row: int = 3, height: float = 2.0, xlabel: str | None = N_AXIS, **more: Any
) -> tuple[Figure, list[Any]]:
    """Create `count` panels, at most `per_row` in a row, and return the figure and its axes.

    The lowest panel of each column has the label of the x axis. `height` is the height of a row in
    inches. `more` are options of `grid`.
    """
    rows, columns = grid_shape(count, per_row)
    figure, axes = grid(rows, columns, 0.6 + height * rows, **more)
    for ax in axes.flat[count:]:
        ax.set_visible(False)
    for ax in axes.flat[max(0, count - columns) : count]:
        ax.tick_params(labelbottom=True)
        if xlabel:
            ax.set_xlabel(xlabel)
    return figure, list(axes.flat[:count])


def curve(
    ax: Any,
    part: pd.DataFrame,
    x: str = "n",
    value: str = "mean",
    error: str | None = "se",
    log: bool = False,
    **how: Any,
) -> None:
    """Draw a line with error bars over the columns `x`, `value` and `error`, sorted by x.

    An empty frame draws nothing. `log` makes the x axis logarithmic. `how` are options of
    errorbar, for instance from `look(i, line="-", label=...)`.
    """
    if len(part):
        part = part.sort_values(x)
        bars = {"capsize": 1.5, "elinewidth": 0.7, **how}
        ax.errorbar(part[x], part[value], yerr=None if error is None else part[error], **bars)
    if log:
        ax.set_xscale("log")


def marks(
    ax: Any,
    heights: Any,
    part: pd.DataFrame,
    value: str = "mean",
    error: str | None = "se",
    scale: float = 1.0,
    **how: Any,
) -> None:
    """Draw marks with horizontal error bars: the columns `value` and `error`, both times `scale`.

    `heights` is the y coordinate, one for all rows or one per row. An empty frame draws nothing.
    `how` are options of errorbar, for instance from `look(i, filled=False, label=...)`.
    """
    if len(part):
        bars = {"capsize": 1.5, "elinewidth": 0.8, "linestyle": "none", **how}
        y = np.broadcast_to(np.asarray(heights, dtype=float), len(part))
        xerr = None if error is None else scale * part[error]
        ax.errorbar(scale * part[value], y, xerr=xerr, **bars)


def named_marks(
    ax: Any,
    part: pd.DataFrame,
    by: str,
    names: Sequence[str],
    value: str = "mean",
    error: str | None = "se",
    **how: Any,
) -> None:
    """Draw `marks` in rows with names, as `name_rows` makes them.

    The column `by` holds the name of the row of each mark. Marks with another name or without a
    value are left out. The option `shift` moves all marks down, in units of a row.
    """
    shift = how.pop("shift", 0.0)
    part = part[part[by].isin(names) & part[value].notna()]
    marks(ax, [names.index(name) + shift for name in part[by]], part, value, error, **how)


def dodged(
    ax: Any,
    frame: pd.DataFrame,
    by: str,
    names: Sequence[str],
    series: str,
    styles: Mapping[str, Mapping[str, Any]],
    room: float = 0.8,
) -> float:
    """Draw `named_marks` of several series, below each other within the same row.

    Parameters
    ----------
    frame : DataFrame
        One mark per row. The column `by` holds the name of the row of the panel, the column
        `series` the name of the series.
    styles : mapping
        {series: style, for instance from `look`}.
    room : float
        Height that the series share, in units of a row.

    Returns
    -------
    float
        The `shift` at which one more series fits below the others.
    """
    step = room / (len(styles) + 1)
    for i, (name, style) in enumerate(styles.items()):
        part, shift = frame[frame[series].eq(name)], step * (i + 0.5) - room / 2
        named_marks(ax, part, by, names, shift=shift, **style)
    return room / 2 - step / 2


def name_rows(ax: Any, names: Sequence[str], above: float = 0.5, below: float = 0.5) -> None:
    """Write the names of rows on the y axis, the first at the top, without ticks and grid lines.

    `above` and `below` are the free space above the first and below the last row, in units of a
    row.
    """
    ax.set_yticks(range(len(names)), names)
    ax.set_ylim(len(names) - 1 + below, -above)
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="y", visible=False)


def row_note(ax: Any, x: float, y: float, text: str, ha: str) -> None:
    """Write a small grey note at height `y`. `x` is a fraction of the panel's width."""
    ax.text(
        x, y, text, transform=ax.get_yaxis_transform(), ha=ha, va="center", fontsize=6, color="0.45"
    )


def rule(ax: Any, value: float, upright: bool = False, **how: Any) -> None:
    """Draw a dashed line across a panel, vertical if `upright`, else horizontal."""
    line = {"color": "0.2", "linestyle": "--", "linewidth": 1.0, "zorder": 1, **how}
    draw = ax.axvline if upright else ax.axhline
    draw(value, **line)


def truth_line(
    ax: Any,
    part: pd.DataFrame,
    text: str = "true value",
    upright: bool = False,
    scale: float = 1.0,
    **how: Any,
) -> None:
    """Draw a dashed line at the first known `truth` of a frame, or nothing if no truth is known.

    `upright` draws a vertical line, for panels with values on the x axis.
    """
    known = part["truth"].dropna()
    if len(known):
        rule(ax, scale * known.iloc[0], upright, **{"label": text, **how})


def legend(
    figure: Figure,
    axes: Any,
    columns: int = 4,
    first: Iterable[str] = (),
    last: Iterable[str] = (),
    texts: Mapping[str, str] | None = None,
    **more: Any,
) -> None:
    """Draw one legend above all panels, in which every label occurs once.

    Without labels no legend is drawn.

    Parameters
    ----------
    axes : Axes or array of Axes
        Panels whose labels are shown.
    columns : int
        Largest number of entries in a line.
    first, last : iterable of str
        Labels at the beginning and at the end. The others are in the order of drawing.
    texts : mapping, optional
        {label: text in the legend}.
    """
    handles = {
        text: handle
        for ax in np.ravel(axes)
        for handle, text in zip(*ax.get_legend_handles_labels())
    }
    ends = {*first, *last}
    order = [*first, *(text for text in handles if text not in ends), *last]
    shown = [text for text in order if text in handles]
    if shown:
        options = {"loc": "outside upper center", "handlelength": 2.0, "columnspacing": 1.2, **more}
        names = [(texts or {}).get(text, text) for text in shown]
        columns = min(columns, len(shown))
        figure.legend([handles[text] for text in shown], names, ncols=columns, **options)


def each(
    names: Sequence[str],
    draw: Callable[[Any, str], None],
    height: float = 2.0,
    ylabel: str = "",
    per_row: int = 3,
    columns: int = 5,
    **more: Any,
) -> Figure:
    """Draw a figure with one panel per name and one legend.

    Without names, the figure shows only a text (`style.nothing`).

    Parameters
    ----------
    names : sequence of str
        Names of the panels, for instance from `items.chosen`.
    draw : callable
        Function draw(ax, name) that draws a panel with its title and scales.
    height, per_row, **more
        As for `panels`.
    ylabel : str
        Label of the y axis of the first panel of every row.
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
