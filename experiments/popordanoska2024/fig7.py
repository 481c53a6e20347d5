"""Figure 7: snapshots of training by classification error and KL calibration error.

A snapshot is on the Pareto front if no other one is at least as good in both errors and better in
one.
"""

import numpy as np

from harness.evaluation import items, text_tables
from harness.figures import panels

from . import comparisons, drawing, networks

FAR = 1.6  # snapshots with an error above this multiple of the smallest are outside the axes
ERROR, LEVELS = "100 − accuracy (%)", ["estimator", "epoch"]


def snapshots(records, settings):
    """Return one row per estimator and epoch, with means over the seeds on validation images.

    The columns are column (the estimator's label), epoch, error (the classification error in
    percent) and ce (the calibration error in nats), with the standard errors error_se and ce_se.
    `front` is true on the Pareto front.
    """
    frame = networks.estimates(records, settings, "classwise")
    frame = frame[frame["part"].eq("val")].sort_values("epoch", kind="stable")
    table = items.means(networks.select(frame, "kl"), ["column", "epoch"]).rename(
        columns={"mean": "ce", "se": "ce_se"}
    )
    accuracy = items.means(networks.select(frame, "accuracy"), ["epoch"]).set_index("epoch")
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
    """Draw a panel per estimator, with means and standard errors over the seeds.

    The Pareto front is orange, and its epochs are named.
    """
    frame = snapshots(records, settings)
    if not len(frame):
        return panels.nothing(networks.NO_FILES)
    figure, axes = panels.panels(frame["column"].nunique(), height=2.3, xlabel=ERROR)
    for ax, (column, mine) in zip(axes, frame.groupby("column", sort=False)):
        drawing.plane(ax, mine, "error", "ce", "front", "epoch", FAR, "epoch")
        ax.set_title(column)
    axes[0].set_ylabel(r"calibration error $\mathrm{CE_{KL}}$ (nats)")
    panels.legend(figure, axes[0], first=["Pareto optimal"])
    return figure


def table(records, settings):
    """Return a table by estimator and epoch: validation error, calibration error, and the front."""
    frame, key = snapshots(records, settings), ("{column}", "{epoch:g}")
    rows = comparisons.columns(
        frame, key, {ERROR: ("error", "error_se", 2), "KL calibration error": ("ce", "ce_se")}
    )
    text_tables.entries(
        frame, key, "Pareto optimal", text=lambda r: "yes" if r.front else "–", into=rows
    )
    return networks.wide(rows, LEVELS, "validation: kl, mean ± standard error over the seeds")


def reproduced(records, settings):
    """Return the numbers of Pareto optimal snapshots. The paper draws the front without numbers."""
    frame = snapshots(records, settings)
    count = items.means(frame, ["column"], "front").assign(
        front=lambda f: (f["mean"] * f["reps"]).round()
    )
    count["reps"] = count["column"].map(frame.groupby("column")["reps"].max())
    ours = items.numbers(count, "snapshots that are Pareto optimal", "{column}", "front", np.nan)
    return comparisons.answers_or_reason(ours, records, settings)
