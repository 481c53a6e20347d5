"""Figure 3: estimates of four CIFAR-10 models on 500 of their 10,000 test images, 1,000 times, and how often a metric orders all
four as it does on all images."""

import pandas as pd

from experiments.moskvichev2025 import metrics
from harness.report import items, panels, ranking_plot, rankings, worded
from harness.report.shown import label

summary = rankings.summary
FIRST, ALL, MARGINAL = "Marginal first", "all in order", "Marginal"


def scored(records, config):
    """Shares of trials with the order of all models on all rows, and with the marginal model before all others (`row`)."""
    found = rankings.one_estimand(rankings.of_config(records, config), config).assign(row=ALL)
    trials, _ = rankings.split(records, config)
    marginal = tuple(p for p in config["problem"] if label(config, "problem", p) == MARGINAL)
    others = tuple(p for p in config["problem"] if p not in marginal)
    first = rankings.one_estimand(rankings.score(trials, {FIRST: (marginal, others)}), config).assign(row=FIRST)
    return rankings.numbers(pd.concat([frame for frame in (found, first) if len(frame)] or [found]), trials, config)


def both(records, config):
    """The values of the trials, and those on all rows."""
    return [metrics.values(part, config) for part in rankings.split(records, config)]


def render(records, config):
    """One panel per metric: the distribution of the estimates on 500 rows (histograms), those on all rows (dashed)."""
    trials, full = both(records, config)
    if not len(trials):
        return panels.nothing()
    titles = {}
    for r in scored(records, config).itertuples():
        share = rankings.entry(r) if r.row == ALL else f"{r.share:.3f}"
        titles[r.column] = f"{titles.get(r.column, r.column)}\n{r.row} {share}"
    return ranking_plot.distributions(trials, full, config, titles)


def table(records, config):
    """Shares of trials; then by model the value on all rows and mean +- standard deviation over the trials, by metric."""

    def share(r):
        return rankings.entry(r) + (f", {r.incomplete} without a number" if r.incomplete else "")

    rows = worded.entries(scored(records, config), ["{row}", "share of trials"], "{column}", text=share)
    trials, full = both(records, config)
    for model in items.labels(config, "problem"):
        here, there = (frame[frame["model"].eq(model)] for frame in (full, items.means(trials, ["model", "n", "column"])))
        worded.entries(here, ["{model}", "all rows"], "{column}", "value", None, 5, into=rows)
        worded.entries(there, ["{model}", "n = {n}"], "{column}", "mean", "sd", 5, into=rows)
    heading = "share of trials [95 % Wilson interval]; estimates: mean ± standard deviation"
    return worded.wide(rows, ["", "rows"], heading, items.labels(config, "estimator"))


def reproduced(records, config):
    trials, full = both(records, config)
    full = full.assign(rank=full.groupby("column")["value"].rank(method="first"))
    ours = [
        items.numbers(scored(records, config), "{row}", "{column}", "share", "error", "trials"),
        items.numbers(items.means(trials, ["model", "n", "column"]), "{model}, n = {n}", "{column}"),
        items.exact(full, "{model}, all rows", "{column}"),
        items.exact(full, "rank of {model} on all rows", "{column}", "rank"),
    ]
    return metrics.answers(ours, records, config)
