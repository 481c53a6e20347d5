"""Comparisons of two estimators with an error rate: the better one, and the one to use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from harness.errors import BadInputError
from harness.evaluation.arena.boards import leaderboard
from harness.evaluation.arena.resampling import Block, block_of, group_means, nanmean

MIN_PROBLEMS = 5  # with fewer, a statement is about these very problems


class Statement(NamedTuple):
    """Comparison of two estimators.

    `ratio` of their RMSEs (a geometric mean as in `leaderboard`), its interval, and the verdict on
    the first: better, worse or undecided. `about` names what was resampled: problems, or the reps
    of these problems alone where there are fewer than MIN_PROBLEMS.
    """

    first: str
    second: str
    ratio: float
    low: float
    high: float
    verdict: str
    problems: int
    about: str


def better(
    settings: pd.DataFrame,
    first: str,
    second: str,
    comparisons: int = 1,
    level: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
) -> Statement:
    """Compare two estimators by the paired difference of their mean log regrets.

    The interval is

        difference -+ t * sd,    sd of the difference over resamples of problems, and of reps within

    at the level 1 - (1 - level) / comparisons (Bonferroni). Of all comparisons of a page the chance
    of any wrong "better" is then at most 1 - level. t has one degree of freedom less than there are
    problems. With fewer than 5 problems reps alone are resampled, and the statement is about these
    problems.

    Parameters
    ----------
    settings : DataFrame
        Rows of `settings` of one notion and one estimand.
    first, second : str
        Ids of estimators. Only settings and reps that both have count.
    comparisons : int
        Number of such statements that are made together.
    level, resamples, seed : float, int, int
        Of the interval, and of the bootstrap.

    Raises
    ------
    BadInputError
        If notions or estimands are mixed, or the two share no setting.
    """
    pair = settings[settings["estimator"].isin([first, second]) & settings["regret"].notna()]
    pair = pair[pair.duplicated(["problem", "n", "notion", "estimand"], keep=False)]
    if pair.empty:
        raise BadInputError(f"{first} and {second} share no setting with a regret.")
    block = _block(pair, [first, second])
    alone = np.isnan(block.squared).any(axis=1, keepdims=True)
    zero = np.zeros_like(block.best)
    block = replace(block, squared=np.where(alone, np.nan, block.squared), best=zero + 1, lead=zero)
    difference, freedom = _differences(block, resamples, seed)
    ratio, low, high, verdict = _verdicts(difference[:, 0], freedom, (1.0 - level) / comparisons)
    about = "problems like these" if block.problems >= MIN_PROBLEMS else "these problems"
    return Statement(
        first, second, float(ratio), float(low), float(high), str(verdict), block.problems, about
    )


def against(
    settings: pd.DataFrame,
    first: str,
    comparisons: int | None = None,
    level: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
) -> pd.DataFrame:
    """Compare one estimator with every other at once, by their mean log regrets.

    An estimator that lacks some reps is scaled as in `settings`.

    Parameters
    ----------
    settings, first, level, resamples, seed
        As for `better`; settings hold all estimators.
    comparisons : int, optional
        Default: the number of other estimators.

    Returns
    -------
    DataFrame indexed by estimator: ratio of the RMSE of `first` to its own, low, high, and the
    verdict on `first`.
    """
    block = _block(settings[settings["regret"].notna()])
    if first not in block.names:
        raise BadInputError(f"settings have no regret of {first}.")
    position = block.names.index(first)
    difference, freedom = _differences(
        replace(block, best=np.full_like(block.best, position)), resamples, seed
    )
    others = np.delete(np.arange(len(block.names)), position)
    wrong = (1.0 - level) / (comparisons or max(len(others), 1))
    columns = _verdicts(-difference[:, others], freedom, wrong)
    names = pd.Index([block.names[i] for i in others], name="estimator")
    return pd.DataFrame(dict(zip(("ratio", "low", "high", "verdict"), columns)), index=names)


def _block(settings: pd.DataFrame, names: Sequence[str] | None = None) -> Block:
    if settings.groupby(["notion", "estimand"]).ngroups > 1:
        raise BadInputError("settings mix notions or estimands; a comparison is of one of each.")
    return block_of(settings, names)


def _differences(block: Block, resamples: int, seed: int) -> tuple[NDArray[np.float64], int]:
    """Return the mean log RMSE ratios to `block.best`, (B + 1, E), and their degrees of freedom."""
    many = block.problems >= MIN_PROBLEMS
    means = nanmean(group_means(block, resamples, seed, draw_problems=many))
    reps = int((~np.isnan(block.squared)).any(axis=1).sum(axis=1).max())
    freedom = block.problems - 1 if many else block.problems * (reps - 1)
    return means, max(freedom, 1)


def _verdicts(difference: NDArray[np.float64], freedom: int, wrong: float) -> tuple[Any, ...]:
    """Return the ratio, its ends and the verdict; `wrong` is the two-sided error rate."""
    half = stats.t.ppf(1.0 - wrong / 2.0, freedom) * np.nanstd(difference[1:], axis=0, ddof=1)
    ratio, low, high = (np.exp(difference[0] + side * half) for side in (0, -1, 1))
    verdict = np.where(high < 1.0, "better", np.where(low > 1.0, "worse", "undecided"))
    return ratio, low, high, verdict


def choices(
    settings: pd.DataFrame, by: Sequence[str], comparisons: int | None = None, **bootstrap: Any
) -> pd.DataFrame:
    """Choose the estimator to use by notion, estimand and `by`, and compare it with the runner-up.

    Parameters
    ----------
    settings, by
        As for `leaderboard`.
    comparisons : int, optional
        As for `better`. Default: the number of rows, which are one set of statements. That the two
        were chosen by the same data needs no further correction: a two-sided test of the best
        against the second also tests that the best is the best (Hung and Fithian 2019, Annals of
        Statistics 47, exact for independent normal means).
    bootstrap
        resamples, seed and level of `leaderboard` and `better`.

    Returns
    -------
    DataFrame
        notion, estimand, `by`, then estimator, regret, low, high, rmse, cpu_seconds, runner_up,
        runner_regret, ratio (of the RMSEs of the first and the second), ratio_low, ratio_high,
        verdict ("alone" without a runner-up), about, problems. A group without any rank is left
        out.
    """
    board = leaderboard(settings, by, **bootstrap)
    keys = ["notion", "estimand", *by]
    first, second = (board[board["rank"].eq(place)].set_index(keys) for place in (1.0, 2.0))
    parts = dict(list(settings[settings["regret"].notna()].groupby(keys)))
    copied = ["estimator", "regret", "low", "high", "rmse", "cpu_seconds"]
    rows = []
    for key, row in first.iterrows():
        part = parts[key]
        choice = {**dict(zip(keys, key)), **row[copied], "problems": part["problem"].nunique()}
        if key in second.index:
            other = second.loc[key]
            pair = (row["estimator"], other["estimator"], comparisons or len(first))
            statement = better(part, *pair, **bootstrap)
            choice |= {
                "runner_up": statement.second, "runner_regret": other["regret"],
                "ratio": statement.ratio, "ratio_low": statement.low,
                "ratio_high": statement.high, "verdict": statement.verdict,
                "about": statement.about,
            }  # fmt: skip
        else:
            choice |= {"runner_up": None, "verdict": "alone"}
        rows.append(choice)
    columns = [
        *keys, *copied, "runner_up", "runner_regret", "ratio", "ratio_low", "ratio_high", "verdict",
        "about", "problems",
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=columns)
