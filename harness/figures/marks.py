"""How estimates are drawn in a panel: one mark per kind of estimate, the true value, the ticks and the legend.

A point, a lower bound, an upper bound and an interval are four different marks: a filled marker; a tick with an arrow towards
where the truth is, up (right) or down (left); and a bar with end caps, without a centre. The bounds that a point has besides are
a pale bar.
"""

from __future__ import annotations

import numpy as np
from matplotlib.legend_handler import HandlerLine2D
from matplotlib.lines import Line2D
from matplotlib.path import Path as Curve
from matplotlib.ticker import NullFormatter

from harness.evaluation.selection import has_bounds
from harness.figures.style import COLOURS, STYLE, figure_settings, font_scale, pale, series_style

KIND_NAMES = {
    "point": "estimate",
    "lower": "lower bound: the truth is at least this",
    "upper": "upper bound: the truth is at most this",
    "interval": "interval",
}
BOUNDS_OF_ESTIMATES = "bounds of an estimate"


def marks(ax, kind, at, table, i, settings, upright, name=None):
    """Draw estimates of one kind by series i. at: where on the other axis; upright: values are on the vertical axis."""
    if not len(table):
        return
    style, colour = series_style(i), COLOURS[i % 8]
    across = "yerr" if upright else "xerr"

    def bars(value, error, **more):
        xy = (at, value) if upright else (value, at)
        ax.errorbar(
            *xy,
            **{across: error},
            **{"label": name, "elinewidth": 0.7, "zorder": 3, "color": colour, **more},
        )

    line = style["linestyle"] if upright else "none"
    low, high = table["low"], table["high"]
    strokes = ax.vlines if upright else ax.hlines
    if kind == "interval":
        ends = low.fillna(high), high.fillna(low)
        bars(
            (ends[0] + ends[1]) / 2,
            (ends[1] - ends[0]) / 2,
            linestyle="none",
            marker="none",
            elinewidth=1.6,
            capsize=3,
            capthick=1.6,
        )
        for end in ends if upright else ():
            ax.plot(at, end, color=pale(colour, 0.6), linestyle=line, linewidth=0.6, zorder=1.5)
    elif kind == "point":
        bars(
            table["mean"],
            table["se"],
            marker=style["marker"],
            linestyle=line,
            capsize=1.5 if upright else 2,
        )
        own = has_bounds(table, settings)
        ends = low.fillna(table["mean"])[own], high.fillna(table["mean"])[own]
        strokes(
            np.asarray(at)[own.to_numpy()],
            *ends,
            color=pale(colour, 0.35),
            linewidth=2.5 if upright else 3.5,
            zorder=1,
        )
    else:
        mark = {
            "marker": arrow(kind, upright),
            "markersize": 15,
            "markeredgewidth": 1.2,
            "markerfacecolor": "none",
        }
        bars(table["mean"], table["se"], linestyle=line, capsize=1.5, label=None, **mark)
        if name:
            ax.plot(
                [], [], color=colour, linestyle=line, label=name
            )  # arrows of neighbouring entries of the legend would meet


def arrow(kind, upright):
    """The mark of a bound: a tick at its value and an arrow towards where the truth is."""
    ends = np.array([(-0.5, 0), (0.5, 0), (0, 0), (0, 1), (-0.3, 0.65), (0, 1), (0.3, 0.65)])
    ends = ends if kind == "lower" else -ends
    return Curve(ends if upright else ends[:, ::-1], [1, 2, 1, 2, 1, 2, 2])


def spacing(table, series, sizes, settings):
    """Factor between the n at which neighbouring series are drawn: more than 1 where bars would hide each other."""
    if not (table["kind"].eq("interval") | has_bounds(table, settings)).any() or len(series) < 2:
        return 1.0
    nearest = min((b / a for a, b in zip(sizes, sizes[1:])), default=2.0)
    return min(1.04, nearest ** (0.3 / len(series)))


def say_no_estimate(ax, x, at, ha):
    ax.text(
        x,
        at,
        "no estimate",
        transform=ax.get_yaxis_transform(),
        ha=ha,
        va="center",
        fontsize=6,
        color="0.45",
    )


def truth_line(ax, part, horizontal):
    known = part[part["truth"].notna()]
    if not len(known):
        return
    value, error = known["truth"].iloc[0], known["truth_error"].iloc[0]
    line, span = (ax.axhline, ax.axhspan) if horizontal else (ax.axvline, ax.axvspan)
    line(value, color="0.2", linestyle="--", linewidth=1.0, label="true value", zorder=2)
    span(value - error, value + error, color="0.2", alpha=0.15, linewidth=0)


def sample_ticks(ax, sizes):
    """Few sample sizes are labelled each, many by powers of ten (by their ends, should no power of ten lie between)."""
    ax.xaxis.set_minor_formatter(NullFormatter())
    decades = [10**k for k in range(12) if sizes[0] <= 10**k <= sizes[-1]]
    if len(sizes) <= 4 or not decades:
        shown = sizes if len(sizes) <= 4 else [sizes[0], sizes[-1]]
        ax.set_xticks(shown, [f"{n:,}" for n in shown])


def legend(figure, axes, order, settings=None, table=None, upright=True, ends_of_points=True):
    """One legend above all panels: the true value, the estimators in their order, and the marks of `table` if there are others
    than points; in as many columns as fit, in smaller letters if a given size leaves no room else."""
    entries = {}
    for ax in axes:
        for handle, text in zip(*ax.get_legend_handles_labels()):
            entries.setdefault(text, handle)
    texts = sorted(entries, key=lambda text: order.index(text) if text in order else -1)
    marks = (
        {}
        if table is None
        else kind_handles(table, upright, ends_of_points and has_bounds(table, settings).any())
    )
    handles, texts = [*(entries[text] for text in texts), *marks.values()], [*texts, *marks]
    if not texts:
        return
    asked, scale = figure_settings(settings).size, font_scale(settings)
    with_caps = (
        {marks[KIND_NAMES["interval"]]: HandlerLine2D(marker_pad=0, numpoints=2)}
        if KIND_NAMES["interval"] in marks
        else {}
    )
    width, height = figure.get_size_inches() * figure.dpi
    renderer = figure.canvas.get_renderer()
    for font in (STYLE["legend.fontsize"], 6.5, 5.5, 4.5, 3.5):
        for columns in range(min(5, len(texts)), 0, -1):
            even = -(
                -len(texts) // -(-len(texts) // columns)
            )  # as many columns as these lines need
            options = {
                "ncols": even,
                "fontsize": font,
                "handlelength": 2.2,
                "columnspacing": 1.2,
                "handler_map": with_caps,
            }
            drawn = figure.legend(handles, texts, loc="outside upper center", **options)
            box = drawn.get_window_extent(renderer)
            if box.width * scale <= width:
                break
            if columns > 1:
                drawn.remove()
        if font == 3.5 or (
            box.width * scale <= width and (not asked or box.height * scale <= 0.45 * height)
        ):
            break
        drawn.remove()
    if (
        not asked and box.height * scale > 0.5 * figure.dpi
    ):  # the heights of the figures have room for two or three lines
        figure.set_size_inches(width / figure.dpi, (height + box.height * scale) / figure.dpi - 0.5)


def kind_handles(table, upright, ends_of_points):
    """{text: handle} that explains the marks in `table`, where there are others than points."""
    points = table["kind"].eq("point")
    found: dict = {}
    for kind, text in KIND_NAMES.items():
        if (table["kind"] == kind).any() and not points.all():
            marker, size = {"point": ("o", 4), "interval": ("|", 6)}.get(kind) or (
                arrow(kind, upright),
                13,
            )
            line = "-" if kind == "interval" else "none"
            found[text] = Line2D(
                [],
                [],
                linestyle=line,
                color="0.35",
                marker=marker,
                markersize=size,
                markeredgewidth=1.2,
            )
            if kind in ("lower", "upper"):
                found[text].set_markerfacecolor("none")
    if ends_of_points:
        found[BOUNDS_OF_ESTIMATES] = Line2D(
            [], [], color=pale("0.35", 0.35), linewidth=3.5, solid_capstyle="butt"
        )
    return found


def fit_texts(figure, axes, settings, named=0):
    """Titles, labels and the names of the rows (`named` of them in a panel) in letters that do not run into each other."""
    figure.draw_without_rendering()  # the room that there is, known from the layout alone
    renderer, scale = figure.canvas.get_renderer(), font_scale(settings)
    shown = [ax for ax in axes.flat if ax.get_visible()]
    boxes = [ax.get_window_extent(renderer) for ax in axes[0] if ax.get_visible()]
    centres = [(box.x0 + box.x1) / 2 for box in boxes]
    room = (
        min([2 * (figure.bbox.width - centres[-1]), *(b - a for a, b in zip(centres, centres[1:]))])
        - 0.05 * figure.dpi
    )
    room *= 0.9 if scale > 1.0 else 1.0  # larger letters at the axes will take of it
    for texts in ([ax.title for ax in shown], [ax.xaxis.label for ax in shown]):
        widest = max(text.get_window_extent(renderer).width for text in texts) * scale
        for text in texts if widest > room else ():
            text.set_fontsize(max(4.0 / scale, text.get_fontsize() * room / widest))
    of_row = 72 / figure.dpi * boxes[0].height / max(1, named) / scale  # points
    for ax in axes[:, 0] if of_row < STYLE["ytick.labelsize"] else ():
        ax.tick_params(axis="y", labelsize=max(3.0 / scale, of_row))
