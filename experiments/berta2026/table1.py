"""Table 1: share of the largest estimated calibration error that each classifier recovers.

1. Leave out tasks of at most 300 samples.
2. Average the estimates of a classifier over the tasks (folds) and replications of a group. A group
   is a data set and a configuration. Clip the mean at 0.
3. Keep the groups whose largest L1 error (binary) or L2 error (multiclass) is above 0.02.
4. Divide by the largest mean of the group, and average over the groups.

Seconds are per 1,000 samples, averaged over all groups.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from harness.configure.settings import Settings
from harness.errors import BadInputError
from harness.evaluation import items, reproduction
from harness.evaluation.selection import label
from harness.figures import panels
from harness.figures.style import COLOURS

from . import aggregation
from .group_errors import ERRORS

COLUMNS = {
    "binary L1 (%)": ("binary", "l1"), "binary squared (%)": ("binary", "l2_squared"),
    "multiclass L2 (%)": ("canonical", "l2"), "multiclass squared (%)": ("canonical", "l2_squared"),
}  # fmt: skip
PRIMARY, NAMES = (
    {"binary": "l1", "canonical": "l2"},
    {"binary": "binary", "canonical": "multiclass"},
)
TIME = aggregation.SECONDS
SMALLEST = 300  # tasks with at most this many samples are left out
LEAST = 0.02  # groups whose largest primary error is at most this are left out
GROUPS = {"binary": 696, "canonical": 241}  # groups of the paper, before this filter
PAPER, MEANS, APART = "as in the paper", "mean of dataset means", "folds apart"
# The mean of the tables of single replications, with its standard error over the replications.
PARTITIONS = "partitions apart"
BY = {PAPER: ["dataset", "config"], APART: ["dataset", "fold", "config"]}


def render(records: pd.DataFrame, settings: Settings) -> Figure:
    """Draw the four percentages, a row per classifier.

    A dot with a thin bar is mean ± standard error over groups. A pale bar is the error clustered by
    data set. An open diamond is the paper's value with its error.
    """
    rows = summary(records, settings).query("grouping == @PAPER")
    names = list(dict.fromkeys(rows["classifier"]))
    figure, (axes,) = panels.grid(
        1, len(COLUMNS), 0.95 + 0.27 * len(names), sharex=True, sharey=True
    )
    texts = percentages(
        axes,
        rows,
        names,
        "paper, on its own data" if set(COLUMNS) & set(settings.reasons) else "paper",
    )
    figure.supxlabel(
        "% of the largest estimate\n" + counts(records, settings), fontsize=7, color="0.25"
    )
    panels.legend(figure, axes, 3, texts, texts=texts)
    return figure


def percentages(
    axes: Sequence[Axes], rows: pd.DataFrame, names: list[str], paper: str
) -> dict[str, str]:
    """Draw the four panels of one grouping, with the paper's numbers.

    Return {label: text of the legend}.
    """
    theirs = printed()
    look = panels.look(3, filled=False, label="paper", capsize=0.0, shift=0.22) | {
        "color": COLOURS[1]
    }
    look_of_ours = panels.look(0, label="ours", shift=-0.18, capsize=0.0, elinewidth=0.9)
    for ax, column in zip(axes, COLUMNS):
        printed_rows, ours = (frame[frame["column"].eq(column)] for frame in (theirs, rows))
        panels.named_marks(ax, printed_rows, "row", names, "value", "plus_minus", **look)
        two_errors(ax, ours, "classifier", names, "clustered error", **look_of_ours)
        right = max(100.0, ax.get_xlim()[1])
        ax.set(title=column, xticks=np.arange(0.0, right + 1.0, 25.0), xlim=(0.0, right))
        panels.name_rows(ax, names, 0.55, 0.6)
    return {
        "ours": "ours ± standard error over groups",
        "clustered error": "± error clustered by data set",
        "paper": paper,
    }


def two_errors(
    ax: Axes, part: pd.DataFrame, by: str, names: list[str], text: str, **how: Any
) -> None:
    """Draw means with `se` as a thin bar and `se_clustered` as a pale bar named `text`.

    A row without a mean is marked "no number".
    """
    bar = {"linewidth": 4.5, "solid_capstyle": "butt", "alpha": 0.3, "label": text}
    for r in part[part[by].isin(names)].itertuples():
        height = names.index(getattr(r, by)) + how.get("shift", 0.0)
        if np.isnan(r.mean):
            panels.row_note(ax, 0.03, height, "no number", ha="left")
        else:
            ends = [r.mean - r.se_clustered, r.mean + r.se_clustered]
            ax.plot(ends, [height] * 2, color=how["color"], **bar)
    panels.named_marks(ax, part, by, names, **how)


@aggregation.keep_latest
def measured(records: pd.DataFrame, settings: Settings) -> tuple[pd.DataFrame, list[str]]:
    """Return the cells of the large tasks, and the classifiers that define the largest estimate.

    These classifiers are those of this run that are also in the paper's table.
    """
    used = records[records["notion"].isin(PRIMARY) & records["n"].gt(SMALLEST)]
    if not len(used):
        raise BadInputError(
            f"no cell is binary or canonical and has more than {SMALLEST} samples; "
            "Table 1 uses only such cells."
        )
    cells = aggregation.make_cells(used, settings, ["l1", "l2", "l2_squared"], BY[APART])
    reference = [
        name for name in dict.fromkeys(printed()["row"]) if name in set(cells["estimator"])
    ]
    if not reference:
        raise BadInputError(
            "no estimator of this run is one of Table 1's classifiers; at least one is needed, "
            "because the largest estimate of these is 100 %."
        )
    return cells, reference


@aggregation.keep_latest
def summary(records: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Return `mean_and_errors` with one row per grouping, classifier and column.

    Classifiers are sorted by the mean of the four percentages. `groups` is 0 without a number.
    """
    cells, reference = measured(records, settings)
    names = [
        label(settings, "estimator", e)
        for e in settings.estimator
        if e in set(records["estimator"])
    ]
    tables = {
        grouping: aggregation.shares(cells, COLUMNS, PRIMARY, by, reference, LEAST)
        for grouping, by in BY.items()
    }
    ranked = aggregation.ranked(tables, names, "dataset", COLUMNS)
    complete = cells.dropna(subset=TIME)
    reps = complete["rep"].unique()
    if len(reps) > 1 and complete.groupby(BY[APART])["rep"].nunique().eq(len(reps)).all():
        alone = [
            aggregation.shares(
                cells[cells["rep"].eq(r)], COLUMNS, PRIMARY, BY[PAPER], reference, LEAST
            )
            for r in reps
        ]
        ranked = pd.concat(
            [ranked, _over_partitions(alone, list(dict.fromkeys(ranked["estimator"])))],
            ignore_index=True,
        )
    return ranked.rename(columns={"estimator": "classifier"})


def _over_partitions(
    tables: Iterable[Mapping[str, pd.DataFrame]], names: list[str]
) -> pd.DataFrame:
    """Average the tables of single partitions.

    `groups` is the number of partitions, and the standard error is that over the partitions.
    """
    means = pd.concat([aggregation.over_groups(table, names, "dataset") for table in tables])
    rows = (
        means.groupby(["estimator", "column"], sort=False)["mean"]
        .agg(groups="count", mean="mean", se="sem")
        .reset_index()
    )
    return rows.assign(grouping=PARTITIONS).reindex(
        columns=["grouping", "estimator", "column", *ERRORS]
    )


def _three_ways(records: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Return numbers of three kinds: the paper's grouping, means over data sets, and folds apart.

    The last two exist only for the percentages.
    """
    return aggregation.three_ways(summary(records, settings), list(BY), MEANS, COLUMNS)


def table(records: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Return a table with a row per grouping and classifier.

    It has our mean ± standard error (error clustered by data set), the paper's number, and the
    number of groups. For the mean over data sets, each data set is a group.
    """
    theirs = reproduction.reported("berta2026", ["table1", "table1_sensitivity"]).set_index(
        ["row", "column"]
    )
    ours = _three_ways(records, settings)
    ours["row"] = [
        c if g == PAPER else f"{c}, {g}" for c, g in zip(ours["classifier"], ours["grouping"])
    ]
    joined = ours.join(theirs[["value", "plus_minus"]].add_prefix("paper_"), on=["row", "column"])
    heading = (
        "share of the largest estimate: mean ± standard error over groups (clustered by data set)"
    )
    return aggregation.table(joined, ["grouping", "classifier"], [*COLUMNS, TIME], heading)


def reproduced(records: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Return our numbers for the items of `compare`.

    A number is not judged in three cases: settings.reasons names its column, the largest estimate
    is over fewer classifiers than the paper's, or there are fewer groups.
    """
    cells, reference = measured(records, settings)
    ours, lost = _three_ways(records, settings), items.whys(records, settings, "estimator")
    other = {
        column: settings.reasons.get(column) or _unlike(cells, reference, column)
        for column in (*COLUMNS, TIME)
    }
    ours["why"] = [
        other[r.column] or r.short
        if r.number
        else lost.get(r.classifier, "no group has its estimates in full")
        for r in ours.itertuples()
    ]
    ours["keys"] = aggregation.keys_by_row(cells, ours["classifier"], map(notions, ours["column"]))
    full = ours["classifier"] + ", " + ours["grouping"].replace(PAPER, "unrounded")
    rows_by_item = {
        "table1": ours.assign(row=ours["classifier"])[ours["grouping"].eq(PAPER)],
        "table1_sensitivity": ours.assign(row=full),
    }
    return items.joined(
        [
            rows_by_item[item].rename(columns={"number": "reps"}).assign(item=item)
            for item in settings.compare
        ]
    )


def notions(column: str) -> list[str]:
    """Return the notions of the cells behind a column."""
    return list(PRIMARY) if column == TIME else [COLUMNS[column][0]]


def _unlike(cells: pd.DataFrame, reference: list[str], column: str) -> str | None:
    """Return why a column of ours cannot be compared with the paper's, None if it can."""
    for notion in notions(column):
        groups = len(_largest(cells, reference, notion))
        if groups < GROUPS[notion]:
            return (
                f"ours is over {groups} groups, the paper's over {GROUPS[notion]} "
                "(before small errors are left out)"
            )
    if column == TIME:
        return None
    theirs = printed()["row"].nunique()
    ours = len(aggregation.with_numbers(cells, reference))
    if ours < theirs:
        return f"ours is relative to the largest of {ours} classifiers, theirs of {theirs}"
    notion, estimand = COLUMNS[column]
    cells = cells[cells["notion"].eq(notion)]
    short = aggregation.incomplete_groups(cells, estimand, BY[PAPER], reference)
    if short:
        return (
            f"in {short} groups ours is relative to the largest of fewer than {theirs} classifiers"
        )
    return None


def _largest(cells: pd.DataFrame, reference: list[str], notion: str) -> pd.Series:
    """Return the largest primary error of each group of a notion."""
    return aggregation.largest_means(
        cells[cells["notion"].eq(notion)], PRIMARY[notion], BY[PAPER], reference
    )


def counts(records: pd.DataFrame, settings: Settings) -> str:
    """Return a sentence on the data behind the figure."""
    cells, reference = measured(records, settings)
    largest = {name: _largest(cells, reference, notion) for notion, name in NAMES.items()}
    texts = [
        f"{name} {(errors > LEAST).sum()} of {len(errors)}" for name, errors in largest.items()
    ]
    small = records.loc[records["n"].le(SMALLEST), "problem"].nunique()
    left_out = f"\n{small} tasks with at most {SMALLEST} samples left out" if small else ""
    classifiers = len(aggregation.with_numbers(cells, reference))
    return (
        f"groups with an error above {LEAST}: {', '.join(texts)}; "
        f"largest of {classifiers} classifiers{left_out}"
    )


def printed() -> pd.DataFrame:
    """Return the paper's table without the rows of standard errors."""
    rows = reproduction.reported("berta2026", ["table1"])
    return rows[~rows["column"].str.endswith(reproduction.STANDARD_ERROR)]
