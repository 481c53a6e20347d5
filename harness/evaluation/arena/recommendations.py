"""Recommended estimators: one of our own against the best published one, per notion and n."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Any

import numpy as np
import pandas as pd

from harness.evaluation.arena.better_or_worse import (
    Statement,
    holm,
    log_ratios,
    statement,
    verdicts,
)
from harness.evaluation.arena.boards import leaderboard, root_mean_square
from harness.evaluation.arena.confidence_set import confidence_set
from harness.evaluation.arena.resampling import family_means, t_interval
from harness.evaluation.arena.rules import is_published

BOARD = ["notion", "estimand", "n"]
SIDE = ("rmse", "rmse_calibrated", "bias", "relative", "regret", "low", "high", "cpu")
COMPARED = ("ratio", "low", "high", "p_value", "families")
COLUMNS = [
    *BOARD, "own", *(f"own_{name}" for name in SIDE), "rival", *(f"rival_{name}" for name in SIDE),
    "ratio", "low", "high", "p_value", "p_holm", "verdict", "families", "confidence_set",
    "simulated_n",
]  # fmt: skip
PRECISION = 0.01  # typical error whose n is stated
SQUARED = ("l2_squared", "kl")  # beginnings of the estimands on which PRECISION says nothing


def rivals(settings: pd.DataFrame, development: Collection[str]) -> pd.DataFrame:
    """Return the best published estimator per notion, estimand and n on the development families.

    It is the published estimator with the smallest mean regret there, among those that have a rank.

    Parameters
    ----------
    settings : DataFrame
        The result of `arena.settings`.
    development : collection of str
        Names of the development families. The other families have no influence on the choice.

    Returns
    -------
    DataFrame
        The columns notion, estimand, n and estimator. No row where no estimator has a rank.
    """
    board = leaderboard(settings[settings["family"].isin(development)], "n", resamples=0)
    published = board["estimator"].map(is_published).astype(bool)
    first = board[published & board["rank"].notna()].drop_duplicates(BOARD)
    return first[[*BOARD, "estimator"]].reset_index(drop=True)


def recommendations(
    settings: pd.DataFrame, development: Collection[str], own: str = "best"
) -> pd.DataFrame:
    """Compare one of our own estimators with the best published one, per notion, estimand and n.

    The rival is chosen on the development families (see `rivals`). All numbers are then over the
    other families, with two exceptions: errors where the truth is 0 are over all families, because
    few have such a problem, and costs are means over all settings of the board.

    Parameters
    ----------
    settings : DataFrame
        The result of `arena.settings`.
    development : collection of str
        Names of the development families.
    own : str
        Id of our estimator.

    Returns
    -------
    DataFrame
        One row per notion, estimand and n in which `own` has a regret.

        own, rival
            Ids of the two estimators; None if no published estimator has a rank.
        own_rmse, own_rmse_calibrated
            Typical error: the geometric mean over families of the RMSE where the truth is above 0,
            and the root mean square of the RMSE where the truth is 0.
        own_bias, own_relative
            Mean over families of value - truth, and median over settings of mean value / truth.
        own_regret, own_low, own_high
            Mean regret with its t interval over families.
        own_cpu
            Geometric mean of the CPU seconds of an estimate.
        rival_...
            The same for the rival.
        ratio, low, high
            RMSE of `own` divided by the RMSE of the rival, with its t interval over families.
        p_value, p_holm, verdict
            P-value of the two-sided t test that the ratio is 1; the same with Holm's correction for
            the n of the same notion and estimand; "better" or "worse" if this is at most 0.05, else
            "undecided".
        families
            Number of families that are compared. With fewer than five, there is no p-value.
        confidence_set
            Names of the estimators, `own` and published ones, that a model confidence set at 95 %
            does not exclude. Estimators that lack a family are not among them.
        simulated_n
            The n at which `own_rmse` falls to 0.01, interpolated linearly in log n and log error
            between the n of the arena; infinite if it is larger at all n. NaN for squared errors.
    """
    chosen = rivals(settings, development).set_index(BOARD)["estimator"].to_dict()
    whole = dict(list(settings.groupby(BOARD)))
    rows = []
    for key, test in settings[~settings["family"].isin(development)].groupby(BOARD, sort=True):
        if not (test["estimator"].eq(own) & _is_judged(test)).any():
            continue
        part = whole[key]
        rival = chosen.get(key)
        compared: dict[str, Any] = dict.fromkeys(COMPARED, math.nan) | {"families": 0}
        if rival is not None:
            compared = _comparison(log_ratios(test, own, rival), own, rival)
        rows.append({
            **dict(zip(BOARD, key)), "own": own, "rival": rival,
            **_side("own", own, part, test), **_side("rival", rival, part, test), **compared,
            "confidence_set": tuple(_not_excluded(test, own)),
        })  # fmt: skip
    table = pd.DataFrame(rows, columns=[name for name in COLUMNS if name != "verdict"])
    boards = table.groupby(BOARD[:2])
    table["p_holm"] = boards["p_value"].transform(holm)
    table["verdict"] = verdicts(table["ratio"], table["p_holm"])
    table["simulated_n"] = np.nan
    for (_, estimand), part in boards:
        if not str(estimand).startswith(SQUARED):
            n = sufficient_n(part["n"].to_numpy(float), part["own_rmse"].to_numpy(float))
            table.loc[part.index, "simulated_n"] = n
    return table[COLUMNS]


def _is_judged(settings: pd.DataFrame) -> Any:
    return settings["regret"].notna()


def _comparison(logs: pd.DataFrame, own: str, rival: str) -> dict[str, Any]:
    """Return the entries COMPARED of a row of `recommendations`."""
    if logs.empty:
        return dict.fromkeys(COMPARED, math.nan) | {"families": 0}
    result: Statement = statement(logs, own, rival)
    return {name: getattr(result, name) for name in COMPARED}


def _side(side: str, name: str | None, part: pd.DataFrame, test: pd.DataFrame) -> dict[str, float]:
    """Return the entries of a row of `recommendations` on one estimator, prefixed with `side`."""
    every, rows = part[part["estimator"].eq(name)], test[test["estimator"].eq(name)]
    rows = rows[_is_judged(rows)]
    numbers = dict.fromkeys(SIDE, math.nan)
    if len(rows):
        regret, low, high = (float(np.exp(end[0])) for end in t_interval(family_means(rows)))
        relative = (rows["truth"] + rows["bias"]) / rows["truth"]
        numbers = {
            "rmse": float(np.exp(family_means(rows, "rmse").mean().iloc[0])),
            "rmse_calibrated": float(root_mean_square(every).get(name, math.nan)),
            "bias": float(rows.groupby("family")["bias"].mean().mean()),
            "relative": float(relative.median()),
            "regret": regret, "low": low, "high": high,
            "cpu": float(np.exp(np.log(every["cpu_seconds"].clip(lower=1e-12)).mean())),
        }  # fmt: skip
    return {f"{side}_{key}": value for key, value in numbers.items()}


def _not_excluded(test: pd.DataFrame, own: str) -> list[str]:
    """Return the estimators that a model confidence set of `own` and published ones contains."""
    judged = test[_is_judged(test)]
    names = [e for e in judged["estimator"].unique() if e == own or is_published(e)]
    losses = family_means(judged[judged["estimator"].isin(names)])
    return confidence_set(losses.dropna(axis="columns"))


def sufficient_n(n: Any, error: Any, precision: float = PRECISION) -> float:
    """Return the n at which the error falls to `precision`, by linear interpolation of logarithms.

    Parameters
    ----------
    n, error : array
        Sample sizes in increasing order, and the error at each.
    precision : float
        Wanted error. If it is reached at the smallest n, return this n.

    Examples
    --------
    >>> round(sufficient_n([100, 10_000], [0.1, 0.001]))
    1000
    >>> sufficient_n([100, 10_000], [0.1, 0.05])
    inf
    """
    sizes, logs = np.log(np.asarray(n, dtype=float)), np.log(np.asarray(error) / precision)
    below = np.flatnonzero(logs <= 0.0)
    if not len(below):
        return math.inf
    i = int(below[0])
    if i == 0:
        return float(np.exp(sizes[0]))
    share = logs[i - 1] / (logs[i - 1] - logs[i])
    return float(np.exp(sizes[i - 1] + share * (sizes[i] - sizes[i - 1])))
