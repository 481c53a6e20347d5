"""Functions that draw lines against n, shared by the figures of ciosek2026."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes


def means(
    ax: Axes, frame: pd.DataFrame, looks: Mapping[str, Mapping[str, Any]], value: str
) -> None:
    """Draw one line per estimator: the mean of the column `value` against n, on logarithmic axes.

    `looks` maps the id of an estimator to its label, colour, marker and line style.
    """
    for estimator, look in looks.items():
        mean = frame[frame["estimator"].eq(estimator)].groupby("n")[value].mean()
        ax.plot(mean.index, mean, **look)
    ax.set(xscale="log", yscale="log")


def band(
    ax: Axes, part: pd.DataFrame, low: str, high: str, value: str = "mean", **how: Any
) -> None:
    """Draw a line against n, in a pale band.

    `value`, `low` and `high` name the columns of the frame with the line and both edges of the
    band. `how` goes to matplotlib's plot and must contain `color`. An empty frame draws nothing.
    """
    if len(part):
        part = part.sort_values("n")
        pale = {"color": how["color"], "alpha": 0.2, "linewidth": 0}
        ax.fill_between(part["n"], part[low], part[high], **pale)
        ax.plot(part["n"], part[value], **how)


def guide(ax: Axes, frame: pd.DataFrame, value: str, slope: float, text: str) -> None:
    """Draw a grey line of a given slope on logarithmic axes, over the sample sizes of the frame.

    The line starts at 0.3 times the smallest positive number in the column `value` at the smallest
    n. Without such a number, or with a single n, nothing is drawn. `text` is the label.
    """
    sizes = np.array(sorted(frame["n"].unique()), float)
    least = frame.loc[frame["n"].eq(frame["n"].min()) & frame[value].gt(0), value].min()
    if len(sizes) > 1 and not math.isnan(least):
        how = {"color": "0.6", "linewidth": 0.8, "label": text, "zorder": 1}
        ax.plot(sizes, 0.3 * least * (sizes / sizes[0]) ** slope, **how)
