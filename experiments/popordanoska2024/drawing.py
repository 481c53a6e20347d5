"""Panels that only the figures of this paper need."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from harness.figures import panels
from harness.figures.style import COLOURS


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
    """Draw a curve for each value of the column `by`.

    `names` lists the values, or maps each value to its text in the legend or to its style. The
    keyword `first` is the position of the first style. Other keywords go to `panels.curve`.
    """
    texts = names if isinstance(names, Mapping) else {name: name for name in names}
    for i, (name, text) in enumerate(texts.items(), how.pop("first", 0)):
        style = text if isinstance(text, Mapping) else {"label": text}
        style = {**panels.look(i, line="-"), **style, **how}
        panels.curve(ax, frame[frame[by].eq(name)], x, value, error, **style)


def facets(
    frame: pd.DataFrame,
    rows: tuple[str, Mapping],
    columns: tuple[str, Mapping],
    by: str,
    names: Iterable,
    height: float,
    xlabel: str = panels.N_AXIS,
    truth: bool = False,
    how: Mapping[str, Any] | None = None,
    **more,
):
    """Draw one panel for each pair of values of two columns, with a line per value of a third.

    Parameters
    ----------
    frame : DataFrame
        As for `panels.curve`.
    rows, columns : (str, mapping)
        A column of the frame, and {value: label}. The label is the y label of a row of panels, or
        the title of a column. A value that the frame lacks leaves an empty panel.
    by, names
        As for `lines`.
    height : float
        Height of the figure in inches.
    truth : bool
        Draw `panels.truth_line`.
    how : mapping, optional
        Keywords for `lines`, such as x, value, error and log.
    **more
        Keywords for `panels.grid`.

    Returns
    -------
    (Figure, dict)
        The dict maps (value of the row, value of the column) to its Axes.
    """
    figure, axes = panels.grid(len(rows[1]), len(columns[1]), height, **more)
    drawn = {}
    for row_axes, (in_row, ylabel) in zip(axes, rows[1].items()):
        row_axes[0].set_ylabel(ylabel)
        for ax, (in_column, title) in zip(row_axes, columns[1].items()):
            drawn[in_row, in_column] = ax
            part = frame[frame[rows[0]].eq(in_row) & frame[columns[0]].eq(in_column)]
            if truth:
                panels.truth_line(ax, part)
            lines(ax, part, by, names, **(how or {}))
            ax.set(title=title if ax in axes[0] else "", xlabel=xlabel if ax in axes[-1] else "")
    return figure, drawn


def by_size(ax, part: pd.DataFrame, by: str, names: Sequence[str], scale: float = 1.0) -> None:
    """Draw a row per name with a mark for each of two sample sizes; that of the smaller is open.

    The truth is drawn by `panels.truth_line`. A name that the column `by` lacks is marked "no
    estimate".
    """
    for j, (n, rows) in enumerate(part.groupby("n")):
        heights = rows[by].map(list(names).index) + 0.28 * (j - 0.5)
        style = panels.look(j, bool(j), label=f"$n$ = {n:,}")
        panels.marks(ax, heights, rows, scale=scale, **style)
    panels.truth_line(ax, part, upright=True, scale=scale)
    for absent in set(names) - set(part[by]):
        panels.row_note(ax, 0.98, list(names).index(absent), "no estimate", ha="right")


def zoom(ax, frame: pd.DataFrame, x: str, y: str, room: float = 0.06) -> None:
    """Fit the axes to points and their errors `<x>_se` and `<y>_se`, with a margin of `room`."""
    for set_limits, name in ((ax.set_xlim, x), (ax.set_ylim, y)):
        values, se = frame[name], frame[f"{name}_se"].fillna(0.0)
        low, high = (values - se).min(), (values + se).max()
        margin = room * (high - low or 1.0)
        set_limits(low - margin, high + margin)


def plane(
    ax, frame: pd.DataFrame, x: str, y: str, front: str, name: str, far: float, noun: str
) -> None:
    """Draw points by two errors, and join and name those of the Pareto front.

    Parameters
    ----------
    frame : DataFrame
        One point per row: `x` and `y` with the errors `<x>_se` and `<y>_se`, the flag `front`
        (`comparisons.pareto`), and the number `name`.
    far : float
        The axes end at `far` times the smallest value. Points beyond them are named in the panel,
        and points of the front are always inside.
    noun : str
        Singular noun for a point, such as "epoch".
    """
    points = frame.sort_values(x)
    look = {"marker": "o", "markersize": 3.5, "linewidth": 0.8, "elinewidth": 0.5}
    others = {"label": "others", "linestyle": "none", "alpha": 0.55, "zorder": 2}
    best = {"label": "Pareto optimal", "linestyle": "-", "zorder": 3}
    for is_best, style in ((False, others), (True, best)):
        part = points[points[front].eq(is_best)]
        bars = {"xerr": part[f"{x}_se"], "yerr": part[f"{y}_se"], "color": COLOURS[is_best]}
        ax.errorbar(part[x], part[y], **bars, **look, **style)
    # Neighbours on the front lie close, so their names alternate between two sides.
    sides = (
        {"xytext": (-4, -1), "ha": "right", "va": "top"},
        {"xytext": (4, 1), "ha": "left", "va": "bottom"},
    )
    for i, row in enumerate(points.loc[points[front], [x, y, name]].itertuples(index=False)):
        style = {"textcoords": "offset points", "fontsize": 6, "color": "0.25", "zorder": 4}
        ax.annotate(f"{row[2]:g}", row[:2], **style, **sides[i % 2])
    near = points[x].le(far * points[x].min()) & points[y].le(far * points[y].min())
    near |= points[front]
    zoom(ax, points[near], x, y)
    if not near.all():
        outside = sorted(points.loc[~near, name])
        text = f"outside: {noun}{'s' * (len(outside) > 1)} "
        text += ", ".join(f"{number:g}" for number in outside)
        corner = {"ha": "right", "va": "top", "fontsize": 6.5, "color": "0.25"}
        ax.text(0.99, 0.985, text, transform=ax.transAxes, **corner)
