"""Drawing of reliability diagrams (`harness.evaluation.reliability` says what is drawn)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from harness.figures.style import COLOURS, WIDTH, pyplot

HISTOGRAM_BINS = 40
LARGEST_DOT = 160.0  # square points: the area of a block that holds all rows
SMALLEST_DOT = 4.0
LEGEND_DOT = 16.0
INCHES = 2.45  # height of a panel with its histogram and titles
ALONE = 3.4  # inches, the width of a single panel


def figure(panels, per_row: int = 3, size: Sequence[float] | None = None):
    """Draw those of these panels (`reliability.Panel`) that are to be drawn, each with the histogram of its scores below."""
    plt = pyplot()
    panels = [one for one in panels if one.drawn]
    columns = max(1, min(len(panels), per_row))
    rows = -(-len(panels) // columns)
    width = ALONE if columns == 1 else min(WIDTH, columns * WIDTH / 3)
    height = 0.45 + rows * (INCHES if columns > 1 else 3.9)
    size = size or (width, height)
    figure, axes = plt.subplots(
        2 * rows, columns, figsize=size, squeeze=False, sharex=True, height_ratios=[4.2, 1] * rows, layout="constrained"
    )  # fmt: skip
    for i, panel in enumerate(panels):
        row, column = divmod(i, columns)
        above, below = axes[2 * row, column], axes[2 * row + 1, column]
        _diagram(above, panel)
        _histogram(below, panel)
        above.tick_params(labelbottom=False)
        below.tick_params(labelbottom=True)
        if column == 0 or panel.event != panels[i - 1].event:
            above.set_ylabel(_literal(panel.event))
        if column == 0:
            below.set_ylabel("rows")
        if i + columns >= len(panels) or panel.score != panels[i + columns].score:
            below.set_xlabel(_literal(panel.score))
    for ax in axes.reshape(rows, 2, columns).swapaxes(1, 2).reshape(-1, 2)[len(panels) :].ravel():
        ax.set_visible(False)
    handles, texts = axes[0, 0].get_legend_handles_labels()
    dot = plt.Line2D(
        [], [], marker="o", linestyle="none", color=COLOURS[1], markersize=LEGEND_DOT**0.5
    )
    handles = [dot if text == "bins" else handle for handle, text in zip(handles, texts)]
    figure.legend(
        handles,
        texts,
        loc="outside upper center",
        ncols=4 if columns > 1 else 2,
        handlelength=1.8,
        columnspacing=1.2,
    )
    return figure


def _diagram(ax, panel):
    curve, band, bins = panel.curve, panel.band, panel.curve.bins
    ax.plot(
        [0, 1], [0, 1], color="0.25", linestyle="--", linewidth=0.9, label="calibrated", zorder=2
    )
    if band is not None:
        colour = "0.55" if band.kind == "consistency" else COLOURS[5]
        style = {
            "color": colour,
            "alpha": 0.35,
            "linewidth": 0,
            "zorder": 1,
            "label": f"{band.level:.0%} {band.kind} band",
        }
        if len(band.at) > 1:
            ax.fill_between(band.at, band.low, band.high, **style)
        else:  # a single score: the band is a bar
            ax.fill_between(
                band.at[0] + np.array([-0.01, 0.01]), band.low[[0, 0]], band.high[[0, 0]], **style
            )
    ends = np.unique(np.concatenate([curve.start[:-1], curve.start[1:] - 1]))
    ax.plot(
        curve.at[ends],
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
        color=COLOURS[1],
        alpha=0.8,
        linewidths=0,
        clip_on=False,
        label="bins",
        zorder=4,
    )
    ax.set(
        xlim=(-0.03, 1.03),
        ylim=(-0.04, 1.04),
        xticks=(0, 0.25, 0.5, 0.75, 1),
        yticks=(0, 0.25, 0.5, 0.75, 1),
    )
    parts = f"MCB {_short(curve.mcb)}  DSC {_short(curve.dsc)}  UNC {_short(curve.unc)}"
    ax.set_title(parts, fontsize=6.5, color="0.3", pad=3)
    ax.annotate(
        f"{_literal(_fitted(panel.title))}  ($n$ = {curve.n:,})", (0.5, 1.0), (0, 13), xycoords="axes fraction",
        textcoords="offset points", ha="center", va="bottom", fontsize=8, annotation_clip=False,
    )  # fmt: skip


def _histogram(ax, panel):
    curve = panel.curve
    if len(curve.at) <= HISTOGRAM_BINS:  # each has a bar of its own, at its place
        ax.bar(curve.at, curve.count, width=0.5 / HISTOGRAM_BINS, color="0.45")
    else:
        ax.hist(
            curve.at,
            np.linspace(0.0, 1.0, HISTOGRAM_BINS + 1),
            weights=curve.count,
            color="0.45",
            rwidth=0.9,
        )
    ax.set_ylim(bottom=0)
    ax.locator_params(axis="y", nbins=2, integer=True)
    ax.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")


def _short(value):
    """Four decimals, or two digits of what would be lost."""
    return f"{value:.4f}" if value == 0 or value >= 5e-4 else f"{value:.1e}"


def _literal(text):
    """The text with its dollars escaped: names of classes come from the data and are no mathematics."""
    return text.replace("$", r"\$")


def _fitted(title, most=24):
    """The title, its middle left out where it is too long for a panel."""
    return title if len(title) <= most else f"{title[: most // 2]}…{title[-most // 2 + 1 :]}"
