"""Lines that only the figures of this paper need."""

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
    """Draw a line per estimator: the mean of the column `value` against n, on logarithmic axes.

    `looks` maps the id of an estimator to its label, colour, marker and line, as plot takes them.
    """
    for estimator, look in looks.items():
        mean = frame[frame["estimator"].eq(estimator)].groupby("n")[value].mean()
        ax.plot(mean.index, mean, **look)
    ax.set(xscale="log", yscale="log")


def band(
    ax: Axes, part: pd.DataFrame, low: str, high: str, value: str = "mean", **how: Any
) -> None:
    """Draw `value` against n in a pale band from `low` to `high`. An empty frame draws nothing.

    `how` goes to plot and must hold the colour.
    """
    if len(part):
        part = part.sort_values("n")
        pale = {"color": how["color"], "alpha": 0.2, "linewidth": 0}
        ax.fill_between(part["n"], part[low], part[high], **pale)
        ax.plot(part["n"], part[value], **how)


def guide(ax: Axes, frame: pd.DataFrame, value: str, slope: float, text: str) -> None:
    """Draw a grey line of this slope on logarithmic axes, over the sizes n of the frame.

    It starts below the smallest positive `value` at the smallest n. Without such a value, or with
    one n only, nothing is drawn.
    """
    sizes = np.array(sorted(frame["n"].unique()), float)
    least = frame.loc[frame["n"].eq(frame["n"].min()) & frame[value].gt(0), value].min()
    if len(sizes) > 1 and not math.isnan(least):
        how = {"color": "0.6", "linewidth": 0.8, "label": text, "zorder": 1}
        ax.plot(sizes, 0.3 * least * (sizes / sizes[0]) ** slope, **how)
