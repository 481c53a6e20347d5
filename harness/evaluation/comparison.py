"""Comparison of one of our own estimators with the published ones on the problems of the arena.

A setting is a problem, notion, n and estimand. In each setting, our estimator o and a published
estimator e are compared by

    l_e = log( max(RMSE_o, floor) / max(RMSE_e, floor) )

The RMSEs are over the replications that both estimators have. `arena.floors` defines the floor. A
cell that failed or is undefined counts with a large error (`arena.RULE`). Both estimators saw the
same draws, so the standard error of l_e comes from the jackknife over replications.

A group is a family of problems, or a family at one n and number of classes k. l_e is averaged first
over the problems of each (family, n, k), then over the (family, n, k) of the group. Samples of one
problem are nested (a small n is a prefix of a larger n), so the jackknife leaves out a replication
at all n at once. Problems are independent.

The verdict on a group is one of these, or undecided:

    wins    Our estimator is more accurate than every published estimator. The p-value is the
            largest of the one-sided p-values (an intersection-union test).
    loses   Our estimator is less accurate than some published estimator. The p-value is the
            smallest of the one-sided p-values, times the number of published estimators
            (Bonferroni).

At most 5 % of all such verdicts on a page are expected to be false (Benjamini and Hochberg). They
hold for the arena's problems: only the replications are random.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from harness.evaluation import arena

Array: TypeAlias = NDArray[np.float64]
Mask: TypeAlias = NDArray[np.bool_]

RATE = 0.05  # expected share of false verdicts
LEAST_REPS = 4  # replications that two estimators must have in common in a setting
# Factor for the degrees of freedom. Squared errors have long tails, so that their variance is known
# less well than that of normal numbers. Measured with 20 replications of normal, biased or t5
# errors: the probability of p <= 0.001 is 0.0007 to 0.001 with the factor 0.5, and 0.002 to 0.003
# with the factor 1.
FREEDOM_SHARE = 0.5
CELL = ("family", "n", "k")
COLUMNS = [
    "notion", "estimand", "family", "n", "k", "settings", "problems", "regret", "worst", "rival",
    "ratio", "low", "high", "p_wins", "p_loses", "verdict", "cpu_seconds", "rival_cpu_seconds",
    "rivals", "undefined", "failed",
]  # fmt: skip


def groups(
    settings: pd.DataFrame, own: str, by: Sequence[str] = CELL, rate: float = RATE
) -> pd.DataFrame:
    """Compare one of our own estimators with all published ones, separately for each group.

    Parameters
    ----------
    settings : DataFrame
        The result of `arena.settings`. `own` must not be among the published estimators.
    own : str
        Id of our estimator.
    by : sequence of str
        Columns among family, n and k that define a group. Notions and estimands are always
        separate. Without columns, all settings of a notion and estimand are one group.
    rate : float
        False discovery rate of all verdicts together.

    Returns
    -------
    DataFrame
        One row per notion, estimand and group. The rival is the published estimator with the
        smallest mean log RMSE in the group.

        settings, problems
            Number of settings and of problems.
        regret, worst
            Geometric mean and largest regret of our estimator.
        rival, ratio, low, high
            The rival, and our RMSE divided by the rival's RMSE, with its 95 % interval.
        p_wins, p_loses, verdict
            P-values, and the verdict: wins, loses or undecided.
        cpu_seconds, rival_cpu_seconds
            Geometric mean of the CPU seconds of a cell, for our estimator and for the rival.
        rivals
            Number of published estimators that were compared.
        undefined, failed
            Number of cells of our estimator with these statuses.
    """
    rows: list[dict[str, Any]] = []
    judged = settings[settings["regret"].notna()]
    for (notion, estimand), part in judged.groupby(["notion", "estimand"], sort=True):
        mine = part[part["estimator"].eq(own)].reset_index(drop=True)
        if len(mine):
            first = {"notion": notion, "estimand": estimand}
            rows += [first | row for row in _rows(part, mine, own, by)]
    table = pd.DataFrame(rows, columns=COLUMNS)
    p = table[["p_wins", "p_loses"]].to_numpy(float)
    wins, loses = discoveries(p.ravel(), rate).reshape(p.shape).T
    table["verdict"] = np.where(wins, "wins", np.where(loses, "loses", "undecided"))
    return table


def discoveries(p: Any, rate: float) -> Mask:
    """Return the mask of the hypotheses that are rejected at a false discovery rate.

    `p` holds p-values for the procedure of Benjamini and Hochberg. NaN is never rejected.

    Examples
    --------
    >>> discoveries([0.001, 0.2, 0.03, float("nan")], 0.05).tolist()
    [True, False, True, False]
    """
    p = np.asarray(p, dtype=float)
    rejected = np.zeros(len(p), bool)
    known = ~np.isnan(p)
    if known.any():
        rejected[known] = stats.false_discovery_control(p[known]) <= rate
    return rejected


def _rows(
    part: pd.DataFrame, mine: pd.DataFrame, own: str, by: Sequence[str]
) -> Iterable[dict[str, Any]]:
    """Yield the rows of `groups` for one notion and estimand.

    `part` holds all rows of the settings, `mine` those of our estimator.
    """
    names = sorted(part["estimator"].unique())
    rivals = [name for name in names if name != own and arena.is_published(name)]
    log, jackknife, have = log_ratios(part, mine, rivals)
    weight = 1.0 / mine.groupby(list(CELL))["problem"].transform("size").to_numpy(float)
    cost = part.set_index(["estimator", "problem", "n"])["cpu_seconds"]
    for group, members in mine.groupby(list(by), sort=True) if by else [((), mine)]:
        positions = members.index.to_numpy()
        w = weight[positions] / weight[positions].sum()
        row = dict(zip(by, group)) | {
            "settings": len(positions), "problems": members["problem"].nunique(),
            "worst": members["regret"].max(),
            "regret": math.exp(float(w @ np.log(members["regret"].to_numpy(float)))),
            "cpu_seconds": geometric_mean(members["cpu_seconds"]), "rivals": 0,
            "undefined": int(members["undefined"].sum()), "failed": int(members["failed"].sum()),
        }  # fmt: skip
        complete = np.flatnonzero(~np.isnan(log[positions]).any(axis=0))
        if len(complete):
            chosen = np.ix_(positions, complete)
            mean, error, freedom = _mean_log(
                log[chosen], jackknife[chosen], have[chosen], w, members["problem"]
            )
            p_better, p_worse = _p_values(mean, error, freedom)
            best = int(mean.argmax())
            half = float(stats.t.ppf(0.975, freedom[best]) * error[best])
            rival = rivals[complete[best]]
            places = [(rival, *pair) for pair in zip(members["problem"], members["n"])]
            row |= {
                "rival": rival, "rivals": len(complete), "p_wins": p_better.max(),
                "p_loses": min(1.0, len(complete) * p_worse.min()),
                "ratio": math.exp(mean[best]), "low": math.exp(mean[best] - half),
                "high": math.exp(mean[best] + half),
                "rival_cpu_seconds": geometric_mean(cost.reindex(places)),
            }  # fmt: skip
        yield row


def log_ratios(
    part: pd.DataFrame, mine: pd.DataFrame, rivals: Sequence[str]
) -> tuple[Array, Array, Mask]:
    """Compare the RMSE of one estimator with that of each rival in every setting.

    S is the number of settings (rows of `mine`), E the number of rivals, and R the number of
    replications.

    Returns
    -------
    log : array (S, E)
        Log RMSE ratios, NaN if the two have fewer than LEAST_REPS replications in common.
    jackknife : array (S, E, R)
        Contribution of each replication to the log ratio. The contributions have mean 0.
    have : array (S, E, R)
        Mask of the replications that both estimators have.
    """
    squared = np.stack(mine["errors"].to_list()) ** 2
    position = {key: i for i, key in enumerate(zip(mine["problem"], mine["n"]))}
    column = {name: i for i, name in enumerate(rivals)}
    other = np.full((len(mine), len(rivals), squared.shape[1]), np.nan)
    cells = zip(part["problem"], part["n"], part["estimator"], part["errors"])
    for problem, n, name, errors in cells:
        if name in column and (problem, n) in position:
            other[position[problem, n], column[name]] = errors**2
    have = ~np.isnan(other) & ~np.isnan(squared)[:, None, :]
    count = have.sum(axis=2, keepdims=True).astype(float)
    least = arena.floors(mine)[:, None, None] ** 2

    def logs(errors: Array) -> tuple[Array, Array]:
        """Return the log RMSEs, and the log RMSEs with each replication left out."""
        filled = np.where(have, errors, 0.0)
        total = filled.sum(axis=2, keepdims=True)
        whole = 0.5 * np.log(np.maximum(total / count, least))
        return whole, 0.5 * np.log(np.maximum((total - filled) / (count - 1.0), least))

    with np.errstate(invalid="ignore", divide="ignore"):
        mine_whole, mine_without = logs(np.broadcast_to(squared[:, None, :], other.shape))
        other_whole, other_without = logs(other)
        log = (mine_whole - other_whole)[:, :, 0]
        without = np.where(have, mine_without - other_without, 0.0)
        mean_without = without.sum(axis=2, keepdims=True) / count
        jackknife = np.where(have, (count - 1.0) * (mean_without - without), 0.0)
    enough = count[:, :, 0] >= LEAST_REPS
    return np.where(enough, log, np.nan), np.where(enough[:, :, None], jackknife, 0.0), have


def _mean_log(
    log: Array, jackknife: Array, have: Mask, weight: Array, problems: pd.Series
) -> tuple[Array, Array, Array]:
    """Return the weighted mean log ratio over settings, its standard error and degrees of freedom.

    Each has one entry per rival. The degrees of freedom are Satterthwaite's. `weight` has one
    entry per setting, and `problems` names the problem of each setting.
    """
    variance, spread = np.zeros(log.shape[1]), np.zeros(log.shape[1])
    for problem in problems.unique():
        rows = problems.eq(problem).to_numpy()
        added = np.einsum("s,ser->er", weight[rows], jackknife[rows])
        reps = have[rows].any(axis=0).sum(axis=1)
        part = (added**2).sum(axis=1) / (reps * (reps - 1.0))
        variance += part
        spread += part**2 / (reps - 1.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        freedom = np.maximum(FREEDOM_SHARE * variance**2 / spread, 1.0)
    return weight @ log, np.sqrt(variance), np.where(spread > 0.0, freedom, 1.0)


def _p_values(mean: Array, error: Array, freedom: Array) -> tuple[Array, Array]:
    """Return the one-sided p-values for "better" and for "worse", one per rival.

    Both are 1 if the mean and its error are 0, that is if all replications are equal.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        t = np.where(error > 0.0, mean / error, np.sign(mean) * np.inf)
    same = (error == 0.0) & (mean == 0.0)
    t = np.where(same, 0.0, t)
    return np.where(same, 1.0, stats.t.cdf(t, freedom)), np.where(same, 1.0, stats.t.sf(t, freedom))


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
    most 1 - level. This serves to compare estimators on a user's own problem.

    Returns
    -------
    DataFrame
        The rows of `settings` that have a regret and are of published estimators, sorted by
        setting and RMSE, with the boolean column `may_be_best`.
    """
    published = settings["estimator"].map(arena.is_published).astype(bool)
    judged = settings[settings["regret"].notna() & published]
    parts = []
    for _, part in judged.groupby(["problem", "notion", "n", "estimand"], sort=True):
        part = part.sort_values("rmse", kind="stable").reset_index(drop=True)
        may = []
        for i, name in enumerate(part["estimator"]):
            others = [other for other in part["estimator"] if other != name]
            mine = part.iloc[[i]].reset_index(drop=True)
            log, jackknife, have = log_ratios(part, mine, others)
            known = np.flatnonzero(~np.isnan(log[0]))
            if not len(known):
                may.append(True)
                continue
            moments = _mean_log(
                log[:, known], jackknife[:, known], have[:, known], np.ones(1), mine["problem"]
            )
            p_worse = _p_values(*moments)[1].min()
            may.append(bool(len(known) * p_worse > 1.0 - level))
        parts.append(part.assign(may_be_best=may))
    return pd.concat(parts, ignore_index=True) if parts else judged.assign(may_be_best=False)
