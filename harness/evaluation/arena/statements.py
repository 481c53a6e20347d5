"""Statistical comparisons of estimators in the arena, with a bound on the error rate."""

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
from harness.evaluation.arena.resampling import Block, build_block, group_means, nanmean

MIN_PROBLEMS = 5  # with fewer problems, a comparison is about these problems alone


class Statement(NamedTuple):
    """Result of a comparison of two estimators.

    `ratio` is the RMSE of `first` divided by the RMSE of `second` (a geometric mean as in
    `leaderboard`), with its interval from `low` to `high`. `verdict` tells whether `first` is
    "better", "worse" or "undecided". `about` is "problems like these" if problems were resampled.
    It is "these problems" if there are fewer than MIN_PROBLEMS and only replications were
    resampled.
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
    """Compare two estimators by the difference of their mean log regrets.

    The interval of the difference is

        difference -+ t sd

    where sd is the standard deviation of the difference over bootstrap resamples, and t a quantile
    of Student's t distribution. Its level is 1 - (1 - level) / comparisons (Bonferroni), so that
    the chance of any wrong "better" among all comparisons is at most 1 - level. Resamples draw
    problems, and replications within problems. t has one degree of freedom less than there are
    problems. With fewer than 5 problems only replications are drawn, and the result is about these
    problems alone.

    Parameters
    ----------
    settings : DataFrame
        Rows of `arena.settings` for one notion and one estimand.
    first, second : str
        Ids of the estimators. Only settings and replications that both have count.
    comparisons : int
        Number of comparisons that share the error rate.
    level : float
        Joint level of all comparisons.
    resamples, seed : int
        Number of bootstrap resamples, and the seed of their random generator.

    Returns
    -------
    Statement
        The ratio of the two RMSEs with its interval, and the verdict on `first`.

    Raises
    ------
    BadInputError
        If `settings` mixes notions or estimands, or if the two estimators share no setting.
    """
    pair = settings[settings["estimator"].isin([first, second]) & settings["regret"].notna()]
    pair = pair[pair.duplicated(["problem", "n", "notion", "estimand"], keep=False)]
    if pair.empty:
        raise BadInputError(
            f"{first} and {second} have no common setting with a regret; compare estimators that "
            "were run on the same problems."
        )
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
    """Compare one estimator with every other by their mean log regrets.

    The RMSE of an estimator that lacks some replications is scaled as in `arena.settings`.

    Parameters
    ----------
    settings, first, level, resamples, seed
        As for `better`, but `settings` has the rows of all estimators.
    comparisons : int, optional
        Number of comparisons that share the error rate. Default: the number of other estimators.

    Returns
    -------
    DataFrame
        One row per other estimator (the index): `ratio`, the RMSE of `first` divided by the RMSE
        of the other estimator; its interval `low`, `high`; and `verdict`, whether `first` is
        better, worse or undecided.
    """
    block = _block(settings[settings["regret"].notna()])
    if first not in block.names:
        raise BadInputError(
            f"settings have no row with a regret of {first}; choose an estimator that was run."
        )
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
        raise BadInputError(
            "settings mix notions or estimands; pass the rows of one notion and one estimand."
        )
    return build_block(settings, names)


def _differences(block: Block, resamples: int, seed: int) -> tuple[NDArray[np.float64], int]:
    """Return bootstrapped mean log RMSE ratios, and the degrees of freedom of their intervals.

    The ratios are log(RMSE of an estimator / RMSE of the estimator `block.best`), averaged over
    settings. They have shape (resamples + 1, estimators); row 0 is the original sample.
    """
    many = block.problems >= MIN_PROBLEMS
    means = nanmean(group_means(block, resamples, seed, draw_problems=many))
    reps = int((~np.isnan(block.squared)).any(axis=1).sum(axis=1).max())
    freedom = block.problems - 1 if many else block.problems * (reps - 1)
    return means, max(freedom, 1)


def _verdicts(difference: NDArray[np.float64], freedom: int, wrong: float) -> tuple[Any, ...]:
    """Return the RMSE ratios, the lower and upper ends of their intervals, and the verdicts.

    `difference` (resamples + 1, estimators) holds log ratios. `wrong` is the two-sided error rate.
    """
    half = stats.t.ppf(1.0 - wrong / 2.0, freedom) * np.nanstd(difference[1:], axis=0, ddof=1)
    ratio, low, high = (np.exp(difference[0] + side * half) for side in (0, -1, 1))
    verdict = np.where(high < 1.0, "better", np.where(low > 1.0, "worse", "undecided"))
    return ratio, low, high, verdict


def choices(
    settings: pd.DataFrame, by: Sequence[str], comparisons: int | None = None, **bootstrap: Any
) -> pd.DataFrame:
    """Choose the best estimator of each group, and compare it with the runner-up.

    A group is a notion, an estimand and a value of the columns `by`.

    Parameters
    ----------
    settings, by
        As for `leaderboard`.
    comparisons : int, optional
        Number of comparisons that share the error rate. Default: the number of groups. No
        correction is needed for choosing both estimators from the same data: a two-sided test of
        the best against the second also tests that the best is the best (Hung and Fithian 2019,
        Annals of Statistics 47, exact for independent normal means).
    bootstrap
        The arguments resamples, seed and level of `leaderboard` and `better`.

    Returns
    -------
    DataFrame
        One row per group, with the columns notion, estimand, `by`, and

        estimator, regret, low, high, rmse, cpu_seconds
            The best estimator with its numbers from `leaderboard`.
        runner_up, runner_regret
            The second best estimator and its mean regret.
        ratio, ratio_low, ratio_high
            RMSE of the best divided by the RMSE of the runner-up, with its interval.
        verdict, about
            As in `Statement`; the verdict is "alone" if there is no runner-up.
        problems
            Number of problems.

        Groups in which no estimator has a rank are left out.
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
