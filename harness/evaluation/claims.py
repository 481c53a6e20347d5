"""Claims of a paper, tested: a statistic with its two-sided 99 % interval against the threshold that the paper's words say.

A claim is a row of reported.csv of source `claim`: its row is a short name, its column the statistic in words, its value the
threshold and its unit the side, above or below, on which the statistic has to be. experiments/<paper>/claims.py says what the
statistics are, by the names of the claims, and is an item of the functions here:

    from harness.evaluation import claims

    def statistics(records, settings):
        found = records[records["estimator"].eq("binned15")]
        over = found["value"] - found["truth"]
        return {"ECE overestimates": claims.of_mean(over, found["key"], claims.OURS, "one problem, 40 replications")}

    def render(records, settings):
        return claims_plot.figure(statistics(records, settings), settings)

and in the same way claims.table, claims.summary and claims.reproduced; harness.figures.claims_plot draws.
The verdicts are those of harness.evaluation.reproduction: a claim holds where the whole interval is on the claimed side, fails
where it is on the other, and is undecided otherwise. The interval is as good as what it is made of: values that share draws
or rows are no independent values, and are averaged before they come here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from scipy.stats import beta, norm, t

from harness.common.wording import DASH, format_significant
from harness.configure.settings import Settings
from harness.errors import BadInputError, guess
from harness.evaluation import reproduction

LEVEL = 0.99  # of all intervals, two-sided
PAPER, OURS = "the paper's data", "ours"
SAID_SIDES = {"above": ">", "below": "<"}
ANSWER = ["item", "row", "column", "value", "error", "reps", "low", "high", "where", "why", "keys"]


@dataclass(frozen=True)
class Statistic:
    """What a claim is judged by.

    Parameters
    ----------
    value, low, high : float
        The statistic and its two-sided interval of LEVEL; NaN where there is none, see `untested`.
    where : str
        PAPER or OURS: whether it was computed on the data that the paper has, or on others.
    keys : iterable of str or of tuples of str
        The keys of the cells that it is made of.
    why : str, optional
        One sentence on what was compared; where there is no number, on what is needed.
    cells : int, optional
        How many values it is made of; default the number of keys.
    """

    value: float
    low: float
    high: float
    where: str
    keys: tuple[str, ...] = ()
    why: str | None = None
    cells: int | None = None

    def __post_init__(self):
        for name in ("value", "low", "high"):
            object.__setattr__(self, name, float(getattr(self, name)))
        object.__setattr__(self, "keys", _flat(self.keys))
        if self.cells is None:
            object.__setattr__(self, "cells", len(self.keys))
        if self.value != self.value:
            if not self.why:
                raise BadInputError(
                    "why is empty for a statistic without a number; a sentence on what is needed is."
                )
            return
        if self.where not in (PAPER, OURS):
            raise BadInputError(f"where is {self.where!r}; {PAPER!r} and {OURS!r} are allowed.")
        if not self.low <= self.value <= self.high:
            raise BadInputError(
                f"the interval is [{self.low}, {self.high}], in which the value {self.value} is not."
            )


def _flat(keys) -> tuple[str, ...]:
    """The different keys, in their order, of keys and of tuples of keys."""
    return tuple(dict.fromkeys(k for key in keys for k in ([key] if isinstance(key, str) else key)))


# Values -> statistics


def among(parts: int) -> float:
    """The level of the intervals of each of so many parts, of which `smallest` or `largest` takes one: by Bonferroni's inequality
    all hold at once at LEVEL. The worst of many is an extreme by chance as well.

    Examples
    --------
    >>> round(among(10), 6)
    0.999
    """
    return 1.0 - (1.0 - LEVEL) / max(parts, 1)


def of_mean(
    values: Iterable[float],
    keys: Iterable,
    where: str,
    why: str | None = None,
    level: float = LEVEL,
) -> Statistic:
    """The mean of independent values, with Student's t interval mean +- t sd / sqrt(N) of N - 1 degrees of freedom. Values that
    are NaN are left out; one value decides nothing, its interval is infinite. `level` is that of the interval, see `among`.
    Equal values have an interval without width: what is right or wrong in each trial is a share (`of_share`).

    Examples
    --------
    >>> of_mean([1.0, 2.0, 3.0], (), OURS)
    Statistic(value=2.0, low=-3.730..., high=7.730..., where='ours', keys=(), why=None, cells=3)
    """
    held = np.asarray(list(values), dtype=float)
    held = held[~np.isnan(held)]
    if not len(held):
        return untested(why or "no cell gave a number to compare", keys)
    half = (
        t.ppf((1 + level) / 2, len(held) - 1) * held.std(ddof=1) / np.sqrt(len(held))
        if len(held) > 1
        else np.inf
    )
    mean = held.mean()
    return Statistic(mean, mean - half, mean + half, where, keys, why, len(held))


def of_difference(
    first: Iterable[float],
    second: Iterable[float],
    keys: Iterable,
    where: str,
    why: str | None = None,
    level: float = LEVEL,
) -> Statistic:
    """The mean of the paired differences first - second, as `of_mean`; a pair without a number on one side is left out."""
    pair = [np.asarray(list(values), dtype=float) for values in (first, second)]
    if len(pair[0]) != len(pair[1]):
        raise BadInputError(
            f"first has {len(pair[0])} values and second {len(pair[1])}; pairs are needed."
        )
    return of_mean(pair[0] - pair[1], keys, where, why, level)


def of_share(
    successes: int,
    trials: int,
    keys: Iterable,
    where: str,
    why: str | None = None,
    level: float = LEVEL,
) -> Statistic:
    """The share of successes in independent trials, with the interval of Clopper and Pearson (1934).

    Examples
    --------
    >>> of_share(10, 10, (), OURS)
    Statistic(value=1.0, low=0.5887..., high=1.0, where='ours', keys=(), why=None, cells=10)
    """
    successes, trials = int(successes), int(trials)
    if not 0 <= successes <= trials:
        raise BadInputError(
            f"successes is {successes} of {trials} trials; 0 to {trials} are possible."
        )
    if not trials:
        return untested(why or "no cell gave a number to compare", keys)
    tail = (1 - level) / 2
    low = beta.ppf(tail, successes, trials - successes + 1) if successes else 0.0
    high = beta.ppf(1 - tail, successes + 1, trials - successes) if successes < trials else 1.0
    return Statistic(successes / trials, low, high, where, keys, why, trials)


def exact(
    value: float,
    error: float,
    keys: Iterable,
    where: str,
    why: str | None = None,
    level: float = LEVEL,
) -> Statistic:
    """A number with a known standard error, and the interval of the normal law; error 0 for an exact number."""
    if not (error >= 0 and value == value):
        raise BadInputError(
            f"the number is {value} +- {error}; a number and an error of 0 or more are needed."
        )
    half = norm.ppf((1 + level) / 2) * error
    return Statistic(value, value - half, value + half, where, keys, why)


def of_quantity(
    estimate: float,
    low: float,
    high: float,
    keys: Iterable = (),
    where: str = OURS,
    why: str | None = None,
) -> Statistic:
    """Any other quantity with an interval of LEVEL that is known already, as of a bootstrap."""
    return Statistic(estimate, low, high, where, keys, why)


def absolute(one: Statistic) -> Statistic:
    """The size of a statistic: an interval with 0 inside begins at 0.

    Examples
    --------
    >>> found = absolute(of_quantity(-1.0, -3.0, 2.0))
    >>> found.value, found.low, found.high
    (1.0, 0.0, 3.0)
    """
    if one.value != one.value:
        return one
    ends = sorted(abs(end) for end in (one.low, one.high))
    low = 0.0 if one.low <= 0.0 <= one.high else ends[0]
    return replace(one, value=abs(one.value), low=low, high=ends[1])


def of_estimate(
    value: float,
    error: float,
    reps: int | None,
    keys: Iterable,
    where: str,
    why: str | None = None,
    level: float = LEVEL,
) -> Statistic:
    """A number with a standard error estimated from so many replications: the interval of Student's t with reps - 1 degrees of
    freedom, of the normal law where they are not known.

    Examples
    --------
    >>> of_estimate(2.0, 1.0 / 3**0.5, 3, (), OURS)  # as of_mean([1.0, 2.0, 3.0], (), OURS)
    Statistic(value=2.0, low=-3.730..., high=7.730..., where='ours', keys=(), why=None, cells=3)
    """
    law = norm if reps is None or reps != reps else t(reps - 1) if reps > 1 else None
    half = np.inf if law is None else law.ppf((1 + level) / 2) * error
    return Statistic(
        value, value - half, value + half, where, keys, why, None if law is norm else int(reps)
    )


def smallest(parts: Iterable[Statistic], why: str | None = None) -> Statistic:
    """The smallest of several statistics, as the lowest coverage of many settings: from the smallest lower end to the smallest
    upper end, which is an interval of LEVEL where those of the parts are made at the level `among(number of parts)`. Parts
    without a number are left out; `why` is by default that of the smallest.

    Examples
    --------
    >>> parts = [of_quantity(2.0, 1.0, 3.0), of_quantity(2.5, 0.5, 9.0)]
    >>> found = smallest(parts)
    >>> found.value, found.low, found.high
    (2.0, 0.5, 3.0)
    """
    return _extreme(min, parts, why)


def largest(parts: Iterable[Statistic], why: str | None = None) -> Statistic:
    """The largest of several statistics, as `smallest`."""
    return _extreme(max, parts, why)


def _extreme(extreme, parts, why):
    parts = list(parts)
    held = [part for part in parts if part.value == part.value]
    if not held:
        return untested(
            why
            or next((part.why for part in parts if part.why), "no cell gave a number to compare")
        )
    ends = [extreme(getattr(part, name) for part in held) for name in ("value", "low", "high")]
    where = PAPER if all(part.where == PAPER for part in held) else OURS
    keys = [key for part in held for key in part.keys]
    said = why or next(part.why for part in held if part.value == ends[0])
    return Statistic(*ends, where, keys, said, sum(part.cells for part in held))


def untested(why: str, keys: Iterable = ()) -> Statistic:
    """A claim that cannot be tested here; `why` says in a sentence what is needed."""
    return Statistic(np.nan, np.nan, np.nan, "", keys, why)


# Statistics -> what people look at


def reproduced(statistics: Mapping[str, Statistic], settings: Settings) -> pd.DataFrame:
    """The statistics as rows that reproduction.compare takes."""
    claims = _claims(settings)
    unknown = [name for name in statistics if name not in set(claims["row"])]
    if unknown:
        hint = guess(unknown[0], claims["row"].to_list())
        raise BadInputError(
            f"{unknown[0]!r} is no claim of {settings.paper}'s reported numbers{hint}."
        )
    rows = []
    for claim in claims.itertuples():
        if claim.row in statistics:
            s = statistics[claim.row]
            own = (s.value, np.nan, s.cells, s.low, s.high, s.where or None, s.why, s.keys)
            rows.append(dict(zip(ANSWER, (claim.item, claim.row, claim.column, *own))))
    return pd.DataFrame(rows, columns=ANSWER)


def judged(statistics: Mapping[str, Statistic], settings: Settings) -> pd.DataFrame:
    """reproduction.compare of the claims, in the paper's order, with its words (`quote`) and their `place`."""
    claims = _claims(settings)
    found = reproduction.compare(
        reproduced(statistics, settings), settings.paper, settings.compare, settings.reasons
    )
    found = found[found["source"].eq(reproduction.CLAIM)]
    return found.merge(
        claims[[*reproduction.KEY, "place", "quote"]], on=reproduction.KEY, validate="one_to_one"
    )


def _claims(settings):
    asked = reproduction.reported(settings.paper, settings.compare)
    return asked[asked["source"].eq(reproduction.CLAIM)]


def summary(statistics: Mapping[str, Statistic], settings: Settings) -> pd.DataFrame:
    """One row per claim, every number of its own column."""
    found = judged(statistics, settings)
    names = {
        "row": "claim",
        "column": "statistic",
        "unit": "side",
        "reported": "threshold",
        "ours": "value",
        "reps": "values",
    }
    found = found.rename(columns=names).rename(columns={"reason": "compared"})
    wanted = [
        "claim",
        "quote",
        "place",
        "where",
        "statistic",
        "side",
        "threshold",
        "value",
        "low",
        "high",
        "values",
        "verdict",
    ]
    return found[[*wanted, "compared"]]


def table(statistics: Mapping[str, Statistic], settings: Settings) -> pd.DataFrame:
    """The claims for people: the paper's words, what was computed of what, the interval and the verdict."""
    rows = {}
    for r in judged(statistics, settings).itertuples():
        rows[r.row] = {
            "the paper says": f"“{r.quote}”"
            + (f" ({r.place})" if isinstance(r.place, str) else ""),
            "statistic": r.column,
            "claimed": f"{SAID_SIDES[r.unit]} {format_significant(r.reported, 6)}",
            "found, with its 99 % interval": found_text(r) or DASH,
            "verdict": r.verdict,
            "on": r.where if isinstance(r.where, str) else DASH,
            "compared": r.reason if isinstance(r.reason, str) else DASH,
        }
    made = pd.DataFrame.from_dict(rows, orient="index").rename_axis("claim")
    return made.rename_axis(
        columns="claims: each a statistic and the side of a threshold on which it has to be"
    )


def found_text(r) -> str:
    """The statistic of a row with its interval; nothing where there is none."""
    if r.ours != r.ours:
        return ""
    digits = _digits(r)
    ends = (
        ""
        if r.low == r.high
        else f" [{format_significant(r.low, digits)}, {format_significant(r.high, digits)}]"
    )
    return format_significant(r.ours, digits) + ends


def _digits(r):
    """Significant digits, three or as many more as it takes to see on which side of the threshold value and interval are."""
    numbers = [x for x in (r.ours, r.low, r.high) if np.isfinite(x) and x != r.reported]
    return next(
        (d for d in range(3, 13) if all(float(f"{x:.{d}g}") != r.reported for x in numbers)), 12
    )
