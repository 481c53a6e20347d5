"""Figure 8: class-wise reliability diagrams, ten bins of equal width: the diagnostics of the estimator `reliability10`."""

import json
import math

import numpy as np
import pandas as pd

from experiments.popordanoska2024 import runs
from harness.report import items, panels, rates
from harness.report.plots import COLOURS
from harness.report.tables import label

BINS, PER_ROW, DIAGRAM = 10, 5, "reliability10"


def bins(records, config):
    """Frame network, class, bin, count, mean prediction, share of the class, and the ends low, high of its 95 % Wilson
    interval."""
    fine, rows = items.with_number(records, "l1", "classwise"), {}
    for r in fine[fine["estimator"].eq(DIAGRAM)].itertuples():
        for name, value in json.loads(r.diagnostics).items():
            j, b, what = name.split("/")
            rows.setdefault((_network(r.problem, config), int(j), int(b)), {})[what] = value
    keys = pd.DataFrame(list(rows), columns=["network", "class", "bin"])
    found = keys.join(pd.DataFrame(list(rows.values()), columns=["count", "mean", "share"]))
    low, high = rates.wilson(found["count"] * found["share"], found["count"])
    return found.assign(low=low, high=high)


def render(records, config):
    """One panel per class, the networks below each other: dots: share of the class among the predictions of a bin with its 95 %
    Wilson interval; the gap to the bin's mean prediction is orange where that is too high, yellow where it is too low."""
    networks = list(bins(records, config).groupby("network", sort=False))
    if not networks:
        return runs.nothing()
    rows = [math.ceil((1 + part["class"].max()) / PER_ROW) for _, part in networks]
    figure, axes = panels.grid(sum(rows), PER_ROW, 0.7 + 1.32 * sum(rows), sharex=True, sharey=True)
    for ax in axes.flat:
        ax.set_visible(False)
    for (name, found), top in zip(networks, np.cumsum([0, *rows])):
        for j, part in found.groupby("class"):
            ax = axes[top:].flat[j]
            ax.set_visible(True)
            ax.set_title(f"{name}, class {j}", fontsize=6.5, pad=2)
            diagram(ax, part)
    axes[0, 0].set(xlim=(0, 1), ylim=(0, 1))
    figure.supxlabel("predicted probability of the class", fontsize=8)
    figure.supylabel("share of the class in the bin", fontsize=8)
    panels.legend(figure, axes[0, 0])
    return figure


def diagram(ax, found):
    """Draw one class."""
    left, gap = found["bin"] / BINS, found["mean"] - found["share"]
    high, low = gap.clip(lower=0.0), (-gap).clip(lower=0.0)
    bar = {"width": 1.0 / BINS, "align": "edge"}
    ax.bar(left, found["share"] - low, color=COLOURS[0], edgecolor="white", linewidth=0.3, **bar)
    ax.bar(left, high, bottom=found["share"], color=COLOURS[1], alpha=0.45, linewidth=0, label="prediction too high", **bar)
    ax.bar(left, low, bottom=found["mean"], color=COLOURS[4], alpha=0.75, linewidth=0, label="prediction too low", **bar)
    ends = np.abs(np.stack([found["share"] - found["low"], found["high"] - found["share"]]))
    look = {"fmt": ".", "color": "0.1", "markersize": 2.5, "elinewidth": 0.6, "capsize": 0.8}
    ax.errorbar(left + 0.5 / BINS, found["share"], yerr=ends, label="share of the class with 95 % interval", **look)


def table(records, config):
    """Rows (network, class): share of the class, its mean prediction, and the L1 error over the ten bins."""
    rows = {}
    for (network, j), part in bins(records, config).groupby(["network", "class"], sort=False):
        weight, gap = part["count"] / part["count"].sum(), (part["mean"] - part["share"]).abs()
        values = {"share": part["share"], "mean prediction": part["mean"], "L1 error": gap}
        rows[network, str(j)] = {name: f"{weight @ value:.4f}" for name, value in values.items()}
    return runs.wide(rows, ["network", "class"], "class-wise: l1 over ten bins of equal width")


def reproduced(records, config):
    """The mean over classes, as the binned estimator recorded it. The paper draws and prints no number."""
    mine = items.values(records[records["estimator"].ne(DIAGRAM)], config, "l1", "classwise")
    mine = mine.assign(network=[_network(problem, config) for problem in mine["problem"]])
    ours = items.numbers(mine, "L1 error, mean over classes, {network}", "{column}", "value", np.nan, 1)
    return runs.answers(ours, records, config)


def _network(problem, config):
    """The label of a file's network, else its name in the id."""
    found = runs.NAME.fullmatch(problem)
    name = found[2] if found else problem
    return label(config, "problem", problem if problem in (config["labels"]["problem"] or {}) else name)
