"""Drawing functions that several figures of moskvichev2025 share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from harness.figures.style import COLOURS


def column_line(
    ax: Axes, frame: pd.DataFrame, column: str, x: str, value: str = "value", **how: Any
) -> None:
    """Draw one metric as a line.

    `column` is the name of the metric, as in the column "column" of the frame. `x` and `value` name
    the columns of the two axes. `how` goes to matplotlib's plot.
    """
    rows = frame[frame["column"].eq(column)]
    ax.plot(rows[x], rows[value], **how)


def dots_and_mean(
    ax: Axes, frame: pd.DataFrame, by: str, names: Sequence[str], value: str = "value"
) -> None:
    """Draw the values of each model as a column of dots, with a short line at their mean.

    `names` are the models from left to right. The column `by` of the frame holds the model.
    """
    for i, name in enumerate(names):
        values, colour = frame.loc[frame[by].eq(name), value], COLOURS[i % len(COLOURS)]
        ax.plot(np.full(len(values), i), values, ".", color=colour, alpha=0.35, markersize=3)
        ax.plot([i - 0.3, i + 0.3], [values.mean()] * 2, color=colour, linewidth=1.6)
    ax.set_xlim(-0.6, len(names) - 0.4)
    ax.set_xticks(range(len(names)), [name.split()[0] for name in names], rotation=45, ha="right")
    ax.grid(axis="x", visible=False)


def histograms(ax: Axes, trials: pd.DataFrame, full: pd.DataFrame, models: Sequence[str]) -> None:
    """Draw one histogram per model of its estimates, and a dashed line at its value on all rows.

    Parameters
    ----------
    ax : Axes
        The panel.
    trials : DataFrame
        Estimates of one estimator, one row per trial and model. Columns: `model`, `value`.
    full : DataFrame
        Values of the same estimator on all rows of the data, with the same columns.
    models : sequence of str
        Labels of the models, in the order of their colours.
    """
    edges = np.linspace(*np.quantile(trials["value"], [0.0005, 0.9995]), 41)
    for i, model in enumerate(models):
        part = trials.loc[trials["model"].eq(model), "value"]
        colour = COLOURS[i % len(COLOURS)]
        style = {
            "bins": edges,
            "color": colour,
            "weights": np.full(len(part), 1 / max(len(part), 1)),
        }
        ax.hist(part, histtype="stepfilled", alpha=0.35, linewidth=0.0, label=model, **style)
        ax.hist(part, histtype="step", linewidth=0.9, **style)
        for value in full.loc[full["model"].eq(model), "value"]:
            ax.axvline(value, color=colour, linestyle="--", linewidth=0.9)
    ax.locator_params(axis="both", nbins=4)
