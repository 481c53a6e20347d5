"""Numbers of estimators that choose their settings by a cross-validated risk (Tuned)."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from harness.evaluation import items
from harness.evaluation.summary import evaluate
from harness.records.schema import has_number

BY = ["problem", "model", "notion", "n", "estimator"]
NUMBERS = [
    "root_risk",
    "root_risk_se",
    "rms",
    "rms_sd",
    "dropped",
    "choice",
    "folds",
    "cpu_seconds",
    "truth",
]


def measured(rows: pd.DataFrame, more: Sequence[str] = ()) -> pd.DataFrame:
    """Return the numbers of tuned estimators.

    Parameters
    ----------
    found : DataFrame
        As of `items.values` of the estimand rms.
    more : sequence of str
        Columns of `found` that are to be kept; each has one value per estimator.

    Returns
    -------
    DataFrame
        One row per problem, notion, n and estimator that has the diagnostic root_risk: root_risk
        and root_risk_se (x 100), rms and rms_sd, dropped (the share of points lost as NaN), choice
        (of the setting), folds (5 where the estimator has none), cpu_seconds and truth, each the
        mean over the replications; and the `keys` of the cells.
    """
    rows = items.with_diagnostics(
        rows.rename(columns={"value": "rms"}),
        "root_risk",
        "root_risk_se",
        "rms_sd",
        "choice",
        dropped="dropped_share",
    )
    rows["folds"] = items.parameters(rows, "estimator", "folds")["folds"].fillna(5)
    rows = rows[rows["root_risk"].notna()].astype(dict.fromkeys(NUMBERS, float))
    rows[["root_risk", "root_risk_se"]] *= 100.0
    grouped = rows.groupby([*BY, *more], sort=False)
    return grouped[NUMBERS].mean().assign(keys=grouped["key"].agg(tuple)).reset_index()


def with_others(rows: pd.DataFrame, records: pd.DataFrame) -> pd.DataFrame:
    """Append to `measured` the mean values of estimators in `records` that it lacks."""
    rest = evaluate(records[has_number(records) & ~records["estimator"].isin(rows["estimator"])])
    rest = rest[["problem", "notion", "n", "estimator", "estimand", "mean", "cpu_seconds"]]
    return pd.concat([rows.drop(columns="keys"), rest], ignore_index=True)
