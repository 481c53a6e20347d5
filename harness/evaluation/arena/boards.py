"""Leaderboards of the arena (regrets and ranks), and the frontier of regret against cost."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from harness.errors import BadInputError
from harness.evaluation.arena.resampling import family_means, rank_intervals, t_interval
from harness.evaluation.arena.rules import LEAST_SHARE, SETTING, is_anchor, is_bound

FILTERS = ("family", "n", "k")
COLUMNS = [
    "settings", "share", "families", "regret", "low", "high", "worst", "worst_at", "worst_setting",
    "rank", "rank_low", "rank_high", "rmse", "rmse_calibrated", "bias", "over", "coverage", "width",
    "cpu_seconds", "reps", "undefined", "failed", "skipped",
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
        The result of `arena.settings`, or some of its rows. Estimators of bounds are left out.
    by : str or sequence of str
        Columns among family, n and k. Each combination of their values has its own leaderboard.
    resamples, seed : int
        Number of resamples of families for the intervals of the ranks, and seed of the bootstrap.
    level : float
        Level of all intervals.

    Returns
    -------
    DataFrame
        One row per notion, estimand, value of `by` and estimator, sorted by rank. Means are first
        over the settings of a family, then over families. Only settings whose truth is above 0
        enter them, except for `rmse_calibrated`.

        settings, share, families
            Number of settings in which the estimator is applicable, absolute and as a share of all
            settings, and number of their families.
        regret, low, high
            Geometric mean of the regret, and its t interval over families (NaN for one family).
        worst, worst_at, worst_setting
            Largest mean regret of a family, the name of this family, and the largest regret in a
            single setting.
        rank, rank_low, rank_high
            Rank by mean regret, with its interval from a bootstrap of families. NaN for estimators
            that are applicable in less than 80 % of the settings, and for anchors (oracles and
            scores that are shown only for comparison).
        rmse, cpu_seconds
            Geometric means of these columns of `settings`.
        rmse_calibrated
            Root mean square of the RMSE over the settings whose truth is 0.
        bias, over, coverage, width
            Arithmetic means over settings of these columns of `settings`.
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
    """Return the result of `leaderboard` for each `by` in `filters`."""
    bounds = [name for name in settings["estimator"].unique() if is_bound(name)]
    points = settings[~settings["estimator"].isin(bounds)]
    boards = []
    for by in filters:
        if not set(by) <= set(FILTERS):
            raise BadInputError(
                f"by is {by}; allowed are family, n and k. Notions and estimands always have "
                "leaderboards of their own."
            )
        keys = ["notion", "estimand", *by]
        tables = [
            _board(part, resamples, seed, level).assign(**dict(zip(keys, key)))
            for key, part in points.groupby(keys, sort=True)
            if part["regret"].notna().any()
        ]
        columns = [*keys, "estimator", *COLUMNS]
        whole = pd.concat(tables, ignore_index=True) if tables else pd.DataFrame(columns=columns)
        order = [*keys, "rank", "regret"]
        boards.append(whole.sort_values(order, kind="stable", ignore_index=True)[columns])
    return boards


def _board(part: pd.DataFrame, resamples: int, seed: int, level: float) -> pd.DataFrame:
    """Return one leaderboard: one row per estimator with a regret, in alphabetical order."""
    ranked = part[part["regret"].notna()]
    groups = ranked.groupby("estimator")
    means = family_means(ranked)
    names = means.columns
    regret, low, high = (np.exp(values) for values in t_interval(means, level))
    size = groups.size()
    share = size / len(ranked.drop_duplicates(SETTING))
    can = share.ge(LEAST_SHARE).to_numpy() & ~np.array([is_anchor(name) for name in names])
    rank, rank_low, rank_high = rank_intervals(means.to_numpy(), can, resamples, seed, level)
    counts = part.groupby("estimator")[["reps", "undefined", "failed", "skipped"]].sum()
    table = pd.DataFrame({
        "settings": size, "share": share, "families": means.notna().sum(),
        "regret": regret, "low": low, "high": high,
        "worst": np.exp(means.max()), "worst_at": means.idxmax(),
        "worst_setting": groups["regret"].max(),
        "rank": rank, "rank_low": rank_low, "rank_high": rank_high,
        **{name: np.exp(family_means(ranked, name).mean()) for name in ("rmse", "cpu_seconds")},
        "rmse_calibrated": root_mean_square(part),
        **{name: groups[name].mean() for name in ("bias", "over", "coverage", "width")},
    }, index=names)  # fmt: skip
    return table.join(counts).reset_index()


def root_mean_square(settings: pd.DataFrame) -> Any:
    """Return the root mean square of the RMSE by estimator, over the settings whose truth is 0."""
    squares = settings.loc[settings["calibrated"], "rmse"] ** 2
    return np.sqrt(squares.groupby(settings["estimator"]).mean())


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
