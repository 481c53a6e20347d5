"""Numbers that the claims are made of: by network and estimator, with errors from random halves."""

from __future__ import annotations

import numpy as np
import pandas as pd

from harness.evaluation import claims, items, reproduction

from .tuned import BASES

FULL = ("gruber2025_table1", "gruber2025_table2")  # experiments on all rows of the four networks
TABLES = [f"table{i}" for i in range(1, 7)]
NOT_RUN = (
    "it needs the records of other experiments: "
    "`calharness experiment=gruber2025_claims` computes them"
)


def select_cells(records, ids) -> pd.DataFrame:
    """Return the cells of some estimators, with the numbers that the claims use.

    `ids` is {id of an estimator: its name in the paper's tables}, and this name is the column
    `base`. The other columns are experiment, problem, rep, key, rms, root_risk and root_risk_se.
    The last two are x 100.
    """
    cells = items.with_number(records[records["estimator"].isin(ids)], "rms").rename(
        columns={"value": "rms"}
    )
    cells = items.with_diagnostics(cells, "root_risk", "root_risk_se").assign(
        base=cells["estimator"].map(ids)
    )
    cells = cells.drop_duplicates(["experiment", "key"]).astype(
        {"root_risk": float, "root_risk_se": float}
    )
    cells[["root_risk", "root_risk_se"]] *= 100.0
    return cells[
        ["experiment", "problem", "rep", "base", "key", "rms", "root_risk", "root_risk_se"]
    ]


def wide(rows, value="root_risk", bases=BASES) -> pd.DataFrame:
    """Return one row per network and a column per estimator, for networks that have all of them."""
    return (
        rows.pivot_table(index="problem", columns="base", values=value, sort=False)
        .reindex(columns=list(bases))
        .dropna()
    )


class NetworkNumbers:
    """Numbers of some estimators on the four networks: on all rows, and on random halves.

    The standard deviation over random halves estimates the standard error of a number on all rows
    (delete-half jackknife). The reason: let a number on n rows have the variance s^2 / n. Then its
    value on a half drawn without replacement varies around its value on all rows with the variance
    (1 - 1/2) s^2 / (n / 2) = s^2 / n.
    """

    def __init__(self, whole, halves, ids):
        whole = whole[whole["experiment"].isin(FULL)]
        self.whole = select_cells(whole, ids)
        self.whole["problem"] = self.whole["problem"].str.removesuffix("_gruber2025")
        self.halves = select_cells(halves, ids)
        self.keys = [*self.whole["key"], *self.halves["key"]]

    def __call__(self, problem, value="root_risk"):
        """Return the numbers of a network on all rows, and on its halves.

        The first is a Series by estimator. The second has a row per half and a column per
        estimator.
        """
        whole_rows = self.whole[self.whole["problem"].eq(problem)].set_index("base")[value]
        many = self.halves[self.halves["problem"].eq(problem)]
        return whole_rows, many.pivot_table(index="rep", columns="base", values=value)


def jackknife(whole_rows, many, keys, why, level=claims.LEVEL):
    """Return the statistic of a number on all rows, with an interval.

    `many` are the values of the number on random halves. Their standard deviation is the error, and
    Student's t has one degree of freedom less than there are halves.
    """
    many = pd.Series(many, dtype=float).dropna()
    if not np.isfinite(whole_rows) or len(many) < 2:
        return claims.untested(NOT_RUN)
    error = many.std(ddof=1)
    return claims.attach_interval(whole_rows, error, len(many), keys, claims.PAPER, why, level)


def printed() -> pd.DataFrame:
    """Return Tables 1 to 6 as printed.

    There is a row per (item, row), and a column per estimator and per standard error.
    """
    cells = reproduction.reported("gruber2025", TABLES)
    return cells.pivot_table(index=["item", "row"], columns="column", values="value", sort=False)


def exact(value, keys, where, why):
    """Return `claims.exact` of a number without error; the claim is untested if it is missing."""
    return (
        claims.untested(NOT_RUN)
        if not np.isfinite(value)
        else claims.exact(value, 0.0, keys, where, why)
    )
