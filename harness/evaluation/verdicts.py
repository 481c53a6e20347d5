"""Verdicts on paper against ours: their meaning, the test behind them, and their counts.

power is half the width of the range that would have been accepted as agreement, relative to the
reported number: 0.02 is a test to 2 %. It has three digits, exists where a number was judged, and
is infinite where the reported number is 0.

verdict of a number
    identical               |ours - reported| <= precision / 2 + 1e-9
    within error            |difference| <= t * sqrt(plus_minus^2 + error^2), t the two-sided 0.1 %
                            quantile of Student's t with Welch's degrees of freedom: one in a
                            thousand true reproductions is called different. Never given where both
                            sides share their random draws: there only equality agrees.
    differs                 otherwise
    no test                 one of the two first, but of no worth: power, to its three digits, is
                            above 0.5, or the reported number is 0. A number such as 0.001 that is
                            printed to 0.001 has power 0.5, and is tested.
    not reproducible here   no number of ours, or one of something else (other data, other
                            hardware), or one replication and so no error to judge by; with reason
verdict of a claim
    holds                   the whole interval of our statistic is on the claimed side
    fails                   it is on the other side, the threshold included
    undecided               the threshold is inside
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
        "the difference is within what both Monte Carlo errors explain (0.1 % two-sided, Welch)"
    ),
    "differs": "the difference is larger than that",
    "no test": (
        "an agreement of no worth: more than half of the reported number would have been accepted, "
        "or that number is 0"
    ),
    "holds": "the whole 99 % interval of our statistic is on the claimed side of the threshold",
    "fails": "the whole 99 % interval of our statistic is on the other side of the threshold",
    "undecided": (
        "the 99 % interval of our statistic has the threshold inside, or too few values for one"
    ),
    UNJUDGED: "there is no number of ours, or none that can be judged, for the reason given",
}
LARGEST_POWER = 0.5  # above it, an agreement says nothing
DIFFERS_BELOW = 0.001  # two-sided probability, under equality, of a verdict "differs"


def judge(frame: pd.DataFrame, claims: pd.Series, same_draws: bool = False) -> pd.DataFrame:
    """Add the columns verdict, power and z.

    Parameters
    ----------
    frame : DataFrame
        reported, plus_minus, reported_reps, precision and unit; ours, error, reps, difference, low,
        high, and why, which is set where our number is of something else and is not judged.
    claims : Series of bool
        Mask of the claims.
    same_draws : bool
        Both sides have the same random draws, so that only equality is agreement.
    """
    spread = np.hypot(frame["plus_minus"].fillna(0.0), frame["error"].fillna(0.0))
    equal = frame["precision"].fillna(0.0) / 2 + 1e-9
    accepted = equal if same_draws else _accepted(frame, spread, equal)
    # three digits: without the rounding, the 1e-9 of `equal` would make 0.5 more than half
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
    verdict = np.where(claims, _of_claims(frame), np.where(other, UNJUDGED, of_numbers))
    has_error = (spread > 1e-12) & ~no_error
    return frame.assign(
        verdict=verdict,
        power=power.where((verdict != UNJUDGED) & ~claims),
        z=(frame["difference"] / spread).where(has_error & ~claims & ~other),
    )


def _accepted(frame: pd.DataFrame, spread: pd.Series, equal: pd.Series) -> pd.Series:
    """Return the largest |ours - reported| that agrees.

    A number without an error of ours has to be equal.
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
    """Return {verdict: number of rows} without zeros, in the order of VERDICTS."""
    counts = Counter(compared["verdict"])
    return Counter({verdict: counts[verdict] for verdict in VERDICTS if counts[verdict]})


def counts_text(counts: Mapping[str, int]) -> str:
    """Return {verdict: count} as a text.

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
