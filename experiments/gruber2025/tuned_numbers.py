"""Numbers of estimators that choose their settings by a cross-validated risk (`Tuned`)."""

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
    """Return the numbers of tuned estimators, averaged over the replications.

    Parameters
    ----------
    rows : DataFrame
        Records of the estimand rms, from `items.values`.
    more : sequence of str
        Further columns of `rows` to keep. Each has one value per estimator.

    Returns
    -------
    DataFrame
        One row per problem, notion, n and estimator with the diagnostic `root_risk`. Its columns:

        * root_risk, root_risk_se: 100 times the mean root of the risk over the folds, and its
          error;
        * rms, rms_sd: the estimate, and the standard deviation of its values by fold;
        * dropped: the share of the test samples that are lost as NaN;
        * choice: the index of the chosen setting;
        * folds: the number of folds;
        * cpu_seconds and truth;
        * keys: a tuple of the keys of the cells.
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
    """Append mean values of the estimators of `records` that `rows` lacks.

    `rows` are the numbers from `measured`. The other estimators have no folds.
    """
    rest = evaluate(records[has_number(records) & ~records["estimator"].isin(rows["estimator"])])
    rest = rest[["problem", "notion", "n", "estimator", "estimand", "mean", "cpu_seconds"]]
    return pd.concat([rows.drop(columns="keys"), rest], ignore_index=True)
