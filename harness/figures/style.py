"""The look of all figures: colours, markers, letters and sizes."""

from __future__ import annotations

from typing import Any

from harness.configure.catalogue import defaults
from harness.configure.figure import Figure
from harness.configure.settings import Settings

COLOURS = (
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#CC79A7",
    "#E69F00",
    "#56B4E9",
    "#000000",
    "#999999",
)  # Okabe and Ito, grey for yellow
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
LINES = ("-", "--", ":", "-.")  # one for every eight series
STYLE = {
    "font.size": 8, "axes.titlesize": 8, "axes.labelsize": 8, "legend.fontsize": 7.5, "xtick.labelsize": 7, "ytick.labelsize": 7,
    "mathtext.fontset": "cm", "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True, "grid.alpha": 0.25,
    "grid.linewidth": 0.5, "lines.linewidth": 1.2, "lines.markersize": 3, "pdf.fonttype": 42, "svg.hashsalt": "calharness",
    "svg.fonttype": "path", "legend.frameon": False,
}  # fmt: skip
WIDTH = 6.75  # inches, two columns of a paper


def pyplot() -> Any:
    """matplotlib.pyplot with the style of all figures."""
    import matplotlib

    matplotlib.use("Agg", force=False)
    import matplotlib.pyplot as plt

    plt.rcParams.update(STYLE)
    return plt


def nothing(text="no cell gave a number to draw; the page says why"):
    """A figure that says that there is nothing to draw."""
    figure, ax = pyplot().subplots(figsize=(WIDTH, 1.2), layout="constrained")
    figure.set_label("No cell gave a number to draw.")
    ax.set_axis_off()
    ax.text(0.5, 0.5, text, ha="center", va="center", transform=ax.transAxes)
    return figure


def series_style(i):
    """Colour, marker and line of series i: no two of the first 64 are alike."""
    return {
        "color": COLOURS[i % 8],
        "marker": MARKERS[(i + 3 * (i // 8)) % 8],
        "linestyle": LINES[i // 8 % 4],
    }


def pale(colour, share):
    """The colour mixed with white: EPS has no transparency."""
    from matplotlib.colors import to_rgb

    return tuple(1.0 - share * (1.0 - c) for c in to_rgb(colour))


def grid_shape(panels, per_row):
    columns = max(1, min(per_row, panels))
    return -(-panels // columns), columns


def figure_settings(settings: Settings | None) -> Figure:
    """How a figure is drawn; without settings as conf/config.yaml has it."""
    return settings.figure if settings else Figure.from_dict(defaults()["figure"])


def font_scale(settings):
    return (figure_settings(settings).font or STYLE["font.size"]) / STYLE["font.size"]


def figure_size(settings, height):
    """Inches: what the configuration says, else the usual width and the height that the content needs."""
    asked = settings.figure.size
    return tuple(asked) if asked else (WIDTH, height * max(1.0, font_scale(settings)))
