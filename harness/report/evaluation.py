"""Records -> how good each estimator is: bias, spread, error, coverage."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from harness.runs.records import SUMMARY_COLUMNS, has_number

if TYPE_CHECKING:
    import pandas as pd

GROUP = ["problem", "notion", "n", "estimator", "estimand"]
KEYS = ["problem_key", "estimator_key"]
OF_ROWS = ["key", "value", "truth", "truth_error", "low", "high", "kind", "cpu_seconds", "status", "reason"]  # else looked at
ROUNDING = 1e-12  # a bound this close to the truth holds it: where the truth is 0, a lower bound of 1e-18 is 0


def evaluate(records: pd.DataFrame, files: Iterable[tuple[str, int]] = (), apart: Sequence[str] = ()) -> pd.DataFrame:
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
    import numpy as np
    import pandas as pd

    if len(records) == 0:
        return pd.DataFrame(columns=[*apart, *SUMMARY_COLUMNS])
    by = [*apart, *GROUP, *KEYS]
    frame = records[[name for name in records if name in {*by, *OF_ROWS}]].copy()
    frame["estimand"] = frame["estimand"].astype(object).fillna("")
    fine = has_number(frame)
    numbers = frame[fine].copy()
    numbers["error"] = numbers["value"] - numbers["truth"]
    numbers["squared"] = numbers["error"] ** 2
    bounded = numbers["low"].notna() | numbers["high"].notna()
    slack = numbers["truth_error"].fillna(0.0) + ROUNDING
    inside = (numbers["low"].fillna(-np.inf) - slack <= numbers["truth"]) & (
        numbers["truth"] <= numbers["high"].fillna(np.inf) + slack
    )
    numbers["covered"] = np.where(bounded & numbers["truth"].notna(), inside.astype(float), np.nan)
    table = numbers.groupby(by, sort=False, observed=True).agg(
        reps=("value", "size"),
        mean=("value", "mean"),
        sd=("value", "std"),
        truth=("truth", "first"),
        truth_error=("truth_error", "first"),
        bias=("error", "mean"),
        rmse=("squared", "mean"),
        coverage=("covered", "mean"),
        low=("low", "mean"),
        high=("high", "mean"),
        kind=("kind", "first"),
        cpu_seconds=("cpu_seconds", "mean"),
        status=("status", "first"),
    )
    table["rmse"] = np.sqrt(table["rmse"])
    table.insert(2, "se", table["sd"] / np.sqrt(table["reps"]))
    table["cells"] = table["reps"]
    undefined = frame[frame["status"].eq("undefined") & frame["estimand"].ne("")].groupby(by, observed=True).size()
    table["undefined"] = undefined.reindex(table.index).fillna(0).astype(int)
    rest = frame[~fine]
    rest = rest[~rest.set_index(by).index.isin(table.index)]
    without = rest.groupby([*by, "status"], sort=False, observed=True).agg(cells=("key", "nunique"), reason=("reason", "first"))
    table = pd.concat([_plain(table.reset_index()), _plain(without.reset_index())], ignore_index=True)
    table["reps"] = table["reps"].fillna(0).astype(int)
    table["undefined"] = table["undefined"].fillna(0).astype(int)
    table.loc[are_of(table, files), "se"] = np.nan
    return table.sort_values([*apart, *GROUP], kind="stable").reindex(columns=[*apart, *SUMMARY_COLUMNS]).reset_index(drop=True)


def _plain(table: pd.DataFrame) -> pd.DataFrame:
    """The table with texts in place of categories."""
    return table.astype({name: "object" for name, dtype in table.dtypes.items() if dtype == "category"})


def are_of(table: pd.DataFrame, files: Iterable[tuple[str, int]]) -> list[bool]:
    """Of every row of a table with columns problem and n whether it is of one of `files`, as in `evaluate`."""
    chosen = set(map(tuple, files))
    return [pair in chosen for pair in zip(table["problem"], table["n"])]
