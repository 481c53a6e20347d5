"""Marks for each kind of estimate, the true value, ticks and the legend of the general figures.

The four kinds of estimate look different:

* a point estimate is a filled marker,
* a lower bound is a tick with an arrow towards larger values, where the truth is,
* an upper bound is a tick with an arrow towards smaller values, where the truth is,
* an interval is a bar with end caps and without a centre.

The bounds of a point estimate are the ends of a pale bar.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.legend_handler import HandlerLine2D
from matplotlib.lines import Line2D
from matplotlib.path import Path as Curve
from matplotlib.ticker import NullFormatter

from harness.configure.settings import Settings
from harness.evaluation.selection import has_bounds, has_interval
from harness.figures import panels
from harness.figures.options import figure_settings, font_scale
from harness.figures.style import STYLE, pale, series_style

KIND_NAMES = {
    "point": "estimate",
    "lower": "lower bound: the truth is at least this",
    "upper": "upper bound: the truth is at most this",
    "interval": "interval",
}
# Texts for the pale bar of a point estimate, with two ends and with one.
INTERVAL_OF_ESTIMATE = "confidence interval of an estimate"
BOUNDS_OF_ESTIMATES = "from an estimate to its bound"
LEGEND_FONTS = (STYLE["legend.fontsize"], 6.5, 5.5, 4.5, 3.5)  # points; the first that fits


def marks(
    ax: Any,
    kind: str,
    places: Any,
    table: pd.DataFrame,
    i: int,
    settings: Settings,
    upright: bool,
    name: str | None = None,
    joined: bool = True,
) -> None:
    """Draw the estimates of one kind as series i. An empty table draws nothing.

    `places` are the coordinates of the estimates on the axis that does not show their values. With
    `upright` the values are on the y axis. `name` is the label in the legend. A line connects the
    estimates if they are upright and `joined`.
    """
    if not len(table):
        return
    colour, marker, line = series_style(i).values()
    line = line if upright and joined else "none"
    low, high, mean = table["low"], table["high"], table["mean"]

    def bars(values: Any, errors: Any, **style: Any) -> None:
        points = (places, values) if upright else (values, places)
        style = {"label": name, "elinewidth": 0.7, "zorder": 3, "color": colour, **style}
        ax.errorbar(*points, **{"yerr" if upright else "xerr": errors}, **style)

    if kind == "interval":
        low, high = low.fillna(high), high.fillna(low)
        bars(
            (low + high) / 2,
            (high - low) / 2,
            linestyle="none",
            marker="none",
            elinewidth=1.6,
            capsize=3,
            capthick=1.6,
        )
        for end in (low, high) if upright and joined else ():
            ax.plot(places, end, zorder=1.5, color=pale(colour, 0.6), linestyle=line, linewidth=0.6)
    elif kind == "point":
        bars(mean, table["se"], marker=marker, linestyle=line, capsize=1.5 if upright else 2)
        bounded = has_bounds(table, settings)
        strokes = ax.vlines if upright else ax.hlines
        style = {"color": pale(colour, 0.35), "linewidth": 2.5 if upright else 3.5, "zorder": 1}
        drawn = np.asarray(places)[bounded.to_numpy()]
        strokes(drawn, low.fillna(mean)[bounded], high.fillna(mean)[bounded], **style)
    else:
        mark = {"marker": arrow(kind, upright), "markersize": 15, "markeredgewidth": 1.2}
        mark |= {"markerfacecolor": "none", "linestyle": line, "capsize": 1.5, "label": None}
        bars(mean, table["se"], **mark)
        if name:  # without the marker, as arrows of neighbouring legend entries would overlap
            ax.plot([], [], color=colour, linestyle=line, label=name)


def arrow(kind: str, upright: bool) -> Curve:
    """Return the marker of a bound: a tick at its value, and an arrow towards the truth.

    With `upright` the values are on the y axis.
    """
    ends = np.array([(-0.5, 0), (0.5, 0), (0, 0), (0, 1), (-0.3, 0.65), (0, 1), (0.3, 0.65)])
    ends = ends if kind == "lower" else -ends
    return Curve(ends if upright else ends[:, ::-1], [1, 2, 1, 2, 1, 2, 2])


def spacing(
    table: pd.DataFrame, series: Sequence[str], sizes: Sequence[int], settings: Settings
) -> float:
    """Return the factor between the x coordinates of neighbouring series at the same n.

    It is 1 if their marks do not overlap.
    """
    bars = table["kind"].eq("interval") | has_bounds(table, settings)
    if not bars.any() or len(series) < 2:
        return 1.0
    nearest = min((b / a for a, b in zip(sizes, sizes[1:])), default=2.0)
    return float(min(1.04, nearest ** (0.3 / len(series))))


def truth_line(ax: Any, part: pd.DataFrame, upright: bool) -> None:
    """Draw the true value as a dashed line, with its error as a band.

    With `upright` the line is vertical, for panels with values on the x axis.
    """
    panels.truth_line(ax, part, upright=upright, zorder=2)
    known = part[part["truth"].notna()]
    if len(known):
        value, error = known[["truth", "truth_error"]].iloc[0]
        span = ax.axvspan if upright else ax.axhspan
        span(value - error, value + error, color="0.2", alpha=0.15, linewidth=0)


def sample_ticks(ax: Any, sizes: Sequence[int]) -> None:
    """Set the ticks of an n axis: every sample size if there are at most four, else powers of ten.

    If there are more than four sample sizes and no power of ten lies between them, only the
    smallest and the largest are labelled.
    """
    ax.xaxis.set_minor_formatter(NullFormatter())
    has_decade = any(sizes[0] <= 10**k <= sizes[-1] for k in range(12))
    if len(sizes) <= 4 or not has_decade:
        shown = sizes if len(sizes) <= 4 else [sizes[0], sizes[-1]]
        ax.set_xticks(shown, [f"{n:,}" for n in shown])


def legend(
    figure: Figure,
    axes: Iterable[Any],
    order: Sequence[str],
    settings: Settings,
    table: pd.DataFrame | None = None,
    upright: bool = True,
    ends_of_points: bool = True,
) -> None:
    """Draw one legend above all panels: the true value, the estimators in `order`, and the marks.

    The marks are explained only if `table` has estimates of other kinds than points. If
    `ends_of_points` is true, they are also explained if it has points with bounds. The legend has
    as many columns as fit. Its font shrinks if the figure has a fixed size that is too small.
    """
    entries: dict[str, Any] = {}
    for ax in axes:
        for handle, text in zip(*ax.get_legend_handles_labels()):
            entries.setdefault(text, handle)
    texts = sorted(entries, key=lambda text: order.index(text) if text in order else -1)
    entries = {text: entries[text] for text in texts}
    handlers = {}
    if table is not None:
        bars = _describe_bars(table, settings) if ends_of_points else ""
        kinds = kind_handles(table, upright, bars)
        if KIND_NAMES["interval"] in kinds:  # draws both end caps
            handler = HandlerLine2D(marker_pad=0, numpoints=2)
            handlers[kinds[KIND_NAMES["interval"]]] = handler
        entries |= kinds
    if not entries:
        return
    size, scale = figure_settings(settings).size, font_scale(settings)
    width, height = figure.get_size_inches() * figure.dpi
    renderer = figure.canvas.get_renderer()  # type: ignore[attr-defined]
    most = min(5, len(entries))
    for font, columns in [(font, c) for font in LEGEND_FONTS for c in range(most, 0, -1)]:
        lines = -(-len(entries) // columns)
        drawn = figure.legend(
            list(entries.values()), list(entries), loc="outside upper center",
            ncols=-(-len(entries) // lines), fontsize=font, handlelength=2.2, columnspacing=1.2,
            handler_map=handlers,
        )  # fmt: skip
        box = drawn.get_window_extent(renderer)
        smallest = font == LEGEND_FONTS[-1]
        low_enough = not size or smallest or box.height * scale <= 0.45 * height
        if (box.width * scale <= width and low_enough) or (smallest and columns == 1):
            break
        drawn.remove()
    # Figures have space for a legend of two or three lines; a taller legend makes them taller.
    if not size and box.height * scale > 0.5 * figure.dpi:
        inches = (height + box.height * scale) / figure.dpi - 0.5
        figure.set_size_inches(width / figure.dpi, inches)


def _describe_bars(table: pd.DataFrame, settings: Settings) -> str:
    """Return the text that explains the pale bars of point estimates, "" if there are none."""
    bounded, both = has_bounds(table, settings), has_interval(table, settings)
    texts = {INTERVAL_OF_ESTIMATE: both, BOUNDS_OF_ESTIMATES: bounded & ~both}
    return ", or ".join(text for text, mask in texts.items() if mask.any())


def kind_handles(table: pd.DataFrame, upright: bool, bars: str) -> dict[str, Line2D]:
    """Return {text: handle} of the legend entries that explain the marks of a table.

    `bars` is the text for the pale bars of point estimates, "" if there are none. The result is
    empty if all estimates are points without bounds.
    """
    handles: dict[str, Line2D] = {}
    style: dict[str, Any]
    kinds = set(table["kind"])
    for kind in KIND_NAMES if kinds - {"point"} else ():
        if kind not in kinds:
            continue
        style = {"linestyle": "none", "markeredgewidth": 1.2, "color": "0.35"}
        if kind == "point":
            style |= {"marker": "o", "markersize": 4}
        elif kind == "interval":
            style |= {"marker": "|", "markersize": 6, "linestyle": "-"}
        else:
            style |= {"marker": arrow(kind, upright), "markersize": 13, "markerfacecolor": "none"}
        handles[KIND_NAMES[kind]] = Line2D([], [], **style)
    if bars:
        style = {"color": pale("0.35", 0.35), "linewidth": 3.5, "solid_capstyle": "butt"}
        handles[bars] = Line2D([], [], **style)
    return handles


def fit_texts(figure: Figure, axes: Any, settings: Settings, names_per_panel: int = 0) -> None:
    """Shrink titles, axis labels and row names so that they do not overlap."""
    figure.draw_without_rendering()  # computes the layout of the panels
    renderer = figure.canvas.get_renderer()  # type: ignore[attr-defined]
    scale = font_scale(settings)
    shown = [ax for ax in axes.flat if ax.get_visible()]
    boxes = [ax.get_window_extent(renderer) for ax in axes[0] if ax.get_visible()]
    centres = [(box.x0 + box.x1) / 2 for box in boxes]
    gaps = [b - a for a, b in zip(centres, centres[1:])]
    room = min([2 * (figure.bbox.width - centres[-1]), *gaps]) - 0.05 * figure.dpi
    if scale > 1.0:  # larger tick labels leave less room
        room *= 0.9
    for texts in ([ax.title for ax in shown], [ax.xaxis.label for ax in shown]):
        widest = max(text.get_window_extent(renderer).width for text in texts) * scale
        for text in texts if widest > room else ():
            text.set_fontsize(max(4.0 / scale, text.get_fontsize() * room / widest))
    points = 72 / figure.dpi * boxes[0].height / max(1, names_per_panel) / scale
    for ax in axes[:, 0] if points < STYLE["ytick.labelsize"] else ():
        ax.tick_params(axis="y", labelsize=max(3.0 / scale, points))
