"""What the arena says of two estimators, with its error rate: which is better, and which to use."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

from harness.errors import BadInputError
from harness.evaluation.arena.boards import leaderboard
from harness.evaluation.arena.resampling import Block, block_of, cell_means, nanmean, resampled


class Statement(NamedTuple):
    """What the arena says of two estimators: `ratio` of their RMSEs (geometric mean as in `leaderboard`), its interval, and the
    verdict on the first: better | worse | undecided. `about` says what was resampled: problems, or, of fewer than MIN_PROBLEMS,
    the reps of these problems alone."""

    first: str
    second: str
    ratio: float
    low: float
    high: float
    verdict: str
    problems: int
    settings: int
    about: str
    level: float


MIN_PROBLEMS = 5  # below, a statement is about these problems


def better(
    settings: pd.DataFrame,
    first: str,
    second: str,
    comparisons: int = 1,
    level: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
) -> Statement:
    """Whether one estimator is better than another: the paired difference of their mean log regrets, with its interval

        difference -+ t * sd,    sd of the difference over resamples of problems, and of reps within

    at the level 1 - (1 - level) / comparisons, so that of all comparisons of a page the chance of any wrong "better" is at most
    1 - level (Bonferroni). t has as many degrees of freedom as there are problems, less one. With fewer than 5 problems reps
    alone are resampled, and the statement is about these problems.

    Parameters
    ----------
    settings : DataFrame
        Rows of `settings` of one notion and one estimand.
    first, second : str
        Ids of estimators; those settings count in which both are applicable, and the reps that both have.
    comparisons : int
        How many such statements are made together.
    level, resamples, seed : float, int, int
        Of the interval, and of the bootstrap.

    Raises
    ------
    BadInputError
        If notions or estimands are mixed, or the two share no setting.
    """
    if settings.groupby(["notion", "estimand"]).ngroups > 1:
        raise BadInputError("settings mix notions or estimands; a comparison is of one of each.")
    part = settings[settings["estimator"].isin([first, second]) & settings["regret"].notna()]
    block = block_of(part, [first, second])
    squared = np.where(
        np.isnan(block.squared).any(axis=1, keepdims=True), np.nan, block.squared
    )  # the reps that both have
    both = ~np.isnan(squared).all(axis=(1, 2))
    if not both.any():
        raise BadInputError(f"{first} and {second} share no setting with a regret.")
    zero = np.zeros(int(both.sum()), int)
    problem = block.problem[both]
    have, problem = np.unique(problem, return_inverse=True)
    block = Block(
        block.names, squared[both], block.at_least[both], zero + 1, zero, problem, len(have), block.cell[both], block.cells,
    )  # fmt: skip
    many = len(have) >= MIN_PROBLEMS
    drawn = resampled(
        block.problems, squared.shape[2], resamples, np.random.default_rng(seed), problems=many
    )
    difference = nanmean(cell_means(block, *drawn))[:, 0]
    reps = int((~np.isnan(block.squared[:, 0])).sum(axis=1).max())
    freedom = len(have) - 1 if many else len(have) * (reps - 1)
    one_sided = (1.0 - level) / comparisons / 2.0
    half = float(stats.t.ppf(1.0 - one_sided, max(freedom, 1))) * float(
        np.nanstd(difference[1:], ddof=1)
    )
    low, ratio, high = (math.exp(difference[0] + side * half) for side in (-1, 0, 1))
    verdict = "better" if high < 1.0 else "worse" if low > 1.0 else "undecided"
    about = "problems like these" if many else "these problems"
    return Statement(
        first,
        second,
        ratio,
        low,
        high,
        verdict,
        len(have),
        int(both.sum()),
        about,
        1.0 - 2.0 * one_sided,
    )


def against(
    settings: pd.DataFrame,
    first: str,
    comparisons: int | None = None,
    level: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
) -> pd.DataFrame:
    """`better` of one estimator against every other at once, by their mean log regrets; where an estimator has some of the reps
    only, it is scaled as in `settings`.

    Parameters
    ----------
    settings, first, level, resamples, seed
        As of `better`; settings hold all estimators.
    comparisons : int, optional
        By default the number of others.

    Returns
    -------
    DataFrame indexed by estimator: ratio of the RMSEs of `first` and of it, low, high, verdict on `first`.
    """
    if settings.groupby(["notion", "estimand"]).ngroups > 1:
        raise BadInputError("settings mix notions or estimands; a comparison is of one of each.")
    block = block_of(settings[settings["regret"].notna()])
    if first not in block.names:
        raise BadInputError(f"settings have no regret of {first}.")
    own = block.names.index(first)
    block = replace(block, best=np.full(len(block.best), own))
    many = block.problems >= MIN_PROBLEMS
    reps = block.squared.shape[2]
    difference = -nanmean(
        cell_means(
            block, *resampled(block.problems, reps, resamples, np.random.default_rng(seed), many)
        ),
        0,
    )
    freedom = block.problems - 1 if many else block.problems * (reps - 1)
    others = [i for i in range(len(block.names)) if i != own]
    wrong = (1.0 - level) / (comparisons or max(len(others), 1))
    half = float(stats.t.ppf(1.0 - wrong / 2.0, max(freedom, 1))) * np.nanstd(
        difference[1:], axis=0, ddof=1
    )
    low, ratio, high = (np.exp(difference[0] + side * half)[others] for side in (-1, 0, 1))
    verdict = np.where(high < 1.0, "better", np.where(low > 1.0, "worse", "undecided"))
    names = pd.Index([block.names[i] for i in others], name="estimator")
    return pd.DataFrame({"ratio": ratio, "low": low, "high": high, "verdict": verdict}, index=names)


def choices(
    settings: pd.DataFrame, by: Sequence[str], comparisons: int | None = None, **bootstrap: Any
) -> pd.DataFrame:
    """The estimator to use by notion, estimand and `by`, and whether it is better than the runner-up.

    Parameters
    ----------
    settings, by
        As of `leaderboard`.
    comparisons : int, optional
        Of `better`; by default the number of rows, all of which are one set of statements. That the two were chosen by the same
        data needs no further correction: a two-sided test of the best against the second also tests that the best is the best
        (Hung and Fithian 2019, Annals of Statistics 47, exact for independent normal means).
    bootstrap
        resamples, seed and level of `leaderboard` and `better`.

    Returns
    -------
    DataFrame
        notion, estimand, `by`, then estimator, regret, low, high, rmse, cpu_seconds, runner_up, runner_regret, ratio (of the
        RMSEs of the first and the second), ratio_low, ratio_high, verdict, about, problems. A group in which nobody has a rank
        is left out.
    """
    by = list(by)
    board = leaderboard(settings, by, **bootstrap)
    keys = ["notion", "estimand", *by]
    first, second = (board[board["rank"].eq(place)].set_index(keys) for place in (1.0, 2.0))
    parts = dict(list(settings[settings["regret"].notna()].groupby(keys)))
    rows = []
    for key, row in first.iterrows():
        found = {
            **dict(zip(keys, key)),
            **row[["estimator", "regret", "low", "high", "rmse", "cpu_seconds"]],
        }
        found |= {
            "problems": parts[key]["problem"].nunique(),
            "verdict": "alone",
            "runner_up": None,
        }
        if key in second.index:
            other = second.loc[key]
            said = better(
                parts[key],
                row["estimator"],
                other["estimator"],
                comparisons or len(first),
                **bootstrap,
            )
            found |= {
                "runner_up": other["estimator"],
                "runner_regret": other["regret"],
                "ratio": said.ratio,
            }
            found |= {
                "ratio_low": said.low,
                "ratio_high": said.high,
                "verdict": said.verdict,
                "about": said.about,
            }
        rows.append(found)
    columns = [
        *keys, "estimator", "regret", "low", "high", "rmse", "cpu_seconds", "runner_up", "runner_regret", "ratio", "ratio_low",
        "ratio_high", "verdict", "about", "problems",
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=columns)
