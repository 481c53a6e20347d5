"""Comparisons of the best estimator of a group with the others, for the arena's page."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from harness.evaluation.arena.boards import leaderboard
from harness.evaluation.arena.statements import Statement, better, holm, verdicts


def against(settings: pd.DataFrame, first: str) -> pd.DataFrame:
    """Compare one estimator with every other, with Holm's correction for their number.

    Returns
    -------
    DataFrame
        One row per other estimator (the index): `ratio`, the RMSE of `first` divided by the RMSE
        of the other one, its interval `low`, `high`, and `verdict`.
    """
    names = sorted(set(settings.loc[settings["regret"].notna(), "estimator"]) - {first})
    rows = [better(settings, first, name) for name in names]
    table = pd.DataFrame(rows, columns=list(Statement._fields))
    corrected = holm(table["p_value"])
    table["verdict"] = verdicts(table["ratio"], corrected)
    return table.set_index(pd.Index(names, name="estimator"))[["ratio", "low", "high", "verdict"]]


def choices(settings: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """Compare the best estimator of each group with the runner-up.

    A group is a notion, an estimand and a value of the columns `by`. Columns: those of the
    leaderboard for the best estimator, and the statement on it and the runner-up.
    """
    board = leaderboard(settings, by, resamples=0)
    keys = ["notion", "estimand", *by]
    first, second = (board[board["rank"].eq(place)].set_index(keys) for place in (1.0, 2.0))
    parts = dict(list(settings[settings["regret"].notna()].groupby(keys)))
    rows = []
    for key, row in first.iterrows():
        choice = {**dict(zip(keys, key)), **row, "problems": parts[key]["problem"].nunique()}
        choice |= {"runner_up": None, "verdict": "alone"}
        if key in second.index:
            other = second.loc[key]
            statement = better(parts[key], row["estimator"], other["estimator"])
            choice |= {
                "runner_up": statement.second, "runner_regret": other["regret"],
                "ratio": statement.ratio, "ratio_low": statement.low,
                "ratio_high": statement.high, "verdict": statement.verdict,
                "about": statement.about,
            }  # fmt: skip
        rows.append(choice)
    table = pd.DataFrame(rows)
    for name in ("runner_regret", "ratio", "ratio_low", "ratio_high", "about"):
        table[name] = table.get(name, np.nan)
    return table
