"""Where an own estimator stands among the arena's: where it wins, where it loses, by how much, at what cost.

Of an own estimator o and a published one e, in a setting (problem, notion, n, estimand),

    l_e = log max(RMSE_o, floor) / max(RMSE_e, floor)

over the replications that both have, cells without an answer counted by the arena's rule. Its error comes from the jackknife over
replications, which both drew alike. A group (a family, or a family at one n and k) has the mean of l_e over its settings: over
the problems of a (family, n, k), then over these. Samples of one problem are nested (a small n is a prefix of a larger), so the
jackknife leaves a replication out at all n at once; problems are independent.

    wins    more accurate than every published estimator: the largest of the one-sided p-values (an intersection-union test)
    loses   less accurate than some published estimator: the least of the one-sided p-values, times their number (Bonferroni)

Of all such statements on a page the share that is expected to be false is at most 5 % (Benjamini and Hochberg). They are about
the arena's problems: only the replications are random.
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

RATE = 0.05  # of false statements among those that are made
LEAST_REPS = 4  # that two estimators must have in common in a setting
# of the degrees of freedom: squared errors have long tails, and their variances are known less well than those of normal
# numbers. With 20 replications of normal, biased or t5 errors p <= 0.001 then has a chance of 0.0007 to 0.001; with all of them
# 0.002 to 0.003.
OF_FREEDOM = 0.5
CELL = ("family", "n", "k")
COLUMNS = [
    "notion", "estimand", "family", "n", "k", "settings", "problems", "regret", "worst", "rival", "ratio", "low", "high",
    "p_wins", "p_loses", "verdict", "cpu_seconds", "rival_cpu_seconds", "rivals", "undefined", "failed",
]  # fmt: skip


def groups(
    settings: pd.DataFrame, own: str, by: Sequence[str] = CELL, rate: float = RATE
) -> pd.DataFrame:
    """An own estimator against all published ones, group by group.

    Parameters
    ----------
    settings : DataFrame
        As of `harness.evaluation.arena.settings`, of which the own estimator is none of the published.
    own : str
        Its id.
    by : sequence of str
        What makes a group, of family, n, k; notions and estimands are always apart.
    rate : float
        False discovery rate of all verdicts together.

    Returns
    -------
    DataFrame
        One row per group: settings, problems; regret (geometric mean over the group) and worst (of a setting); rival, the
        published estimator with the least mean log RMSE of the group; ratio, the own RMSE over the rival's, with its 95 %
        interval low, high; p_wins, p_loses and the verdict wins | loses | undecided; CPU seconds of a cell of both (geometric
        means); rivals, how many published estimators were compared; undefined and failed cells of the own one.
    """
    rows: list[dict[str, Any]] = []
    judged = settings[settings["regret"].notna()]
    for (notion, estimand), part in judged.groupby(["notion", "estimand"], sort=True):
        mine = part[part["estimator"].eq(own)].reset_index(drop=True)
        if len(mine):
            rows += _of_estimand(part, mine, own, notion, estimand, by)
    found = pd.DataFrame(rows, columns=COLUMNS)
    p = found[["p_wins", "p_loses"]].to_numpy(float)
    sure = discoveries(p.ravel(), rate).reshape(p.shape)
    found["verdict"] = np.where(sure[:, 0], "wins", np.where(sure[:, 1], "loses", "undecided"))
    return found


def discoveries(p: Any, rate: float) -> Any:
    """Benjamini and Hochberg: which of the hypotheses with these p-values are rejected at a false discovery rate; none of NaN.

    Examples
    --------
    >>> discoveries([0.001, 0.2, 0.03, float("nan")], 0.05).tolist()
    [True, False, True, False]
    """
    p = np.asarray(p, dtype=float)
    known = np.sort(p[~np.isnan(p)])
    passing = np.flatnonzero(known <= rate * np.arange(1, len(known) + 1) / max(len(known), 1))
    return np.nan_to_num(p, nan=np.inf) <= (known[passing[-1]] if len(passing) else -1.0)


def _of_estimand(
    part: pd.DataFrame, mine: pd.DataFrame, own: str, notion: str, estimand: str, by: Sequence[str]
) -> list[dict[str, Any]]:
    """The rows of one notion and estimand."""
    rivals = sorted(
        name for name in part["estimator"].unique() if name != own and arena.is_published(name)
    )
    log, phi, have = log_ratios(part, mine, rivals)
    weight = 1.0 / mine.groupby(list(CELL))["problem"].transform("size").to_numpy(float)
    cost = dict(zip(zip(part["estimator"], part["problem"], part["n"]), part["cpu_seconds"]))
    rows = []
    for group, own_rows in mine.groupby(list(by), sort=True):
        at = own_rows.index.to_numpy()
        w = weight[at] / weight[at].sum()
        told = dict(zip(by, group))
        row = {
            "notion": notion, "estimand": estimand, "family": None, "n": None, "k": None, **told,
            "settings": len(at), "problems": own_rows["problem"].nunique(), "worst": own_rows["regret"].max(),
            "regret": math.exp(float(w @ np.log(own_rows["regret"].to_numpy(float)))),
            "cpu_seconds": geometric_mean(own_rows["cpu_seconds"]), "rivals": 0,
            "undefined": int(own_rows["undefined"].sum()), "failed": int(own_rows["failed"].sum()),
            "p_wins": np.nan, "p_loses": np.nan,
        }  # fmt: skip
        complete = np.flatnonzero(~np.isnan(log[at]).any(axis=0))
        if len(complete):
            mean, error, freedom = _mean_log(
                log[at][:, complete],
                phi[at][:, complete],
                have[at][:, complete],
                w,
                own_rows["problem"],
            )
            p_better, p_worse = _p_values(mean, error, freedom)
            best = int(mean.argmax())
            half = _quantile(freedom[best]) * error[best]
            rival = rivals[complete[best]]
            of_rival = [
                cost.get((rival, problem, n))
                for problem, n in zip(own_rows["problem"], own_rows["n"])
            ]
            row |= {
                "rival": rival, "rivals": len(complete),
                "p_wins": p_better.max(), "p_loses": min(1.0, len(complete) * p_worse.min()),
                "ratio": math.exp(mean[best]), "low": math.exp(mean[best] - half), "high": math.exp(mean[best] + half),
                "rival_cpu_seconds": geometric_mean(of_rival),
            }  # fmt: skip
        rows.append(row)
    return rows


def log_ratios(
    part: pd.DataFrame, mine: pd.DataFrame, rivals: Sequence[str]
) -> tuple[Any, Any, Any]:
    """Of every setting of `mine` and every rival log RMSE ratio, (S, E), NaN where fewer than LEAST_REPS replications are
    common; what each replication adds to it by the jackknife, (S, E, R), of mean 0; and which replications are common, (S, E,
    R)."""
    own = np.stack(mine["errors"].to_list()) ** 2
    position = {key: i for i, key in enumerate(zip(mine["problem"], mine["n"]))}
    column = {name: i for i, name in enumerate(rivals)}
    other = np.full((len(mine), len(rivals), own.shape[1]), np.nan)
    for problem, n, name, errors in zip(
        part["problem"], part["n"], part["estimator"], part["errors"]
    ):
        if name in column and (problem, n) in position:
            other[position[problem, n], column[name]] = errors**2
    have = ~np.isnan(other) & ~np.isnan(own)[:, None, :]
    count = have.sum(axis=2, keepdims=True).astype(float)
    least = (
        np.array([arena.floor(estimand, n) for estimand, n in zip(mine["estimand"], mine["n"])])[
            :, None, None
        ]
        ** 2
    )
    log: Any = 0.0
    without: Any = 0.0
    with np.errstate(invalid="ignore", divide="ignore"):
        for sign, squared in ((1.0, np.broadcast_to(own[:, None, :], other.shape)), (-1.0, other)):
            held = np.where(have, squared, 0.0)
            total = held.sum(axis=2, keepdims=True)
            log = log + sign * 0.5 * np.log(np.maximum(total / count, least))
            without = without + sign * 0.5 * np.log(
                np.maximum((total - held) / (count - 1.0), least)
            )
        without = np.where(have, without, 0.0)
        phi = np.where(
            have, (count - 1.0) * (without.sum(axis=2, keepdims=True) / count - without), 0.0
        )
    enough = count[:, :, 0] >= LEAST_REPS
    return np.where(enough, log[:, :, 0], np.nan), np.where(enough[:, :, None], phi, 0.0), have


def _mean_log(
    log: Array, phi: Array, have: NDArray[np.bool_], weight: Array, problems: pd.Series
) -> tuple[Array, Array, Array]:
    """Weighted mean over settings, its error and degrees of freedom (Satterthwaite), by rival."""
    variance, spread = np.zeros(log.shape[1]), np.zeros(log.shape[1])
    for problem in dict.fromkeys(problems):
        own = problems.eq(problem).to_numpy()
        added = np.einsum("s,ser->er", weight[own], phi[own])
        reps = have[own].any(axis=0).sum(axis=1)
        one = (added**2).sum(axis=1) / (reps * (reps - 1.0))
        variance += one
        spread += one**2 / (reps - 1.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        freedom = np.where(spread > 0.0, np.maximum(OF_FREEDOM * variance**2 / spread, 1.0), 1.0)
    return weight @ log, np.sqrt(variance), freedom


def _p_values(mean: Array, error: Array, freedom: Array) -> tuple[Array, Array]:
    """One-sided p-values that the own one is better, and worse; both 1 where the two are alike in every replication."""
    with np.errstate(invalid="ignore", divide="ignore"):
        t = np.where(error > 0.0, mean / error, np.sign(mean) * np.inf)
    same = (error == 0.0) & (mean == 0.0)
    t = np.where(same, 0.0, t)
    return np.where(same, 1.0, stats.t.cdf(t, freedom)), np.where(same, 1.0, stats.t.sf(t, freedom))


def _quantile(freedom: float) -> float:
    return float(stats.t.ppf(0.975, freedom))


def geometric_mean(values: Iterable[float | None]) -> float:
    """The geometric mean of the finite values, each at least 1e-7; NaN of none."""
    fine = np.array([value for value in values if value is not None and math.isfinite(value)])
    return float(np.exp(np.log(np.maximum(fine, 1e-7)).mean())) if len(fine) else math.nan


def best_of(settings: pd.DataFrame, level: float = 1.0 - RATE) -> pd.DataFrame:
    """Which estimators may be the best in each setting, of an own problem for instance.

    An estimator is not among them where another one is more accurate at the level, Bonferroni over the others: the best one is
    missing from its setting's list with a chance of at most 1 - level.

    Returns
    -------
    DataFrame
        The rows of `settings` that have a regret and are of published estimators, by setting and RMSE, with `may_be_best`.
    """
    parts = []
    judged = settings[settings["regret"].notna() & settings["estimator"].map(arena.is_published)]
    for _, part in judged.groupby(["problem", "notion", "n", "estimand"], sort=True):
        part = part.sort_values("rmse", kind="stable").reset_index(drop=True)
        names = list(part["estimator"])
        may = []
        for i, name in enumerate(names):
            others = [other for other in names if other != name]
            log, phi, have = log_ratios(part, part.iloc[[i]].reset_index(drop=True), others)
            known = np.flatnonzero(~np.isnan(log[0]))
            if not len(known):
                may.append(True)
                continue
            one = _mean_log(
                log[:, known], phi[:, known], have[:, known], np.ones(1), part["problem"].iloc[[i]]
            )
            may.append(bool(len(known) * _p_values(*one)[1].min() > 1.0 - level))
        parts.append(part.assign(may_be_best=may))
    return pd.concat(parts, ignore_index=True) if parts else judged.assign(may_be_best=False)
