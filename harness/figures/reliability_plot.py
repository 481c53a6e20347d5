"""Figure of reliability diagrams (harness.math.reliability explains the diagrams)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from harness.common.wording import shorten_middle
from harness.figures.style import COLOURS, WIDTH, grid_shape, pyplot, subplots
from harness.math.reliability import Panel

HISTOGRAM_BINS = 40
LARGEST_DOT = 160.0  # square points, the area of the dot of a bin that holds all rows
SMALLEST_DOT = 4.0
LEGEND_DOT = 16.0
HEIGHT = 2.45  # inches, height of a diagram with its histogram and titles
ALONE_WIDTH, ALONE_HEIGHT = 3.4, 3.9  # inches, size of a figure with a single diagram


def figure(
    panels: Sequence[Panel], per_row: int = 3, size: Sequence[float] | None = None
) -> Figure:
    """Draw the reliability diagrams whose `drawn` is True, each above the histogram of its scores.

    `per_row` is the number of diagrams in a row, `size` the width and height of the figure in
    inches.
    """
    panels = [panel for panel in panels if panel.drawn]
    rows, columns = grid_shape(len(panels), per_row)
    width = ALONE_WIDTH if columns == 1 else min(WIDTH, columns * WIDTH / 3)
    height = 0.45 + rows * (HEIGHT if columns > 1 else ALONE_HEIGHT)
    ratios = {"height_ratios": [4.2, 1] * rows, "sharex": True}
    figure, axes = subplots(2 * rows, columns, 0, figsize=size or (width, height), **ratios)
    for i, panel in enumerate(panels):
        row, column = divmod(i, columns)
        above, below = axes[2 * row, column], axes[2 * row + 1, column]
        draw_diagram(above, panel)
        _draw_histogram(below, panel)
        above.tick_params(labelbottom=False)
        below.tick_params(labelbottom=True)
        if column == 0 or panel.event != panels[i - 1].event:
            above.set_ylabel(_escape(panel.event))
        if column == 0:
            below.set_ylabel("rows")
        if i + columns >= len(panels) or panel.score != panels[i + columns].score:
            below.set_xlabel(_escape(panel.score))
    for i in range(len(panels), rows * columns):
        row, column = divmod(i, columns)
        axes[2 * row, column].set_visible(False)
        axes[2 * row + 1, column].set_visible(False)
    handles, texts = axes[0, 0].get_legend_handles_labels()
    dot = {"marker": "o", "linestyle": "none", "color": COLOURS[1], "markersize": LEGEND_DOT**0.5}
    handles = [
        pyplot().Line2D([], [], **dot) if text == "bins" else handle
        for handle, text in zip(handles, texts)
    ]
    figure.legend(
        handles,
        texts,
        handlelength=1.8,
        columnspacing=1.2,
        loc="outside upper center",
        ncols=4 if columns > 1 else 2,
    )
    return figure


def draw_diagram(ax: Any, panel: Panel) -> None:
    """Draw the reliability diagram of a panel, without the histogram of its scores."""
    curve, band, bins = panel.curve, panel.band, panel.curve.bins
    ax.plot(
        [0, 1], [0, 1], label="calibrated", color="0.25", linestyle="--", linewidth=0.9, zorder=2
    )
    if band is not None:
        style = {"color": "0.55", "alpha": 0.35, "linewidth": 0, "zorder": 1}
        style["label"] = f"{band.level:.0%} consistency band"
        x, low, high = band.scores, band.low, band.high
        if len(x) == 1:  # the band of a single score is a bar
            x, low, high = x[0] + np.array([-0.01, 0.01]), low[[0, 0]], high[[0, 0]]
        ax.fill_between(x, low, high, **style)
    ends = np.unique(np.concatenate([curve.start[:-1], curve.start[1:] - 1]))
    ax.plot(
        curve.scores[ends],
        curve.fit[ends],
        color=COLOURS[0],
        linewidth=1.3,
        label="recalibrated (CORP)",
        zorder=3,
    )
    area = np.maximum(LARGEST_DOT * bins["count"] / curve.n, SMALLEST_DOT)
    ax.scatter(
        bins["score"],
        bins["frequency"],
        s=area,
        clip_on=False,
        color=COLOURS[1],
        alpha=0.8,
        linewidths=0,
        label="bins",
        zorder=4,
    )
    ticks = (0, 0.25, 0.5, 0.75, 1)
    ax.set(xlim=(-0.03, 1.03), ylim=(-0.04, 1.04), xticks=ticks, yticks=ticks)
    parts = {"MCB": curve.mcb, "DSC": curve.dsc, "UNC": curve.unc}
    text = "  ".join(f"{name} {_format_part(value)}" for name, value in parts.items())
    ax.set_title(text, fontsize=6.5, color="0.3", pad=3)
    title = f"{_escape(shorten_middle(panel.title))}  ($n$ = {curve.n:,})"
    place = {"xytext": (0, 13), "xycoords": "axes fraction", "textcoords": "offset points"}
    style = {"ha": "center", "va": "bottom", "fontsize": 8, "annotation_clip": False}
    ax.annotate(title, (0.5, 1.0), **place, **style)


def _draw_histogram(ax: Any, panel: Panel) -> None:
    curve = panel.curve
    if len(curve.scores) <= HISTOGRAM_BINS:  # draw one bar per distinct score
        ax.bar(curve.scores, curve.count, width=0.5 / HISTOGRAM_BINS, color="0.45")
    else:
        edges = np.linspace(0.0, 1.0, HISTOGRAM_BINS + 1)
        ax.hist(curve.scores, edges, weights=curve.count, color="0.45", rwidth=0.9)
    ax.set_ylim(bottom=0)
    ax.locator_params(axis="y", nbins=2, integer=True)
    ax.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")


def _format_part(value: float) -> str:
    """Format a part of the Brier score with four decimals, or a small one with two digits."""
    return f"{value:.4f}" if value == 0 or value >= 5e-4 else f"{value:.1e}"


def _escape(text: str) -> str:
    """Escape dollar signs, because class names come from the data and are not mathematics."""
    return text.replace("$", r"\$")
