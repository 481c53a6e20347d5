"""Plain words for notions, estimands and questions, and numbers as people read them: what page and terminal have in common."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import replace

from harness.judging.findings import Interval

QUESTIONS = {
    "calibrated": "Is it calibrated?",
    "how_far": "How far off is it, and how sure is that?",
    "where": "Where is it off?",
    "gains": "What would it gain to recalibrate?",
    "versus": "Which model is better?",
}
NOTIONS = {"binary": "binary", "top_label": "top-label", "classwise": "class-wise", "canonical": "canonical"}
ESTIMANDS = {
    "l1": "L1 error", "l2": "L2 error", "l2_squared": "squared error", "rms": "root mean squared error", "kl": "KL error",
    "linf": "largest error", "l1_over": "over-confident part of the L1 error", "l1_under": "under-confident part of the L1 error",
}  # fmt: skip
SCORES = {"brier": "Brier score", "log": "log-loss"}
DASH = "–"


def estimand(name: str) -> str:
    return ESTIMANDS.get(name, name.replace("_", " "))


def notion(name: str) -> str:
    return NOTIONS.get(name, name.replace("_", " "))


def has(value: float | None) -> bool:
    """Whether there is a number: neither None nor NaN."""
    return value is not None and value == value


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


def number(value: float | None, digits: int = 3) -> str:
    """So many significant digits, without zeros at their end; a dash for none.

    Examples
    --------
    >>> number(0.04213), number(0.00012345), number(12.3456), number(0.5), number(None), number(-0.0421)
    ('0.0421', '0.000123', '12.3', '0.5', '–', '−0.0421')
    """
    if value is None or value != value:
        return DASH
    if abs(value) == float("inf"):
        return "∞" if value > 0 else "−∞"
    if value == 0:
        return "0"
    size = abs(value)
    if size >= 1000:
        text = f"{size:,.0f}"
    elif size < 1e-6:
        text = f"{size:.0e}".replace("e-0", "e-")
    else:
        text = f"{size:.{digits}g}"
        text = f"{size:.{digits + 5}f}".rstrip("0") if "e" in text else text
    return f"−{text}" if value < 0 else text


def percent(value: float | None) -> str:
    """'95 %', '4.8 %'; a dash for none."""
    return f"{100 * value:.3g} %" if value is not None and value == value else DASH


def ends(interval: Interval, infinite: str = "") -> str:
    """'0.0290 to 0.0590', 'at least 0.004', 'at most 0.12', or `infinite` without ends."""
    low, high = has(interval.low), has(interval.high)
    if low and high:
        return f"{number(interval.low)} to {number(interval.high)}"
    return f"at least {number(interval.low)}" if low else f"at most {number(interval.high)}" if high else infinite


def p_value(value: float | None) -> str:
    """'= 0.012', '< 0.0001', to be put behind a p; a dash for none.

    Examples
    --------
    >>> p_value(0.0123), p_value(1e-9), p_value(None)
    ('= 0.012', '< 0.0001', '–')
    """
    if value is None or value != value:
        return DASH
    return "< 0.0001" if value < 1e-4 else f"= {value:.2g}"


def clean(text: object) -> str:
    """A text from data as one that does no harm where it is printed: no control characters (a terminal would obey them), none
    that turn the direction of what follows, no line breaks.

    Examples
    --------
    >>> clean("a\\x1b[31mred\\nb\\u202e")
    'a[31mred b'
    """
    spaced = re.sub(r"\s+", " ", str(text))
    return "".join(c for c in spaced if unicodedata.category(c) not in ("Cc", "Cf", "Cs", "Co", "Cn")).strip()


def fitted(text: object, most: int = 24) -> str:
    """The text, cleaned, its middle left out where it is longer than `most` characters.

    Examples
    --------
    >>> fitted("abcdefghij", 7)
    'abc…hij'
    """
    said = clean(text)
    return said if len(said) <= most else f"{said[: most // 2]}…{said[len(said) - (most - 1) // 2 :]}"
