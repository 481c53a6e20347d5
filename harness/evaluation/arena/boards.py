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
            averages, sizes = _averages(part, list(by))
            for key, members in positions.groupby(list(by)) if by else [((), positions)]:
                of_board = averages.loc[key] if by else averages
                table = _summary(block, means[members.index], members, of_board, sizes[key], level)
                boards.append(table.assign(notion=notion, estimand=estimand, **dict(zip(by, key))))
    return [_sort(boards, by) for boards, by in zip(tables, filters)]


def _sort(tables: list[pd.DataFrame], by: Sequence[str]) -> pd.DataFrame:
    """Join leaderboards, and sort their rows by notion, estimand, `by` and rank."""
    first = ["notion", "estimand", *by]
    if not tables:
        return pd.DataFrame(columns=[*first, "estimator", *COLUMNS])
    whole = pd.concat(tables, ignore_index=True)
    whole = whole.sort_values([*first, "rank", "regret"], kind="stable", ignore_index=True)
    return whole[[*first, "estimator", *COLUMNS]]


def _averages(part: pd.DataFrame, by: list[str]) -> tuple[pd.DataFrame, dict[Any, int]]:
    """Average rows of `arena.settings` by the columns `by` and estimator, for all leaderboards.

    Returns
    -------
    averages : DataFrame
        Columns of `leaderboard` that are no means over groups of settings. The index is
        (*by, estimator).
    sizes : dict
        {values of `by`: number of settings in which some estimator has a regret}.
    """
    ranked = part[part["regret"].notna()]
    logs = ranked.assign(
        **{name: _log(ranked[name]) for name in ("regret_split", "rmse", "cpu_seconds")}
    )
    keys = [*by, "estimator"]
    groups = logs.groupby(keys)
    averages = groups[["rmse", "cpu_seconds", "bias", "over", "coverage", "width"]].mean()
    within = [name for name in GROUP if name not in by]
    split = logs.groupby([*keys, *within])["regret_split"].mean().groupby(keys).mean()
    averages = averages.assign(
        rmse=np.exp(averages["rmse"]),
        cpu_seconds=np.exp(averages["cpu_seconds"]),
        settings=groups.size(),
        regret_split=np.exp(split),
        worst_setting=groups["regret"].max(),
    )
    counts = part.groupby(keys)[["reps", "undefined", "failed", "skipped"]].sum()
    different = ranked.drop_duplicates([*SETTING, *by])
    sizes = dict(different.groupby(by).size()) if by else {}
    sizes = {key if isinstance(key, tuple) else (key,): int(n) for key, n in sizes.items()}
    return averages.join(counts), sizes or {(): len(different)}


def _summary(
    block: Block,
    means: NDArray[np.float64],
    groups: pd.DataFrame,
    averages: pd.DataFrame,
    settings: int,
    level: float,
) -> pd.DataFrame:
    """Return one leaderboard.

    Parameters
    ----------
    block : Block
        Squared errors of the notion and estimand.
    means : array (groups, resamples + 1, estimators)
        Bootstrapped mean log regrets of the groups, as `group_means` returns them.
    groups : DataFrame
        The groups (family, n, k) of the leaderboard.
    averages : DataFrame
        Its rows of the result of `_averages`, by estimator.
    settings : int
        Number of its settings.
    level : float
        Level of the intervals.
    """
    names = [name for name in block.names if name in averages.index]
    means = means[:, :, [block.names.index(name) for name in names]]

    # Regret: the mean over the groups, and the worst group.
    mean = nanmean(means)
    filled = np.nan_to_num(means, nan=-np.inf)
    worst = np.where(np.isnan(means).all(axis=0), np.nan, filled.max(axis=0))
    worst_group = groups.iloc[filled[:, 0].argmax(axis=0)].itertuples(index=False)
    (low, high), (worst_low, worst_high) = quantiles(mean, level), quantiles(worst, level)

    # Ranks, in the sample and in each resample.
    share = averages["settings"][names].to_numpy() / settings
    can = (share >= LEAST_SHARE) & ~np.array([is_anchor(name) for name in names])
    value = np.where(can, np.nan_to_num(mean, nan=np.inf), np.inf)
    places = value.argsort(axis=1, kind="stable").argsort(axis=1, kind="stable")
    ranks = np.where(can, 1.0 + places, np.nan)
    rank_low, rank_high = quantiles(ranks, level)

    table = pd.DataFrame({
        "estimator": names, "share": share, "regret": np.exp(mean[0]), "low": np.exp(low),
        "high": np.exp(high), "worst": np.exp(worst[0]), "worst_low": np.exp(worst_low),
        "worst_high": np.exp(worst_high),
        "worst_at": [f"{family}, n = {n:,}, k = {k}" for family, n, k in worst_group],
        "rank": ranks[0], "rank_low": np.floor(rank_low), "rank_high": np.ceil(rank_high),
    })  # fmt: skip
    return table.join(averages, on="estimator")


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
