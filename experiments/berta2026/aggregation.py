"""Averages over many data sets: means of groups, shares of the largest mean, and their errors.

A group is a set of cells whose values are averaged first, such as all folds and replications of one
data set and one model.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from harness.common import wording
from harness.configure.settings import Settings
from harness.errors import BadInputError
from harness.evaluation import items, text_tables
from harness.evaluation.selection import label
from harness.records.schema import has_number

from .group_errors import ERRORS, mean_and_errors

CELL = ["sample", "estimator"]
SECONDS = "seconds per 1,000"  # seconds of a cell per 1,000 of its samples


def keep_latest(function: Callable) -> Callable:
    """Cache a function of (records, settings) for its latest arguments.

    The figure, the tables and the comparison of a page ask for the same result. Callers must not
    modify it.
    """
    latest: list = []

    @functools.wraps(function)
    def remembering(records: pd.DataFrame, settings: Settings) -> Any:
        if not (latest and latest[0] is records and latest[1] == settings):
            latest[:] = [records, settings, function(records, settings)]
        return latest[2]

    return remembering


def make_cells(
    records: pd.DataFrame, settings: Settings, estimands: Iterable[str], parameters: Sequence[str]
) -> pd.DataFrame:
    """Return one row per cell, as the other functions of this module need it.

    Parameters
    ----------
    records : DataFrame
        Records, from `harness.load_records`.
    settings : Settings
        The configuration, which has the labels of the estimators.
    estimands : iterable of str
        Estimands that become columns. They are NaN where the cell gave no number.
    parameters : sequence of str
        Parameters of the problems that become columns. Groups are formed by them.

    Returns
    -------
    DataFrame
        The columns key, problem, notion, n, rep, seconds; estimator, the label; the parameters and
        the estimands; SECONDS, the seconds per 1,000 samples (NaN where the cell gave no number);
        and sample, a name of the data that the cell used.

    Raises
    ------
    BadInputError
        If a problem lacks one of the parameters.
    """
    once = records.drop_duplicates("problem")
    problems = once[["problem"]].join(items.parameters(once, "problem", *parameters))
    for row in problems.to_dict("records"):
        absent = [name for name in parameters if pd.isna(row[name])]
        if absent:
            raise BadInputError(
                f"problem {row['problem']!r} has no parameter {', '.join(absent)}; "
                "the table needs it to group the problems."
            )
    fine = records[has_number(records)]
    values = fine.pivot(index="key", columns="estimand", values="value").reindex(
        columns=list(estimands)
    )
    cells = records.drop_duplicates("key")[
        ["key", "problem", "notion", "n", "rep", "estimator", "seconds"]
    ]
    cells = cells.merge(problems, on="problem").join(values, on="key")
    cells[SECONDS] = (cells["seconds"] * 1000 / cells["n"]).where(cells["key"].isin(fine["key"]))
    cells["sample"] = (
        cells["problem"]
        + "|"
        + cells["notion"]
        + "|"
        + cells["n"].astype(str)
        + "|"
        + cells["rep"].astype(str)
    )
    cells["estimator"] = [label(settings, "estimator", name) for name in cells["estimator"]]
    return cells


def group_means(cells: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """Return the mean value of each estimator in each group.

    Parameters
    ----------
    cells : DataFrame
        One row per cell. Columns: those of `by`, sample (a name of its data), estimator, and value
        (NaN if there is no number).
    by : list of str
        Columns that define a group.

    Returns
    -------
    DataFrame (groups, estimators)
        An estimator has NaN in a group if it lacks a number on a sample where another estimator has
        one. Otherwise the means of a group would be over different data. A sample on which no
        estimator has a number is left out.

    Raises
    ------
    BadInputError
        If an estimator has two values on a sample.

    Examples
    --------
    >>> import pandas as pd
    >>> cells = pd.DataFrame({"data": "a", "sample": [0, 1], "value": [0.1, 0.3]})
    >>> cells["estimator"] = "binned15"
    >>> float(group_means(cells, ["data"]).loc["a", "binned15"])
    0.2
    """
    twice = cells.duplicated([*by, *CELL])
    if twice.any():
        raise BadInputError(
            f"cells has two rows of {CELL} = {cells.loc[twice, CELL].iloc[0].tolist()}; "
            "one row is allowed."
        )
    if not len(cells):
        return pd.DataFrame(index=pd.MultiIndex.from_tuples([], names=by))
    values = cells.pivot(index=[*by, "sample"], columns="estimator", values="value").dropna(
        how="all"
    )
    groups = values.groupby(level=by)
    return groups.mean().where(groups.count().eq(groups.size(), axis=0))


def largest_means(
    cells: pd.DataFrame, estimand: str, by: list[str], reference: list[str]
) -> pd.Series:
    """Return the largest mean of the `reference` estimators, for each group that has one."""
    means = group_means(cells.assign(value=cells[estimand]), by)
    return means.reindex(columns=reference).max(axis=1).dropna()


def incomplete_groups(
    cells: pd.DataFrame, estimand: str, by: list[str], reference: list[str]
) -> int:
    """Return the number of groups in which a `reference` estimator has no mean (`group_means`)."""
    means = group_means(cells.assign(value=cells[estimand]), by)
    return int(means.reindex(columns=reference).isna().any(axis=1).sum())


def with_numbers(cells: pd.DataFrame, reference: Iterable[str]) -> list[str]:
    """Return those of the `reference` estimators that have a number in at least one cell."""
    present = set(cells.dropna(subset=SECONDS)["estimator"])
    return [name for name in reference if name in present]


def shares_of_largest(means: pd.DataFrame, reference: list[str]) -> pd.DataFrame:
    """Return means of groups in per cent of the largest mean (berta2026, Table 1).

        100 max(mean, 0) / m

    m is the largest mean of the `reference` estimators in the group. An estimator outside
    `reference` can exceed 100. NaN stays NaN. A group whose m is not positive has only NaN.

    Examples
    --------
    >>> import pandas as pd
    >>> shares_of_largest(pd.DataFrame({"a": [0.1], "b": [0.4]}), ["a", "b"]).loc[0].tolist()
    [25.0, 100.0]
    """
    clipped = means.clip(lower=0.0)
    largest = clipped.reindex(columns=reference).max(axis=1)
    return 100.0 * clipped.div(largest.where(largest > 0.0), axis=0)


def shares(
    cells: pd.DataFrame,
    columns: Mapping[str, tuple[str, str]],
    primary: Mapping[str, str],
    by: list[str],
    reference: list[str],
    least: float,
) -> dict[str, pd.DataFrame]:
    """Return the shares of several estimands, and the seconds, by group and estimator.

    Parameters
    ----------
    cells : DataFrame
        Cells, from `make_cells`.
    columns : mapping
        {name of a column of the result: (notion, estimand)}.
    primary : mapping
        {notion: estimand} that selects the groups. All columns of a notion have the groups whose
        largest mean of this estimand is above `least`.
    by, reference
        As for `group_means` and `shares_of_largest`.
    least : float
        Threshold for the largest mean of a group.

    Returns
    -------
    dict
        {column: DataFrame (groups, estimators)}. The `columns` are in per cent. The further column
        SECONDS has all groups.
    """
    tables = {}
    for column, (notion, estimand) in columns.items():
        mine = cells[cells["notion"].eq(notion)]
        largest = largest_means(mine, primary[notion], by, reference)
        means = group_means(mine.assign(value=mine[estimand]), by)
        tables[column] = shares_of_largest(means.reindex(largest.index[largest > least]), reference)
    return tables | {SECONDS: group_means(cells.assign(value=cells[SECONDS]), by)}


def over_groups(tables: Mapping[str, pd.DataFrame], names: list[str], cluster: str) -> pd.DataFrame:
    """Return `mean_and_errors` of every table of `shares`, in one frame.

    There is one row per column and estimator of `names`, also for estimators without a number.
    Groups that share a value of the index level `cluster` are dependent.
    """
    frames = [
        mean_and_errors(values.reindex(columns=names), values.index.get_level_values(cluster))
        .reset_index()
        .assign(column=column)
        for column, values in tables.items()
    ]
    return pd.concat(frames, ignore_index=True)


def ranked(
    tables: Mapping[str, Mapping[str, pd.DataFrame]],
    names: list[str],
    cluster: str,
    percentages: Iterable[str],
) -> pd.DataFrame:
    """Return `over_groups` for several ways of grouping, with sorted estimators.

    `tables` is {name of a grouping: tables from `shares`}, and this name is in the column
    `grouping`. Estimators are sorted by the mean of the columns `percentages` in the first
    grouping. The largest is first, and estimators without a number are last.
    """
    parts = [
        over_groups(table, names, cluster).assign(grouping=grouping)
        for grouping, table in tables.items()
    ]
    chosen = parts[0][parts[0]["column"].isin(list(percentages))]
    mean = chosen.groupby("estimator")["mean"].mean().reindex(names)
    order = [*tables, *mean.sort_values(ascending=False, kind="stable").index]
    by = ["grouping", "estimator"]
    long = pd.concat(parts, ignore_index=True)
    long = long.sort_values(
        by, key=lambda values: values.map(order.index), kind="stable", ignore_index=True
    )
    return long[[*by, "column", *ERRORS]]


def three_ways(
    long: pd.DataFrame, groupings: Sequence[str], cluster_grouping: str, percentages: Iterable[str]
) -> pd.DataFrame:
    """Return numbers and errors for three kinds of averages of Table 1.

    Parameters
    ----------
    long : DataFrame
        Result of `ranked`.
    groupings : sequence of str
        Names of groupings. The first has all columns, the others only `percentages`.
    cluster_grouping : str
        Name of one more grouping in the result. It averages the means of the clusters of the first
        grouping.
    percentages : iterable of str
        Columns in per cent.

    Returns
    -------
    DataFrame
        Columns: grouping, estimator, column, value, error; clustered, the error for dependent
        groups; number, the number of groups; and short, a note if another estimator has more
        groups.
    """
    plain, percent = long["grouping"].eq(groupings[0]), long["column"].isin(list(percentages))
    other = {"mean": long["cluster_mean"], "se": long["cluster_se"], "groups": long["clusters"]}
    means = long.assign(grouping=cluster_grouping, se_clustered=np.nan, **other)[plain & percent]
    frame = pd.concat([long[plain], means, long[~plain & percent]], ignore_index=True)
    names = {"mean": "value", "se": "error", "se_clustered": "clustered", "groups": "number"}
    frame = frame.rename(columns=names).drop(columns=["clusters", "cluster_mean", "cluster_se"])
    most = frame.groupby(["grouping", "column"])["number"].transform("max")
    text = "over {} of {} groups: it lacks some of their estimates"
    return frame.assign(
        short=[
            text.format(number, largest) if number < largest else None
            for number, largest in zip(frame["number"], most)
        ]
    )


def table(
    numbers: pd.DataFrame, index: Sequence[str], columns: Sequence[str], heading: str
) -> pd.DataFrame:
    """Return the numbers of `three_ways` as texts: 'value ± error (clustered error)'.

    Each row also has the printed paper_value and paper_plus_minus, and ends with the numbers of
    groups. `index` names the columns that identify a row.
    """
    rows: dict[Hashable, dict[str, str]] = {}
    for r in numbers.to_dict("records"):
        row = rows.setdefault(tuple(r[name] for name in index), {})
        digits = 3 if r["column"] == SECONDS else 1
        clustered = f" ({r['clustered']:.{digits}f})" if not np.isnan(r["clustered"]) else ""
        row[r["column"]] = wording.format_fixed(r["value"], r["error"], digits) + clustered
        row[f"{r['column']}, paper"] = wording.format_fixed(
            r["paper_value"], r["paper_plus_minus"], 1
        )
        row["groups"] = f"{row['groups']} / {r['number']}" if "groups" in row else str(r["number"])
    first = [name for column in columns for name in (column, f"{column}, paper")]
    return text_tables.wide(rows, index, heading, [*first, "groups"])


def keys_by_row(
    cells: pd.DataFrame, estimators: Iterable[str], notions: Iterable[Sequence[str]]
) -> list[tuple[str, ...]]:
    """Return the keys of the cells with a number, for each pair of an estimator and notions."""
    keys = cells.dropna(subset=SECONDS).groupby(["estimator", "notion"])["key"].agg(tuple).to_dict()
    return [
        tuple(key for notion in row for key in keys.get((name, notion), ()))
        for name, row in zip(estimators, notions)
    ]
