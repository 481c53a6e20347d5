"""Figure 3: estimates of four models on 500 of CIFAR-10's 10,000 test images, in 1,000 trials.

The figure shows the share of trials in which a metric has the four models in the same order as on
all images. `settings.ranking.sets` may name several sets of four models. Each set then has a row of
panels.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from harness.configure.settings import Settings
from harness.evaluation import items, rankings, text_tables
from harness.evaluation.selection import label
from harness.figures import panels

from . import drawing, metrics

summary = rankings.summary
FIRST, ALL, MARGINAL = "Marginal first", "all in order", "Marginal"
LEGEND = {
    "frameon": True,
    "facecolor": "white",
    "edgecolor": "none",
    "framealpha": 0.9,
    "borderaxespad": 0.2,
}
SHARES = {ALL: "all four in order", FIRST: "marginal model first"}


def named_sets(records: pd.DataFrame, settings: Settings) -> dict[str, Sequence[str]]:
    """Return {prefix: ids of its models} for each set of models.

    The prefix begins the names of rows, as in 'set A: all in order'. It is empty for a single set.
    """
    several = settings.ranking.sets
    return {
        f"{name}: " if several else "": models
        for name, models in rankings.list_model_sets(records, settings).items()
    }


def scored(records: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Return the shares of trials in which a metric has the models in order.

    There are two kinds of order. For ALL, all models of a set are ordered as on all rows. For
    FIRST, the marginal model has a smaller estimate than every network.

    Returns
    -------
    DataFrame
        The columns of `rankings.numbers`, and `row` (the name in reported.csv), `share_of` (ALL or
        FIRST) and `of_set` (the prefix from `named_sets`).
    """
    trials, full = rankings.split(records, settings)
    orders = {}
    for name, models in named_sets(records, settings).items():
        marginal = tuple(p for p in models if label(settings, "problem", p) == MARGINAL)
        orders[name + ALL] = rankings.order_by_estimates(full[full["problem"].isin(models)])
        orders[name + FIRST] = (marginal, tuple(p for p in models if p not in marginal))
    numbers = rankings.select_estimand(rankings.score(trials, orders), settings)
    numbers = rankings.numbers(numbers, trials, settings).rename(columns={"order": "row"})
    names = [
        (row.removesuffix(share), share)
        for row in numbers["row"]
        for share in SHARES
        if row.endswith(share)
    ]
    return numbers.assign(
        of_set=[name for name, _ in names], share_of=[share for _, share in names]
    )


def values_of_parts(records: pd.DataFrame, settings: Settings) -> list[pd.DataFrame]:
    """Return two frames: the estimates of the trials, and the values on all rows."""
    return [metrics.values(part, settings) for part in rankings.split(records, settings)]


def render(records: pd.DataFrame, settings: Settings) -> Figure:
    """Draw one row of panels per set of models.

    One panel per metric shows the distribution of its estimates on 500 rows. Dashed lines mark the
    values on all rows. The last panel shows the shares of trials, and the paper's shares.
    """
    trials, full = values_of_parts(records, settings)
    if not len(trials):
        return panels.nothing()
    sets, shares, columns = (
        named_sets(records, settings),
        scored(records, settings),
        items.labels(settings, "estimator"),
    )
    figure, axes = panels.grid(
        len(sets),
        len(columns) + 1,
        0.9 + 1.85 * len(sets),
        width_ratios=[*[1.0] * len(columns), 0.85],
    )
    for row, (name, models) in enumerate(sets.items()):
        row_axes = axes[row]
        names = [label(settings, "problem", p) for p in models]
        for ax, column in zip(row_axes, columns):
            mine, on_all_rows = (
                frame[frame["column"].eq(column) & frame["model"].isin(names)]
                for frame in (trials, full)
            )
            drawing.histograms(ax, mine, on_all_rows, names)
            ax.set_title("" if row else column)
            ax.set_xlabel(
                f"{column} of {int(mine['n'].iloc[0])} rows" if row + 1 == len(sets) else ""
            )
        row_axes[0].set_ylabel(f"{name}share of trials")
        row_axes[0].legend(
            loc="upper right", fontsize=6, handlelength=1.2, labelspacing=0.3, **LEGEND
        )
        _shares(row_axes[-1], shares[shares["of_set"].eq(name)], settings, columns)
    axes[-1, -1].set_xlabel("share of trials")
    panels.legend(figure, axes[:, -1], 3)
    return figure


def _shares(ax: Axes, shares: pd.DataFrame, settings: Settings, columns: Sequence[str]) -> None:
    """Draw the shares of one set of models, and the paper's shares of its networks as open marks.

    `columns` are the names of the metrics, from top to bottom.
    """
    theirs = items.printed(settings, "fig3")
    theirs = theirs[theirs["row"].eq(ALL)]
    for i, (share, text) in enumerate(SHARES.items()):
        how = panels.look(i, label=text, shift=0.3 * i - 0.1)
        panels.named_marks(
            ax, shares[shares["share_of"].eq(share)], "column", columns, "share", "error", **how
        )
    paper = panels.look(
        3, filled=False, color="0.3", markersize=6, label="all four in order: the paper's networks"
    )
    panels.named_marks(ax, theirs, "column", columns, "value", None, shift=-0.3, **paper)
    panels.name_rows(ax, columns, 0.6, 0.6)
    ax.set(xlim=(-0.05, 1.05))


def table(records: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Return a table of texts with one column per metric.

    The first rows are shares of trials, ours and the paper's. Two rows per model follow: the value
    on all rows, and mean ± standard deviation over the trials.
    """

    def share(r: Any) -> str:
        """Return the share with its interval and the number of trials without a number."""
        return rankings.entry(r) + (f", {r.incomplete} without a number" if r.incomplete else "")

    rows = text_tables.entries(
        scored(records, settings), ["{row}", "share of trials"], "{column}", text=share
    )
    theirs = items.printed(settings, "fig3")
    where = ["{row}", "the paper's networks"]
    text_tables.entries(
        theirs[theirs["unit"].str.startswith("share")],
        where,
        "{column}",
        "value",
        None,
        3,
        into=rows,
    )
    trials, full = values_of_parts(records, settings)
    for model in items.labels(settings, "problem"):
        on_all_rows, in_trials = (
            frame[frame["model"].eq(model)]
            for frame in (full, items.means(trials, ["model", "n", "column"]))
        )
        text_tables.entries(
            on_all_rows, ["{model}", "all rows"], "{column}", "value", None, 5, into=rows
        )
        text_tables.entries(
            in_trials, ["{model}", "n = {n}"], "{column}", "mean", "sd", 5, into=rows
        )
    heading = "share of trials [95 % Wilson interval]; estimates: mean ± standard deviation"
    return text_tables.wide(rows, ["", "rows"], heading, items.labels(settings, "estimator"))


def reproduced(records: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Return our shares, mean estimates, and values on all rows for the reported numbers.

    If `settings.reasons["networks"]` is set, our networks differ from the paper's. Its printed
    numbers then get that reason instead of a number of ours.
    """
    trials, full = values_of_parts(records, settings)
    full = full.assign(rank=full.groupby("column")["value"].rank(method="first"))
    shares, networks = scored(records, settings), settings.reasons.get("networks")
    ours = [
        items.numbers(shares, "{row}", "{column}", "share", "error", "trials"),
        items.numbers(
            items.means(trials, ["model", "n", "column"]), "{model}, n = {n}", "{column}"
        ),
        items.exact(full, "{model}, all rows", "{column}"),
    ]
    if not networks:
        return metrics.answers(
            [*ours, items.exact(full, "rank of {model} on all rows", "{column}", "rank")],
            records,
            settings,
        )
    in_order = (
        shares[shares["share_of"].eq(ALL)]
        .groupby("column")["share"]
        .agg(lambda s: " and ".join(f"{v:.3f}" for v in s))
    )
    note = {
        (ALL, column): f"{networks}, of which two sets have {values}"
        for column, values in in_order.items()
    }
    recomputed = [item for item in settings.compare if item != "fig3"]
    printed = items.answers(
        items.together(), settings, lambda row, column: note.get((row, column), networks), ["fig3"]
    )
    return items.joined(
        [
            metrics.answers(ours, records, replace(settings, compare=recomputed)),
            printed.assign(error=np.nan),
        ]
    )
