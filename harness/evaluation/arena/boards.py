"""Leaderboards of the arena (regrets and ranks), and the frontier of regret against cost."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from harness.errors import BadInputError
from harness.evaluation.arena.resampling import Block, build_block, group_means, nanmean, quantiles
from harness.evaluation.arena.rules import LEAST_SHARE, SETTING, is_anchor

GROUP = ["family", "n", "k"]
COLUMNS = [
    "settings", "share", "regret", "low", "high", "regret_split", "worst", "worst_low",
    "worst_high", "worst_at", "worst_setting", "rank", "rank_low", "rank_high", "rmse", "bias",
    "over", "coverage", "width", "cpu_seconds", "reps", "undefined", "failed", "skipped",
]  # fmt: skip


def leaderboard(
    settings: pd.DataFrame,
    by: str | Sequence[str] = (),
    resamples: int = 1000,
    seed: int = 0,
    level: float = 0.95,
) -> pd.DataFrame:
    """Rank the estimators by their mean regret, separately for each notion and estimand.

    Parameters
    ----------
    settings : DataFrame
        The result of `arena.settings`, or some of its rows.
    by : str or sequence of str
        Columns among family, n and k. Each combination of their values has its own leaderboard.
    resamples, seed, level : int, int, float
        Number of bootstrap resamples, seed of the bootstrap, and level of the intervals.

    Returns
    -------
    DataFrame
        One row per notion, estimand, value of `by` and estimator, sorted by rank. A group below is
        a (family, n, k), where k is the number of classes. Columns with _low and _high, or low and
        high, are the ends of an interval.

        settings, share
            Number of settings in which the estimator is applicable, absolute and as a share of all
            settings.
        regret, low, high
            Geometric mean of the regret, first over the problems of a group, then over the groups.
        regret_split
            The same mean of the column regret_split of `arena.settings`.
        worst, worst_low, worst_high, worst_at
            Largest mean regret of a group, and the name of this group.
        worst_setting
            Largest regret in a single setting.
        rank, rank_low, rank_high
            Rank by mean regret. NaN for estimators that are applicable in less than 80 % of the
            settings, and for anchors (oracles and scores that are shown only for comparison).
        rmse, cpu_seconds
            Geometric means of these columns of `settings`.
        bias, over, coverage, width
            Arithmetic means of these columns of `settings`.
        reps, undefined, failed, skipped
            Sums of these columns of `settings`: numbers of cells.
    """
    by = [by] if isinstance(by, str) else list(by)
    return leaderboards(settings, [by], resamples, seed, level)[0]


def leaderboards(
    settings: pd.DataFrame,
    filters: Sequence[Sequence[str]],
    resamples: int = 1000,
    seed: int = 0,
    level: float = 0.95,
) -> list[pd.DataFrame]:
    """Return the result of `leaderboard` for each `by` in `filters`, from one bootstrap."""
    for by in filters:
        if not set(by) <= set(GROUP):
            raise BadInputError(
                f"by is {by}; allowed are family, n and k. Notions and estimands always have "
                "leaderboards of their own."
            )
    tables: list[list[pd.DataFrame]] = [[] for _ in filters]
    for (notion, estimand), part in settings.groupby(["notion", "estimand"], sort=True):
        ranked = part[part["regret"].notna()]
        if ranked.empty:
            continue
        block = build_block(ranked)
        if (block.best < 0).any() or (block.lead < 0).any():
            raise BadInputError(
                "settings lack the row of the estimator that is best in one of them; pass the rows "
                "of all estimators. To show fewer estimators, drop rows of the leaderboard."
            )
        means = group_means(block, resamples, seed)
        positions = pd.DataFrame(block.groups, columns=GROUP)
        for by, boards in zip(filters, tables):
            for key, members in positions.groupby(list(by)) if by else [((), positions)]:
                chosen = dict(zip(by, key))
                rows = part[part[list(by)].eq(pd.Series(chosen)).all(axis=1)] if by else part
                table = _summary(block, means[members.index], members, rows, level)
                boards.append(table.assign(notion=notion, estimand=estimand, **chosen))
    return [_sort(boards, by) for boards, by in zip(tables, filters)]


def _sort(tables: list[pd.DataFrame], by: Sequence[str]) -> pd.DataFrame:
    """Join leaderboards, and sort their rows by notion, estimand, `by` and rank."""
    first = ["notion", "estimand", *by]
    if not tables:
        return pd.DataFrame(columns=[*first, "estimator", *COLUMNS])
    whole = pd.concat(tables, ignore_index=True)
    whole = whole.sort_values([*first, "rank", "regret"], kind="stable", ignore_index=True)
    return whole[[*first, "estimator", *COLUMNS]]


def _summary(
    block: Block, means: NDArray[np.float64], groups: pd.DataFrame, rows: pd.DataFrame, level: float
) -> pd.DataFrame:
    """Return one leaderboard.

    `means` (groups, resamples + 1, estimators) are the bootstrapped mean log regrets of the
    groups, as `group_means` returns them. `rows` are the rows of `arena.settings` that belong to
    the leaderboard.
    """
    ranked = rows[rows["regret"].notna()]
    logs = ranked.assign(
        **{name: _log(ranked[name]) for name in ("regret_split", "rmse", "cpu_seconds")}
    )
    by_estimator = logs.groupby("estimator")
    names = [name for name in block.names if name in by_estimator.groups]
    means = means[:, :, [block.names.index(name) for name in names]]

    # Regret: the mean over the groups, and the worst group.
    mean = nanmean(means)
    filled = np.nan_to_num(means, nan=-np.inf)
    worst = np.where(np.isnan(means).all(axis=0), np.nan, filled.max(axis=0))
    worst_group = groups.iloc[filled[:, 0].argmax(axis=0)].itertuples(index=False)
    (low, high), (worst_low, worst_high) = quantiles(mean, level), quantiles(worst, level)
    split = logs.groupby(["estimator", *GROUP])["regret_split"].mean().groupby("estimator").mean()

    # Ranks, in the sample and in each resample.
    sizes = by_estimator.size()[names].to_numpy()
    share = sizes / ranked.groupby(SETTING).ngroups
    can = (share >= LEAST_SHARE) & ~np.array([is_anchor(name) for name in names])
    value = np.where(can, np.nan_to_num(mean, nan=np.inf), np.inf)
    places = value.argsort(axis=1, kind="stable").argsort(axis=1, kind="stable")
    ranks = np.where(can, 1.0 + places, np.nan)
    rank_low, rank_high = quantiles(ranks, level)

    averages = by_estimator[["rmse", "cpu_seconds", "bias", "over", "coverage", "width"]].mean()
    averages = averages.assign(
        rmse=np.exp(averages["rmse"]), cpu_seconds=np.exp(averages["cpu_seconds"])
    )
    table = pd.DataFrame({
        "estimator": names, "settings": sizes, "share": share,
        "regret": np.exp(mean[0]), "low": np.exp(low), "high": np.exp(high),
        "regret_split": np.exp(split[names].to_numpy()),
        "worst": np.exp(worst[0]), "worst_low": np.exp(worst_low), "worst_high": np.exp(worst_high),
        "worst_at": [f"{family}, n = {n:,}, k = {k}" for family, n, k in worst_group],
        "worst_setting": by_estimator["regret"].max()[names].to_numpy(),
        "rank": ranks[0], "rank_low": np.floor(rank_low), "rank_high": np.ceil(rank_high),
    })  # fmt: skip
    counts = rows.groupby("estimator")[["reps", "undefined", "failed", "skipped"]].sum()
    return table.join(averages, on="estimator").join(counts, on="estimator")


def _log(values: pd.Series) -> Any:
    return np.log(np.maximum(values.to_numpy(float), 1e-12))


def frontier(cost: Sequence[float], regret: Sequence[float]) -> list[int]:
    """Return the positions on the Pareto frontier of cost and regret, cheapest first.

    A position is on the frontier if no other has both at most its cost and at most its regret.

    Examples
    --------
    >>> frontier([1.0, 2.0, 3.0, 4.0], [2.0, 3.0, 1.5, 1.5])
    [0, 2]
    """
    positions: list[int] = []
    for i in sorted(range(len(cost)), key=lambda i: (cost[i], regret[i])):
        better = not positions or regret[i] < regret[positions[-1]]
        if better and math.isfinite(regret[i]):
            positions.append(i)
    return positions
