"""Tests of a paper's claims: a statistic with its 99 % interval is compared with a threshold.

A claim is a row of reported.csv with the source `claim`. Its columns mean:

    row     short name of the claim
    column  the statistic in words
    value   the threshold
    unit    `above` or `below`, the side of the threshold on which the statistic should be

The claim holds if the whole interval is on that side, fails if it is on the other side, and is
undecided otherwise (harness.evaluation.verdicts). An exact number has no interval and decides by
itself. Fewer than LEAST_VALUES values decide nothing. The interval assumes independent values:
average values that share draws or rows first.

experiments/<paper>/claims.py computes the statistics with the functions of this module:

    from harness.evaluation import claims
    from harness.figures import claims_plot

    def statistics(records, settings):
        rows = records[records["estimator"].eq("binned15")]
        over = rows["value"] - rows["truth"]
        why = "one problem, 40 replications"
        return {"ECE overestimates": claims.estimate_mean(over, rows["key"], claims.OURS, why)}

    render, table, summary, reproduced = claims_plot.item_functions(statistics)
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import ndtri, stdtrit

from harness.errors import BadInputError
from harness.evaluation import reproduction
from harness.math.rates import clopper_pearson

LEVEL = 0.99  # two-sided level of all intervals
# Smallest number of values with an interval: with fewer, Student's interval depends too much on the
# unknown distribution of the values.
LEAST_VALUES = 11
PAPER, OURS = "the paper's data", "ours"
NO_NUMBER = "no cell gave a number to compare"


@dataclass(frozen=True)
class Statistic:
    """A number that is compared with the threshold of a claim, with its interval.

    Parameters
    ----------
    value, low, high : float
        The number and its two-sided interval at level LEVEL. All three are NaN if the claim cannot
        be tested (see `untested`).
    where : str
        PAPER if it was computed on the paper's data, OURS for other data.
    keys : iterable of str or of tuples of str
        Keys of the cells from which the number was computed.
    why : str, optional
        One sentence: the numbers that were compared, or, without a value, the data that is
        missing.
    cells : int, optional
        Number of values from which the number was computed. Default: the number of keys.
    """

    value: float
    low: float
    high: float
    where: str
    keys: tuple[str, ...] = ()
    why: str | None = None
    cells: int | None = None

    def __post_init__(self) -> None:
        for name in ("value", "low", "high"):
            object.__setattr__(self, name, float(getattr(self, name)))
        object.__setattr__(self, "keys", reproduction.merge_keys(self.keys))
        if self.cells is None:
            object.__setattr__(self, "cells", len(self.keys))
        if math.isnan(self.value):
            if not self.why:
                raise BadInputError(
                    "why is empty for a statistic without a number; name the missing data."
                )
        elif self.where not in (PAPER, OURS):
            raise BadInputError(f"where is {self.where!r}; {PAPER!r} and {OURS!r} are allowed.")
        elif not self.low <= self.value <= self.high:
            raise BadInputError(
                f"the interval [{self.low}, {self.high}] does not contain the value {self.value}."
            )


# Values -> statistics


def among(parts: int) -> float:
    """Return the level for each of several intervals that `smallest` or `largest` combines.

    With this level all intervals contain their parameters at once with probability LEVEL
    (Bonferroni). The smallest of many values is extreme by chance, so its interval needs a higher
    level.

    Examples
    --------
    >>> round(among(10), 6)
    0.999
    """
    return 1.0 - (1.0 - LEVEL) / max(parts, 1)


def estimate_mean(
    values: Iterable[float],
    keys: Iterable[Any],
    where: str,
    why: str | None = None,
    level: float = LEVEL,
) -> Statistic:
    """Return the mean of independent values with Student's t interval, mean -+ t sd / sqrt(N).

    t has N - 1 degrees of freedom. NaN values are left out. Fewer than LEAST_VALUES values give an
    infinite interval, and `why` says so. `keys` are the keys of the cells. `level` is the level of
    the interval; see `among` for one of several. For outcomes that are right or wrong use
    `estimate_share`.

    Examples
    --------
    >>> estimate_mean(range(1, 12), (), OURS)
    Statistic(value=6.0, low=2.830..., high=9.169..., where='ours', keys=(), why=None, cells=11)
    """
    numbers = np.asarray(list(values), dtype=float)
    numbers = numbers[~np.isnan(numbers)]
    if not len(numbers):
        return untested(why or NO_NUMBER, keys)
    error = numbers.std(ddof=1) / np.sqrt(len(numbers)) if len(numbers) > 1 else np.inf
    return attach_interval(numbers.mean(), error, len(numbers), keys, where, why, level)


def estimate_difference(
    first: Iterable[float],
    second: Iterable[float],
    keys: Iterable[Any],
    where: str,
    why: str | None = None,
    level: float = LEVEL,
) -> Statistic:
    """Return `estimate_mean` of the differences first - second. Pairs with a NaN are left out."""
    return estimate_mean(np.subtract(list(first), list(second)), keys, where, why, level)


def estimate_share(
    successes: int,
    trials: int,
    keys: Iterable[Any],
    where: str,
    why: str | None = None,
    level: float = LEVEL,
) -> Statistic:
    """Return the share of successes in independent trials, with its Clopper-Pearson interval.

    Examples
    --------
    >>> estimate_share(10, 10, (), OURS)
    Statistic(value=1.0, low=0.5887..., high=1.0, where='ours', keys=(), why=None, cells=10)
    """
    successes, trials = int(successes), int(trials)
    if not trials:
        return untested(why or NO_NUMBER, keys)
    ends = clopper_pearson(successes, trials, level)
    return Statistic(successes / trials, *ends, where, tuple(keys), why, trials)


def exact(
    value: float,
    error: float,
    keys: Iterable[Any],
    where: str,
    why: str | None = None,
    level: float = LEVEL,
) -> Statistic:
    """Return a number with a known standard error `error` (0 if exact) as a statistic.

    The interval is that of the normal distribution.
    """
    return attach_interval(value, error, None, keys, where, why, level)


def attach_interval(
    value: float,
    error: float,
    reps: float | None,
    keys: Iterable[Any],
    where: str,
    why: str | None = None,
    level: float = LEVEL,
) -> Statistic:
    """Return a number whose standard error was estimated from `reps` replications as a statistic.

    The interval is Student's with reps - 1 degrees of freedom. It is that of the normal
    distribution if `reps` is unknown (None or NaN), and infinite for fewer than LEAST_VALUES
    replications.

    Examples
    --------
    >>> attach_interval(6.0, 1.0, 11, (), OURS)
    Statistic(value=6.0, low=2.830..., high=9.169..., where='ours', keys=(), why=None, cells=11)
    """
    cells = None
    half = ndtri((1 + level) / 2) * error
    if reps is not None and not math.isnan(reps):
        cells = int(reps)
        half = stdtrit(reps - 1, (1 + level) / 2) * error if cells >= LEAST_VALUES else np.inf
        if cells < LEAST_VALUES:
            few = f"{cells} value{'s' * (cells != 1)}, too few for an interval"
            why = f"{why}; {few}" if why else few
    return Statistic(value, value - half, value + half, where, tuple(keys), why, cells)


def absolute(statistic: Statistic) -> Statistic:
    """Return the absolute value of a statistic. An interval that contains 0 then begins at 0.

    Examples
    --------
    >>> size = absolute(Statistic(-1.0, -3.0, 2.0, OURS))
    >>> size.value, size.low, size.high
    (1.0, 0.0, 3.0)
    """
    low, high = sorted(abs(end) for end in (statistic.low, statistic.high))
    low = 0.0 if statistic.low <= 0.0 <= statistic.high else low
    return replace(statistic, value=abs(statistic.value), low=low, high=high)


def smallest(parts: Iterable[Statistic], why: str | None = None) -> Statistic:
    """Return the smallest of several statistics, such as the lowest coverage of many settings.

    Its interval goes from the smallest lower end to the smallest upper end. For an interval at
    level LEVEL, each of the `parts` needs the level `among(number of parts)`. Parts without a
    number are left out. `why` is the `why` of the result. Default: the `why` of the smallest part.

    Examples
    --------
    >>> least = smallest([Statistic(2.0, 1.0, 3.0, OURS), Statistic(2.5, 0.5, 9.0, OURS)])
    >>> least.value, least.low, least.high
    (2.0, 0.5, 3.0)
    """
    parts = list(parts)
    known = [part for part in parts if not math.isnan(part.value)]
    if not known:
        reasons = [part.why for part in parts if part.why]
        return untested(why or next(iter(reasons), NO_NUMBER))
    least = min(known, key=lambda part: part.value)
    return Statistic(
        least.value,
        min(part.low for part in known),
        min(part.high for part in known),
        PAPER if all(part.where == PAPER for part in known) else OURS,
        tuple(key for part in known for key in part.keys),
        why or least.why,
        sum(part.cells or 0 for part in known),
    )


def largest(parts: Iterable[Statistic], why: str | None = None) -> Statistic:
    """Return the largest of several statistics, with an interval as in `smallest`."""
    return _negative(smallest([_negative(part) for part in parts], why))


def _negative(statistic: Statistic) -> Statistic:
    return replace(statistic, value=-statistic.value, low=-statistic.high, high=-statistic.low)


def untested(why: str, keys: Iterable[Any] = ()) -> Statistic:
    """Return the statistic of a claim that cannot be tested here. `why` names the missing data."""
    return Statistic(np.nan, np.nan, np.nan, "", tuple(keys), why)
