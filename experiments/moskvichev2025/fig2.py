"""Figure 2: share of trials in which the calibrated model has the smaller estimate, against n.

Two calibrated models (true probabilities, 1/10 for every class) are compared with two that are not
(flattened, sharpened).
"""

import pandas as pd
from matplotlib.figure import Figure

from harness.configure.settings import Settings
from harness.evaluation import items, rankings
from harness.figures import ranking_plot

from . import metrics

summary, table = rankings.summary, rankings.table


def scored(records: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Return the scores of the rankings, one estimand per estimator."""
    return rankings.one_estimand(rankings.of_settings(records, settings), settings)


def render(records: pd.DataFrame, settings: Settings) -> Figure:
    return ranking_plot.shares(scored(records, settings), settings, per_row=2)


def reproduced(records: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Return shares ('true < over, n = 20') and mean estimates ('true, n = 20')."""
    shares, means = (
        rankings.numbers(scored(records, settings), records, settings),
        metrics.values(records, settings),
    )
    means = items.means(means, ["model", "n", "column"])
    ours = [
        items.numbers(shares, "{order}, n = {n}", "{column}", "share", "error", "trials"),
        items.numbers(means, "{model}, n = {n}", "{column}"),
    ]
    return metrics.answers(ours, records, settings)
