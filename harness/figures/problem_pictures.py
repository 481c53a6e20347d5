"""Picture of a problem: the distribution of its scores, and its posterior given the score."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from PIL import Image

from harness.common.writing import whole_file
from harness.figures.figure_files import to_png
from harness.figures.style import COLOURS, pyplot

Floats = NDArray[np.float64]

DOTS = 1_500  # number of rows that are shown as dots
SIZE, DPI = (3.6, 3.3), 120  # SIZE in inches: the width of a phone's screen
PARTS = 120  # number of points of the mean line; each is the mean of equally many rows
FEW = 60  # largest number of distinct scores for which each score has one dot
MANY = 0.005  # a score that occurs in a larger share of the rows has its own dot
KEY = "calharness"  # text field of the PNG that holds the key of the problem


def save(path: Path, p: Floats, c: Floats, key: str) -> None:
    """Draw a problem as in `draw`, and write a PNG that holds the key of the problem."""
    content = to_png(draw(p, c), DPI, **{KEY: key})
    with whole_file(path) as temporary:
        temporary.write_bytes(content)


def is_current(path: Path, key: str) -> bool:
    """Return True if a picture exists that `save` drew for a problem with this key."""
    try:
        with Image.open(path) as picture:
            return bool(picture.info.get(KEY) == key)
    except OSError:  # there is no file, or no picture in it
        return False


def scores(p: Floats, c: Floats) -> tuple[Floats, Floats, str]:
    """Return the scores of rows, the posteriors of their event, and the name of the score.

    p holds predictions, c the posteriors E[Y | p] in the same shape. For shape (n,) the score is
    P(Y = 1). For shape (n, k) it is the confidence in the top class, and the event is that this
    class is right.
    """
    if p.ndim == 1:
        return p, c, "score"
    rows, top = np.arange(len(p)), p.argmax(axis=1)
    return p[rows, top], c[rows, top], "confidence"


def draw(p: Floats, c: Floats) -> Figure:
    """Draw the posterior against the score, and a histogram of the scores below.

    p holds predictions, c the posteriors E[Y | p] in the same shape. Dots are single rows, and a
    line is the mean posterior given the score. The dashed diagonal is perfect calibration. If
    there are few distinct scores, each has one dot at its mean posterior.
    """
    score, right, name = scores(p, c)
    figure, (above, below) = pyplot().subplots(
        2, 1, figsize=SIZE, height_ratios=[3, 1], layout="constrained"
    )
    low = 0.0 if score.min() < 0.4 else 0.5 * np.floor(2 * score.min())
    _draw_map(above, score, right)
    above.set_ylabel(f"P({'1' if name == 'score' else 'correct'}) given the {name}")
    above.tick_params(labelbottom=False)
    shares = np.full(len(score), 1 / len(score))
    below.hist(score, bins=np.linspace(low, 1.0, 51), weights=shares, color=COLOURS[5])
    below.set(ylabel="share", xlabel=name)
    for ax in (above, below):
        ax.set_xlim(low - 0.02, 1.02)
    above.set_ylim(min(low, right.min()) - 0.03, 1.03)
    return figure  # type: ignore[no-any-return]


def _draw_map(ax: Any, score: Floats, right: Floats) -> None:
    dashes = {"color": "0.25", "linestyle": "--", "linewidth": 0.9, "zorder": 2}
    ax.plot([0, 1], [0, 1], label="calibrated", **dashes)
    values, which, counts = np.unique(score, return_inverse=True, return_counts=True)
    means = np.bincount(which, right) / counts
    dots = {"color": COLOURS[1], "marker": "o", "linestyle": "none", "markersize": 4}
    if len(values) <= FEW:
        ax.plot(values, means, label="mean given the score", zorder=4, **dots)
    else:
        rows = {"color": COLOURS[0], "markersize": 2, "alpha": 0.4, "zorder": 3}
        ax.plot(score[:DOTS], right[:DOTS], ".", label="rows", **rows)
        many = counts > MANY * len(score)
        single = np.isin(score, values[many], invert=True)
        order = np.flatnonzero(single)[np.argsort(score[single], kind="stable")]
        parts = [part for part in np.array_split(order, PARTS) if len(part)]
        x, y = ([column[part].mean() for part in parts] for column in (score, right))
        ax.plot(x, y, color=COLOURS[1], label="mean", zorder=4)
        ax.plot(values[many], means[many], zorder=5, **dots)
    ax.legend(loc="upper left", handlelength=1.6)
