"""Tables of a paper's claims: each claim with its statistic, verdict and result in words."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from harness.common.wording import DASH, format_significant, is_known
from harness.configure.settings import Settings
from harness.errors import BadInputError, guess
from harness.evaluation import reproduction
from harness.evaluation.claims import Statistic

ANSWER = ["item", "row", "column", "value", "error", "reps", "low", "high", "where", "why", "keys"]
LEAST_DIGITS = 2  # significant digits of the numbers in a result
# {last part of a statistic in words: unit of its numbers}
UNITS = {name: name for name in ("points", "nats", "%")}
UNITS |= {"% of the truth": "%", "% of that before": "%"}


def reproduced(statistics: Mapping[str, Statistic], settings: Settings) -> pd.DataFrame:
    """Return the statistics of claims as rows for `reproduction.compare`.

    `statistics` is {short name of the claim: Statistic}.
    """
    claims = _claims(settings)
    unknown = sorted(set(statistics) - set(claims["row"]))
    if unknown:
        hint = guess(unknown[0], claims["row"].to_list())
        raise BadInputError(
            f"{unknown[0]!r} is no claim in experiments/{settings.paper}/reported.csv{hint}; "
            "use the names in its column row."
        )
    rows = []
    for claim in claims.itertuples():
        if claim.row in statistics:
            s = statistics[claim.row]
            numbers = (s.value, np.nan, s.cells, s.low, s.high)
            rows.append(
                [claim.item, claim.row, claim.column, *numbers, s.where or None, s.why, s.keys]
            )
    return pd.DataFrame(rows, columns=ANSWER)


def judged(statistics: Mapping[str, Statistic], settings: Settings) -> pd.DataFrame:
    """Return the claims of a paper with their statistics and verdicts, in the paper's order.

    The columns are those of `reproduction.compare`, with the `quote` from the paper and its
    `place`.
    """
    table = reproduction.compare(
        reproduced(statistics, settings), settings.paper, settings.compare, settings.reasons
    )
    table = table[table["source"].eq(reproduction.CLAIM)]
    words = _claims(settings)[[*reproduction.KEY, "place", "quote"]]
    return table.merge(words, on=reproduction.KEY, validate="one_to_one")


def _claims(settings: Settings) -> pd.DataFrame:
    numbers = reproduction.reported(settings.paper, settings.compare)
    return numbers[numbers["source"].eq(reproduction.CLAIM)]


def summary(statistics: Mapping[str, Statistic], settings: Settings) -> pd.DataFrame:
    """Return one row per claim: result, quote, statistic, threshold, interval, verdict, reason."""
    names = {
        "row": "claim", "result": "result", "quote": "quote", "place": "place", "where": "where",
        "column": "statistic",
        "unit": "side", "reported": "threshold", "ours": "value", "low": "low", "high": "high",
        "reps": "values", "verdict": "verdict", "reason": "compared",
    }  # fmt: skip
    table = judged(statistics, settings)
    table = table.assign(result=[_describe_row(row) for row in table.itertuples()])
    return table[list(names)].rename(columns=names)


def table(statistics: Mapping[str, Statistic], settings: Settings) -> pd.DataFrame:
    """Return the claims as a table of texts, with results, quotes, statistics and thresholds."""
    rows = {}
    for r in judged(statistics, settings).itertuples():
        place = f" ({r.place})" if isinstance(r.place, str) else ""
        rows[r.row] = {
            "result": _describe_row(r),
            "the paper says": f"“{r.quote}”{place}",
            "what was measured": r.column,
            "it holds if this is": f"{r.unit} {format_significant(r.reported, 6)}",
            "on": r.where or DASH,
            "compared": r.reason or DASH,
        }
    heading = "claims of the paper, with 99 % intervals"
    frame = pd.DataFrame.from_dict(rows, orient="index")
    return frame.rename_axis("claim").rename_axis(columns=heading)


def _describe_row(row: Any) -> str:
    return describe_result(
        row.verdict, row.unit, row.reported, row.ours, row.low, row.high, row.column
    )


def describe_result(
    verdict: str,
    side: str,
    threshold: float,
    value: float | None,
    low: float | None = None,
    high: float | None = None,
    statistic: str = "",
) -> str:
    """Return the result of a claim in words, such as 'holds, by 0.019 to 0.037'.

    The text completes the name of the claim to a sentence. "by" is the distance from a threshold
    of 0. With another threshold, the statistic and the threshold are given.

    Parameters
    ----------
    verdict, side : str
        Verdict on the claim, and the side of the threshold that is claimed: above or below.
    threshold, value, low, high : float
        Threshold, statistic, and its 99 % interval. Without a finite interval, the value is given.
    statistic : str
        The statistic in words. If its last part is a unit (see UNITS), the numbers get it.

    Examples
    --------
    >>> describe_result("holds", "above", 0.0, 0.03, 0.019, 0.037)
    'holds, by 0.019 to 0.037'
    >>> describe_result("holds", "above", 0.01, 0.03, 0.019, 0.037)
    'holds, with 0.019 to 0.037, above 0.01'
    >>> describe_result("undecided", "above", 0.0, 1.0, -1.9, 3.7, "gain of accuracy, points")
    'undecided, between 1.9 points against it and 3.7 points for it'
    """
    if not is_known(value):
        return "not tested here"
    if not (is_known(low) and is_known(high) and math.isfinite(low) and math.isfinite(high)):
        low = high = value
    unit = UNITS.get(statistic.rpartition(", ")[2], "")
    unit = f" {unit}" if unit else ""
    if threshold != 0.0:
        limit = f"{side} {format_significant(threshold, 6)}"
        ends = {"holds": limit, "fails": f"not {limit}"}
        measured = _format_range(low, high, threshold) + unit
        return f"{verdict}, with {measured}, {ends.get(verdict, f'where {limit} is claimed')}"
    if side == "below":
        low, high = -high, -low
    near, far = sorted((abs(low), abs(high)))
    distance = _format_range(near, far, 0.0) + unit
    if verdict in ("holds", "fails"):
        return f"{verdict}, by {distance}"
    if low < 0.0 < high:
        against, toward = (_format_range(x, x, 0.0) + unit for x in (-low, high))
        return f"{verdict}, between {against} against it and {toward} for it"
    return f"{verdict}, with {distance} {'against' if high < 0.0 else 'for'} it"


def _format_range(low: float, high: float, threshold: float) -> str:
    """Format the ends of an interval, as one number if they are equal after rounding.

    No number is rounded to the threshold, unless it equals the threshold.
    """
    digits = LEAST_DIGITS
    while digits < 12 and any(
        x != threshold and float(f"{x:.{digits}g}") == threshold for x in (low, high)
    ):
        digits += 1
    first, last = (_format_fixed(x, digits) for x in (low, high))
    return first if first == last else f"{first} to {last}"


def _format_fixed(value: float, digits: int) -> str:
    """Format a number with `digits` significant digits, and without an exponent."""
    if value == round(value):
        return f"{value:,.0f}".replace("-", "−")
    decimals = max(digits - 1 - math.floor(math.log10(abs(value))), 0)
    return f"{value:,.{decimals}f}".replace("-", "−")
