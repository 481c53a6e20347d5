"""Figure 3: accuracy, and the L2 sharpness of every hidden layer's activations, in the course of training.

Sharpness is the variance of E[Y | layer], so no layer has more of it than the one before: layer 1 >= 2 >= 3 >= 4 (and the output,
of which the paper draws nothing). Estimated, it need not be; the table counts how often it is.

Beside the kernel estimates stands a lower bound that owes nothing to a bandwidth on the simplex: the variance of Y minus the
Brier score of predicting each image's label by its 20 nearest neighbours among the other images' activations. No prediction has a
smaller expected score than E[Y | layer], so in expectation the difference is at most the sharpness.
"""

import math

import numpy as np
import pandas as pd

from experiments.popordanoska2024 import runs
from harness.math.notions import one_hot
from harness.report import reproduction
from harness.report.plots import COLOURS, MARKERS, WIDTH, pyplot

HIDDEN = ("layer1", "layer2", "layer3", "layer4")
NAMES = {**{layer: f"layer {layer[-1]}" for layer in HIDDEN}, "output": "the output"}
BOUND, NEIGHBOURS, MOST_ROWS = "lower bound (20 neighbours)", 20, 2000
_bounds: dict[str, float] = {}  # by the problem's key: figure, table and comparison ask for the same
ESTIMANDS = {"sharpness_l2_squared": "L2", "sharpness_kl": "KL"}


def render(records, config):
    """Accuracy, one panel per estimator, and the lower bound. Mean and standard error over the seeds; dotted: the paper's one
    network."""
    found, accuracy = _found(records, config)
    if not len(found):
        return runs.nothing()
    plt = pyplot()
    columns = [*runs.columns_of(found, config), BOUND]
    rows = math.ceil((1 + len(columns)) / 3)
    figure, axes = plt.subplots(rows, 3, figsize=(WIDTH, 0.45 + 1.95 * rows), layout="constrained", squeeze=False, sharex=True)
    panels = dict(zip(columns, list(axes.flat)[1:]))
    line = runs.over_seeds(accuracy, ["epoch"], "accuracy")
    axes[0, 0].errorbar(line["epoch"], line["mean"], yerr=line["se"], color="0.2", marker="o", elinewidth=0.7, capsize=1.5)
    axes[0, 0].set(title="test accuracy", ylabel="accuracy (%)", ylim=(0, 100))
    for column, ax in panels.items():
        for i, layer in enumerate(HIDDEN):
            mine = found[found["column"].eq(column) & found["layer"].eq(layer) & found["estimand"].eq("sharpness_l2_squared")]
            line = runs.over_seeds(mine, ["epoch"])
            ax.errorbar(
                line["epoch"], line["mean"], yerr=line["se"], label=NAMES[layer], color=COLOURS[i], marker=MARKERS[i],
                elinewidth=0.7, capsize=1.5,
            )  # fmt: skip
        ax.set(title=column, ylim=(0, 0.95))
    if "data" not in config["reasons"]:
        _paper(axes[0, 0], panels[columns[0]])
    for i, ax in enumerate(axes.flat):
        ax.set_visible(i <= len(columns))
        if i <= len(columns) < i + 3 + 1:
            ax.set_xlabel("epoch")
            ax.tick_params(labelbottom=True)
    for ax in (panels[columns[0]], *axes[1:, 0]):
        ax.set_ylabel("$L_2$ sharpness (squared prob.)")
    handles = dict(zip(*reversed(panels[columns[0]].get_legend_handles_labels())))
    figure.legend(handles.values(), handles.keys(), loc="outside upper center", ncols=len(handles))
    return figure


def table(records, config):
    """Rows (estimator, epoch): accuracy and sharpness, mean +- standard error over the seeds, and in how many networks it falls
    from layer to layer; the last row counts over all epochs."""
    found, accuracy = _found(records, config)
    heading = "sharpness_l2_squared: mean ± standard error over the seeds; accuracy in percent"
    if not len(found):
        return runs.empty(heading, "estimator", "epoch")
    means = runs.over_seeds(found[found["estimand"].eq("sharpness_l2_squared")], ["column", "epoch", "layer"])
    means = means.set_index(["column", "epoch", "layer"])
    reached = runs.over_seeds(accuracy, ["epoch"], "accuracy").set_index("epoch")
    falls = falling(found)
    rows = {}
    for column in (*runs.columns_of(found, config), BOUND):
        mine = falls[falls["column"].eq(column)]
        for epoch in sorted(mine["epoch"].unique()):
            now = mine[mine["epoch"].eq(epoch)]
            row = {"accuracy": runs.entry(*reached.loc[epoch, ["mean", "se"]], 1) if epoch in reached.index else "–"}
            row |= {NAMES[x]: runs.entry(*means.loc[(column, epoch, x), ["mean", "se"]], 3) for x in NAMES if x in now}
            rows[column, f"{epoch:g}"] = {**row, "1 ≥ 2 ≥ 3 ≥ 4": f"{now['falls'].sum()} of {len(now)}"}
        pairs = {NAMES[b]: f"≤ {NAMES[a]}: {(mine[b] <= mine[a]).sum()} of {len(mine)}" for a, b in zip(HIDDEN, HIDDEN[1:])}
        share = f"{mine['falls'].sum()} of {len(mine)} ({100 * mine['falls'].mean():.0f} %)"
        rows[column, "all"] = {**pairs, "1 ≥ 2 ≥ 3 ≥ 4": share}
    frame = pd.DataFrame.from_dict(rows, orient="index", dtype=object).fillna("–")
    frame.index = pd.MultiIndex.from_tuples(rows, names=["estimator", "epoch"])
    frame = frame[["accuracy", *(n for n in NAMES.values() if n in frame), "1 ≥ 2 ≥ 3 ≥ 4"]]
    frame.columns.name = heading
    return frame


def falling(found):
    """Frame column, seed, epoch, the sharpness of every layer, and `falls`: layer 1 >= 2 >= 3 >= 4."""
    mine = found[found["estimand"].eq("sharpness_l2_squared")]
    wide = mine.pivot(index=["column", "network", "seed", "epoch"], columns="layer", values="value").reset_index()
    wide = wide.dropna(subset=list(HIDDEN))
    return wide.assign(falls=(np.diff(wide[list(HIDDEN)].to_numpy(), axis=1) <= 0).all(axis=1))


def reproduced(records, config):
    """The paper's are of one run: the error beside our mean is that of the difference of one more run from it,
    sd sqrt(1 + 1 / seeds)."""
    found, accuracy = _found(records, config)
    rows = []
    if len(found):
        for r in runs.over_seeds(accuracy, ["epoch"], "accuracy").itertuples():
            rows.append((f"accuracy, epoch {r.epoch:g}", "network", r.mean, _error(r), r.reps))
        for r in runs.over_seeds(found, ["column", "epoch", "layer", "estimand"]).itertuples():
            row = f"{ESTIMANDS[r.estimand]} sharpness of {NAMES[r.layer]}, epoch {r.epoch:g}"
            rows.append((row, r.column, r.mean, _error(r), r.reps))
    return runs.answers(rows, records, config)


def _error(row):
    return row.sd * np.sqrt(1.0 + 1.0 / row.reps)


def lower_bound(p, y):
    """Variance of the one-hot label minus the leave-one-out Brier score of its nearest neighbours' labels, on the first MOST_ROWS
    rows. p (n, k) is the softmax of the activations, y (n,); distances are between log-odds against the last column, which
    are the activations themselves where that column was zero."""
    p, y = p[:MOST_ROWS], y[:MOST_ROWS]
    z = np.log(p[:, :-1]) - np.log(p[:, -1:])
    squares = (z**2).sum(axis=1)
    distance = squares[:, None] + squares - 2.0 * z @ z.T
    np.fill_diagonal(distance, np.inf)
    nearest = np.argpartition(distance, NEIGHBOURS, axis=1)[:, :NEIGHBOURS]
    hits = one_hot(y, p.shape[1])
    score = ((hits - hits[nearest].mean(axis=1)) ** 2).sum(axis=1).mean()
    return float(1.0 - (hits.mean(axis=0) ** 2).sum() - score)


def _found(records, config):
    """(sharpness by estimator and the lower bound, accuracies of the output)."""
    found = runs.estimates(records, config, "canonical")
    found = found[found["estimand"].isin(list(ESTIMANDS)) & found["layer"].isin(list(NAMES))]
    if not len(found):
        return found, None
    keys = dict(zip(records["problem"], records["problem_key"]))
    wanted = set(found["problem"])
    for problem, p, y in runs.predictions(config, lambda problem: problem in wanted and keys[problem] not in _bounds):
        _bounds[keys[problem]] = lower_bound(p, y)
    bounds = {problem: _bounds[keys[problem]] for problem in sorted(wanted) if keys[problem] in _bounds}
    rows = runs.named(bounds).assign(value=pd.Series(bounds, dtype=float), column=BOUND, estimand="sharpness_l2_squared")
    accuracy = runs.accuracies(config, lambda problem: problem in wanted and problem.endswith("_output"))
    return pd.concat([found, rows.reset_index()], ignore_index=True), accuracy


def _paper(left, right):
    printed = reproduction.reported("popordanoska2024", ["fig3"])
    parts = printed["row"].str.extract(r"^(?:L2 sharpness of )?(.*), epoch (\d+)$")
    printed = printed.assign(what=parts[0], epoch=parts[1].astype(int)).sort_values("epoch")
    for what, line in printed.groupby("what"):
        ax = left if what == "accuracy" else right
        colour = "0.2" if what == "accuracy" else COLOURS[int(what[-1]) - 1]
        text = {"label": "paper, one run"} if what == "layer 1" else {}
        ax.plot(line["epoch"], line["value"], color=colour, linestyle=":", linewidth=1.0, **text)
