"""What the figures of papers have in common: panels in a paper's width, marks with error bars, names as an axis, one legend."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from harness.report.style import COLOURS, MARKERS, WIDTH, nothing, pyplot

__all__ = [
    "COLOURS",
    "MARKERS",
    "N_AXIS",
    "WIDTH",
    "curve",
    "dodged",
    "dots_and_mean",
    "grid",
    "legend",
    "look",
    "marks",
    "name_columns",
    "name_rows",
    "named_marks",
    "nothing",
    "panels",
    "pyplot",
    "true_values",
    "truth_line",
    "two_errors",
]
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
    return pyplot().subplots(rows, columns, **{"figsize": (WIDTH, height), "squeeze": False, "layout": "constrained", **more})


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


def curve(ax, part: pd.DataFrame, x: str = "n", value: str = "mean", error: str | None = "se", log: bool = False, **how) -> None:
    """A line with error bars over the frame's columns `x`, `value` and `error`, in the order of x; nothing where it is empty.

    `log` makes the x axis logarithmic; `how` goes to errorbar, as from `look(i, line="-", label=...)`.
    """
    if len(part):
        part = part.sort_values(x)
        bars = {"capsize": 1.5, "elinewidth": 0.7, **how}
        ax.errorbar(part[x], part[value], yerr=None if error is None else part[error], **bars)
    if log:
        ax.set_xscale("log")


def marks(ax, at, part: pd.DataFrame, value: str = "mean", error: str | None = "se", scale: float = 1.0, **how) -> None:
    """Marks with horizontal error bars: the frame's columns `value` and `error` times `scale`, at the height `at` (one, or one
    per row); nothing where it is empty. `how` goes to errorbar, as from `look(i, filled=False, label=...)`."""
    if len(part):
        bars = {"capsize": 1.5, "elinewidth": 0.8, "linestyle": "none", **how}
        height = np.broadcast_to(np.asarray(at, dtype=float), len(part))
        ax.errorbar(scale * part[value], height, xerr=None if error is None else scale * part[error], **bars)


def named_marks(
    ax, part: pd.DataFrame, by: str, names: Sequence[str], value: str = "mean", error: str | None = "se", **how
) -> None:
    """`marks` in the rows that `name_rows` names: that of the frame's column `by`, which is one of `names`, moved down by
    `shift`; other rows of the frame, and those without a value, are not drawn."""
    shift = how.pop("shift", 0.0)
    part = part[part[by].isin(names) & part[value].notna()]
    marks(ax, [names.index(name) + shift for name in part[by]], part, value, error, **how)


def dodged(ax, frame: pd.DataFrame, by: str, names: Sequence[str], series: str, styles: Mapping[str, Mapping], room=0.8) -> float:
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
        named_marks(ax, frame[frame[series].eq(name)], by, names, shift=step * (i + 0.5) - room / 2, **style)
    return room / 2 - step / 2


def true_values(ax, frame: pd.DataFrame, by: str, names: Sequence[str]) -> None:
    """The frame's column `truth` as an upright stroke in the row of every name."""
    for i, name in enumerate(names):
        truth = frame.loc[frame[by].eq(name), "truth"].head(1)
        ax.vlines(truth, i - 0.45, i + 0.45, color="0.2", linewidth=1.0, zorder=1, label="true value")


def dots_and_mean(ax, frame: pd.DataFrame, by: str, names: Sequence[str], value: str = "value") -> None:
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
    at, pale = how.get("shift", 0.0), {"linewidth": 4.5, "solid_capstyle": "butt", "alpha": 0.3, "label": text}
    for r in part[part[by].isin(names)].itertuples():
        height = names.index(getattr(r, by)) + at
        if r.mean == r.mean:
            ax.plot([r.mean - r.se_clustered, r.mean + r.se_clustered], [height] * 2, color=how["color"], **pale)
        else:
            where = {"transform": ax.get_yaxis_transform(), "va": "center", "fontsize": 6, "color": "0.45"}
            ax.text(0.03, height, "no number", **where)
    named_marks(ax, part, by, names, **how)


def name_rows(ax, names: Sequence[str], below: float = 0.5, above: float = 0.5) -> None:
    """The y axis as rows that bear these names, the first at the top, without ticks and lines; `above` and `below` is the room at
    the ends, in rows."""
    ax.set_yticks(range(len(names)), names)
    ax.set_ylim(len(names) - 1 + below, -above)
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="y", visible=False)


def truth_line(ax, part: pd.DataFrame, text: str = "true value", upright: bool = False, scale: float = 1.0, **how) -> None:
    """A dashed line at the first known `truth` of the frame; upright where values are on the x axis."""
    known = part["truth"].dropna()
    if len(known):
        line = {"color": "0.2", "linestyle": "--", "linewidth": 1.0, "label": text, "zorder": 1, **how}
        (ax.axvline if upright else ax.axhline)(scale * known.iloc[0], **line)


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
    found = {text: handle for ax in np.ravel(axes) for handle, text in zip(*ax.get_legend_handles_labels())}
    ends = {*first, *last}
    order = [*first, *(text for text in found if text not in ends), *last]
    shown = [text for text in order if text in found]
    if shown:
        named = [(texts or {}).get(text, text) for text in shown]
        options = {"loc": "outside upper center", "handlelength": 2.0, "columnspacing": 1.2, **more}
        figure.legend([found[text] for text in shown], named, ncols=min(columns, len(shown)), **options)
