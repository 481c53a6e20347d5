"""Figure 7: snapshots of training by classification error and KL calibration error, and those that no other betters in both."""

import numpy as np

from harness.report import items, networks, panels, rates

FAR = 1.6  # snapshots with more than that times the least error, of either kind, are outside of the axes
ERROR, LEVELS = "100 − accuracy (%)", ["estimator", "epoch"]


def snapshots(records, config):
    """Frame column, epoch, error (percent) and ce (nats) with error_se and ce_se, means over the seeds on the validation part,
    and `front`: whether no other snapshot is at least as good in both and better in one."""
    found = networks.estimates(records, config, "classwise")
    found = found[found["part"].eq("val")].sort_values("epoch", kind="stable")
    table = items.means(networks.of(found, "kl"), ["column", "epoch"]).rename(columns={"mean": "ce", "se": "ce_se"})
    accuracy = items.means(networks.of(found, "accuracy"), ["epoch"]).set_index("epoch")
    table["error"], table["error_se"] = 100.0 - table["epoch"].map(accuracy["mean"]), table["epoch"].map(accuracy["se"])
    table["front"] = False
    for _, part in table.groupby("column"):
        table.loc[part.index, "front"] = rates.pareto(part[["error", "ce"]].to_numpy())
    order = items.labels(config, "estimator")
    return table.sort_values("column", key=lambda c: c.map(order.index), kind="stable", ignore_index=True)


def render(records, config):
    """One panel per estimator: mean and standard error over the seeds; orange: the Pareto front, with the epochs."""
    found = snapshots(records, config)
    if not len(found):
        return panels.nothing(networks.NO_FILES)
    figure, (axes,) = panels.grid(1, found["column"].nunique(), 2.9)
    for ax, (column, mine) in zip(axes, found.sort_values("error").groupby("column", sort=False)):
        look = {"marker": "o", "markersize": 3.5, "linewidth": 0.8, "elinewidth": 0.5}
        for front, how in (
            (False, {"label": "other snapshots", "linestyle": "none", "alpha": 0.55, "zorder": 2}),
            (True, {"label": "Pareto optimal", "linestyle": "-", "zorder": 3}),
        ):
            part = mine[mine["front"].eq(front)]
            errors = {"xerr": part["error_se"], "yerr": part["ce_se"], "color": panels.COLOURS[front]}
            ax.errorbar(part["error"], part["ce"], **errors, **look, **how)
        for i, r in enumerate(mine[mine["front"]].itertuples()):  # on alternating sides: they lie close
            side = {"xytext": (4, 1), "ha": "left", "va": "bottom"} if i % 2 else {"xytext": (-4, -1), "ha": "right", "va": "top"}
            ax.annotate(f"{r.epoch:g}", (r.error, r.ce), textcoords="offset points", fontsize=6, color="0.25", zorder=4, **side)
        near = mine["error"].le(FAR * mine["error"].min()) & mine["ce"].le(FAR * mine["ce"].min()) | mine["front"]
        panels.zoom(ax, mine[near], "error", "ce")
        if not near.all():
            text = f"outside: epoch{'s' * (sum(~near) > 1)} " + ", ".join(f"{e:g}" for e in sorted(mine.loc[~near, "epoch"]))
            ax.text(0.99, 0.985, text, transform=ax.transAxes, ha="right", va="top", fontsize=6.5, color="0.25")
        ax.set(title=column, xlabel=ERROR)
    axes[0].set_ylabel(r"calibration error $\mathrm{CE_{KL}}$ (nats)")
    panels.legend(figure, axes[0], first=["Pareto optimal"])
    return figure


def table(records, config):
    """Rows (estimator, epoch): validation error and calibration error, mean +- standard error over the seeds, and the front."""
    found, key = snapshots(records, config), ("{column}", "{epoch:g}")
    rows = items.columns(found, key, {ERROR: ("error", "error_se", 2), "KL calibration error": ("ce", "ce_se")})
    items.entries(found, key, "Pareto optimal", text=lambda r: "yes" if r.front else "–", into=rows)
    return networks.wide(rows, LEVELS, "validation: kl, mean ± standard error over the seeds")


def reproduced(records, config):
    """The paper draws the front and prints no number."""
    found = snapshots(records, config)
    count = items.means(found, ["column"], "front").assign(front=lambda f: (f["mean"] * f["reps"]).round())
    count["reps"] = count["column"].map(found.groupby("column")["reps"].max())
    ours = items.numbers(count, "snapshots that are Pareto optimal", "{column}", "front", np.nan)
    return items.answers_or_reason(ours, records, config)
