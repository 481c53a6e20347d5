"""Figure 2: the share of trials in which the calibrated model has the smaller estimate, against n: two calibrated models (true
probabilities, 1/10 for every class) by two that are not (flattened, sharpened)."""

from experiments.moskvichev2025 import metrics
from harness.report import ranking_plot, rankings

summary = rankings.summary


def scored(records, config):
    return rankings.one_estimand(rankings.of_config(records, config), config)


def render(records, config):
    return ranking_plot.shares(scored(records, config), config, per_row=2)


def table(records, config):
    return rankings.table(records, config)


def reproduced(records, config):
    """Shares ('true < over, n = 20') and mean estimates ('true, n = 20')."""
    found = metrics.shares(scored(records, config), config)
    rows = [(f"{r.order}, n = {r.n}", r.column, r.share, r.error, r.trials) for r in found.itertuples()]
    for r in metrics.means(metrics.values(records, config), ["model", "n", "column"]).itertuples():
        rows.append((f"{r.model}, n = {r.n}", r.column, r.mean, r.se, r.reps))
    return metrics.answers(rows, records, config)
