"""Figure 6: log-loss, accuracy, KL calibration error and refinement in the course of over-training, two classes.

The log-loss is the sum of the calibration error and the refinement (via risk exactly so, of estimates as well). The paper smooths
one network's curves; here they are means over networks, and nothing is smoothed.
"""

import numpy as np
import pandas as pd

from experiments.popordanoska2024 import runs
from harness.report.plots import COLOURS, MARKERS, WIDTH, pyplot

PARTS = {"train": "training", "val": "validation"}


def render(records, config):
    """Four panels: loss and accuracy of both parts; calibration error and refinement of the validation part by every estimator.
    Mean and standard error over the seeds; the vertical line is the epoch of the least mean validation loss."""
    found = measured(records, config)
    loss = found[found["estimand"].eq("logloss")]
    if not len(loss):
        return runs.nothing()
    plt = pyplot()
    figure, axes = plt.subplots(1, 4, figsize=(WIDTH, 2.45), layout="constrained")
    accuracy = runs.accuracies(config)
    for i, part in enumerate(PARTS):
        _line(axes[0], runs.over_seeds(loss[loss["part"].eq(part)], ["epoch"]), i, PARTS[part])
        _line(axes[1], runs.over_seeds(accuracy[accuracy["part"].eq(part)], ["epoch"], "accuracy"), i, PARTS[part])
    held_out = found[found["part"].eq("val")]
    for i, column in enumerate(columns(found, config)):
        for ax, estimand in ((axes[2], "kl"), (axes[3], "refinement_kl")):
            mine = held_out[held_out["column"].eq(column) & held_out["estimand"].eq(estimand)]
            _line(ax, runs.over_seeds(mine, ["epoch"]), i + 2, column)
    least = _of_the_mean(loss)
    titles = ("log-loss (nats)", "accuracy (%)", r"$\mathrm{CE_{KL}}$ (nats)", "refinement (nats)")
    for ax, title in zip(axes, titles):
        ax.axvline(least, color="0.45", linewidth=0.8, linestyle=":", zorder=0)
        ax.set(title=title, xscale="log", xlabel="epoch")
    handles = {text: handle for ax in (axes[0], axes[2]) for handle, text in zip(*ax.get_legend_handles_labels())}
    figure.legend(handles.values(), handles.keys(), loc="outside upper center", ncols=3)
    return figure


def measured(records, config):
    """The records' numbers. The refinement of an estimator that gives a calibration error alone is the log-loss less that."""
    found = runs.estimates(records, config, "binary")
    loss = found[found["estimand"].eq("logloss")].set_index("problem")["value"]
    split = set(found.loc[found["estimand"].eq("refinement_kl"), "column"])
    alone = found[found["estimand"].eq("kl") & ~found["column"].isin(split)]
    rest = alone.assign(estimand="refinement_kl", value=alone["problem"].map(loss) - alone["value"])
    return pd.concat([found, rest.dropna(subset="value")], ignore_index=True)


def columns(found, config):
    """The labels of the estimators of the calibration error."""
    return runs.columns_of(found[found["estimand"].eq("kl")], config)


def changes(records, config):
    """Per estimator and seed, on the validation part: the epochs of the least log-loss and of the least calibration error, and
    by what log-loss, calibration error and refinement rise from the former to the last epoch."""
    found = measured(records, config)
    found = found[found["part"].eq("val")]
    loss = found[found["estimand"].eq("logloss")].pivot_table(index=["network", "seed"], columns="epoch", values="value")
    rows = []
    for column in columns(found, config):
        mine = found[found["column"].eq(column)]
        ce, refinement = (
            mine[mine["estimand"].eq(name)].pivot_table(index=["network", "seed"], columns="epoch", values="value")
            for name in ("kl", "refinement_kl")
        )
        for run in ce.index.intersection(loss.index):
            at, last = loss.loc[run].idxmin(), loss.columns.max()
            rise = [frame.loc[run, last] - frame.loc[run, at] for frame in (loss, ce, refinement)]
            rows.append((column, run[1], at, ce.loc[run].idxmin(), *rise))
    names = ["column", "seed", "least loss", "least error", "loss", "error", "refinement"]
    return pd.DataFrame(rows, columns=names)


def table(records, config):
    """One row per estimator: `changes`, mean +- standard error over the seeds. The error at first, of a network that says 1/2 of
    everything, is small as well: its least epoch can be the first."""
    found = changes(records, config)
    heading = (
        "validation: epochs of the least, and rises in nats from the least log-loss to the last epoch; mean ± standard error"
    )
    if not len(found):
        return runs.empty(heading, "estimator")
    names = {
        "least loss": ("epoch of the least log-loss", 0), "least error": ("epoch of the least error", 0),
        "loss": ("log-loss rises by", 4), "error": ("calibration error by", 4), "refinement": ("refinement by", 4),
    }  # fmt: skip
    rows = {
        column: {text: runs.entry(*_mean(part[name]), digits) for name, (text, digits) in names.items()}
        for column, part in found.groupby("column", sort=False)
    }
    frame = pd.DataFrame.from_dict(rows, orient="index", dtype=object).rename_axis("estimator")
    frame.columns.name = heading
    return frame


def reproduced(records, config):
    """The paper draws one network and prints no number; ours are there to be read beside its text."""
    found = changes(records, config)
    rows = []
    for column, part in found.groupby("column", sort=False):
        texts = {
            "least error": "KL calibration error, epoch of the least",
            "error": "KL calibration error, rise from the epoch of the least log-loss to the end",
            "refinement": "refinement, rise from the epoch of the least log-loss to the end",
        }
        rows += [(text, column, *_mean(part[name]), len(part)) for name, text in texts.items()]
    if len(found):
        part = found.drop_duplicates("seed")
        rows.append(("validation log-loss, epoch of the least", "network", *_mean(part["least loss"]), len(part)))
        rows.append(("validation log-loss, rise from there to the end", "network", *_mean(part["loss"]), len(part)))
    return runs.answers(rows, records, config)


def _mean(values):
    return values.mean(), values.std() / np.sqrt(len(values))


def _of_the_mean(loss):
    mean = runs.over_seeds(loss[loss["part"].eq("val")], ["epoch"]).set_index("epoch")["mean"]
    return mean.idxmin()


def _line(ax, line, i, text):
    ax.errorbar(
        line["epoch"], line["mean"], yerr=line["se"], label=text, color=COLOURS[i], marker=MARKERS[i], elinewidth=0.7, capsize=1.5
    )
