"""Table 2: KL and squared L2 calibration error (both x 100) of networks as they are, after isotonic regression and after
temperature scaling, fitted on validation data; in brackets the change of the mean in per cent.

As published: class-wise, the kernel via the risk with bandwidth 0.02, squared errors on two columns. On a perfectly calibrated
model that gives 1 to 2 as well (experiment popordanoska2024_as_published), so that only differences between rows tell something;
a second estimator, the direct form with bandwidth 0.001, stands beside it.
"""

import numpy as np
import pandas as pd

from experiments.popordanoska2024 import curves, networks, runs
from harness.report import reproduction
from harness.report.plots import COLOURS, MARKERS, WIDTH, pyplot
from harness.report.tables import label

summary = curves.summary
PUBLISHED = "kde_popordanoska2024"
COLUMNS = {"kl": "CE_KL", "l2_squared": "CE_2^2"}
AXIS = {"kl": r"CE$_\mathrm{KL}$ $\times$ 100", "l2_squared": r"CE$_2^2$ $\times$ 100 (two columns)"}
KEY = ["network", "method", "variant"]
SHADES = (0, 1, 2, 6)  # of COLOURS, by method


def measured(records, config):
    """By network, method, variant, estimator and estimand: mean over the seeds x 100, se, seeds, and `change`, in per cent of
    the mean without recalibration."""
    fine = curves.in_two_columns(records[records["status"].eq("ok") & records["estimand"].isin(COLUMNS)])
    fine = fine.join(networks.named(fine["problem"], config), on="problem").assign(value=lambda f: 100 * f["value"])
    found = networks.over_seeds(fine, [*KEY, "estimator", "estimand"])
    before = found[found["method"].eq("none")].set_index(["network", "estimator", "estimand"])["mean"]
    change = [r.mean / before.get((r.network, r.estimator, r.estimand), np.nan) - 1 for r in found.itertuples()]
    return found.assign(
        change=np.where(found["method"].isin(["none", "relabelled"]), np.nan, 100 * np.array(change, dtype=float))
    )


def render(records, config):
    """One row of panels per estimator: networks by KL and by squared L2, a mark per method (ours open); without any number the
    printed ones."""
    found = measured(records, config)
    plt = pyplot()
    if not len(found):
        return _printed_alone(plt, config)
    estimators = [e for e in config["estimator"] if e in set(found["estimator"])]
    names = networks.in_order(found["network"], config)
    height = 0.7 + len(estimators) * (0.55 + 0.22 * len(names))
    figure, axes = plt.subplots(len(estimators), 2, figsize=(WIDTH, height), squeeze=False, sharey=True, layout="constrained")
    for row, estimator in zip(axes, estimators):
        for ax, estimand in zip(row, COLUMNS):
            part = found[found["estimator"].eq(estimator) & found["estimand"].eq(estimand)]
            for (method, variant), marks in part.groupby(["method", "variant"], sort=False):
                j = networks.METHODS.index(method)
                colour = COLOURS[SHADES[j]]
                ours = variant == networks.OURS
                at = np.array([names.index(n) for n in marks["network"]]) + 0.16 * (j - 1.5) + 0.08 * ours
                ax.errorbar(
                    marks["mean"], at, xerr=marks["se"], linestyle="none", color=colour, marker=MARKERS[j], capsize=1.5,
                    elinewidth=0.7, markersize=4, markerfacecolor="white" if ours else colour,
                    label=networks.method_text(method, variant),
                )  # fmt: skip
            ax.set_xlabel(AXIS[estimand])
            ax.set_title(label(config, "estimator", estimator))
            ax.axvline(0.0, color="0.2", linewidth=0.8, zorder=1)
        _networks_axis(row[0], names)
    curves.legend(figure, axes, columns=3)
    return figure


def _printed_alone(plt, config):
    printed = _printed(config)
    names = list(dict.fromkeys(printed["network"]))
    figure, axes = plt.subplots(1, 2, figsize=(WIDTH, 0.9 + 0.24 * len(names)), sharey=True, layout="constrained")
    for ax, (estimand, column) in zip(axes, COLUMNS.items()):
        for j, method in enumerate(networks.METHODS[:3]):
            marks = printed[printed["column"].eq(column) & printed["method"].eq(method)]
            at = [names.index(n) + 0.18 * (j - 1) for n in marks["network"]]
            ax.errorbar(
                marks["value"], at, xerr=marks["plus_minus"], linestyle="none", color=COLOURS[j], marker=MARKERS[j], capsize=1.5,
                elinewidth=0.7, markersize=4, markerfacecolor="white", label=f"{networks.method_text(method)} (paper)",
            )  # fmt: skip
        ax.set_xlabel(AXIS[estimand])
        ax.set_xlim(left=0.0)
    _networks_axis(axes[0], names)
    curves.legend(figure, axes, columns=3)
    return figure


def _networks_axis(ax, names):
    ax.set_yticks(range(len(names)), names)
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.tick_params(axis="y", length=0)


def table(records, config):
    """Rows (network, method, variant); per estimator CE_KL and CE_2^2, mean +- standard error over the seeds and the change in
    brackets; the printed numbers beside them where the networks are the paper's."""
    rows = {}
    for r in measured(records, config).itertuples():
        change = f" ({r.change:+.0f} %)" if r.change == r.change else ""
        column = f"{COLUMNS[r.estimand]}, {label(config, 'estimator', r.estimator)}"
        rows.setdefault((r.network, r.method, r.variant), {})[column] = curves.entry(r.mean, r.se, 2) + change
    for r in _printed(config).itertuples():
        text = f"{r.value:+.0f} %" if r.column.endswith("change") else curves.entry(r.value, r.plus_minus, 2)
        variant = networks.THEIRS if r.method != "none" else ""
        rows.setdefault((r.network, r.method, variant), {})[f"{r.column}, paper"] = text
    columns = list(dict.fromkeys(c for row in rows.values() for c in row))
    keys = networks.rows_in_order(rows, config)
    index = pd.MultiIndex.from_tuples(keys, names=["network", "method", "recalibration"])
    frame = pd.DataFrame([[rows[key].get(c, "–") for c in columns] for key in keys], index, columns, dtype=object)
    frame.columns.name = "kl and squared L2 (two columns), x 100: mean ± standard error over seeds (change)"
    return frame


def _printed(config):
    """The printed numbers with network and method; none where the networks are others."""
    found = reproduction.reported("popordanoska2024", ["table2"])
    parts = found["row"].str.rsplit(", ", n=1, expand=True)
    found = found.assign(network=parts[0], method=parts[1])
    return found[:0] if config["reasons"].get("data") else found


def reproduced(records, config):
    """The published estimator's numbers on the published recalibrations; changes have no error of their own."""
    found = measured(records, config)
    found = found[found["estimator"].eq(PUBLISHED) & found["variant"].ne(networks.OURS)]
    rows = []
    for r in found.itertuples():
        row, column = f"{r.network}, {r.method}", COLUMNS[r.estimand]
        rows.append((row, column, r.mean, r.se, r.seeds))
        if r.change == r.change:
            rows.append((row, f"{column} change", r.change, np.nan, r.seeds))
    return runs.answers(rows, records, config)
