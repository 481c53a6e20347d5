"""Records -> how good each estimator is: bias, spread, error, coverage."""

from __future__ import annotations

from harness.runs.records import SUMMARY_COLUMNS

GROUP = ["problem", "notion", "n", "estimator", "estimand"]
KEYS = ["problem_key", "estimator_key"]


def evaluate(records, files=(), apart=()):
    """Summarise records by problem, notion, n, estimator, estimand (and problem_key and estimator_key, should one id stand for
    several: another file, other parameters), and by the columns `apart`, which stand first in the result.

    Columns: reps (estimates that are numbers), undefined, mean, se = sd / sqrt(reps), sd (ddof 1; NaN for one rep), truth,
    truth_error, bias = mean - truth, rmse = sqrt(mean (value - truth)^2), coverage = share of reps with
    low <= truth <= high, up to truth_error, over those that carry a bound (a missing side counts as infinite; NaN without
    bounds), low and high (their means), kind, and cpu_seconds (mean of a cell). Cells without any estimate (failed, skipped,
    undefined as a whole) form rows with an empty estimand, counted in `cells` by `status`; nothing is dropped.

    files: the pairs (problem, n) whose replications are the same rows of a file again, or subsets of them that share rows. They
    are no sample: se is NaN, and sd is the spread over the estimator's own randomness, and over the subsets.
    """
    import numpy as np
    import pandas as pd

    if len(records) == 0:
        return pd.DataFrame(columns=[*apart, *SUMMARY_COLUMNS])
    frame = records.copy()
    frame["estimand"] = frame["estimand"].fillna("")
    fine = frame["status"].eq("ok")
    numbers = frame[fine].copy()
    numbers["error"] = numbers["value"] - numbers["truth"]
    numbers["squared"] = numbers["error"] ** 2
    bounded = numbers["low"].notna() | numbers["high"].notna()
    slack = numbers["truth_error"].fillna(0.0)
    inside = (numbers["low"].fillna(-np.inf) - slack <= numbers["truth"]) & (
        numbers["truth"] <= numbers["high"].fillna(np.inf) + slack
    )
    numbers["covered"] = np.where(bounded & numbers["truth"].notna(), inside.astype(float), np.nan)
    by = [*apart, *GROUP, *KEYS]
    table = numbers.groupby(by, sort=False).agg(
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
    )
    table["rmse"] = np.sqrt(table["rmse"])
    table.insert(2, "se", table["sd"] / np.sqrt(table["reps"]))
    table["status"] = "ok"
    table["cells"] = table["reps"]
    undefined = frame[frame["status"].eq("undefined") & frame["estimand"].ne("")].groupby(by).size()
    table["undefined"] = undefined.reindex(table.index).fillna(0).astype(int)
    rest = frame[~fine & ~frame.set_index(by).index.isin(table.index)]
    without = rest.groupby([*by, "status"], sort=False).agg(cells=("key", "nunique"), reason=("reason", "first"))
    table = pd.concat([table.reset_index(), without.reset_index()], ignore_index=True)
    table["reps"] = table["reps"].fillna(0).astype(int)
    table["undefined"] = table["undefined"].fillna(0).astype(int)
    table.loc[are_of(table, files), "se"] = np.nan
    return table.sort_values([*apart, *GROUP], kind="stable").reindex(columns=[*apart, *SUMMARY_COLUMNS]).reset_index(drop=True)


def are_of(table, files) -> list[bool]:
    """Of every row of a table with columns problem and n whether it is of one of `files`, as in `evaluate`."""
    chosen = set(map(tuple, files))
    return [pair in chosen for pair in zip(table["problem"], table["n"])]
