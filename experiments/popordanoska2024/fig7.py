"""Figure 7: snapshots of training by classification error and KL calibration error, and those that no other betters in both."""

import numpy as np
import pandas as pd

from experiments.popordanoska2024 import runs
from harness.report.plots import COLOURS, WIDTH, pyplot

FAR = 1.6  # snapshots with more than that times the least error, of either kind, are outside of the axes


def render(records, config):
    """One panel per estimator: mean and standard error over the seeds; orange: the Pareto front, with the epochs."""
    found = snapshots(records, config)
    if not len(found):
        return runs.nothing()
    plt = pyplot()
    columns = list(dict.fromkeys(found["column"]))
    figure, axes = plt.subplots(1, len(columns), figsize=(WIDTH, 2.9), squeeze=False, layout="constrained")
    for ax, column in zip(axes.flat, columns):
        mine = found[found["column"].eq(column)].sort_values("error")
        for front, colour, text in ((False, COLOURS[0], "other snapshots"), (True, COLOURS[1], "Pareto optimal")):
            part = mine[mine["front"].eq(front)]
            ax.errorbar(
                part["error"], part["ce"], xerr=part["error_se"], yerr=part["ce_se"], color=colour, marker="o", markersize=3.5,
                linestyle="-" if front else "none", linewidth=0.8, elinewidth=0.5, alpha=1.0 if front else 0.55, label=text,
                zorder=3 if front else 2,
            )  # fmt: skip
        _zoom(ax, mine)
        ax.set(title=column, xlabel="100 − accuracy (%)")
    axes[0, 0].set_ylabel(r"calibration error $\mathrm{CE_{KL}}$ (nats)")
    handles = dict(zip(*reversed(axes[0, 0].get_legend_handles_labels())))
    figure.legend(handles.values(), handles.keys(), loc="outside upper center", ncols=2)
    return figure


def snapshots(records, config):
    """Frame column, epoch, error (percent) and ce (nats) with error_se and ce_se, means over the seeds on the validation part,
    and `front`: whether no other snapshot is at least as good in both and better in one."""
    found = runs.estimates(records, config, "classwise")
    found = found[found["estimand"].eq("kl") & found["part"].eq("val")]
    if not len(found):
        return pd.DataFrame(columns=["column", "epoch", "error", "error_se", "ce", "ce_se", "reps", "front"])
    accuracy = runs.accuracies(config, set(found["problem"]).__contains__)
    accuracy = runs.over_seeds(accuracy, ["epoch"], "accuracy").set_index("epoch")
    table = runs.over_seeds(found, ["column", "epoch"]).rename(columns={"mean": "ce", "se": "ce_se"})
    table["error"] = 100.0 - table["epoch"].map(accuracy["mean"])
    table["error_se"] = table["epoch"].map(accuracy["se"])
    for _, part in table.groupby("column", sort=False):
        table.loc[part.index, "front"] = pareto(part[["error", "ce"]].to_numpy())
    order = runs.columns_of(found, config)
    table = table.assign(front=table["front"].astype(bool), rank=table["column"].map(order.index))
    return table.sort_values(["rank", "epoch"], kind="stable", ignore_index=True)


def pareto(points):
    """(n, d) values, less is better -> (n,) whether no other point is nowhere worse and somewhere better."""
    nowhere_worse = (points[None] <= points[:, None]).all(axis=2)
    better = (points[None] < points[:, None]).any(axis=2)
    return ~(nowhere_worse & better).any(axis=1)


def table(records, config):
    """Rows (estimator, epoch): validation error and calibration error, mean +- standard error over the seeds, and the front."""
    found = snapshots(records, config)
    heading = "validation: kl, mean ± standard error over the seeds"
    if not len(found):
        return runs.empty(heading, "estimator", "epoch")
    lines = [
        [runs.entry(r.error, r.error_se, 2), runs.entry(r.ce, r.ce_se, 4), "yes" if r.front else "–"] for r in found.itertuples()
    ]
    index = pd.MultiIndex.from_arrays([found["column"], found["epoch"].astype(int).astype(str)], names=["estimator", "epoch"])
    frame = pd.DataFrame(lines, index, ["100 − accuracy (%)", "KL calibration error", "Pareto optimal"], dtype=object)
    frame.columns.name = heading
    return frame


def reproduced(records, config):
    """The paper draws the front and prints no number."""
    found = snapshots(records, config)
    rows = [
        ("snapshots that are Pareto optimal", column, int(part["front"].sum()), np.nan, part["reps"].max())
        for column, part in found.groupby("column", sort=False)
    ]
    return runs.answers(rows, records, config)


def _zoom(ax, mine):
    """Epoch numbers beside the front's points; axes that hold the snapshots near it, with a word on the others."""
    for i, r in enumerate(mine[mine["front"]].sort_values("error").itertuples()):  # on alternating sides: they lie close
        side = (
            {"xytext": (-4, -1), "ha": "right", "va": "top"} if i % 2 == 0 else {"xytext": (4, 1), "ha": "left", "va": "bottom"}
        )
        text = {"textcoords": "offset points", "fontsize": 6, "color": "0.25", "zorder": 4}
        ax.annotate(f"{r.epoch:g}", (r.error, r.ce), **side, **text)
    near = mine["error"].le(FAR * mine["error"].min()) & mine["ce"].le(FAR * mine["ce"].min())
    shown, others = mine[near | mine["front"]], mine[~(near | mine["front"])]
    for limits, value, se in ((ax.set_xlim, "error", "error_se"), (ax.set_ylim, "ce", "ce_se")):
        ends = [(shown[value] - shown[se].fillna(0.0)).min(), (shown[value] + shown[se].fillna(0.0)).max()]
        room = 0.06 * (ends[1] - ends[0] or 1.0)
        limits(ends[0] - room, ends[1] + room)
    if len(others):
        text = f"outside: epoch{'s' * (len(others) > 1)} {', '.join(f'{e:g}' for e in sorted(others['epoch']))}"
        ax.text(0.99, 0.985, text, transform=ax.transAxes, ha="right", va="top", fontsize=6.5, color="0.25")
