"""Style of all figures: colours, markers, lines, fonts and sizes."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import matplotlib
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

# Palette of Okabe and Ito, with grey instead of yellow
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999999")
GREY = COLOURS[7]
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
LINES = ("-", "--", ":", "-.")  # the line style changes after every eight series
STYLE: dict[str, Any] = {
    "font.size": 8, "axes.titlesize": 8, "axes.labelsize": 8, "legend.fontsize": 7.5,
    "xtick.labelsize": 7, "ytick.labelsize": 7, "mathtext.fontset": "cm",
    "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True, "grid.alpha": 0.25,
    "grid.linewidth": 0.5, "lines.linewidth": 1.2, "lines.markersize": 3, "pdf.fonttype": 42,
    "svg.hashsalt": "calharness", "svg.fonttype": "path", "legend.frameon": False,
}  # fmt: skip
WIDTH = 6.75  # inches, two columns of a paper


def pyplot() -> Any:
    """Return matplotlib.pyplot with the style of all figures.

    Figures are drawn without a window, unless the user's session has chosen a backend: a notebook
    does, and so does a script that has imported pyplot.
    """
    if not {"IPython", "matplotlib.pyplot"} & sys.modules.keys():
        matplotlib.use("Agg", force=False)
    import matplotlib.pyplot as plt  # after the choice of the backend

    plt.rcParams.update(STYLE)  # type: ignore[arg-type]
    return plt


@contextmanager
def usual_style() -> Iterator[None]:
    """Restore the user's style at the end of the block.

    matplotlib's own rc_context would also undo what a notebook's backend sets when it starts.
    """
    before = {name: value for name, value in matplotlib.rcParams.items() if name in STYLE}
    try:
        yield
    finally:
        matplotlib.rcParams.update(before)


def subplots(rows: int, columns: int, height: float, **more: Any) -> tuple[Figure, Any]:
    """Create a figure of this height in inches, with an array (rows, columns) of axes.

    `more` are options of pyplot.subplots, such as sharex, sharey, width_ratios and figsize.
    """
    options = {"figsize": (WIDTH, height), "squeeze": False, "layout": "constrained", **more}
    figure, axes = pyplot().subplots(rows, columns, **options)
    return figure, axes


def nothing(text: str = "no cell gave a number to draw; the page lists the reasons") -> Figure:
    """Return a figure that shows only a text, for records without a number to draw."""
    figure, axes = subplots(1, 1, 1.2)
    ax = axes[0, 0]
    figure.set_label("No cell gave a number to draw.")
    ax.set_axis_off()
    ax.text(0.5, 0.5, text, ha="center", va="center", transform=ax.transAxes)
    return figure


def series_style(i: int) -> dict[str, str]:
    """Return colour, marker and line style of series i. The first 64 series all look different."""
    return {
        "color": COLOURS[i % 8],
        "marker": MARKERS[(i + 3 * (i // 8)) % 8],
        "linestyle": LINES[i // 8 % 4],
    }


def pale(colour: str, share: float) -> tuple[float, ...]:
    """Mix `share` of a colour with white. This replaces transparency, which EPS does not have."""
    return tuple(1.0 - share * (1.0 - c) for c in to_rgb(colour))


def plain_table(ax: Any) -> None:
    """Remove grid, ticks and frame from axes that show a table of coloured fields."""
    ax.grid(False)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)


def grid_shape(count: int, per_row: int) -> tuple[int, int]:
    """Return the numbers of rows and columns for `count` panels, at most `per_row` in a row."""
    columns = max(1, min(per_row, count))
    return -(-count // columns), columns
