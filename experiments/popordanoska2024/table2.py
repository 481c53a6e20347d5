"""Table 2: KL and squared L2 calibration error (both x 100) of networks as they are, after isotonic regression and after
temperature scaling, fitted on validation data; in brackets the change of the mean in per cent.

As published: class-wise, the kernel via the risk with bandwidth 0.02, squared errors on two columns. On a perfectly calibrated
model that gives 1 to 2 as well (experiment popordanoska2024_as_published), so that only differences between rows tell something;
a second estimator, the direct form with bandwidth 0.001, stands beside it.
"""

import numpy as np

from experiments.popordanoska2024 import curves, networks, runs
from harness.report import items, panels
from harness.report.tables import label

summary = curves.summary
PUBLISHED = "kde_popordanoska2024"
COLUMNS = {"kl": "CE_KL", "l2_squared": "CE_2^2"}
AXIS = {"kl": r"CE$_\mathrm{KL}$ $\times$ 100", "l2_squared": r"CE$_2^2$ $\times$ 100 (two columns)"}
SHADES = (0, 1, 2, 6)  # of COLOURS, by method


def measured(records, config):
    """By network, method, variant, estimator and estimand: mean over the seeds x 100, se, reps, and `change`, in per cent of
    the mean without recalibration."""
    fine = items.values(curves.in_two_columns(records), config, COLUMNS)
    fine = fine.join(networks.named(fine["problem"], config), on="problem").assign(value=100 * fine["value"])
    found = items.means(fine, [*networks.KEY, "estimator", "column", "estimand"])
    by = ["network", "estimator", "estimand"]
    before = found[found["method"].eq("none")].set_index(by)["mean"].rename("before")
    found = found.join(before, on=by).assign(metric=found["estimand"].map(COLUMNS))
    after = ~found["method"].isin(["none", "relabelled"])
    return found.assign(change=(100 * (found["mean"] / found["before"] - 1)).where(after))


def render(records, config):
    """One row of panels per estimator: networks by KL and by squared L2, a mark per method (ours open); without any number the
    printed ones."""
    found = measured(records, config)
    if not len(found):
        return _printed_alone(config)
    estimators, names = items.chosen(config, found), networks.in_order(found["network"], config)
    figure, axes = panels.grid(len(estimators), 2, 0.7 + len(estimators) * (0.55 + 0.22 * len(names)), sharey=True)
    for row, estimator in zip(axes, estimators):
        for ax, estimand in zip(row, COLUMNS):
            part = found[found["estimator"].eq(estimator) & found["estimand"].eq(estimand)]
            networks.marks(ax, part, names, 1.5, SHADES)
            ax.set(xlabel=AXIS[estimand], title=label(config, "estimator", estimator))
            ax.axvline(0.0, color="0.2", linewidth=0.8, zorder=1)
            panels.name_rows(ax, names)
    panels.legend(figure, axes, columns=3)
    return figure


def _printed_alone(config):
    printed = networks.printed(config, "table2", alike=False)
    names = list(dict.fromkeys(printed["network"]))
    figure, (axes,) = panels.grid(1, 2, 0.9 + 0.24 * len(names), sharey=True)
    for ax, (estimand, column) in zip(axes, COLUMNS.items()):
        part = printed[printed["column"].eq(column)]
        networks.marks(ax, part, names, 1, paper=True)
        ax.set_xlabel(AXIS[estimand])
        ax.set_xlim(left=0.0)
        panels.name_rows(ax, names)
    panels.legend(figure, axes, columns=3)
    return figure


def table(records, config):
    """Rows (network, method, variant): the mean with its change, by every estimator, and the printed numbers."""
    index = ("{network}", "{method}", "{variant}")

    def ours(r):
        return items.entry(r.mean, r.se, 2) + (f" ({r.change:+.0f} %)" if r.change == r.change else "")

    def theirs(r):
        return f"{r.value:+.0f} %" if r.column.endswith("change") else items.entry(r.value, r.plus_minus, 2)

    rows = items.entries(measured(records, config), index, "{metric}, {column}", text=ours)
    items.entries(networks.printed(config, "table2", alike=False), index, "{column}, paper", text=theirs, into=rows)
    heading = "kl and squared L2 (two columns), x 100: mean ± standard error over seeds (change)"
    return networks.wide(rows, config, heading)


def reproduced(records, config):
    """The published estimator's numbers on the published recalibrations; changes have no error of their own."""
    found = measured(records, config)
    found = found[found["estimator"].eq(PUBLISHED) & found["variant"].ne(networks.OURS)]
    ours = items.together(
        items.numbers(found, "{network}, {method}", "{metric}"),
        items.numbers(found.dropna(subset="change"), "{network}, {method}", "{metric} change", "change", np.nan),
    )
    return runs.answers(ours, records, config)
