"""Figure 7: snapshots of training by classification error and KL calibration error, and those that no other betters in both."""

import numpy as np
import pandas as pd

from experiments.popordanoska2024 import runs
from harness.report import items, panels, rates
from harness.report.plots import COLOURS

FAR = 1.6  # snapshots with more than that times the least error, of either kind, are outside of the axes


def snapshots(records, config):
    """Frame column, epoch, error (percent) and ce (nats) with error_se and ce_se, means over the seeds on the validation part,
    and `front`: whether no other snapshot is at least as good in both and better in one."""
    found = runs.estimates(records, config, "classwise")
    table = items.means(runs.of(found, "kl", part="val"), ["column", "epoch"]).rename(columns={"mean": "ce", "se": "ce_se"})
    accuracy = items.means(runs.of(found, "accuracy", part="val"), ["epoch"]).set_index("epoch")
    table["error"], table["error_se"] = 100.0 - table["epoch"].map(accuracy["mean"]), table["epoch"].map(accuracy["se"])
    fronts = [pd.Series(rates.pareto(part[["error", "ce"]].to_numpy()), part.index) for _, part in table.groupby("column")]
    table["front"] = pd.concat(fronts).astype(bool) if fronts else False
    order = items.labels(config, "estimator")
    return table.sort_values(
        ["column", "epoch"], key=lambda c: c.map(order.index) if c.name == "column" else c, ignore_index=True
    )


def render(records, config):
    """One panel per estimator: mean and standard error over the seeds; orange: the Pareto front, with the epochs."""
    found = snapshots(records, config)
    if not len(found):
        return runs.nothing()
    columns = list(dict.fromkeys(found["column"]))
    figure, (axes,) = panels.grid(1, len(columns), 2.9)
    for ax, column in zip(axes, columns):
        mine = found[found["column"].eq(column)].sort_values("error")
        for front, text in ((False, "other snapshots"), (True, "Pareto optimal")):
            part = mine[mine["front"].eq(front)]
            look = {"linestyle": "-", "zorder": 3} if front else {"linestyle": "none", "alpha": 0.55, "zorder": 2}
            look |= {
                "color": COLOURS[front],
                "marker": "o",
                "markersize": 3.5,
                "linewidth": 0.8,
                "elinewidth": 0.5,
                "label": text,
            }
            ax.errorbar(part["error"], part["ce"], xerr=part["error_se"], yerr=part["ce_se"], **look)
        _zoom(ax, mine)
        ax.set(title=column, xlabel="100 − accuracy (%)")
    axes[0].set_ylabel(r"calibration error $\mathrm{CE_{KL}}$ (nats)")
    panels.legend(figure, axes[0], first=["Pareto optimal"])
    return figure


def _zoom(ax, mine):
    """Epoch numbers beside the front's points; axes that hold the snapshots near it, with a word on the others."""
    sides = ({"xytext": (-4, -1), "ha": "right", "va": "top"}, {"xytext": (4, 1), "ha": "left", "va": "bottom"})
    for i, r in enumerate(mine[mine["front"]].itertuples()):  # on alternating sides: they lie close
        text = {"textcoords": "offset points", "fontsize": 6, "color": "0.25", "zorder": 4}
        ax.annotate(f"{r.epoch:g}", (r.error, r.ce), **sides[i % 2], **text)
    near = mine["error"].le(FAR * mine["error"].min()) & mine["ce"].le(FAR * mine["ce"].min()) | mine["front"]
    for limits, value in ((ax.set_xlim, "error"), (ax.set_ylim, "ce")):
        at, se = mine.loc[near, value], mine.loc[near, f"{value}_se"].fillna(0.0)
        low, high = (at - se).min(), (at + se).max()
        room = 0.06 * (high - low or 1.0)
        limits(low - room, high + room)
    others = [f"{e:g}" for e in sorted(mine.loc[~near, "epoch"])]
    if others:
        text = f"outside: epoch{'s' * (len(others) > 1)} {', '.join(others)}"
        ax.text(0.99, 0.985, text, transform=ax.transAxes, ha="right", va="top", fontsize=6.5, color="0.25")


def table(records, config):
    """Rows (estimator, epoch): validation error and calibration error, mean +- standard error over the seeds, and the front."""
    found, key = snapshots(records, config), ("{column}", "{epoch:g}")
    rows = items.entries(found, key, "100 − accuracy (%)", "error", "error_se", 2)
    items.entries(found, key, "KL calibration error", "ce", "ce_se", 4, into=rows)
    items.entries(found, key, "Pareto optimal", text=lambda r: "yes" if r.front else "–", into=rows)
    return runs.wide(rows, ["estimator", "epoch"], "validation: kl, mean ± standard error over the seeds")


def reproduced(records, config):
    """The paper draws the front and prints no number."""
    found = snapshots(records, config)
    count = items.means(found, ["column"], "front").assign(front=lambda f: (f["mean"] * f["reps"]).round())
    count["reps"] = [found.loc[found["column"].eq(column), "reps"].max() for column in count["column"]]
    ours = items.numbers(count, "snapshots that are Pareto optimal", "{column}", "front", np.nan)
    return runs.answers(ours, records, config)
