"""Records -> how good each estimator is: bias, spread, error, coverage."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from harness.common.columns import SUMMARY_COLUMNS
from harness.common.writing import difference
from harness.records.schema import has_number

GROUP = ["problem", "notion", "n", "estimator", "estimand"]
KEYS = ["problem_key", "estimator_key"]
MANY_ROWS = 100_000  # from which on the evaluation of the same records is kept
ROUNDING = 1e-12  # a bound this close to the truth holds it: where the truth is 0, a lower bound of 1e-18 is 0


def evaluate(
    records: pd.DataFrame, files: Iterable[tuple[str, int]] = (), apart: Sequence[str] = ()
) -> pd.DataFrame:
    """Summarise records: one row per problem, notion, n, estimator and estimand.

    Parameters
    ----------
    records : DataFrame
        One row per estimate, as of `harness.run` and `harness.load_records`.
    files : iterable of (problem, n), optional
        Those whose replications are the same rows of a file again, or subsets of them that share rows, and so no sample: their se
        is NaN, and their sd is the spread over the estimator's own randomness, or over the subsets.
    apart : sequence of str, optional
        Further columns of the records by which rows are kept apart; they stand first in the result.

    Returns
    -------
    DataFrame
        problem, notion, n, estimator, estimand
            What the row is of. Should one id stand for several problems or estimators (another file, other parameters), which
            `problem_key` and `estimator_key` tell, each has a row.
        reps, undefined
            The number of estimates that are numbers, and of those that are undefined.
        mean, se, sd
            Of the numbers; sd has ddof 1 and is NaN for one, se = sd / sqrt(reps).
        truth, truth_error, bias, rmse
            The true value with its error; bias = mean - truth; rmse = sqrt(mean (value - truth)^2).
        coverage
            The share of estimates with low <= truth <= high, up to truth_error and rounding (1e-12), among those that have a
            bound; a side that is missing counts as infinite. NaN where none has a bound.
        low, high, kind
            The means of the bounds, and the kind of estimate: point, lower, upper or interval.
        cpu_seconds
            Mean of a cell.
        cells, status, reason
            Cells without any estimate (failed, skipped, or undefined as a whole) are rows with an empty estimand, one for each
            status, with their number and the first reason; nothing is dropped.

    Examples
    --------
    >>> import pandas as pd
    >>> cell = {"problem": "p", "notion": "binary", "n": 100, "estimator": "e", "estimand": "l1", "status": "ok", "kind": "point"}
    >>> more = {"truth": 0.1, "truth_error": 0.0, "low": None, "high": None, "cpu_seconds": 0.0, "reason": None}
    >>> keys = {"problem_key": "a", "estimator_key": "b"}
    >>> records = pd.DataFrame([{**cell, **more, **keys, "key": str(i), "value": v} for i, v in enumerate((0.1, 0.3))])
    >>> evaluate(records)[["reps", "mean", "se", "bias", "rmse"]].round(4).values.tolist()
    [[2.0, 0.2, 0.1, 0.1, 0.1414]]
    """
    if len(records) == 0:
        return pd.DataFrame(columns=[*apart, *SUMMARY_COLUMNS])
    by = [*apart, *GROUP, *KEYS]
    place = _places(records, by)
    fine = has_number(records).to_numpy() & (place >= 0)
    codes, groups = pd.factorize(place[fine])

    def numbers(name: str) -> NDArray[np.float64]:
        held: NDArray[np.float64] = records[name].to_numpy(dtype=float)
        return held if fine.all() else held[fine]

    def grouped(values: Any) -> Any:
        return pd.Series(values, copy=False).groupby(codes)

    first = grouped(np.flatnonzero(fine)).first().to_numpy()
    value, truth = numbers("value"), numbers("truth")
    table = _named(records.iloc[first], by)
    table["reps"] = np.bincount(codes, minlength=len(groups))
    table["mean"], table["sd"] = grouped(value).mean(), grouped(value).std()
    table["se"] = table["sd"] / np.sqrt(table["reps"])
    table["truth"], table["truth_error"] = (
        grouped(truth).first(),
        grouped(numbers("truth_error")).first(),
    )
    error = value - truth
    del value
    table["bias"], table["rmse"] = (
        difference(table["mean"], table["truth"]),
        np.sqrt(grouped(error**2).mean()),
    )
    del error
    low, high = numbers("low"), numbers("high")
    bounded = (~np.isnan(low) | ~np.isnan(high)) & ~np.isnan(truth)
    slack = np.nan_to_num(numbers("truth_error")) + ROUNDING
    inside = (np.where(np.isnan(low), -np.inf, low) - slack <= truth) & (
        truth <= np.where(np.isnan(high), np.inf, high) + slack
    )
    table["coverage"] = grouped(np.where(bounded, inside, np.nan)).mean()
    del truth, bounded, slack, inside
    table["low"], table["high"] = grouped(low).mean(), grouped(high).mean()
    del low, high
    for name in ("kind", "status"):
        known, values = pd.factorize(records[name].array[fine])
        at = grouped(np.where(known < 0, np.nan, known)).first()
        table[name] = pd.Series(
            [None if one != one else values[int(one)] for one in at], dtype=object
        )
    table["cpu_seconds"] = grouped(numbers("cpu_seconds")).mean()
    table["cells"] = table["reps"]
    given = records["estimand"].notna() & records["estimand"].ne("")
    undefined = place[(records["status"].eq("undefined") & given).to_numpy()]
    table["undefined"] = (
        pd.Series(undefined).value_counts().reindex(groups).fillna(0).to_numpy(dtype=int)
    )
    lost = records[~(fine | np.isin(place, groups))]
    rest = _named(lost, [*by, "status", "key"]).assign(reason=lost["reason"].array)
    without = rest.groupby([*by, "status"], sort=False, observed=True).agg(
        cells=("key", "nunique"), reason=("reason", "first")
    )
    table = pd.concat([table, _plain(without.reset_index())], ignore_index=True)
    table["reps"] = table["reps"].fillna(0).astype(int)
    table["undefined"] = table["undefined"].fillna(0).astype(int)
    table.loc[are_of(table, files), "se"] = np.nan
    return (
        table.sort_values([*apart, *GROUP], kind="stable")
        .reindex(columns=[*apart, *SUMMARY_COLUMNS])
        .reset_index(drop=True)
    )


def evaluated_once(
    records: pd.DataFrame, files: Iterable[tuple[str, int]] = (), apart: Sequence[str] = ()
) -> pd.DataFrame:
    """`evaluate` of records that a figure, tables and a page are made of: of many rows what it gave last is kept, as long as the
    records are. They are not to be changed."""
    if len(records) < MANY_ROWS:
        return evaluate(records, files, apart)
    if not (_latest and _latest[0]() is records and _latest[1] == list(apart)):
        _latest[:] = [weakref.ref(records), list(apart), evaluate(records, (), apart)]
    table: pd.DataFrame = _latest[2].copy()
    table.loc[are_of(table, files), "se"] = float("nan")
    return table


_latest: list[Any] = []


def _places(records: pd.DataFrame, by: Sequence[str]) -> NDArray[np.int64]:
    """A number for every row, equal where all columns of `by` are; -1 where one of them is missing. An estimand that is missing
    is one of its own."""
    place, missing = np.zeros(len(records), dtype=np.int64), np.zeros(len(records), dtype=bool)
    for name in by:
        codes, values = pd.factorize(records[name])
        if name == "estimand":
            empty = [i for i, value in enumerate(values) if value == ""]
            codes = np.where(codes < 0, empty[0] if empty else len(values), codes)
        missing |= codes < 0
        if len(values):
            place, _ = pd.factorize(place * (len(values) + 1) + codes)
    return np.where(missing, -1, place)


def _named(rows: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
    """These columns of the rows, texts as objects, without an index of their own."""
    found = _plain(rows[[*names]]).reset_index(drop=True)
    return found.assign(estimand=found["estimand"].astype(object).fillna(""))


def _plain(table: pd.DataFrame) -> pd.DataFrame:
    """The table with texts in place of categories."""
    return table.astype(
        {name: "object" for name, dtype in table.dtypes.items() if dtype == "category"}
    )


def are_of(table: pd.DataFrame, files: Iterable[tuple[str, int]]) -> list[bool]:
    """Of every row of a table with columns problem and n whether it is of one of `files`, as in `evaluate`."""
    chosen = set(map(tuple, files))
    if not chosen:
        return [False] * len(table)
    return [pair in chosen for pair in zip(table["problem"], table["n"])]
