"""Verdicts: how well our number agrees with the number that a paper reports.

Verdicts on a number
    identical               |ours - reported| <= precision / 2 + 1e-9
    within error            |ours - reported| <= t sqrt(plus_minus^2 + error^2)
    differs                 neither of the two
    no test                 one of the first two, but the agreement proves nothing (see power)
    not reproducible here   we have no number, or our number measures something else (other data,
                            other hardware), or it has no standard error because it comes from one
                            replication. The reason is stored.

`precision` is one unit of the last printed digit. `plus_minus` and `error` are the standard errors
of the reported number and of ours. t is the two-sided 0.1 % quantile of Student's t distribution
with Welch's degrees of freedom, so that one correct reproduction in a thousand is called different.
If both sides share their random draws, only `identical` counts as agreement.

power
    Half the width of the range that counts as agreement, divided by the reported number and
    rounded to three digits: 0.02 means that the number was tested to 2 %. It is infinite if the
    reported number is 0. An agreement proves nothing if the power is above 0.5. A number such as
    0.001 that is printed to 0.001 has power 0.5, and is tested.

Verdicts on a number by networks trained again
    within seeds            the reported number lies inside our interval, low to high: a prediction
                            interval for one more network, from the spread of seeds
    outside seeds           it lies outside
    no test                 the interval is wider than `widest`, so that it proves nothing

These verdicts never count as a digit that came back.

Verdicts on a claim, which states that a statistic is above or below a threshold
    holds                   the whole interval of our statistic is on the claimed side
    fails                   the whole interval is on the other side or touches the threshold
    undecided               the threshold is inside the interval

An exact number has no interval and is on one side. A statistic of 10 values or fewer is undecided.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import stdtrit

UNJUDGED = "not reproducible here"
VERDICTS = {
    "identical": "equal to the reported number to its printed precision, or to 1e-9",
    "within error": (
        "the Monte Carlo errors of both numbers explain the difference (0.1 % two-sided, Welch)"
    ),
    "differs": "the Monte Carlo errors of both numbers do not explain the difference",
    "no test": (
        "the agreement proves nothing: a difference of more than half of the reported number would "
        "also have been accepted, or the reported number is 0"
    ),
    "within seeds": (
        "the reported number lies inside the 95 % prediction interval of networks trained again"
    ),
    "outside seeds": (
        "the reported number lies outside the 95 % prediction interval of networks trained again"
    ),
    "holds": "the whole 99 % interval of our statistic is on the claimed side of the threshold",
    "fails": "the whole 99 % interval of our statistic is on the other side of the threshold",
    "undecided": (
        "the threshold is inside the 99 % interval of our statistic, or there are too few values "
        "for an interval"
    ),
    UNJUDGED: "we have no number, or ours cannot be judged; the reason is stated",
}
LARGEST_POWER = 0.5  # with a larger power, an agreement proves nothing
DIFFERS_BELOW = 0.001  # probability of the verdict "differs" if both numbers have the same mean


def judge(frame: pd.DataFrame, claims: pd.Series, same_draws: bool = False) -> pd.DataFrame:
    """Add the columns verdict, power and z to a comparison of our numbers with reported ones.

    Parameters
    ----------
    frame : DataFrame
        Columns reported, plus_minus, reported_reps, precision and unit of the reported number, and
        ours, error, reps, difference, low and high of ours. A text in the column why says that our
        number measures something else and is not judged. Rows other than claims with low and high
        are of networks trained again; the column widest has the largest width that is a test.
    claims : Series of bool
        Mask of the rows that are claims.
    same_draws : bool
        True if both sides have the same random draws, so that only equality is agreement.
    """
    spread = np.hypot(frame["plus_minus"].fillna(0.0), frame["error"].fillna(0.0))
    equal = frame["precision"].fillna(0.0) / 2 + 1e-9
    accepted = equal if same_draws else _accepted(frame, spread, equal)
    # Round to three digits: the 1e-9 in `equal` must not lift a power of 0.5 above the limit.
    with np.errstate(divide="ignore"):
        power = (accepted / frame["reported"].abs()).map(lambda share: float(f"{share:.3g}"))
    size = frame["difference"].abs()
    missing, no_error = frame["ours"].isna() | frame["reported"].isna(), frame["error"].isna()
    untested = (power > LARGEST_POWER) & (size <= accepted)
    of_numbers = np.select(
        [missing, no_error & (size > equal), untested, size <= equal, size <= accepted],
        [UNJUDGED, UNJUDGED, "no test", "identical", "within error"],
        "differs",
    )
    other = frame["why"].notna() & ~claims
    again = frame["low"].notna() & frame["high"].notna() & ~claims
    of_numbers = np.where(again, _of_seeds(frame), of_numbers)
    verdict = np.where(claims, _of_claims(frame), np.where(other, UNJUDGED, of_numbers))
    has_error = (spread > 1e-12) & ~no_error
    return frame.assign(
        verdict=verdict,
        power=power.where((verdict != UNJUDGED) & ~claims & ~again),
        z=(frame["difference"] / spread).where(has_error & ~claims & ~other & ~again),
    )


def _of_seeds(frame: pd.DataFrame) -> Any:
    widest = frame["widest"] if "widest" in frame else pd.Series(np.nan, frame.index)
    inside = frame["reported"].between(frame["low"], frame["high"])
    return np.select(
        [frame["ours"].isna(), frame["high"] - frame["low"] > widest, inside],
        [UNJUDGED, "no test", "within seeds"],
        "outside seeds",
    )


def _accepted(frame: pd.DataFrame, spread: pd.Series, equal: pd.Series) -> pd.Series:
    """Return the largest |ours - reported| that counts as agreement.

    `spread` is the joint standard error of both numbers, `equal` the tolerance for equality. A
    number of ours without a standard error must be equal.
    """
    a2, b2 = frame["plus_minus"].fillna(0.0) ** 2, frame["error"].fillna(0.0) ** 2
    dof_a, dof_b = frame["reported_reps"].fillna(np.inf) - 1, frame["reps"].fillna(np.inf) - 1
    with np.errstate(divide="ignore", invalid="ignore"):
        dof = (a2 + b2) ** 2 / (a2**2 / dof_a + b2**2 / dof_b)
    allowed = stdtrit(np.clip(dof.fillna(1e6), 1.0, 1e6), 1 - DIFFERS_BELOW / 2) * spread
    return np.maximum(equal, allowed.where(frame["error"].notna(), 0.0))


def _of_claims(frame: pd.DataFrame) -> Any:
    above = frame["unit"].eq("above")
    holds = (frame["low"] > frame["reported"]).where(above, frame["high"] < frame["reported"])
    fails = (frame["high"] <= frame["reported"]).where(above, frame["low"] >= frame["reported"])
    return np.select(
        [frame["ours"].isna(), holds, fails], [UNJUDGED, "holds", "fails"], "undecided"
    )


def count(compared: pd.DataFrame) -> Counter[str]:
    """Return {verdict: number of rows} in the order of VERDICTS, without zeros."""
    counts = Counter(compared["verdict"])
    return Counter({verdict: counts[verdict] for verdict in VERDICTS if counts[verdict]})


def counts_text(counts: Mapping[str, int]) -> str:
    """Format {verdict: count} as a text, without zeros.

    Examples
    --------
    >>> counts_text({"identical": 12, "differs": 3, "no test": 0})
    '12 identical, 3 differ'
    """
    plural = {"differs": "differ", "holds": "hold", "fails": "fail"}
    return ", ".join(
        f"{n:,} {plural.get(verdict, verdict) if n > 1 else verdict}"
        for verdict, n in counts.items()
        if n
    )
