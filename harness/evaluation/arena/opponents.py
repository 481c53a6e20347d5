"""Comparison of a user's estimator with `best` and the published estimators of the arena.

The RMSEs of two estimators are compared as `harness.evaluation.arena` explains: a log ratio in each
setting, its mean over the settings of a family, and Student's interval over families. There are at
most three statements per notion and estimand:

    best        Our estimator `best` is the opponent.
    published   At each n, the opponent is the published estimator with the smallest mean regret on
                the development families (`arena.rivals`).
    constant    The opponent ignores the data (`harness.evaluation.arena.constant`).

All intervals of a comparison hold together, by Bonferroni's correction. A verdict says on which
side of 1 its interval is, so that the two cannot disagree. Statements are about families outside
the development half. A comparison without such families uses those that it has.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from typing import Any

import numpy as np
import pandas as pd

from harness.common.wording import format_number
from harness.evaluation.arena.better_or_worse import LEAST_FAMILIES, RATE, log_ratios, statement
from harness.evaluation.arena.constant import CONSTANT_ID
from harness.evaluation.arena.recommendations import rivals
from harness.evaluation.arena.rules import BOARD
from harness.records.schema import has_number

OWN = "best"  # our estimator, the first opponent
PUBLISHED = "published"
CONSTANT = "constant"
STATEMENT_COLUMNS = [
    *BOARD, "opponent", "rivals", "ratio", "low", "high", "p_value", "p_adjusted", "verdict",
    "families", "about", "tests",
]  # fmt: skip


def opponents(
    settings: pd.DataFrame, own: str, development: Collection[str]
) -> dict[str, pd.DataFrame]:
    """Return {opponent: log RMSE ratios of `own` to it}, with the rival of each setting.

    Parameters
    ----------
    settings : DataFrame
        The result of `arena.settings`.
    own : str
        Id of the user's estimator. It is no rival of itself.
    development : collection of str
        Families on which rivals are chosen. Without any of them, all families are used.

    Returns
    -------
    dict
        Keys are "best", "published" and "constant", if they were run. The frames are those of
        `arena.better_or_worse.log_ratios` with the column `rival`, for all families.
    """
    others = settings[settings["estimator"].ne(own)]
    chosen_on = set(settings["family"]) & set(development) or set(settings["family"])
    keys = [*BOARD, "n"]
    published = rivals(others, chosen_on).set_index(keys)["estimator"].to_dict()
    logs: dict[str, list[pd.DataFrame]] = {OWN: [], PUBLISHED: [], CONSTANT: []}
    for key, part in settings.groupby(keys):
        names = {OWN: OWN, PUBLISHED: published.get(key), CONSTANT: CONSTANT_ID}
        for opponent, name in names.items():
            if name is not None and name != own:
                rival = _name_constant(part) if opponent == CONSTANT else name
                logs[opponent].append(log_ratios(part, own, name).assign(rival=rival))
    frames = {name: [part for part in parts if len(part)] for name, parts in logs.items()}
    return {name: pd.concat(parts, ignore_index=True) for name, parts in frames.items() if parts}


def _name_constant(settings: pd.DataFrame) -> str:
    """Name the constant of some settings by its value, "" if it is not among them."""
    rows = settings.loc[settings["estimator"].eq(CONSTANT_ID), ["truth", "bias"]]
    return f"the constant {format_number(rows.iloc[0].sum())}" if len(rows) else ""


def statements(
    logs: dict[str, pd.DataFrame], own: str, development: Collection[str], rate: float = RATE
) -> pd.DataFrame:
    """Compare a user's estimator with its opponents, separately for each notion and estimand.

    Parameters
    ----------
    logs : dict
        The result of `opponents`.
    own : str
        Id of the user's estimator.
    development : collection of str
        Families that do not count, as long as there are others.
    rate : float
        Error rate of all verdicts together. All intervals hold together with the probability
        1 - rate.

    Returns
    -------
    DataFrame
        One row per notion, estimand and opponent:

        rivals
            {n: id of the opponent}.
        ratio, families, about
            As in `arena.Statement`: RMSE of `own` divided by the RMSE of the opponent.
        tests
            Number of rows with at least five families. Only these have the following columns.
        low, high
            T interval of the ratio at the level 1 - rate / tests.
        p_value, p_adjusted
            P-value, and the same multiplied by `tests` (at most 1).
        verdict
            Verdict on `own`: "better" if the interval is below 1, "worse" if it is above 1, else
            "undecided".
    """
    parts: list[tuple[dict[str, Any], pd.DataFrame]] = []
    for opponent, frame in logs.items():
        for key, part in frame.groupby(BOARD):
            test = part[~part["family"].isin(development)]
            used = test if len(test) else part
            rivals = dict(zip(used["n"], used["rival"]))
            parts.append((dict(zip(BOARD, key)) | {"opponent": opponent, "rivals": rivals}, used))
    tests = sum(used["family"].nunique() >= LEAST_FAMILIES for _, used in parts)
    level = 1.0 - rate / max(tests, 1)
    rows = []
    for row, used in parts:
        result = statement(used, own, row["opponent"], level)._asdict()
        if result["families"] < LEAST_FAMILIES:
            result |= {"low": math.nan, "high": math.nan}
        p_adjusted = min(tests * result["p_value"], 1.0)
        rows.append(row | result | {"p_adjusted": p_adjusted, "tests": tests})
    table = pd.DataFrame(rows, columns=STATEMENT_COLUMNS)
    return table.sort_values(BOARD, kind="stable", ignore_index=True)


def by_family(settings: pd.DataFrame, logs: dict[str, pd.DataFrame], own: str) -> pd.DataFrame:
    """Describe the results of a user's estimator in each family, without a test.

    `settings`, `logs` and `own` are as for `statements`.

    Returns
    -------
    DataFrame
        One row per notion, estimand and family. Means are over its settings.

        settings, problems
            Number of settings and of problems.
        regret, worst
            Geometric mean and largest regret.
        ratio_best, ratio_published, ratio_constant
            RMSE divided by the RMSE of the opponent, as a geometric mean. NaN if it was not run.
        rival
            The published opponent, or several of them with commas.
        seconds, cpu_seconds
            Geometric means of the wall time and of the CPU time of an estimate. `seconds` is NaN
            without `add_seconds`.
        undefined, failed
            Number of cells with these statuses.
    """
    keys = [*BOARD, "family"]
    mine = settings[settings["estimator"].eq(own) & settings["regret"].notna()]
    mine = mine.assign(seconds=mine.get("seconds", math.nan))
    table = mine.groupby(keys).agg(
        settings=("problem", "size"), problems=("problem", "nunique"),
        regret=("regret", geometric_mean), worst=("regret", "max"),
        seconds=("seconds", geometric_mean), cpu_seconds=("cpu_seconds", geometric_mean),
        undefined=("undefined", "sum"), failed=("failed", "sum"),
    )  # fmt: skip
    for opponent in (OWN, PUBLISHED, CONSTANT):
        column = f"ratio_{opponent}"
        table[column] = np.nan
        if opponent in logs:
            table[column] = np.exp(logs[opponent].groupby(keys)["log"].mean())
    table["rival"] = ""
    if PUBLISHED in logs:
        rivals = logs[PUBLISHED].groupby(keys)["rival"].unique()
        table["rival"] = rivals.map(", ".join).reindex(table.index).fillna("")
    return table.reset_index()


def geometric_mean(values: Iterable[float]) -> float:
    """Return the geometric mean of the finite values, NaN if there are none.

    Values below 1e-7 count as 1e-7.
    """
    numbers = np.asarray(list(values), dtype=float)
    numbers = numbers[np.isfinite(numbers)]
    return float(np.exp(np.log(np.maximum(numbers, 1e-7)).mean())) if len(numbers) else math.nan


def add_seconds(settings: pd.DataFrame, records: pd.DataFrame) -> pd.DataFrame:
    """Add the mean wall time of a cell with a number, `seconds`, to a table of `arena.settings`."""
    by = ["problem", "notion", "n", "estimand", "estimator"]
    rows = records[has_number(records)]
    means = rows.groupby(by, observed=True)["seconds"].mean().reset_index()
    means = means.astype({name: settings[name].dtype for name in by})
    return settings.merge(means, on=by, how="left")
