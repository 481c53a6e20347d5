"""Figure 2: how often a calibrated model has the smaller estimate, against the sample size n.

One calibrated model predicts the true probabilities, the other 1/10 for each of ten classes. Each
of them is compared with two miscalibrated models, whose probabilities are flattened or sharpened.
The curves of the paper's figure are printed nowhere. Shares of an independent second implementation
are drawn beside ours.
"""

import pandas as pd
from matplotlib.figure import Figure

from harness.configure.settings import Settings
from harness.evaluation import items, rankings
from harness.evaluation.selection import label
from harness.figures import ranking_plot
from harness.figures.style import series_style

from . import metrics

summary, table = rankings.summary, rankings.table

SECOND = "an independent second implementation, 100 trials"
LEGEND_TITLE = "No mark is the paper's: no value of its curves is at hand."
OPEN = {
    "linestyle": "none",
    "markerfacecolor": "none",
    "markersize": 6,
    "markeredgewidth": 0.7,
    "zorder": 4,
}


def scored(records: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Return the shares of trials in which an estimator has the models in the right order.

    The result has one estimand per estimator (`rankings.one_estimand`).
    """
    return rankings.select_estimand(rankings.score_settings(records, settings), settings)


def render(records: pd.DataFrame, settings: Settings) -> Figure:
    """Draw a panel per pair of models: our shares, and open marks of the second implementation."""
    shares = scored(records, settings)
    figure = ranking_plot.shares(shares, settings, per_row=2)
    if not figure.legends:  # without any estimate there are no panels
        return figure
    reported = items.printed(settings)
    reported = reported[reported["unit"].eq("share")]
    parts = reported["row"].str.extract(r"^(?P<order>.+), n = (?P<n>\d+)$")
    reported = reported.assign(order=parts["order"], n=parts["n"].astype(int))
    for ax in figure.axes:
        in_panel = reported[reported["order"].eq(ax.get_title())]
        for i, estimator in enumerate(items.chosen(settings, shares)):
            rows = in_panel[in_panel["column"].eq(label(settings, "estimator", estimator))]
            ax.plot(rows["n"], rows["value"], **{**series_style(i), **OPEN})
    figure.legends[0].remove()
    handles, names = figure.axes[0].get_legend_handles_labels()
    handles += figure.axes[0].plot([], [], marker="o", color="0.4", **OPEN)
    figure.legend(
        handles,
        [*(f"{name}, ours" for name in names), SECOND],
        title=LEGEND_TITLE,
        title_fontsize=7,
        loc="outside upper center",
        ncols=len(names) + 1,
    )
    return figure


def reproduced(records: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Return our numbers for the reported rows.

    Shares have rows such as 'true < over, n = 20', mean estimates have rows such as 'true, n = 20'.
    """
    shares = rankings.numbers(scored(records, settings), records, settings)
    means = items.means(metrics.values(records, settings), ["model", "n", "column"])
    ours = [
        items.numbers(shares, "{order}, n = {n}", "{column}", "share", "error", "trials"),
        items.numbers(means, "{model}, n = {n}", "{column}"),
    ]
    return metrics.answers(ours, records, settings)
