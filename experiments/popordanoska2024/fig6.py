"""Figure 6: log-loss, accuracy, KL calibration error and refinement in the course of over-training, two classes.

The log-loss is the sum of the calibration error and the refinement (via risk exactly so, of estimates as well). The paper smooths
one network's curves; here they are means over networks, and nothing is smoothed.
"""

import pandas as pd

from experiments.popordanoska2024 import runs
from harness.report import items, panels

PARTS = {"train": "training", "val": "validation"}
LOSS, CE, REFINEMENT = "log-loss (nats)", r"$\mathrm{CE_{KL}}$ (nats)", "refinement (nats)"
CHANGES = {  # column of `changes`: of the table, its digits, and the row beside the paper's text
    "least loss": ("epoch of the least log-loss", 0, "validation log-loss, epoch of the least"),
    "least error": ("epoch of the least error", 0, "KL calibration error, epoch of the least"),
    "loss": ("log-loss rises by", 4, "validation log-loss, rise from there to the end"),
    "error": ("calibration error by", 4, "KL calibration error, rise from the epoch of the least log-loss to the end"),
    "refinement": ("refinement by", 4, "refinement, rise from the epoch of the least log-loss to the end"),
}


def measured(records, config):
    """The records' numbers. The refinement of an estimator that gives a calibration error alone is the log-loss less that."""
    found = runs.estimates(records, config, "binary")
    loss, split = runs.of(found, "logloss").set_index("problem")["value"], set(runs.of(found, "refinement_kl")["column"])
    alone = runs.of(found, "kl")[lambda f: ~f["column"].isin(split)]
    rest = alone.assign(estimand="refinement_kl", value=alone["problem"].map(loss) - alone["value"])
    return pd.concat([found, rest.dropna(subset="value")], ignore_index=True)


def columns(found, config):
    """The labels of the estimators of the calibration error."""
    return items.labels(config, "estimator", runs.of(found, "kl")["column"])


def render(records, config):
    """Four panels: loss and accuracy of both parts; calibration error and refinement of the validation part by every estimator.
    Mean and standard error over the seeds; the vertical line is the epoch of the least mean validation loss."""
    found = measured(records, config)
    if not len(runs.of(found, "logloss")):
        return runs.nothing()
    figure, (axes,) = panels.grid(1, 4, 2.45)
    for ax, estimand in zip(axes, ("logloss", "accuracy")):
        for i, (part, text) in enumerate(PARTS.items()):
            line = items.means(runs.of(found, estimand, part=part), ["epoch"])
            panels.curve(ax, line, "epoch", **panels.look(i, line="-", label=text))
    for ax, estimand in zip(axes[2:], ("kl", "refinement_kl")):
        for i, column in enumerate(columns(found, config), 2):
            line = items.means(runs.of(found, estimand, part="val", column=column), ["epoch"])
            panels.curve(ax, line, "epoch", **panels.look(i, line="-", label=column))
    mean = items.means(runs.of(found, "logloss", part="val"), ["epoch"]).set_index("epoch")["mean"]
    for ax, title in zip(axes, (LOSS, "accuracy (%)", CE, REFINEMENT)):
        ax.axvline(mean.idxmin(), color="0.45", linewidth=0.8, linestyle=":", zorder=0)
        ax.set(title=title, xscale="log", xlabel="epoch")
    panels.legend(figure, axes, columns=3)
    return figure


def changes(records, config):
    """Per estimator and seed, on the validation part: the epochs of the least log-loss and of the least calibration error, and
    by what log-loss, calibration error and refinement rise from the former to the last epoch."""
    found, rows, names = measured(records, config), [], ["column", "seed", *CHANGES, "keys"]

    def curves(estimand, **more):
        mine = runs.of(found, estimand, part="val", **more)
        return mine.pivot_table(index=["network", "seed"], columns="epoch", values="value")

    loss = curves("logloss")
    for column in columns(found, config):
        ce, refinement = (curves(name, column=column) for name in ("kl", "refinement_kl"))
        for run in ce.index.intersection(loss.index):
            at, last = loss.loc[run].idxmin(), loss.columns.max()
            rise = [frame.loc[run, last] - frame.loc[run, at] for frame in (loss, ce, refinement)]
            of_run = found["part"].eq("val") & found["seed"].eq(run[1]) & found["network"].eq(run[0])
            of_run &= found["column"].eq(column) | found["estimand"].eq("logloss")
            rows.append((column, run[1], at, ce.loc[run].idxmin(), *rise, tuple(dict.fromkeys(found.loc[of_run, "key"]))))
    return pd.DataFrame(rows, columns=names)


def table(records, config):
    """One row per estimator: `changes`, mean +- standard error over the seeds. The error at first, of a network that says 1/2 of
    everything, is small as well: its least epoch can be the first."""
    found, rows = changes(records, config), {}
    for name, (text, digits, _) in CHANGES.items():
        items.entries(items.means(found, ["column"], name), ("{column}",), text, digits=digits, into=rows)
    heading = (
        "validation: epochs of the least, and rises in nats from the least log-loss to the last epoch; mean ± standard error"
    )
    return runs.wide(rows, ["estimator"], heading)


def reproduced(records, config):
    """The paper draws one network and prints no number; ours are there to be read beside its text."""
    found = changes(records, config)
    of_network, ours = found.drop_duplicates("seed").assign(column="network"), []
    for name, (_, _, row) in CHANGES.items():
        ours.append(items.numbers(items.means(of_network if "loss" in name else found, ["column"], name), row, "{column}"))
    return runs.answers(items.together(*ours), records, config)
