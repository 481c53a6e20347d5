"""Reliability diagrams of single classes, from the arrays of `ReliabilityBins`."""

from __future__ import annotations

import numpy as np
import pandas as pd

from harness.estimators.reliability_bins import COLUMNS
from harness.evaluation import text_tables
from harness.figures import panels
from harness.figures.style import COLOURS
from harness.math import rates


def read_bins(records: pd.DataFrame) -> pd.DataFrame:
    """Return the bins of all records of `ReliabilityBins`, without empty bins.

    Returns
    -------
    DataFrame
        Columns: problem, class, bin, count; mean, the mean prediction; share, the share of the
        class; and low and high, the ends of the 95 % Wilson interval of the share.
    """
    no_bins = pd.DataFrame(columns=["problem", *COLUMNS])
    parts = [pd.DataFrame(r.arrays).assign(problem=r.problem) for r in records.itertuples()]
    frame = pd.concat(parts or [no_bins]).astype({"class": int, "bin": int})
    low, high = rates.wilson(frame["count"] * frame["share"], frame["count"])
    return frame.assign(low=low, high=high)


def diagram(ax, frame: pd.DataFrame, bins: int) -> None:
    """Draw one class: its share in each bin of predictions, with a 95 % interval.

    The gap to the mean prediction of the bin is orange if the prediction is too high, and yellow if
    it is too low.
    """
    left, gap = frame["bin"] / bins, frame["mean"] - frame["share"]
    high, low = gap.clip(lower=0.0), (-gap).clip(lower=0.0)
    bar = {"width": 1.0 / bins, "align": "edge"}
    ax.bar(left, frame["share"] - low, color=COLOURS[0], edgecolor="white", linewidth=0.3, **bar)
    ax.bar(
        left,
        high,
        bottom=frame["share"],
        color=COLOURS[1],
        alpha=0.45,
        linewidth=0,
        label="prediction too high",
        **bar,
    )
    ax.bar(
        left,
        low,
        bottom=frame["mean"],
        color=COLOURS[4],
        alpha=0.75,
        linewidth=0,
        label="prediction too low",
        **bar,
    )
    ax.plot(
        [0, 1], [0, 1], color="0.25", linestyle="--", linewidth=0.7, label="calibrated", zorder=2
    )
    ends = np.abs(np.stack([frame["share"] - frame["low"], frame["high"] - frame["share"]]))
    look = {"fmt": ".", "color": "0.1", "markersize": 2.5, "elinewidth": 0.6, "capsize": 0.8}
    ax.errorbar(
        left + 0.5 / bins,
        frame["share"],
        yerr=ends,
        label="share of the class with 95 % interval",
        **look,
    )


def figure(frame: pd.DataFrame, bins: int, per_row: int = 5):
    """Return a Figure with a panel per class, networks below each other.

    `frame` has the bins from `read_bins`, and the label of the network in the column `network`.
    """
    parts = list(frame.groupby("network", sort=False))
    rows = [-(-(1 + part["class"].max()) // per_row) for _, part in parts]
    figure, axes = panels.grid(sum(rows), per_row, 0.7 + 1.32 * sum(rows), sharex=True, sharey=True)
    for ax in axes.flat:
        ax.set_visible(False)
    for (name, part), top in zip(parts, np.cumsum([0, *rows])):
        for j, of_class in part.groupby("class"):
            ax = axes[top:].flat[j]
            ax.set_visible(True)
            ax.set_title(f"{name}, class {j}", fontsize=6.5, pad=2)
            diagram(ax, of_class, bins)
    axes[0, 0].set(xlim=(0, 1), ylim=(0, 1))
    figure.supxlabel("predicted probability of the class", fontsize=8)
    figure.supylabel("share of the class in the bin", fontsize=8)
    axes[0, 0].set(xticks=[0, 0.5, 1], yticks=[0, 0.5, 1])
    panels.legend(figure, axes[0, 0])
    return figure


def table(frame: pd.DataFrame) -> text_tables.Rows:
    """Return {(network, class): texts} with share, mean prediction, and L1 error over the bins."""
    rows: text_tables.Rows = {}
    for (network, j), part in frame.groupby(["network", "class"], sort=False):
        weight, gap = part["count"] / part["count"].sum(), (part["mean"] - part["share"]).abs()
        values = {"share": part["share"], "mean prediction": part["mean"], "L1 error": gap}
        rows[network, str(j)] = {name: f"{weight @ value:.4f}" for name, value in values.items()}
    return rows
