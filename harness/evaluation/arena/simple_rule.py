"""A simple rival of `best`: the median of three published estimators.

The rule needs no weights and one line of Python. Its three estimators are chosen for each notion
and estimand on the development families, and are the same at all n. The other families have no
influence on the choice, and `best` is compared with the rule on them.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection
from typing import Any

import numpy as np
import pandas as pd

from harness.evaluation.arena.better_or_worse import Statement, log_ratios, statement
from harness.evaluation.arena.record_arrays import Floats
from harness.evaluation.arena.rules import BOARD, BOUND_KINDS, SETTING, floors, is_published

RULE_ID = "median of three"
TIE = 1.03  # the rule is recommended at an n where its RMSE is at most this many times `best`'s
COLUMNS = [*BOARD, "n", "members", "ratio", "low", "high", "families", "recommended"]
ALL_N = 0  # the n of the row on all n together


def simple_rules(
    settings: pd.DataFrame, development: Collection[str], own: str = "best"
) -> pd.DataFrame:
    """Choose a median of three published estimators for each board, and compare it with `own`.

    Parameters
    ----------
    settings : DataFrame
        Rows of `arena.settings` for the main estimands.
    development : collection of str
        Names of the development families, on which the three estimators are chosen.
    own : str
        Id of our estimator.

    Returns
    -------
    DataFrame
        For each notion and estimand, one row per n, and one with n = ALL_N for all n together:

        members
            Ids of the three estimators: those whose median has the smallest mean log RMSE on the
            development families where the truth is above 0, first over the settings of a family at
            an n, then over families and n. Only estimators that have every value there are tried.
        ratio, low, high, families
            RMSE of the median divided by the RMSE of `own` on the other families, as in
            `arena.Statement`.
        recommended
            The result of `is_recommended` at an n. For all n together, True if it is True at
            every n: a mean over n can be that of a much better and a much worse n.

        A board with fewer than three such estimators has no row.
    """
    rows: list[dict[str, Any]] = []
    for key, board in settings.groupby(BOARD, sort=True):
        is_point = ~board["kind"].isin(BOUND_KINDS) & board["truth"].notna()
        board = board[is_point & board["rmse"].notna()]
        members = choose_members(board[board["family"].isin(development)])
        if members is None or not board["estimator"].eq(own).any():
            continue
        test = board[~board["family"].isin(development)]
        logs = log_ratios(pd.concat([test, medians(test, members)]), RULE_ID, own)
        if logs.empty:
            continue
        parts = {ALL_N: logs, **dict(list(logs.groupby("n")))}
        results = {n: statement(part, RULE_ID, own) for n, part in parts.items()}
        tied = {n: is_recommended(results[n].ratio) for n in results if n != ALL_N}
        tied[ALL_N] = all(tied.values())
        rows += [
            {**dict(zip(BOARD, key)), "n": n, "members": members, **_numbers(result),
             "recommended": tied[n]}
            for n, result in results.items()
        ]  # fmt: skip
    return pd.DataFrame(rows, columns=COLUMNS)


def is_recommended(ratio: float) -> bool:
    """Return True if a rule with this ratio at an n is recommended there before `best`.

    Of two equal rules, the simple one is recommended. False for NaN.

    Examples
    --------
    >>> is_recommended(0.8), is_recommended(1.2), is_recommended(float("nan"))
    (True, False, False)
    """
    return ratio <= TIE


def _numbers(result: Statement) -> dict[str, float]:
    return {name: getattr(result, name) for name in ("ratio", "low", "high", "families")}


def medians(settings: pd.DataFrame, members: Collection[str]) -> pd.DataFrame:
    """Return the median of three estimators as further rows of `settings`, named RULE_ID.

    They have the columns SETTING, estimator, kind, truth, calibrated, rmse and errors. A
    replication in which a member has no value has none, and a setting that a member lacks has no
    row.
    """
    parts = [settings[settings["estimator"].eq(name)].set_index(SETTING) for name in members]
    shared = parts[0].index
    for part in parts[1:]:
        shared = shared.intersection(part.index)
    first = parts[0].loc[shared]
    if first.empty:
        return first.reset_index().assign(estimator=RULE_ID)
    values = [np.stack(part.loc[shared, "values"].to_list()) for part in parts]
    errors = _median_of_three(*values) - first["truth"].to_numpy(float)[:, None]
    rows = first[["truth", "calibrated"]].reset_index()
    with np.errstate(invalid="ignore"):
        rmse = np.sqrt(np.nanmean(errors**2, axis=1))
    return rows.assign(estimator=RULE_ID, kind="point", rmse=rmse, errors=list(errors))


def choose_members(board: pd.DataFrame) -> tuple[str, str, str] | None:
    """Return the three published estimators whose median is the most accurate.

    `board` has rows of one notion and estimand. None if fewer than three estimators have all
    values.
    """
    rows = board[~board["calibrated"] & board["estimator"].map(is_published).astype(bool)]
    places = rows.drop_duplicates(SETTING)[SETTING].reset_index(drop=True)
    index = pd.MultiIndex.from_frame(places)
    values: dict[str, Floats] = {}
    for name, part in rows.groupby("estimator", sort=True):
        aligned = part.set_index(SETTING)["values"].reindex(index)
        if aligned.notna().all():
            stacked = np.stack(aligned.to_list())
            if not np.isnan(stacked).any():
                values[str(name)] = stacked
    if len(values) < 3:
        return None
    truths = rows.drop_duplicates(SETTING)["truth"].to_numpy(float)[:, None]
    least = floors(places)
    weights = _weights(places)

    def loss(names: tuple[str, ...]) -> float:
        median = _median_of_three(*(values[name] for name in names))
        rmse = np.sqrt(((median - truths) ** 2).mean(axis=1))
        return float(np.dot(weights, np.log(np.maximum(rmse, least))))

    a, b, c = min(itertools.combinations(values, 3), key=loss)
    return a, b, c


def _median_of_three(a: Floats, b: Floats, c: Floats) -> Floats:
    """Return the median of three arrays, NaN where one of them is NaN."""
    result: Floats = np.maximum(np.minimum(a, b), np.minimum(np.maximum(a, b), c))
    return result


def _weights(places: pd.DataFrame) -> Floats:
    """Return weights of settings for a mean over families and n of means over their settings."""
    cell = places.groupby(["family", "n"])["n"].transform("size").to_numpy(float)
    weights: Floats = 1.0 / cell / np.sum(1.0 / cell)
    return weights
