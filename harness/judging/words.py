"""Formats that the page, the terminal text and the sentences of a judgement share."""

from __future__ import annotations

import math
from collections.abc import Sequence

from harness.common.wording import count_decimals, format_ends, format_number, format_percent
from harness.judging.interval import Interval

MOST_DIGITS = 6  # largest number of decimals that show that an end is not 0


def join_names(names: Sequence[str], most: int = 6) -> str:
    """Join names to a list for a sentence; those beyond the first `most` are only counted.

    Examples
    --------
    >>> join_names(["a"]), join_names(["a", "b", "c"]), join_names(["a", "b", "c"], 2)
    ('a', 'a, b and c', 'a, b and 1 more')
    """
    shown = list(names)
    if len(names) > most:
        shown = [*names[:most], f"{len(names) - most} more"]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def capitalise(text: str) -> str:
    """Return a text with a capital first letter. Other letters are not changed."""
    return text[:1].upper() + text[1:]


def as_sentence(error: object) -> str:
    """Return a message with a capital first letter and one full stop at the end."""
    return capitalise(str(error).strip().rstrip(".")) + "."


def format_with_level(interval: Interval) -> str:
    """Format the value of an interval, with its level and its ends in brackets.

    Examples
    --------
    >>> format_with_level(Interval(0.0421, 0.0294, 0.0588)), format_with_level(Interval(0.04))
    ('0.0421 (95 % interval 0.0294 to 0.0588)', '0.04')
    """
    ends = format_ends(interval.low, interval.high)
    text = format_number(interval.value)
    return f"{text} ({format_percent(interval.level)} interval {ends})" if ends else text


def in_words(interval: Interval, is_difference: bool = False) -> str:
    """Format the value of an interval for a sentence, with its ends in brackets.

    An end is not rounded to 0 unless it is below 1e-6. With `is_difference`, a value whose interval
    is below 0 is written without its sign.

    Examples
    --------
    >>> in_words(Interval(0.0421, 0.0294, 0.0588)), in_words(Interval(0.04))
    ('0.042 (0.029 to 0.059)', '0.040')
    >>> in_words(Interval(-0.2, -0.3, -0.1), is_difference=True)
    '0.200 (0.100 to 0.300)'
    >>> in_words(Interval(-0.2, -math.inf, -0.1), is_difference=True)
    '0.2 (at least 0.1)'
    >>> in_words(Interval(0.00002, -0.0012, 0.0013))
    'less than 0.0001 (−0.0012 to 0.0013)'
    >>> in_words(Interval(0.0094, 0.0002, 0.0186)), in_words(Interval(0.0093, 0.0, 0.0186))
    ('0.0094 (0.0002 to 0.0186)', '0.009 (0.000 to 0.019)')
    >>> in_words(Interval(0.0094, -0.0002, 0.0186))
    '0.0094 (−0.0002 to 0.0186)'
    """
    value, low, high = interval.value or 0.0, interval.low, interval.high
    if low is None or high is None:
        return format_size(value, 3)
    if is_difference and high < 0.0:
        value, low, high = -value, -high, -low
    if math.isinf(low) or math.isinf(high):
        ends = format_ends(low, high)
        return format_number(value, 2) + (f" ({ends})" if ends else "")
    digits = count_ends(interval)
    ends = f"{format_end(low, digits)} to {format_end(high, digits)}"
    return f"{format_size(value, digits)} ({ends})"


def count_ends(interval: Interval) -> int:
    """Return how many decimals show the ends of an interval, so that they are 0 only if they are.

    An end that has no digit among the first six decimals counts as 0 if the interval contains 0.

    Examples
    --------
    >>> count_ends(Interval(0.0094, 0.0, 0.0186)), count_ends(Interval(0.0094, 0.0002, 0.0186))
    (3, 4)
    >>> count_ends(Interval(0.0094, -0.0002, 0.0186)), count_ends(Interval(0.0094, -1e-9, 0.0186))
    (4, 3)
    """
    assert interval.low is not None and interval.high is not None
    digits = count_decimals(interval.high - interval.low)
    least = 0.0 if interval.sign else 0.5 * 10.0**-MOST_DIGITS
    sizes = [size for size in (abs(interval.low), abs(interval.high)) if size > least]
    while sizes and digits < MOST_DIGITS and min(sizes) < 0.5 * 10.0**-digits:
        digits += 1
    return digits


def format_size(value: float, digits: int) -> str:
    """Format a number with `digits` decimals; one that they would show as 0 is "less than" a unit.

    Examples
    --------
    >>> format_size(-0.0421, 3), format_size(-0.00002, 4), format_size(0.0, 3)
    ('−0.042', 'less than 0.0001', '0.000')
    """
    if value != 0.0 and abs(value) < 0.5 * 10.0**-digits:
        return f"less than {10.0**-digits:.{digits}f}"
    return format_end(value, digits)


def format_end(value: float, digits: int) -> str:
    """Format an end of an interval with `digits` decimals, and without the sign of a rounded 0.

    Examples
    --------
    >>> format_end(-0.0421, 3), format_end(-0.00002, 4)
    ('−0.042', '0.0000')
    """
    text = f"{value:.{digits}f}"
    return text.replace("-", "\N{MINUS SIGN}" if float(text) else "")
