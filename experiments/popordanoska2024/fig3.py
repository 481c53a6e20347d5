"""Figure 3: accuracy, and the L2 sharpness of every hidden layer's activations, in the course of training.

Sharpness is the variance of E[Y | layer], so no layer has more of it than the one before: layer 1 >= 2 >= 3 >= 4 (and the output,
of which the paper draws nothing). Estimated, it need not be; the table counts how often it is. Beside the kernel estimates stands
a lower bound that owes nothing to a bandwidth on the simplex (authors.NeighbourSharpness).
"""

import math

import numpy as np

from experiments.popordanoska2024 import runs
from harness.report import items, panels
from harness.report.plots import COLOURS

HIDDEN = ("layer1", "layer2", "layer3", "layer4")
NAMES = {**{layer: f"layer {layer[-1]}" for layer in HIDDEN}, "output": "the output"}
L2 = "sharpness_l2_squared"
ESTIMANDS = {L2: "L2", "sharpness_kl": "KL"}


def measured(records, config):
    """(sharpness by estimator, accuracies of the output, in percent)."""
    found = runs.estimates(records, config, "canonical")
    found = found[found["layer"].isin(list(NAMES))]
    return found[found["estimand"].isin(list(ESTIMANDS))], runs.of(found, "accuracy", layer="output")


def render(records, config):
    """Accuracy, one panel per estimator. Mean and standard error over the seeds; dotted: the paper's one network."""
    found, accuracy = measured(records, config)
    if not len(found):
        return runs.nothing()
    columns = items.labels(config, "estimator", found["column"])
    rows = math.ceil((1 + len(columns)) / 3)
    figure, axes = panels.panels(1 + len(columns), 3, (1.95 * rows - 0.15) / rows, "epoch", sharex=True)
    panels.curve(axes[0], items.means(accuracy, ["epoch"]), "epoch", color="0.2", marker="o")
    axes[0].set(title="test accuracy", ylabel="accuracy (%)", ylim=(0, 100))
    for k, (column, ax) in enumerate(zip(columns, axes[1:]), 1):
        for i, layer in enumerate(HIDDEN):
            line = items.means(runs.of(found, L2, column=column, layer=layer), ["epoch"])
            panels.curve(ax, line, "epoch", **panels.look(i, line="-", label=NAMES[layer]))
        ax.set(title=column, ylim=(0, 0.95), ylabel="$L_2$ sharpness (squared prob.)" if k == 1 or k % 3 == 0 else "")
    _paper(config, *axes[:2])
    panels.legend(figure, axes[1], columns=5, last=["paper, one run"])
    return figure


def _paper(config, left, right):
    printed = items.printed(config, "fig3", alike=False)
    parts = printed["row"].str.extract(r"^(?:L2 sharpness of )?(.*), epoch (\d+)$")
    printed = printed.assign(what=parts[0], epoch=parts[1].astype(int))
    for what, line in printed.groupby("what"):
        colour = "0.2" if what == "accuracy" else COLOURS[int(what[-1]) - 1]
        text = {"label": "paper, one run"} if what == "layer 1" else {}
        ax = left if what == "accuracy" else right
        panels.curve(ax, line, "epoch", "value", None, color=colour, linestyle=":", linewidth=1.0, marker="", **text)


def table(records, config):
    """Rows (estimator, epoch): accuracy and sharpness, mean +- standard error over the seeds, and in how many networks it falls
    from layer to layer; the last row counts over all epochs."""
    found, accuracy = measured(records, config)
    means = items.means(runs.of(found, L2), ["column", "epoch", "layer"]).assign(name=lambda f: f["layer"].map(NAMES))
    means = items.entries(means, ("{column}", "{epoch:g}"), "{name}", digits=3)
    reached = items.entries(items.means(accuracy, ["epoch"]), ("{epoch:g}",), "accuracy", digits=1)
    falls, rows = falling(found), {}
    for column in items.labels(config, "estimator", found["column"]):
        mine = falls[falls["column"].eq(column)]
        for epoch, now in mine.groupby("epoch"):
            key = (column, f"{epoch:g}")
            count = {"1 ≥ 2 ≥ 3 ≥ 4": f"{now['falls'].sum()} of {len(now)}"}
            rows[key] = reached.get(key[1:], {}) | means.get(key, {}) | count
        pairs = {NAMES[b]: f"≤ {NAMES[a]}: {(mine[b] <= mine[a]).sum()} of {len(mine)}" for a, b in zip(HIDDEN, HIDDEN[1:])}
        share = f"{mine['falls'].sum()} of {len(mine)} ({100 * mine['falls'].mean():.0f} %)"
        rows[column, "all"] = {**pairs, "1 ≥ 2 ≥ 3 ≥ 4": share}
    heading = "sharpness_l2_squared: mean ± standard error over the seeds; accuracy in percent"
    return runs.wide(rows, ["estimator", "epoch"], heading, ["accuracy", *NAMES.values(), "1 ≥ 2 ≥ 3 ≥ 4"])


def falling(found):
    """Frame column, seed, epoch, the sharpness of every layer, and `falls`: layer 1 >= 2 >= 3 >= 4."""
    wide = runs.of(found, L2).pivot(index=["column", "network", "seed", "epoch"], columns="layer", values="value")
    wide = wide.reindex(columns=list(NAMES)).dropna(subset=list(HIDDEN)).reset_index()
    return wide.assign(falls=(np.diff(wide[list(HIDDEN)].to_numpy(), axis=1) <= 0).all(axis=1))


def reproduced(records, config):
    """The paper's are of one run: the error beside our mean is that of the difference of one more run from it,
    sd sqrt(1 + 1 / seeds)."""
    found, accuracy = measured(records, config)
    sharpness = items.means(found, ["column", "epoch", "layer", "estimand"])
    sharpness = sharpness.assign(of=sharpness["estimand"].map(ESTIMANDS), name=sharpness["layer"].map(NAMES))
    accuracy, sharpness = (
        f.assign(error=f["sd"] * np.sqrt(1.0 + 1.0 / f["reps"])) for f in (items.means(accuracy, ["epoch"]), sharpness)
    )
    ours = items.together(
        items.numbers(accuracy, "accuracy, epoch {epoch:g}", "network", error="error"),
        items.numbers(sharpness, "{of} sharpness of {name}, epoch {epoch:g}", "{column}", error="error"),
    )
    return runs.answers(ours, records, config)
