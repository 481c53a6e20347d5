"""Comparison of a user's estimator with `best` and the published estimators of the arena.

The RMSEs of two estimators are compared as `harness.evaluation.arena` explains: a log ratio in each
setting, its mean over the settings of a family, and Student's test over families. There are at most
two statements per notion and estimand:

    best        Our estimator `best` is the opponent.
    published   At each n, the opponent is the published estimator with the smallest mean regret on
                the development families (`arena.rivals`).

All statements of a comparison share one error rate, by Holm's correction. They are about families
outside the development half. A comparison without such families uses those that it has.

On a user's own problem there is no family to average over. There the published estimators are
compared in each setting, and only the replications are random.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from harness.evaluation import arena
from harness.evaluation.arena.rules import BOUND_KINDS
from harness.evaluation.arena.statements import RATE, log_ratios, statement, verdicts

Array: TypeAlias = NDArray[np.float64]

OWN = "best"  # our estimator, the first opponent
PUBLISHED = "published"
BOARD = ["notion", "estimand"]
LEAST_REPS = 4  # replications that two estimators must have in common on a user's problem
# Factor for the degrees of freedom of a comparison over replications. Squared errors have long
# tails, so that their variance is known less well than that of normal numbers. Measured with 20
# replications of normal, biased or t5 errors: the probability of p <= 0.001 is 0.0007 to 0.001 with
# the factor 0.5, and 0.002 to 0.003 with the factor 1.
FREEDOM_SHARE = 0.5
STATEMENT_COLUMNS = [
    *BOARD, "opponent", "rivals", "ratio", "low", "high", "p_value", "p_holm", "verdict",
    "families", "about",
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
        Keys are "best" and "published", if they were run. The frames are those of
        `arena.statements.log_ratios` with the column `rival`, for all families.
    """
    others = settings[settings["estimator"].ne(own)]
    chosen_on = set(settings["family"]) & set(development) or set(settings["family"])
    keys = [*BOARD, "n"]
    rivals = arena.rivals(others, chosen_on).set_index(keys)["estimator"].to_dict()
    logs: dict[str, list[pd.DataFrame]] = {OWN: [], PUBLISHED: []}
    for key, part in settings.groupby(keys):
        for opponent, name in ((OWN, OWN), (PUBLISHED, rivals.get(key))):
            if name is not None and name != own:
                logs[opponent].append(log_ratios(part, own, name).assign(rival=name))
    frames = {name: [part for part in parts if len(part)] for name, parts in logs.items()}
    return {name: pd.concat(parts, ignore_index=True) for name, parts in frames.items() if parts}


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
        Error rate of all verdicts together.

    Returns
    -------
    DataFrame
        One row per notion, estimand and opponent:

        rivals
            {n: id of the opponent}.
        ratio, low, high, families, about
            As in `arena.Statement`: RMSE of `own` divided by the RMSE of the opponent.
        p_value, p_holm, verdict
            P-value, the same with Holm's correction for all rows, and the verdict on `own`:
            "better", "worse" or "undecided".
    """
    rows = []
    for opponent, frame in logs.items():
        for key, part in frame.groupby(BOARD):
            test = part[~part["family"].isin(development)]
            used = test if len(test) else part
            result = statement(used, own, opponent)
            numbers = {name: getattr(result, name) for name in ("ratio", "low", "high", "p_value")}
            rivals = dict(zip(used["n"], used["rival"]))
            about = {"families": result.families, "about": result.about}
            rows.append(dict(zip(BOARD, key)) | numbers | about
                        | {"opponent": opponent, "rivals": rivals})  # fmt: skip
    table = pd.DataFrame(rows, columns=STATEMENT_COLUMNS)
    table["p_holm"] = arena.holm(table["p_value"])
    table["verdict"] = verdicts(table["ratio"], table["p_holm"], rate)
    return table.sort_values([*BOARD, "opponent"], ignore_index=True)


def groups(
    settings: pd.DataFrame, logs: dict[str, pd.DataFrame], own: str, by: Iterable[str]
) -> pd.DataFrame:
    """Describe the results of a user's estimator in groups of settings, without a test.

    Parameters
    ----------
    settings, logs, own
        As for `statements`.
    by : iterable of str
        Columns among family, n and k that define a group, besides notion and estimand.

    Returns
    -------
    DataFrame
        One row per notion, estimand and group. Means are over its settings.

        settings, problems
            Number of settings and of problems.
        regret, worst
            Geometric mean and largest regret.
        ratio_best, ratio_published
            RMSE divided by the RMSE of the opponent, as a geometric mean. NaN if it was not run.
        rival
            The published opponent, or several of them with commas.
        cpu_seconds
            Geometric mean of the CPU seconds of an estimate.
        undefined, failed
            Number of cells with these statuses.
    """
    keys = [*BOARD, *by]
    mine = settings[settings["estimator"].eq(own) & settings["regret"].notna()]
    numbers = mine.assign(
        log_regret=np.log(mine["regret"]), log_cpu=np.log(mine["cpu_seconds"].clip(lower=1e-7))
    )
    table = numbers.groupby(keys).agg(
        settings=("problem", "size"), problems=("problem", "nunique"),
        regret=("log_regret", "mean"), worst=("regret", "max"), cpu_seconds=("log_cpu", "mean"),
        undefined=("undefined", "sum"), failed=("failed", "sum"),
    )  # fmt: skip
    for name in ("regret", "cpu_seconds"):
        table[name] = np.exp(table[name])
    for opponent in (OWN, PUBLISHED):
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


def find_best_candidates(settings: pd.DataFrame, level: float = 1.0 - RATE) -> pd.DataFrame:
    """Find the published estimators that may be the best in each setting.

    An estimator is ruled out if another one is significantly more accurate, with Bonferroni's
    correction for the number of others. The truly best one is ruled out with a probability of at
    most 1 - level. Only the replications are random. This serves to compare estimators on a user's
    own problem.

    Returns
    -------
    DataFrame
        The rows of `settings` that have an RMSE and are of published estimators, sorted by setting
        and RMSE, with the boolean column `may_be_best`.
    """
    published = settings["estimator"].map(arena.is_published).astype(bool)
    is_point = ~settings["kind"].isin(BOUND_KINDS)
    judged = settings[settings["rmse"].notna() & is_point & published]
    parts = []
    for _, part in judged.groupby(["problem", "notion", "n", "estimand"], sort=True):
        part = part.sort_values("rmse", kind="stable").reset_index(drop=True)
        squared = np.stack(part["errors"].to_list()) ** 2
        p_worse = _p_values_worse(squared, float(arena.floors(part)[0]))
        others = max(len(part) - 1, 1)
        parts.append(part.assign(may_be_best=others * p_worse.min(axis=1) > 1.0 - level))
    return pd.concat(parts, ignore_index=True) if parts else judged.assign(may_be_best=False)


def _p_values_worse(squared: Array, least: float) -> Array:
    """Return the p-values that one estimator is less accurate than another, as an array (E, E).

    Entry (i, j) is that of the one-sided t test of log(RMSE_i / RMSE_j) > 0, whose standard error
    comes from the jackknife over the replications that both have. It is 1 if these are fewer than
    LEAST_REPS, or if the errors are equal. `squared` (E, replications) holds squared errors, and
    `least` is the smallest RMSE that counts.
    """
    result = np.ones((len(squared), len(squared)))
    for i, mine in enumerate(squared):
        have = ~np.isnan(squared) & ~np.isnan(mine)
        count = have.sum(axis=1).astype(float)
        theirs = _log_rmse(squared, have, least)
        ours = _log_rmse(np.broadcast_to(mine, squared.shape), have, least)
        with np.errstate(invalid="ignore", divide="ignore"):
            log, without = ours[0] - theirs[0], np.where(have, ours[1] - theirs[1], 0.0)
            mean = without.sum(axis=1) / count
            squares = np.where(have, (without - mean[:, None]) ** 2, 0.0).sum(axis=1)
            error = np.sqrt((count - 1.0) / count * squares)
            t = np.where(log == 0.0, 0.0, log / error)
            p_value = stats.t.sf(t, np.maximum(FREEDOM_SHARE * (count - 1.0), 1.0))
        known = (count >= LEAST_REPS) & (log != 0.0)
        result[i] = np.where(known, p_value, 1.0)
    return result


def _log_rmse(squared: Array, have: Any, least: float) -> tuple[Array, Array]:
    """Return the log RMSE of each row, and the log RMSEs with each replication left out."""
    filled = np.where(have, squared, 0.0)
    total, count = filled.sum(axis=1, keepdims=True), have.sum(axis=1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        whole = 0.5 * np.log(np.maximum(total / count, least**2))[:, 0]
        return whole, 0.5 * np.log(np.maximum((total - filled) / (count - 1.0), least**2))
