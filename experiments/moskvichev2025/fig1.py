"""Figure 1: reliability diagrams of three models of two classes (true probabilities, flattened, sharpened) with their CKCE.

The diagram is of the first replication. Beside it what all three metrics say in every replication: the paper shows CKCE alone,
which has the flattened model as the worse of the two, JKCE and ECE the sharpened one.
"""

import numpy as np

from experiments.moskvichev2025 import metrics
from harness.common.seeds import problem_rng
from harness.problems.base import ProblemSpec
from harness.report.plots import COLOURS, MARKERS, WIDTH, pyplot
from harness.report.tables import label
from harness.runs.components import configured

BINS = 10


def bins(p, y):
    """(count, confidence, frequency), each (10,): rows by the probability of class 0, its mean and the share of class 0 in a bin;
    NaN where a bin is empty. p (n, 2); a bin holds its left end, the last one both."""
    first = p[:, 0]
    at = np.minimum((first * BINS).astype(int), BINS - 1)
    count = np.bincount(at, minlength=BINS)
    with np.errstate(invalid="ignore"):
        return count, np.bincount(at, first, BINS) / count, np.bincount(at, y == 0, BINS) / count


def render(records, config):
    found = metrics.values(records, config)
    if not len(found):
        return metrics.nothing()
    plt = pyplot()
    drawn = config["figure"]["estimators"] or list(config["estimator"])
    columns = metrics.columns_of(config, found.loc[found["estimator"].isin(drawn), "column"])
    widths = [2.0, *[1.0] * len(columns)]
    figure, axes = plt.subplots(1, 1 + len(columns), figsize=(WIDTH, 2.7), layout="constrained", width_ratios=widths)
    axes[0].plot([0, 1], [0, 1], color="0.2", linestyle="--", linewidth=1.0, zorder=1)
    first = found[found["rep"].eq(found["rep"].min())].set_index(["problem", "estimator"])["value"]
    for i, (name, settings) in enumerate(config["problem"].items()):
        model, made = label(config, "problem", name), configured("problem", name, settings)
        n = int(found["n"].iloc[0])
        p, y = made.object.sample(n, problem_rng(config["seed"], ProblemSpec.of(made.object), made.key, int(found["rep"].min())))
        _, confidence, frequency = bins(p, y)
        ckce = first.get((name, "ckce"), np.nan)
        text = model + (f", CKCE {ckce:.4f}" if ckce == ckce else "")
        axes[0].plot(confidence, frequency, color=COLOURS[i], marker=MARKERS[i], label=text, clip_on=False)
        for ax, column in zip(axes[1:], columns):
            mine = found[found["problem"].eq(name) & found["column"].eq(column)]["value"]
            ax.plot(np.full(len(mine), i), mine, ".", color=COLOURS[i], alpha=0.35, markersize=3)
            ax.plot([i - 0.3, i + 0.3], [mine.mean()] * 2, color=COLOURS[i], linewidth=1.6)
    axes[0].set(xlabel="confidence in class 0", ylabel="frequency of class 0", xlim=(0, 1), ylim=(0, 1), aspect="equal")
    for ax, column in zip(axes[1:], columns):
        ax.set_title(column)
        ax.set_xticks(range(len(config["problem"])), [m.split()[0] for m in metrics.models_of(config)], rotation=45, ha="right")
        ax.set_xlim(-0.6, len(config["problem"]) - 0.4)
        ax.grid(axis="x", visible=False)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
    return figure


def table(records, config):
    """Rows model: mean +- standard deviation over the replications, and the first replication, by metric."""
    found = metrics.values(records, config)
    table = metrics.means(found, ["model", "column"]).set_index(["model", "column"])
    first = found[found["rep"].eq(found["rep"].min())].set_index(["model", "column"])["value"]
    rows = {}
    for model in metrics.models_of(config):
        for column in metrics.columns_of(config, found["column"]):
            r = table.loc[(model, column)]
            rows.setdefault((model,), {})[column] = metrics.entry(r["mean"], r["sd"])
            rows[model,][f"{column}, drawn"] = metrics.entry(first[model, column])
    return metrics.framed(rows, ["model"], "mean ± standard deviation over the replications")


def reproduced(records, config):
    found = metrics.means(metrics.values(records, config), ["model", "column"])
    rows = [(r.model, r.column, r.mean, r.se, r.reps) for r in found.itertuples()]
    return metrics.answers(rows, records, config)
