"""Leaderboards: mean and worst regret with intervals and ranks, and the frontier of regret against cost."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd

from harness.errors import BadInputError
from harness.evaluation.arena.resampling import block_of, cell_means, nanmean, quantiles, resampled
from harness.evaluation.arena.rules import LEAST_SHARE, SETTING, is_anchor


def leaderboard(
    settings: pd.DataFrame,
    by: str | Sequence[str] = (),
    resamples: int = 1000,
    seed: int = 0,
    level: float = 0.95,
) -> pd.DataFrame:
    """Mean and worst regret of each estimator with bootstrap intervals and ranks, one notion and estimand at a time.

    Parameters
    ----------
    settings : DataFrame
        As of `settings`, or some of its rows.
    by : str or sequence of str
        What else is kept apart: family, n, k.
    resamples, seed, level : int, int, float
        Of the bootstrap.

    Returns
    -------
    DataFrame
        One row per notion, estimand, value of `by` and estimator, by rank:

        settings, share
            In how many settings the estimator is applicable, and their share of all.
        regret, low, high
            The geometric mean regret (over the problems of a (family, n, k), then over these cells) with its interval.
        regret_split
            The same of `settings.regret_split`.
        worst, worst_low, worst_high, worst_at
            The largest mean regret of a (family, n, k), with its interval, and which one it is.
        worst_setting
            The largest regret of a single setting.
        rank, rank_low, rank_high
            By the mean regret, of those that are applicable in 80 % of the settings; NaN for others and for anchors.
        rmse, bias, over, coverage, width, cpu_seconds
            Geometric mean of the RMSE and of the CPU seconds, means of the others.
        reps, undefined, failed, skipped
            Numbers of cells.
    """
    by = [by] if isinstance(by, str) else list(by)
    if set(by) - {"family", "n", "k"}:
        raise BadInputError(
            f"by is {by}; allowed are family, n, k (notions and estimands are always apart)."
        )
    parts = []
    for (notion, estimand), part in settings.groupby(["notion", "estimand"], sort=True):
        ranked = part[part["regret"].notna()]
        if not len(ranked):
            continue
        block = block_of(ranked)
        if (block.best < 0).any() or (block.lead < 0).any():
            raise BadInputError(
                "settings lack the best estimator of a setting; give all estimators, and filter what comes out."
            )
        drawn = resampled(
            block.problems, block.squared.shape[2], resamples, np.random.default_rng(seed)
        )
        means = cell_means(block, *drawn)
        groups: dict[tuple, list[int]] = {}
        for i, cell in enumerate(block.cells):
            groups.setdefault(
                tuple(cell[("family", "n", "k").index(name)] for name in by), []
            ).append(i)
        for group, cells in groups.items():
            rows = _summary(
                block,
                means[cells],
                [block.cells[i] for i in cells],
                part,
                dict(zip(by, group)),
                level,
            )
            parts.append(rows.assign(notion=notion, estimand=estimand, **dict(zip(by, group))))
    first = ["notion", "estimand", *by, "estimator"]
    if not parts:
        return pd.DataFrame(columns=[*first, *COLUMNS])
    table = pd.concat(parts, ignore_index=True).sort_values(
        [*first[:-1], "rank", "regret"], kind="stable"
    )
    return table[[*first, *COLUMNS]].reset_index(drop=True)


COLUMNS = [
    "settings", "share", "regret", "low", "high", "regret_split", "worst", "worst_low", "worst_high", "worst_at", "worst_setting",
    "rank", "rank_low", "rank_high", "rmse", "bias", "over", "coverage", "width", "cpu_seconds", "reps", "undefined",
    "failed", "skipped",
]  # fmt: skip


def _summary(block, means, cells, part, group, level):
    """One group of the leaderboard."""
    for name, value in group.items():
        part = part[part[name].eq(value)]
    mean = nanmean(means)
    worst = np.where(
        np.isnan(means).all(axis=0), np.nan, np.nan_to_num(means, nan=-np.inf).max(axis=0)
    )
    ranked = part[part["regret"].notna()]
    logs = ranked.assign(regret_split=np.log(ranked["regret_split"]), rmse=_log(ranked["rmse"]))
    logs = logs.assign(cpu_seconds=_log(logs["cpu_seconds"]))
    of = logs.groupby("estimator")
    in_cell = (
        logs.groupby(["estimator", "family", "n", "k"])["regret_split"]
        .mean()
        .groupby("estimator")
        .mean()
    )
    total = len(ranked.groupby(SETTING))
    share = of.size() / total
    names = [name for name in block.names if name in share.index]
    column = [block.names.index(name) for name in names]
    mean, worst, means = mean[:, column], worst[:, column], means[:, :, column]
    can = np.array([share[name] >= LEAST_SHARE and not is_anchor(name) for name in names])
    value = np.where(can, np.nan_to_num(mean, nan=np.inf), np.inf)
    ranks = np.where(
        can, 1.0 + value.argsort(axis=1, kind="stable").argsort(axis=1, kind="stable"), np.nan
    )
    low, high = quantiles(mean, level)
    rank_low, rank_high = quantiles(ranks, level)
    worst_low, worst_high = quantiles(worst, level)
    at = np.nan_to_num(means[:, 0], nan=-np.inf).argmax(axis=0)
    found = pd.DataFrame(
        {
            "estimator": names, "settings": of.size()[names].to_numpy(), "share": share[names].to_numpy(),
            "regret": np.exp(mean[0]), "low": np.exp(low), "high": np.exp(high),
            "regret_split": np.exp(in_cell[names].to_numpy()),
            "worst": np.exp(worst[0]), "worst_low": np.exp(worst_low), "worst_high": np.exp(worst_high),
            "worst_at": ["{}, n = {:,}, k = {}".format(*cells[i]) for i in at],
            "worst_setting": of["regret"].max()[names].to_numpy(),
            "rank": ranks[0], "rank_low": np.floor(rank_low), "rank_high": np.ceil(rank_high),
            **{name: np.exp(of[name].mean()[names].to_numpy()) for name in ("rmse", "cpu_seconds")},
            **{name: of[name].mean()[names].to_numpy() for name in ("bias", "over", "coverage", "width")},
        }
    )  # fmt: skip
    counts = part.groupby("estimator")[["reps", "undefined", "failed", "skipped"]].sum()
    return found.join(counts, on="estimator")


def _log(values):
    with np.errstate(divide="ignore"):
        return np.log(np.maximum(values.to_numpy(float), 1e-12))


def frontier(cost: Sequence[float], regret: Sequence[float]) -> list[int]:
    """The positions on the Pareto frontier, cheapest first: no other is at most as dear and has at most the regret.

    Examples
    --------
    >>> frontier([1.0, 2.0, 3.0, 4.0], [2.0, 3.0, 1.5, 1.5])
    [0, 2]
    """
    order = sorted(range(len(cost)), key=lambda i: (cost[i], regret[i]))
    found: list[int] = []
    for i in order:
        if math.isfinite(regret[i]) and (not found or regret[i] < regret[found[-1]]):
            found.append(i)
    return found
