"""Accuracy of each estimator from records: bias, spread, error and coverage."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from harness.common.columns import SUMMARY_COLUMNS
from harness.common.writing import difference
from harness.records.parameters import parameter_columns, sort_values
from harness.records.schema import has_number

GROUP = ["problem", "notion", "n", "estimator", "estimand"]
KEYS = ["problem_key", "estimator_key"]
ROUNDING = 1e-12  # a lower bound of 1e-18 must cover the truth 0


def evaluate(
    records: pd.DataFrame, files: Iterable[tuple[str, int]] = (), apart: Sequence[str] = ()
) -> pd.DataFrame:
    """Summarise records: one row per problem, notion, n, estimator and estimand.

    Parameters
    ----------
    records : DataFrame
        One row per estimate, as `harness.run` and `harness.load_records` return them.
    files : iterable of (problem, n), optional
        Problems whose replications are runs on the same rows of a file, or on subsets that share
        rows. Such runs are not independent, so their se is NaN. Their sd is the spread over the
        estimator's own randomness, or over the subsets.
    apart : sequence of str, optional
        Further columns of the records by which rows are grouped. They come first in the result.

    Returns
    -------
    DataFrame
        problem, notion, n, estimator, estimand
            The group of the row. One id can stand for several problems or estimators (another
            file, other parameters). Each of them then has a row, and `problem_key` or
            `estimator_key` differ. Parameters that vary, such as the bins of a sweep, are columns
            if the records have these columns, as those of `load_records` do.
        reps, undefined
            Number of estimates with a number, and of undefined estimates.
        mean, se, sd
            Mean of the values, its standard error sd / sqrt(reps), and their standard deviation
            (ddof 1, NaN for a single value).
        truth, truth_error, bias, rmse
            True value with its error; bias = mean - truth; rmse = sqrt(mean (value - truth)^2).
        coverage
            Share of the estimates with a bound for which low <= truth <= high, up to truth_error
            and rounding (1e-12). A missing side counts as infinite. NaN without bounds.
        low, high, kind
            Means of the bounds, and the kind of estimate: point, lower, upper or interval.
        cpu_seconds
            Mean CPU time of a cell.
        cells, status, reason
            Number of cells, their status, and the first reason. Cells without any estimate
            (failed, skipped, or undefined as a whole) are never dropped: they have one row per
            status with an empty estimand.

    Examples
    --------
    >>> import pandas as pd
    >>> records = pd.DataFrame({"key": ["0", "1"], "value": [0.1, 0.3], "cpu_seconds": 0.0})
    >>> records = records.assign(problem="p", notion="binary", n=100, estimator="e", estimand="l1")
    >>> records = records.assign(status="ok", kind="point", truth=0.1, truth_error=0.0, reason=None)
    >>> records = records.assign(low=None, high=None, problem_key="a", estimator_key="b")
    >>> evaluate(records)[["reps", "mean", "se", "bias", "rmse"]].round(4).values.tolist()
    [[2.0, 0.2, 0.1, 0.1, 0.1414]]
    """
    varied = parameter_columns(records)
    columns = [*apart, *GROUP[:-1], *varied, *SUMMARY_COLUMNS[len(GROUP) - 1 :]]
    if records.empty:
        return pd.DataFrame(columns=columns)
    by = [*apart, *GROUP, *varied, *KEYS]
    place = records.groupby(by, sort=False, observed=True, dropna=False).ngroup().to_numpy()
    numbered = has_number(records).to_numpy()

    # One row per group with a number.
    numbers = ["value", "truth", "truth_error", "low", "high", "cpu_seconds"]
    frame = records[numbers].astype(float)
    frame = frame.assign(
        square=(frame["value"] - frame["truth"]) ** 2,
        covered=covers(frame["low"], frame["high"], frame["truth"], frame["truth_error"]),
        kind=records["kind"],
        status=records["status"],
    )[numbered]
    table = frame.groupby(place[numbered], sort=False).agg(
        reps=("value", "size"), mean=("value", "mean"), sd=("value", "std"),
        truth=("truth", "first"), truth_error=("truth_error", "first"), rmse=("square", "mean"),
        coverage=("covered", "mean"), low=("low", "mean"), high=("high", "mean"),
        kind=("kind", "first"), status=("status", "first"), cpu_seconds=("cpu_seconds", "mean"),
    )  # fmt: skip
    table = with_texts(table)
    table["se"] = table["sd"] / np.sqrt(table["reps"])
    table["bias"] = difference(table["mean"], table["truth"])
    table["rmse"], table["cells"] = np.sqrt(table["rmse"]), table["reps"]
    undefined = place[records["status"].eq("undefined")]
    table["undefined"] = pd.Series(undefined).value_counts().reindex(table.index, fill_value=0)
    first = np.flatnonzero(numbered)[pd.Series(place[numbered]).drop_duplicates().index]
    names = with_texts(records[by].iloc[first]).reset_index(drop=True)
    table = pd.concat([names, table.reset_index(drop=True)], axis=1)

    # One row per status for the cells of the other groups.
    others = ~np.isin(place, place[numbered])
    lost = with_texts(records.loc[others, [*by, "status", "key", "reason"]])
    lost["estimand"] = lost["estimand"].fillna("")
    without = lost.groupby([*by, "status"], sort=False, dropna=False).agg(
        cells=("key", "nunique"), reason=("reason", "first")
    )
    table = pd.concat([table, without.reset_index()], ignore_index=True)
    counts = ["reps", "undefined"]
    table[counts] = table[counts].fillna(0).astype(int)
    table.loc[mask_pairs(table, files), "se"] = np.nan
    table = sort_values(table, [*apart, *GROUP[:-1], *varied, GROUP[-1]])
    return table.reindex(columns=columns)


def covers(low: Any, high: Any, truth: Any, truth_error: Any) -> NDArray[np.float64]:
    """Return 1 where low <= truth <= high, up to truth_error and rounding (1e-12), else 0.

    A NaN in `low` or `high` counts as infinite. The result is NaN where both are NaN, or where the
    truth is NaN.
    """
    low, high, truth, error = (np.asarray(x, dtype=float) for x in (low, high, truth, truth_error))
    slack = np.nan_to_num(error) + ROUNDING
    above = np.where(np.isnan(low), -np.inf, low) - slack <= truth
    below = truth <= np.where(np.isnan(high), np.inf, high) + slack
    judged = ~(np.isnan(low) & np.isnan(high)) & ~np.isnan(truth)
    return np.where(judged, above & below, np.nan)


def with_texts(table: pd.DataFrame) -> pd.DataFrame:
    """Convert the categorical columns of a table to texts."""
    return table.astype(
        {name: "object" for name, dtype in table.dtypes.items() if dtype == "category"}
    )


def mask_pairs(table: pd.DataFrame, files: Iterable[tuple[str, int]]) -> NDArray[np.bool_]:
    """Return the mask of the rows whose pair (problem, n) is in `files`."""
    chosen = set(map(tuple, files))
    if not chosen:
        return np.zeros(len(table), bool)
    return np.array([pair in chosen for pair in zip(table["problem"], table["n"])], dtype=bool)
