"""Figure 3: accuracy and L2 sharpness of the hidden layers during training.

Sharpness is the variance of E[Y given the layer]. So it cannot rise from layer to layer: layer 1 >=
2 >= 3 >= 4 >= the output. Estimates need not obey this, and the table counts how often they do.
"""

import numpy as np
import pandas as pd

from harness.evaluation import items, text_tables
from harness.figures import panels

from . import comparisons, drawing, networks

HIDDEN = {f"layer{i}": f"layer {i}" for i in (1, 2, 3, 4)}
NAMES = {**HIDDEN, "output": "the output"}
L2 = "sharpness_l2_squared"
ESTIMANDS = {L2: "L2", "sharpness_kl": "KL"}
PAPER = "the paper, one network"
PER_EPOCH = 67  # epochs of 14 batches are as many steps as one of MNIST's 938
X_AXIS = {1: "epoch", PER_EPOCH: "epoch of MNIST"}
APART = dict(zip(HIDDEN, (-1.5, -0.5, 0.5, 1.5)))  # shifts that set lines side by side
ACCURACY, FALLS, KEY = "test accuracy", "1 ≥ 2 ≥ 3 ≥ 4", ("{column}", "{epoch:g}")


def measured(records, settings):
    """Return the numbers, the mean sharpness, and the mean accuracy in percent by epoch.

    The mean sharpness is by estimator, epoch, layer and estimand.
    """
    frame = networks.estimates(records, settings, "canonical")
    frame = frame[frame["layer"].isin(list(NAMES))]
    sharpness = items.means(
        frame[frame["estimand"].isin(list(ESTIMANDS))], ["column", "epoch", "layer", "estimand"]
    )
    sharpness = sharpness.assign(
        of=sharpness["estimand"].map(ESTIMANDS), name=sharpness["layer"].map(NAMES)
    )
    return (
        frame,
        sharpness,
        items.means(networks.select(frame, "accuracy", layer="output"), ["epoch"]),
    )


def render(records, settings):
    """Draw a panel of the accuracy, a panel of the sharpness per estimator, and the paper's curves.

    Points are means with standard errors over the networks, against the number of steps of gradient
    descent. The unit of the x axis is an epoch of the paper.
    """
    _, sharpness, accuracy = measured(records, settings)
    if not len(sharpness):
        return panels.nothing(networks.NO_FILES)
    per_epoch = PER_EPOCH if settings.reasons.get("data") else 1
    ours = pd.concat(
        [accuracy.assign(column=ACCURACY, layer="output"), networks.select(sharpness, L2)]
    )
    ours["epoch"] /= per_epoch
    last = ours["epoch"].max()
    ours["epoch"] += 0.004 * last * ours["layer"].map(APART).fillna(0.0)
    paper = items.printed(settings, "fig3")
    parts = paper["row"].str.extract(r"^(?:L2 sharpness of )?(.*), epoch (\d+)$")
    layer = parts[0].str.replace(" ", "").replace("accuracy", "output")
    paper = paper.assign(layer=layer, epoch=parts[1].astype(float))

    def panel(ax, name):
        if name == PAPER:
            drawing.lines(ax, paper, "layer", HIDDEN, "epoch", "value", None, first=1, marker="")
        elif name == ACCURACY:
            names = {"output": "whole network"}
            drawing.lines(ax, ours[ours["column"].eq(name)], "layer", names, "epoch", markersize=2)
            look = panels.look(0, line=":", label="whole network, paper") | {"marker": ""}
            panels.curve(ax, paper[paper["layer"].eq("output")], "epoch", "value", None, **look)
        else:
            mine = ours[ours["column"].eq(name)]
            drawing.lines(ax, mine, "layer", HIDDEN, "epoch", first=1, markersize=2)
        ax.set(title=name, ylim=(0, 100) if name == ACCURACY else (0, 0.95))
        ax.set_xlim(-0.02 * last, 1.02 * last)

    columns = items.labels(settings, "estimator", sharpness["column"])
    names = [ACCURACY, *columns, PAPER]
    figure = panels.each(
        names, panel, 2.1, per_row=2 if len(names) == 4 else 3, columns=6, xlabel=X_AXIS[per_epoch]
    )
    for ax in figure.axes:
        if ax.get_title():
            ax.set_ylabel("accuracy (%)" if ax.get_title() == ACCURACY else "$L_2$ sharpness")
    return figure


def table(records, settings):
    """Return a table by estimator and epoch: accuracy, sharpness, counts of falling sharpness."""
    (frame, sharpness, accuracy), rows = measured(records, settings), {}
    falls = falling(frame)
    for column in items.labels(settings, "estimator", sharpness["column"]):
        mine = falls[falls["column"].eq(column)]
        counts = (
            mine.groupby("epoch")["falls"].agg(["sum", "size"]).reset_index().assign(column=column)
        )
        text_tables.entries(counts, KEY, FALLS, text=lambda r: f"{r.sum} of {r.size}", into=rows)
        text_tables.entries(accuracy.assign(column=column), KEY, "accuracy", digits=1, into=rows)
        text_tables.entries(
            networks.select(sharpness, L2, column=column), KEY, "{name}", digits=3, into=rows
        )
        pairs = zip(HIDDEN, list(HIDDEN)[1:])
        rows[column, "all"] = {
            NAMES[b]: f"≤ {NAMES[a]}: {(mine[b] <= mine[a]).sum()} of {len(mine)}" for a, b in pairs
        }
        rows[column, "all"][FALLS] = (
            f"{mine['falls'].sum()} of {len(mine)} ({100 * mine['falls'].mean():.0f} %)"
        )
    heading = "sharpness_l2_squared: mean ± standard error over the seeds; accuracy in percent"
    return networks.wide(
        rows, ["estimator", "epoch"], heading, ["accuracy", *NAMES.values(), FALLS]
    )


def falling(frame):
    """Return the sharpness of every layer, and `falls`: true if layer 1 >= 2 >= 3 >= 4."""
    wide = networks.select(frame, L2).pivot(
        index=["column", "network", "seed", "epoch"], columns="layer", values="value"
    )
    wide = wide.reindex(columns=list(NAMES)).dropna(subset=list(HIDDEN)).reset_index()
    return wide.assign(falls=(np.diff(wide[list(HIDDEN)].to_numpy(), axis=1) <= 0).all(axis=1))


def reproduced(records, settings):
    """Return our numbers. The paper's are of one network.

    The error is that of the difference between one more network and our mean: sd sqrt(1 + 1 /
    seeds).
    """
    _, *frame = measured(records, settings)
    sharpness, accuracy = (f.assign(error=f["sd"] * np.sqrt(1.0 + 1.0 / f["reps"])) for f in frame)
    ours = items.together(
        items.numbers(accuracy, "accuracy, epoch {epoch:g}", "network", error="error"),
        items.numbers(
            sharpness, "{of} sharpness of {name}, epoch {epoch:g}", "{column}", error="error"
        ),
    )
    return comparisons.answers_or_reason(ours, records, settings)
