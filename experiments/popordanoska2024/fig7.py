"""Figure 7: snapshots of training by classification error and KL calibration error, and those that no other betters in both."""

import numpy as np

from harness.evaluation import items, text_tables
from harness.figures import panels

from . import comparisons, drawing, networks

FAR = 1.6  # snapshots with more than that times the least error, of either kind, are outside of the axes
ERROR, LEVELS = "100 − accuracy (%)", ["estimator", "epoch"]


def snapshots(records, settings):
    """Frame column, epoch, error (percent) and ce (nats) with error_se and ce_se, means over the seeds on the validation part,
    and `front`: whether no other snapshot is at least as good in both and better in one."""
    found = networks.estimates(records, settings, "classwise")
    found = found[found["part"].eq("val")].sort_values("epoch", kind="stable")
    table = items.means(networks.of(found, "kl"), ["column", "epoch"]).rename(
        columns={"mean": "ce", "se": "ce_se"}
    )
    accuracy = items.means(networks.of(found, "accuracy"), ["epoch"]).set_index("epoch")
    table["error"], table["error_se"] = (
        100.0 - table["epoch"].map(accuracy["mean"]),
        table["epoch"].map(accuracy["se"]),
    )
    table["front"] = False
    for _, part in table.groupby("column"):
        table.loc[part.index, "front"] = comparisons.pareto(part[["error", "ce"]].to_numpy())
    order = items.labels(settings, "estimator")
    return table.sort_values(
        "column", key=lambda c: c.map(order.index), kind="stable", ignore_index=True
    )


def render(records, settings):
    """One panel per estimator: mean and standard error over the seeds; orange: the Pareto front, with the epochs."""
    found = snapshots(records, settings)
    if not len(found):
        return panels.nothing(networks.NO_FILES)
    figure, axes = panels.panels(found["column"].nunique(), height=2.3, xlabel=ERROR)
    for ax, (column, mine) in zip(axes, found.groupby("column", sort=False)):
        drawing.plane(ax, mine, "error", "ce", "front", "epoch", FAR, "epoch")
        ax.set_title(column)
    axes[0].set_ylabel(r"calibration error $\mathrm{CE_{KL}}$ (nats)")
    panels.legend(figure, axes[0], first=["Pareto optimal"])
    return figure


def table(records, settings):
    """Rows (estimator, epoch): validation error and calibration error, mean +- standard error over the seeds, and the front."""
    found, key = snapshots(records, settings), ("{column}", "{epoch:g}")
    rows = comparisons.columns(
        found, key, {ERROR: ("error", "error_se", 2), "KL calibration error": ("ce", "ce_se")}
    )
    text_tables.entries(
        found, key, "Pareto optimal", text=lambda r: "yes" if r.front else "–", into=rows
    )
    return networks.wide(rows, LEVELS, "validation: kl, mean ± standard error over the seeds")


def reproduced(records, settings):
    """The paper draws the front and prints no number."""
    found = snapshots(records, settings)
    count = items.means(found, ["column"], "front").assign(
        front=lambda f: (f["mean"] * f["reps"]).round()
    )
    count["reps"] = count["column"].map(found.groupby("column")["reps"].max())
    ours = items.numbers(count, "snapshots that are Pareto optimal", "{column}", "front", np.nan)
    return comparisons.answers_or_reason(ours, records, settings)
