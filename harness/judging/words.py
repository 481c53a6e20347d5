"""What page and terminal of a judgement have in common: its questions, and intervals in words."""

from __future__ import annotations

from dataclasses import replace

from harness.common.wording import format_ends
from harness.judging.findings import Interval

QUESTIONS = {
    "calibrated": "Is it calibrated?",
    "how_far": "How far off is it, and how sure is that?",
    "where": "Where is it off?",
    "gains": "What would it gain to recalibrate?",
    "versus": "Which model is better?",
}


def with_zero(interval: Interval) -> Interval:
    """Extend an interval so that it holds 0.

    Examples
    --------
    >>> with_zero(Interval(0.2, 0.1, 0.3)).low, with_zero(Interval(-0.2, -0.3, -0.1)).high, with_zero(Interval(0.2)).low
    (0.0, 0.0, None)
    """
    low = None if interval.low is None else min(interval.low, 0.0)
    high = None if interval.high is None else max(interval.high, 0.0)
    return replace(interval, low=low, high=high)


def ends(interval: Interval, infinite: str = "") -> str:
    """'0.0290 to 0.0590', 'at least 0.004', 'at most 0.12', or `infinite` without ends."""
    return format_ends(interval.low, interval.high) or infinite
