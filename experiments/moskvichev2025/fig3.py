"""Figure 3: estimates of four CIFAR-10 models on 500 of their 10,000 test images, 1,000 times, and how often a metric orders all
four as it does on all images."""

import numpy as np

from experiments.moskvichev2025 import metrics
from harness.report import rankings
from harness.report.plots import COLOURS, WIDTH, pyplot
from harness.report.tables import label

summary = rankings.summary
FIRST = "Marginal first"
MARGINAL = "Marginal"


def scored(records, config):
    """Scores of the order of all models on all rows, and of the marginal model before all others."""
    found = rankings.one_estimand(rankings.of_config(records, config), config)
    trials, _ = rankings.split(records, config)
    marginal = [p for p in config["problem"] if label(config, "problem", p) == MARGINAL]
    others = tuple(p for p in config["problem"] if p not in marginal)
    first = rankings.one_estimand(rankings.score(trials, {FIRST: (tuple(marginal), others)}), config)
    return found.assign(row="all in order"), first.assign(row=FIRST)


def render(records, config):
    """One panel per metric: the distribution of the estimates on 500 rows (histograms), those on all rows (dashed)."""
    trials, full = (metrics.values(part, config) for part in rankings.split(records, config))
    if not len(trials):
        return metrics.nothing()
    plt = pyplot()
    columns = metrics.columns_of(config, trials["column"])
    figure, axes = plt.subplots(1, len(columns), figsize=(WIDTH, 2.5), layout="constrained", squeeze=False)
    shares = [frame.set_index("estimator") for frame in scored(records, config)]
    names = {label(config, "estimator", e): e for e in config["estimator"]}
    for ax, column in zip(axes[0], columns):
        mine = trials[trials["column"].eq(column)]
        edges = np.linspace(*np.quantile(mine["value"], [0.0005, 0.9995]), 41)
        for i, model in enumerate(metrics.models_of(config)):
            part = mine[mine["model"].eq(model)]["value"]
            style = {"color": COLOURS[i], "label": model}
            ax.hist(part, bins=edges, histtype="stepfilled", alpha=0.35, linewidth=0.0, **style)
            ax.hist(part, bins=edges, histtype="step", linewidth=0.9, color=COLOURS[i])
            for value in full[full["column"].eq(column) & full["model"].eq(model)]["value"]:
                ax.axvline(value, color=COLOURS[i], linestyle="--", linewidth=0.9)
        exact, first = (frame.reindex([names[column]]).iloc[0] for frame in shares)
        text = f"{exact['share']:.3f} [{exact['low']:.3f}, {exact['high']:.3f}]" if exact["trials"] == exact["trials"] else "–"
        ax.set_title(f"{column}\nall in order {text}\n{FIRST} {first['share']:.3f}")
        ax.set_xlabel(f"estimate on {int(mine['n'].iloc[0])} rows")
        ax.grid(axis="y", visible=False)
        ax.set_yticks([])
        ax.xaxis.set_major_locator(plt.MaxNLocator(4))
    handles, texts = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, texts, loc="outside upper center", ncols=4)
    return figure


def table(records, config):
    """Shares of trials; then by model the value on all rows and mean +- standard deviation over the trials, by metric."""
    rows = {}
    for r in (r for frame in scored(records, config) for r in metrics.shares(frame, config).itertuples()):
        lost = f", {r.incomplete} without a number" if r.incomplete else ""
        rows.setdefault((r.row, "share of trials"), {})[r.column] = rankings.entry(r) + lost
    trials, full = (metrics.values(part, config) for part in rankings.split(records, config))
    for model in metrics.models_of(config):
        for r in full[full["model"].eq(model)].itertuples():
            rows.setdefault((model, "all rows"), {})[r.column] = f"{r.value:.5f}"
        for r in metrics.means(trials[trials["model"].eq(model)], ["n", "column"]).itertuples():
            rows.setdefault((model, f"n = {r.n}"), {})[r.column] = metrics.entry(r.mean, r.sd, 5)
    heading = "share of trials [95 % Wilson interval]; estimates: mean ± standard deviation"
    return metrics.framed(rows, ["", "rows"], heading, metrics.columns_of(config))


def reproduced(records, config):
    rows = []
    for r in (r for frame in scored(records, config) for r in metrics.shares(frame, config).itertuples()):
        rows.append((r.row, r.column, r.share, r.error, r.trials))
    trials, full = (metrics.values(part, config) for part in rankings.split(records, config))
    for r in metrics.means(trials, ["model", "n", "column"]).itertuples():
        rows.append((f"{r.model}, n = {r.n}", r.column, r.mean, r.se, r.reps))
    for column, part in full.groupby("column"):
        for rank, r in enumerate(part.sort_values("value").itertuples(), 1):
            rows.append((f"{r.model}, all rows", r.column, r.value, 0.0, np.inf))
            rows.append((f"rank of {r.model} on all rows", column, float(rank), 0.0, np.inf))
    return metrics.answers(rows, records, config)
