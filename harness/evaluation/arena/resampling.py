"""Means over families of problems, their t intervals, and a bootstrap of ranks."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import stdtrit

Floats: TypeAlias = NDArray[np.float64]
Mask: TypeAlias = NDArray[np.bool_]


def family_means(settings: pd.DataFrame, column: str = "regret") -> pd.DataFrame:
    """Return the mean log of a column by family (rows) and estimator (columns).

    The mean is over the settings of the family. It is NaN where an estimator has no value.
    """
    logs = np.log(settings[column].clip(lower=1e-12))
    means = logs.groupby([settings["family"], settings["estimator"]]).mean()
    return means.unstack("estimator")


def t_interval(values: Any, level: float = 0.95) -> tuple[Floats, Floats, Floats]:
    """Return the means over families and the ends of their t intervals, for each column.

        mean -+ t s / sqrt(F)

    F is the number of families with a value, s their standard deviation, and t a quantile of
    Student's law with F - 1 degrees of freedom.

    Parameters
    ----------
    values : array (families, columns)
        Values, NaN where there is none.
    level : float
        Level of the intervals.

    Returns
    -------
    mean, low, high : array (columns,)
        With one family, the ends are NaN. Without any, all three are.

    Examples
    --------
    >>> mean, low, high = t_interval([[0.0], [1.0], [2.0]])
    >>> [round(float(end[0]), 2) for end in (mean, low, high)]
    [1.0, -1.48, 3.48]
    """
    values = np.asarray(values, dtype=float)
    mean, error, freedom = mean_and_error(values)
    with np.errstate(invalid="ignore"):
        half = stdtrit(np.where(freedom > 0, freedom, np.nan), (1.0 + level) / 2.0) * error
    return mean, mean - half, mean + half


def mean_and_error(values: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the mean of each column, its standard error and its degrees of freedom.

    `values` has a row for each family. NaN is ignored. With fewer than two values the error is NaN.
    """
    count = (~np.isnan(values)).sum(axis=0)
    mean = nanmean(values)
    with np.errstate(invalid="ignore", divide="ignore"):
        spread = np.nansum((values - mean) ** 2, axis=0) / (count - 1)
        error = np.where(count > 1, np.sqrt(spread / count), np.nan)
    return mean, error, count - 1.0


def draw_weights(families: int, resamples: int, seed: int) -> Floats:
    """Return how often each family is drawn in each resample, as an array (resamples, families)."""
    rng = np.random.default_rng(seed)
    share = [1.0 / families] * families
    return rng.multinomial(families, share, size=resamples).astype(float)


def rank_intervals(
    values: Floats, can: Mask, resamples: int = 1000, seed: int = 0, level: float = 0.95
) -> tuple[Floats, Floats, Floats]:
    """Rank columns by their means over families, with intervals from a bootstrap of families.

    Parameters
    ----------
    values : array (families, columns)
        Values, NaN where there is none. The smallest mean has rank 1.
    can : array (columns,) of bool
        Mask of the columns that are ranked. The other ones have NaN.
    resamples, seed, level : int, int, float
        Number of resamples, seed of the bootstrap, and level of the intervals.

    Returns
    -------
    rank, low, high : array (columns,)
        With fewer than two families or without resamples, the ends are NaN.
    """
    rank = np.where(can, _ranks(nanmean(values)[None], can)[0], np.nan)
    nothing = np.full(len(rank), np.nan)
    if len(values) < 2 or not resamples or not can.any():
        return rank, nothing, nothing
    weights = draw_weights(len(values), resamples, seed)
    known = ~np.isnan(values)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = weights @ np.where(known, values, 0.0) / (weights @ known.astype(float))
    tails = [(1.0 - level) / 2.0, (1.0 + level) / 2.0]
    low, high = np.quantile(_ranks(means, can), tails, axis=0)
    return rank, np.where(can, np.floor(low), np.nan), np.where(can, np.ceil(high), np.nan)


def _ranks(means: Floats, can: Mask) -> Floats:
    """Return the rank of each column in each row of means; columns that cannot be ranked last."""
    usable = np.where(can, np.nan_to_num(means, nan=np.inf), np.inf)
    places = usable.argsort(axis=1, kind="stable").argsort(axis=1, kind="stable")
    return 1.0 + places.astype(float)


def nanmean(values: Any, axis: int = 0) -> Floats:
    """Return the mean of the values that are not NaN. If all are NaN, return NaN silently."""
    count = (~np.isnan(values)).sum(axis=axis)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(count > 0, np.nansum(values, axis=axis) / count, np.nan)
