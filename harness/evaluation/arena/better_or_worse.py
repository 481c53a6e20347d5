"""Decide which of two estimators is better, by a test over families; Holm's correction."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import stdtr

from harness.errors import BadInputError
from harness.evaluation.arena.resampling import mean_and_error, nanmean, t_interval
from harness.evaluation.arena.rules import BOUND_KINDS, SETTING, floors

LEAST_FAMILIES = 5  # with fewer families, a comparison is about these families alone
RATE = 0.05  # error rate of the verdicts of one board together


class Statement(NamedTuple):
    """Result of a comparison of two estimators.

    `ratio` is the RMSE of `first` divided by the RMSE of `second` (a geometric mean as in
    `leaderboard`), with its interval from `low` to `high`. `p_value` is that of the two-sided test
    that the ratio is 1. `verdict` tells whether `first` is "better", "worse" or "undecided".
    `about` is "families like these". With fewer than LEAST_FAMILIES families it is "these
    families", the verdict is "undecided" and the p-value is NaN.
    """

    first: str
    second: str
    ratio: float
    low: float
    high: float
    p_value: float
    verdict: str
    families: int
    about: str


def better(settings: pd.DataFrame, first: str, second: str, level: float = 0.95) -> Statement:
    """Compare two estimators by the mean over families of the log ratio of their RMSEs.

    The interval and the p-value are Student's for the mean of the families, with F - 1 degrees of
    freedom for F families. The replications need no bootstrap: their noise is part of the variance
    between families.

    Parameters
    ----------
    settings : DataFrame
        Rows of `arena.settings` for one notion and one estimand.
    first, second : str
        Ids of the estimators. Only settings and replications that both have count.
    level : float
        Level of the interval. The verdict has the error rate 1 - level.

    Raises
    ------
    BadInputError
        If `settings` mixes notions or estimands, or if the two estimators share no setting.
    """
    if settings.groupby(["notion", "estimand"]).ngroups > 1:
        raise BadInputError(
            "settings mix notions or estimands; pass the rows of one notion and one estimand."
        )
    logs = log_ratios(settings, first, second)
    if logs.empty:
        raise BadInputError(
            f"{first} and {second} have no common setting with a truth above 0; compare estimators "
            "that were run on the same problems."
        )
    return statement(logs, first, second, level)


def log_ratios(settings: pd.DataFrame, first: str, second: str) -> pd.DataFrame:
    """Return log(RMSE of `first` / RMSE of `second`) in each setting that both have.

    RMSEs are over the replications that both have, and at least `floors`. Settings whose truth is 0
    or unknown do not count. Bounds do not, either.

    Returns
    -------
    DataFrame
        The columns family, problem, k, notion, n and estimand, and `log`.
    """
    known = settings["truth"].notna() & ~settings["calibrated"]
    usable = settings[known & settings["rmse"].notna() & ~settings["kind"].isin(BOUND_KINDS)]
    pair = (
        usable.loc[usable["estimator"].eq(name), [*SETTING, "errors"]] for name in (first, second)
    )
    both = next(pair).merge(next(pair), on=SETTING, suffixes=("", "_second"))
    if both.empty:
        return both[SETTING].assign(log=pd.Series(dtype=float))
    squares = [np.stack(both[name].to_list()) ** 2 for name in ("errors", "errors_second")]
    missing = np.isnan(squares[0] + squares[1])
    least = floors(both)
    logs = [
        np.log(np.maximum(np.sqrt(nanmean(np.where(missing, np.nan, square), axis=1)), least))
        for square in squares
    ]
    return both[SETTING].assign(log=logs[0] - logs[1]).dropna(subset="log")


def statement(logs: pd.DataFrame, first: str, second: str, level: float = 0.95) -> Statement:
    """Return the statement on two estimators from the result of `log_ratios`."""
    values = logs.groupby("family")["log"].mean().to_numpy()[:, None]
    ratio, low, high = (float(np.exp(end[0])) for end in t_interval(values, level))
    families = len(values)
    p_value = float(p_values(values)[0]) if families >= LEAST_FAMILIES else np.nan
    about = "families like these" if families >= LEAST_FAMILIES else "these families"
    verdict = verdicts([ratio], [p_value], 1.0 - level)[0]
    return Statement(first, second, ratio, low, high, p_value, verdict, families, about)


def p_values(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the p-values of the two-sided t tests that the mean of each column is 0.

    `values` has a row for each family. If all values of a column are 0, its p-value is 1.
    """
    mean, error, freedom = mean_and_error(values)
    with np.errstate(invalid="ignore", divide="ignore"):
        t = np.where(mean == 0.0, 0.0, np.abs(mean) / error)
        result: NDArray[np.float64] = 2.0 * stdtr(freedom, -t)
    return result


def verdicts(ratio: Any, p_value: Any, rate: float = RATE) -> list[str]:
    """Return "better", "worse" or "undecided" for each RMSE ratio and its p-value."""
    ratio, p_value = np.asarray(ratio, dtype=float), np.asarray(p_value, dtype=float)
    with np.errstate(invalid="ignore"):
        words = np.where(ratio < 1.0, "better", "worse")
        return [str(word) for word in np.where(p_value <= rate, words, "undecided")]


def holm(p_value: Any) -> NDArray[np.float64]:
    """Return p-values that are corrected for the number of tests by Holm's step-down rule.

        p_(i) corrected = max over j <= i of min(1, (m - j + 1) p_(j))

    p_(1) <= ... <= p_(m) are the sorted p-values. NaN stays NaN and does not count.

    References
    ----------
    Holm (1979), A simple sequentially rejective multiple test procedure, Scandinavian Journal of
    Statistics 6:65.

    Examples
    --------
    >>> holm([0.03, 0.01, float("nan"), 0.04]).tolist()
    [0.06, 0.03, nan, 0.06]
    """
    p = np.asarray(p_value, dtype=float)
    order = np.argsort(p)[: int((~np.isnan(p)).sum())]
    result = np.full(len(p), np.nan)
    factors = np.arange(len(order), 0, -1)
    result[order] = np.minimum(np.maximum.accumulate(factors * p[order]), 1.0)
    return result
