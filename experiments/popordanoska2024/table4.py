"""Tables 3 and 4: accuracy, negative log-likelihood and Brier score (all x 100) of networks, plain and after post-hoc
recalibration.

NLL and Brier score are of the whole vector (canonical notion), so the mean of -log p_y and of sum_j (p_j - 1{y = j})^2.
"""

import numpy as np

from experiments.popordanoska2024 import networks, runs
from harness.report import items, panels
from harness.report.plots import pyplot

COLUMNS = {"accuracy": "Accuracy", "logloss": "NLL", "brier": "Brier"}
TICKS = (2, 5, 10, 20, 50, 100, 200)
INDEX = ("{network}", "{method}", "{variant}")


def measured(records, config):
    """By network, method, variant and estimand: mean over the seeds x 100, se, reps; and the same without a mean for the scores
    that are undefined for a seed: a mean over the others would be of other networks. `seeds` says for how many, as of infinite
    NLL, where an outcome was given the probability 0."""
    fine = items.with_number(records, COLUMNS, "canonical")
    lost = records[records["status"].eq("undefined") & records["estimand"].isin(list(COLUMNS))]
    found, without = (_named(frame, config) for frame in (fine, lost.drop_duplicates(["problem", "estimand"])))
    places = set(zip(*(without[name] for name in ("place", "estimand"))))
    complete = [place not in places for place in zip(found["place"], found["estimand"])]
    by = [*networks.KEY, "estimand", "column"]
    return items.means(found[np.array(complete, dtype=bool)], by), without.groupby(by, sort=False).size().rename(
        "seeds"
    ).reset_index()


def _named(frame, config):
    found = frame[["key", "problem", "estimand"]].join(networks.named(frame["problem"], config), on="problem")
    found = found.assign(value=100 * frame["value"], column=found["estimand"].map(COLUMNS))
    return found.assign(place=list(zip(*(found[name] for name in networks.KEY))))


def render(records, config):
    """Networks by each score, on a logarithmic axis, a mark per method (ours open); of the accuracy, what it lacks to 100 %."""
    found = measured(records, config)[0]
    if not len(found):
        return runs.nothing("the networks are not here: the page has the printed numbers and how to get them")
    names = networks.in_order(found["network"], config)
    figure, (axes,) = panels.grid(1, 3, 1.0 + 0.26 * len(names), sharey=True)
    for ax, (estimand, column) in zip(axes, COLUMNS.items()):
        part, text = found[found["estimand"].eq(estimand)], column + r" $\times$ 100"
        if estimand == "accuracy":
            part, text = part.assign(mean=100 - part["mean"]), "100 - accuracy (%)"
        networks.marks(ax, part, names, 1)
        ax.set(xlabel=text, xscale="log")
        ax.xaxis.set_minor_locator(pyplot().NullLocator())
        ticks = [t for t in TICKS if 0.8 * part["mean"].min() <= t <= 1.25 * part["mean"].max()]
        ax.set_xticks(ticks, [str(t) for t in ticks])
        panels.name_rows(ax, names)
    panels.legend(figure, axes, columns=3)
    return figure


def table(records, config):
    """Rows (network, method, variant): accuracy, NLL and Brier score, mean +- standard error over the seeds; the printed numbers
    beside them where the networks are the paper's."""
    found, without = measured(records, config)
    rows = items.entries(found, INDEX, "{column}", digits=2)
    items.entries(without, INDEX, "{column}", text=lambda r: f"undefined ({r.seeds})", into=rows)
    printed = networks.printed(config, "table4", alike=False)
    items.entries(printed, INDEX, "{column}, paper", "value", "plus_minus", 2, into=rows)
    heading = "accuracy, NLL and Brier score, x 100: mean ± standard error over seeds"
    return networks.wide(rows, config, heading, [c for name in COLUMNS.values() for c in (name, f"{name}, paper")])


def reproduced(records, config):
    """Our numbers on the published recalibrations; Table 3 is Table 4's accuracy."""
    found = measured(records, config)[0]
    found = found[found["variant"].ne(networks.OURS)]
    return runs.answers(items.numbers(found, "{network}, {method}", "{column}"), records, config)
