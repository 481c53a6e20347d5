"""Figure 8: class-wise reliability diagrams, ten bins of equal width: the diagnostics of the estimator `reliability10`."""

import numpy as np

from harness.report import class_diagrams, items, networks, panels
from harness.report.shown import label

BINS, PER_ROW, DIAGRAM = 10, 5, "reliability10"


def bins(records, config):
    """Frame network, class, bin, count, mean prediction, share of the class, and the ends low, high of its 95 % Wilson
    interval."""
    fine = items.with_number(records, "l1", "classwise")
    return named(class_diagrams.bins_of(fine[fine["estimator"].eq(DIAGRAM)]), config)


def named(frame, config):
    """The frame with `network`: the label of the file, else of the network that its id names."""
    ids = frame["problem"].astype(object)
    files = ids.isin(list(config["labels"]["problem"] or {}))
    ids = ids.where(files, ids.str.extract(networks.IN_TRAINING)[1].fillna(ids))
    return frame.assign(network=[label(config, "problem", name) for name in ids])


def render(records, config):
    """One panel per class, the networks below each other: the share of the class in a bin beside the bin's mean prediction."""
    parts = list(bins(records, config).groupby("network", sort=False))
    if not parts:
        return panels.nothing(networks.NO_FILES)
    rows = [-(-(1 + part["class"].max()) // PER_ROW) for _, part in parts]
    figure, axes = panels.grid(sum(rows), PER_ROW, 0.7 + 1.32 * sum(rows), sharex=True, sharey=True)
    for ax in axes.flat:
        ax.set_visible(False)
    for (name, found), top in zip(parts, np.cumsum([0, *rows])):
        for j, part in found.groupby("class"):
            ax = axes[top:].flat[j]
            ax.set_visible(True)
            ax.set_title(f"{name}, class {j}", fontsize=6.5, pad=2)
            class_diagrams.diagram(ax, part, BINS)
    axes[0, 0].set(xlim=(0, 1), ylim=(0, 1))
    figure.supxlabel("predicted probability of the class", fontsize=8)
    figure.supylabel("share of the class in the bin", fontsize=8)
    panels.legend(figure, axes[0, 0])
    return figure


def table(records, config):
    """Rows (network, class): share of the class, its mean prediction, and the L1 error over the ten bins."""
    rows = {}
    for (network, j), part in bins(records, config).groupby(["network", "class"], sort=False):
        weight, gap = part["count"] / part["count"].sum(), (part["mean"] - part["share"]).abs()
        values = {"share": part["share"], "mean prediction": part["mean"], "L1 error": gap}
        rows[network, str(j)] = {name: f"{weight @ value:.4f}" for name, value in values.items()}
    return networks.wide(rows, ["network", "class"], "class-wise: l1 over ten bins of equal width")


def reproduced(records, config):
    """The mean over classes, as the binned estimator recorded it. The paper draws and prints no number."""
    mine = named(items.values(records[records["estimator"].ne(DIAGRAM)], config, "l1", "classwise"), config)
    ours = items.numbers(mine, "L1 error, mean over classes, {network}", "{column}", "value", np.nan, 1)
    return items.answers_or_reason(ours, records, config)
