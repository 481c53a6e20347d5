"""Tables 3 and 4: accuracy, negative log-likelihood and Brier score (all x 100) of networks, plain and after post-hoc
recalibration.

NLL and Brier score are of the whole vector (canonical notion), so the mean of -log p_y and of sum_j (p_j - 1{y = j})^2. The
accuracy is counted here, on the problem's own rows.
"""

import numpy as np
import pandas as pd

from experiments.popordanoska2024 import curves, networks, runs
from harness.report import reproduction
from harness.report.plots import COLOURS, MARKERS, WIDTH, pyplot

COLUMNS = {"accuracy": "Accuracy", "logloss": "NLL", "brier": "Brier"}
KEY = ["network", "method", "variant"]


def measured(records, config):
    """By network, method, variant and estimand (accuracy among them): mean over the seeds x 100, se, seeds. A score
    that is undefined for one seed is left out: a mean over the others would be of other networks."""
    lost = _undefined(records, config)
    fine = records[records["status"].eq("ok") & records["estimand"].isin(COLUMNS) & records["notion"].eq("canonical")]
    counted = pd.DataFrame(
        [(name, "accuracy", float((p.argmax(axis=1) == y).mean())) for name, p, y in runs.predictions(config)],
        columns=["problem", "estimand", "value"],
    )
    counted = counted[counted["problem"].isin(fine["problem"])]
    both = pd.concat([fine[["problem", "estimand", "value"]], counted], ignore_index=True)
    both = both.join(networks.named(both["problem"], config), on="problem").assign(value=lambda f: 100 * f["value"])
    found = networks.over_seeds(both, [*KEY, "estimand"])
    complete = [key not in lost for key in zip(*(found[name] for name in (*KEY, "estimand")))]
    return found[np.array(complete, dtype=bool)]  # an empty list would choose columns


def _undefined(records, config):
    """{(network, method, variant, estimand): number of seeds}: infinite NLL, where an outcome was given the probability 0."""
    mine = records[records["status"].eq("undefined") & records["estimand"].isin(COLUMNS)].drop_duplicates(["problem", "estimand"])
    mine = mine[["problem", "estimand"]].join(networks.named(mine["problem"], config), on="problem")
    return mine.groupby([*KEY, "estimand"], sort=False).size().to_dict()


def render(records, config):
    """Networks by each score, on a logarithmic axis, a mark per method (ours open); of the accuracy, what it lacks to 100 %."""
    found = measured(records, config)
    if not len(found):
        return runs.nothing("the networks are not here: the page has the printed numbers and how to get them")
    plt = pyplot()
    names = networks.in_order(found["network"], config)
    figure, axes = plt.subplots(1, 3, figsize=(WIDTH, 1.0 + 0.26 * len(names)), sharey=True, layout="constrained")
    for ax, (estimand, column) in zip(axes, COLUMNS.items()):
        part = found[found["estimand"].eq(estimand)]
        if estimand == "accuracy":
            part = part.assign(mean=100 - part["mean"])
        for (method, variant), marks in part.groupby(["method", "variant"], sort=False):
            j, ours = networks.METHODS.index(method), variant == networks.OURS
            at = np.array([names.index(n) for n in marks["network"]]) + 0.16 * (j - 1) + 0.08 * ours
            ax.errorbar(
                marks["mean"], at, xerr=marks["se"], linestyle="none", color=COLOURS[j], marker=MARKERS[j], capsize=1.5,
                elinewidth=0.7, markersize=4, markerfacecolor="white" if ours else COLOURS[j],
                label=networks.method_text(method, variant),
            )  # fmt: skip
        ax.set_xlabel("100 - accuracy (%)" if estimand == "accuracy" else column + r" $\times$ 100")
        _few_ticks(plt, ax, part["mean"])
    axes[0].set_yticks(range(len(names)), names)
    axes[0].set_ylim(len(names) - 0.5, -0.5)
    axes[0].tick_params(axis="y", length=0)
    curves.legend(figure, axes, columns=3)
    return figure


def _few_ticks(plt, ax, values):
    ax.set_xscale("log")
    ticks = [t for t in (2, 5, 10, 20, 50, 100, 200) if 0.8 * values.min() <= t <= 1.25 * values.max()]
    ax.xaxis.set_minor_locator(plt.NullLocator())
    ax.set_xticks(ticks, [str(t) for t in ticks])


def table(records, config):
    """Rows (network, method, variant): accuracy, NLL and Brier score, mean +- standard error over the seeds; the printed numbers
    beside them where the networks are the paper's."""
    rows = {}
    for r in measured(records, config).itertuples():
        rows.setdefault((r.network, r.method, r.variant), {})[COLUMNS[r.estimand]] = curves.entry(r.mean, r.se, 2)
    for (*key, estimand), count in _undefined(records, config).items():
        rows.setdefault(tuple(key), {})[COLUMNS[estimand]] = f"undefined ({count})"
    if not config["reasons"].get("data"):
        for r in reproduction.reported("popordanoska2024", ["table4"]).itertuples():
            network, method = r.row.rsplit(", ", 1)
            key = (network, method, networks.THEIRS if method != "none" else "")
            rows.setdefault(key, {})[f"{r.column}, paper"] = curves.entry(r.value, r.plus_minus, 2)
    found = {c for row in rows.values() for c in row}
    columns = [c for name in COLUMNS.values() for c in (name, f"{name}, paper") if c in found]
    keys = networks.rows_in_order(rows, config)
    index = pd.MultiIndex.from_tuples(keys, names=["network", "method", "recalibration"])
    frame = pd.DataFrame([[rows[key].get(c, "–") for c in columns] for key in keys], index, columns, dtype=object)
    frame.columns.name = "accuracy, NLL and Brier score, x 100: mean ± standard error over seeds"
    return frame


def reproduced(records, config):
    """Our numbers on the published recalibrations; Table 3 is Table 4's accuracy."""
    found = measured(records, config)
    found = found[found["variant"].ne(networks.OURS)]
    rows = [(f"{r.network}, {r.method}", COLUMNS[r.estimand], r.mean, r.se, r.seeds) for r in found.itertuples()]
    return runs.answers(rows, records, config)
