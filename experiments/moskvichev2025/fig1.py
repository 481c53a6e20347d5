"""Figure 1: reliability diagrams and CKCE of three models with two classes.

The models predict the true probabilities, flattened ones, and sharpened ones. The left panel shows
the first replication. The other panels show CKCE, JKCE and ECE in every replication; the paper's
figure has CKCE alone. No value of that figure is at hand, so the numbers of an independent second
implementation stand beside ours.
"""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from harness.configure.settings import Settings
from harness.evaluation import items, text_tables
from harness.evaluation.selection import label
from harness.figures import panels
from harness.figures.style import COLOURS
from harness.records.schema import has_number

from . import drawing, metrics


def render(records: pd.DataFrame, settings: Settings) -> Figure:
    """Draw reliability diagrams of the three models, and all estimates in a panel per metric."""
    frame = metrics.values(records, settings)
    if not len(frame):
        return panels.nothing()
    models = items.labels(settings, "problem")
    columns = items.labels(
        settings,
        "estimator",
        frame.loc[frame["estimator"].isin(items.chosen(settings, frame)), "column"],
    )
    figure, (axes,) = panels.grid(
        1, 1 + len(columns), 2.7, width_ratios=[2.0, *[1.0] * len(columns)]
    )
    axes[0].plot([0, 1], [0, 1], color="0.2", linestyle="--", linewidth=1.0, zorder=1)
    first = records[records["rep"].eq(frame["rep"].min()) & has_number(records)]
    for i, name in enumerate(settings.problem):
        drawn, ckce = (
            first[first["problem"].eq(name) & first["estimator"].eq(e)] for e in ("bins", "ckce")
        )
        text = label(settings, "problem", name) + "".join(
            f", CKCE {value:.4f}" for value in ckce["value"]
        )
        for bins in drawn["arrays"]:
            axes[0].plot(
                *_mean_and_share(bins),
                color=COLOURS[i],
                marker=panels.look(i)["marker"],
                label=text,
                clip_on=False,
            )
    axes[0].set(
        xlabel="confidence in class 0",
        ylabel="frequency of class 0",
        xlim=(0, 1),
        ylim=(0, 1),
        aspect="equal",
    )
    for ax, column in zip(axes[1:], columns):
        drawing.dots_and_mean(ax, frame[frame["column"].eq(column)], "model", models)
        ax.set_title(column)
    panels.legend(figure, axes[0], 3)
    return figure


def _mean_and_share(bins: dict[str, np.ndarray]) -> np.ndarray:
    """Return mean confidence and frequency of ten bins, (2, 10); NaN for an empty bin.

    The line of a diagram is broken at an empty bin. `bins` are arrays of `FirstClassBins`.
    """
    values = np.full((2, 10), np.nan)
    values[:, bins["bin"].astype(int)] = bins["mean"], bins["share"]
    return values


def table(records: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Return a table of texts with one row per model.

    Each metric has two columns: mean ± standard deviation over the replications, and the estimate
    in the first replication.
    """
    frame = metrics.values(records, settings)
    rows = text_tables.entries(
        items.means(frame, ["model", "column"]), ["{model}"], "{column}", error="sd"
    )
    first = frame[frame["rep"].eq(frame["rep"].min())]
    rows = text_tables.entries(first, ["{model}"], "{column}, drawn", "value", None, into=rows)
    columns = [
        column + end for column in items.labels(settings, "estimator") for end in ("", ", drawn")
    ]
    return text_tables.wide(
        rows, ["model"], "mean ± standard deviation over the replications", columns
    )


def reproduced(records: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Return our mean estimates for the reported numbers, by model and metric."""
    frame = items.means(metrics.values(records, settings), ["model", "column"])
    return metrics.answers([items.numbers(frame, "{model}", "{column}")], records, settings)
