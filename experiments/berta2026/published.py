"""Table 1 from the authors' published runs, for all ten classifiers.

The page has the printed numbers beside ours. It also has other ways to average and to choose
groups, the estimators that the paper leaves out, and the uncertainty of the ranking.
"""

from collections.abc import Iterable

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from harness.configure.settings import Settings
from harness.evaluation import items, reproduction, text_tables
from harness.figures import panels

from . import aggregation, table1
from .group_errors import bootstrap_ranks
from .published_runs import PARTITIONS
from .table1 import APART, BY, COLUMNS, LEAST, MEANS, PAPER, PRIMARY, TIME

FILTERS = {"groups above 0": 0.0, "groups above 0.01": 0.01, "groups above 0.05": 0.05}
ONCE, TEN = "repeated rows once", "tasks with ten partitions"
# Estimators that are not in Table 1, in per cent of the largest of its ten classifiers.
OTHERS = "beside the ten"
RANK, RESAMPLES = "rank by the mean of the four (95 %)", 5000


def render(records: pd.DataFrame, settings: Settings) -> Figure:
    """Draw Table 1's percentages, and on the right the rank by their mean.

    A dot with a thin bar is mean ± standard error over groups. A pale bar is the error clustered by
    data set. An open diamond is the printed number. Bars of ranks are bootstrap intervals over data
    sets.
    """
    frame = summary(records, settings).query("grouping == @PAPER")
    ranks = frame.drop_duplicates("classifier")
    names = list(ranks["classifier"])
    widths = [1.0] * len(COLUMNS) + [1.15]
    figure, (axes,) = panels.grid(
        1, len(widths), 0.95 + 0.27 * len(names), sharey=True, width_ratios=widths
    )
    texts = table1.percentages(axes[:-1], frame, names, "printed in Table 1")
    last, rows = axes[-1], np.arange(len(names))
    look = panels.look(
        2, label="rank and 95 % interval, data sets resampled", capsize=1.5, elinewidth=0.9
    )
    off = [ranks["rank"] - ranks["rank_low"], ranks["rank_high"] - ranks["rank"]]
    last.errorbar(ranks["rank"], rows, xerr=np.array(off), **look)
    last.set(title="rank by the mean", xlim=(0.5, len(names) + 0.5), xticks=[1, 4, 7, 10])
    panels.name_rows(last, names, 0.55, 0.6)
    figure.supxlabel(
        "% of the largest estimate; rank\n" + table1.counts(records, settings),
        fontsize=7,
        color="0.25",
    )
    panels.legend(
        figure,
        axes,
        2,
        texts,
        texts={**texts, "ours": "from the published runs ± standard error over groups"},
    )
    return figure


@aggregation.keep_latest
def summary(records: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Return one row per grouping, classifier and column, as `table1.summary` does.

    There are several groupings: the paper's, folds apart, other filters, and estimators that Table
    1 leaves out. The authors' table repeats some rows. They count once with folds apart, and for
    tasks with ten partitions. The paper's grouping also has `bootstrap_ranks` of the mean of the
    four percentages.
    """
    cells, reference = table1.measured(records, settings)

    def shares(
        some: pd.DataFrame, least: float = LEAST, by: str = PAPER
    ) -> dict[str, pd.DataFrame]:
        return aggregation.shares(some, COLUMNS, PRIMARY, BY[by], reference, least)

    first = cells["rep"].lt(PARTITIONS)
    partitions = (
        cells.assign(partition=cells["rep"] % PARTITIONS)
        .groupby(BY[APART])["partition"]
        .transform("nunique")
    )
    tables = {PAPER: shares(cells), APART: shares(cells[first], by=APART)}
    tables |= {name: shares(cells, least) for name, least in FILTERS.items()}
    tables |= {
        ONCE: shares(cells[first]),
        TEN: shares(cells[first & partitions.eq(PARTITIONS)], by=APART),
    }
    ten = aggregation.ranked(tables, reference, "dataset", COLUMNS)
    others = [name for name in dict.fromkeys(cells["estimator"]) if name not in reference]
    extra = aggregation.ranked({OTHERS: tables[PAPER]}, others, "dataset", COLUMNS)
    ranks = bootstrap_ranks(
        {name: tables[PAPER][name] for name in COLUMNS}, reference, "dataset", RESAMPLES
    )
    ranks = ranks.reset_index().assign(grouping=PAPER)
    frame = pd.concat([ten, extra[extra["groups"].gt(0)]], ignore_index=True).merge(
        ranks, "left", ["grouping", "estimator"]
    )
    return frame.rename(columns={"estimator": "classifier"})


def _numbers(records: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    frame = summary(records, settings)
    return aggregation.three_ways(frame, list(dict.fromkeys(frame["grouping"])), MEANS, COLUMNS)


def table(records: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Return a table with a row per grouping and classifier.

    It has our numbers with the standard error and, in brackets, the error clustered by data set;
    the printed number; and the rank by the mean of the four percentages, with its interval.
    """
    theirs = reproduction.reported("berta2026", settings.compare).set_index(["row", "column"])
    ours = _numbers(records, settings)
    ours["row"] = _rows(ours, ours["grouping"].replace(PAPER, ""))
    joined = ours.join(theirs[["value", "plus_minus"]].add_prefix("paper_"), on=["row", "column"])
    heading = (
        "share of the largest estimate: mean ± standard error over groups (clustered by data set)"
    )
    wide = aggregation.table(joined, ["grouping", "classifier"], [*COLUMNS, TIME], heading)
    ranks = summary(records, settings).query("grouping == @PAPER").drop_duplicates("classifier")
    texts = {
        (PAPER, r.classifier): f"{r.rank:.0f} ({r.rank_low:.0f} to {r.rank_high:.0f})"
        for r in ranks.itertuples()
    }
    wide.insert(0, RANK, [texts.get(row, text_tables.DASH) for row in wide.index])
    return wide


def _rows(numbers: pd.DataFrame, groupings: Iterable[str]) -> list[str]:
    return [
        f"{name}, {grouping}" if grouping else name
        for name, grouping in zip(numbers["classifier"], groupings)
    ]


def reproduced(records: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Return our numbers for the items of `compare`, from the same runs as the paper's."""
    cells, _ = table1.measured(records, settings)
    ours = _numbers(records, settings)
    ours["keys"] = aggregation.keys_by_row(
        cells, ours["classifier"], map(table1.notions, ours["column"])
    )
    printed = ours[ours["grouping"].eq(PAPER)]
    full = ours.assign(row=_rows(ours, ours["grouping"].replace(PAPER, "unrounded")))
    rows_by_item = {
        "table1": printed.assign(row=printed["classifier"]),
        "table1_sensitivity": full,
        "table1_filters": full,
    }
    return items.joined(
        [
            rows_by_item[item].rename(columns={"number": "reps"}).assign(item=item)
            for item in settings.compare
        ]
    )
