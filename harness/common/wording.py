"""Format what people read: numbers, lists and texts from files."""

from __future__ import annotations

import html
import math
import re
import unicodedata
from collections.abc import Collection
from typing import Any, TypeGuard

from harness.common.writing import SMALLEST

DASH = "–"


# Numbers


def is_known(value: float | None) -> TypeGuard[float]:
    """Return True for a number that is neither None nor NaN."""
    return value is not None and not math.isnan(value)


def format_number(value: float | str | None, digits: int = 3) -> str:
    """Format a number with `digits` significant digits, without trailing zeros.

    None and NaN give a dash, numbers below 1e-12 give 0, and a text stays as it is.

    Examples
    --------
    >>> [format_number(value) for value in (0.04213, 0.00012345, 12.3456, 0.5, None, -0.0421)]
    ['0.0421', '0.000123', '12.3', '0.5', '–', '−0.0421']
    >>> [format_number(value) for value in (12345.6, 1e-13, 3e-8, float("-inf"))]
    ['12,346', '0', '3e-8', '−∞']
    >>> format_number(1234.56, 6)
    '1,234.56'
    """
    if isinstance(value, str):
        return value
    if value is None or math.isnan(value):
        return DASH
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    size = abs(value)
    if size < SMALLEST:
        return "0"
    if size < 1e-6:
        text = f"{size:.0e}".replace("e-0", "e-")
    else:
        decimals = max(0, digits - 1 - math.floor(math.log10(size)))
        text = f"{size:,.{decimals}f}"
        text = text.rstrip("0").rstrip(".") if "." in text else text
    return f"−{text}" if value < 0 else text


def format_significant(value: float, digits: int = 3) -> str:
    """Format a number with `digits` significant digits, and with an exponent where `g` uses one.

    Examples
    --------
    >>> format_significant(-0.012345), format_significant(1.5e-7), format_significant(float("inf"))
    ('−0.0123', '1.5e−07', '∞')
    """
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    return f"{value:.{digits}g}".replace("-", "−")


def format_amount(value: float | str | None, error: float | None, digits: int = 6) -> str:
    """Format a number with its error, as "value ± error".

    The number has `digits` significant digits and the error has two. Without an error, or with one
    below 1e-12, only the number is given.

    Examples
    --------
    >>> format_amount(0.0713, 0.0021), format_amount(0.0713, 0.0), format_amount(None, 0.1)
    ('0.0713 ± 0.0021', '0.0713', '–')
    """
    text = format_number(value, digits)
    if text == DASH or error is None or not math.isfinite(error) or error < SMALLEST:
        return text
    return f"{text} ± {error:#.2g}".rstrip(".")


def format_printed(value: float, error: float, precision: float | None) -> str:
    """Format a number of a paper with its error, as "value ± error".

    `precision` is the last decimal that the paper prints, such as 0.01 for two decimals. Without
    it, or if the error needs more decimals, the format is that of `format_amount`.

    Examples
    --------
    >>> format_printed(20.66, 0.4, 0.01), format_printed(20.66, 0.4, float("nan"))
    ('20.66 ± 0.40', '20.66 ± 0.40')
    >>> format_printed(20.6, float("nan"), 0.01)
    '20.60'
    """
    if not is_known(value) or not is_known(precision) or not 0.0 < precision <= 1.0:
        return format_amount(value, error)
    places = round(-math.log10(precision))
    text = f"{value:.{places}f}"
    if is_known(error) and error > 0 and abs(round(error, places) - error) < 1e-9:
        return f"{text} ± {error:.{places}f}"
    return format_amount(text, error)


def format_tolerance(share: float | None) -> str:
    """Format the largest relative difference that still counts as agreement, in percent.

    `share` is that difference as a fraction. None and NaN give ''.

    Examples
    --------
    >>> [format_tolerance(share) for share in (0.03, 0.504, 1e-9, float("inf"))]
    ['± 3 %', '± 50.4 %', 'exact', 'any']
    """
    if not is_known(share):
        return ""
    if math.isinf(share):
        return "any"
    if share < 1e-6:
        return "exact"
    digits = ".2g"
    if share >= 1.0:
        digits = ",.0f"
    elif share >= 0.1:
        digits = ".3g"  # two digits would turn 50.4 % into 50 %
    return f"± {100 * share:{digits}} %"


def format_fixed(value: float, error: float = math.nan, digits: int = 4) -> str:
    """Format a number with its standard error, both with `digits` decimals.

    If the number is NaN, the result is a dash. If the error is NaN, only the number is given.

    Examples
    --------
    >>> format_fixed(0.03661, 0.00104), format_fixed(0.03661, digits=2), format_fixed(float("nan"))
    ('0.0366 ± 0.0010', '0.04', '–')
    """
    if math.isnan(value):
        return DASH
    return f"{value:.{digits}f}" + ("" if math.isnan(error) else f" ± {error:.{digits}f}")


def format_signed(value: float | None) -> str:
    """Format a difference with two significant digits and its sign.

    Examples
    --------
    >>> format_signed(0.0123), format_signed(-0.5), format_signed(0.0)
    ('+0.012', '−0.5', '0')
    """
    text = format_number(value, 2)
    return f"+{text}" if is_known(value) and value > 0 and text != "0" else text


def format_percent(value: float | None) -> str:
    """Format a fraction as a percentage with three significant digits. None gives a dash.

    Examples
    --------
    >>> format_percent(0.95), format_percent(0.04821)
    ('95 %', '4.82 %')
    """
    return f"{100 * value:.3g} %" if is_known(value) else DASH


def format_whole_percent(value: float | None) -> str:
    """Format a fraction as a whole percentage. None gives a dash.

    Halves are rounded up, as `Math.round` of JavaScript does on the pages.

    Examples
    --------
    >>> format_whole_percent(0.125), format_whole_percent(None)
    ('13 %', '–')
    """
    return f"{math.floor(100 * float(f'{value:.3g}') + 0.5)} %" if is_known(value) else DASH


def format_seconds(value: float | None) -> str:
    """Format a duration with two significant digits, in seconds or milliseconds.

    Examples
    --------
    >>> format_seconds(0.00032), format_seconds(0.031), format_seconds(2.34), format_seconds(None)
    ('0.32 ms', '31 ms', '2.3 s', '–')
    """
    if not is_known(value):
        return DASH
    if value < 0.0995:
        return f"{1000 * value:.2g} ms"
    return f"{value:.2g} s" if value < 100 else f"{value:,.0f} s"


def format_factor(value: float) -> str:
    """Format a ratio with about three digits and trailing zeros, as leaderboard.js does.

    Examples
    --------
    >>> [format_factor(value) for value in (0.868, 1.484, 19.64, 230.4, float("nan"))]
    ['0.87', '1.48', '19.6', '230', '–']
    """
    if math.isnan(value):
        return DASH
    rounded = float(f"{value:.3g}")
    if rounded < 10:
        return f"{rounded:.2f}"
    return f"{rounded:.1f}" if rounded < 100 else f"{rounded:,.0f}"


def format_ratio(value: float) -> str:
    """Format a ratio like `format_factor`, with more digits if it would be rounded to 1.

    A reader can thus see on which side of 1 it is.

    Examples
    --------
    >>> [format_ratio(value) for value in (1.484, 1.0, 1.0031, 0.9996, float("nan"))]
    ['1.48', '1.00', '1.003', '0.9996', '–']
    """
    text = format_factor(value)
    decimals = 3
    while text in ("1.00", f"{1.0:.{decimals - 1}f}") and value != 1.0 and decimals <= 12:
        text = f"{value:.{decimals}f}"
        decimals += 1
    return text


def format_interval(value: float, low: float, high: float) -> str:
    """Format a ratio with its interval, as "value [low, high]".

    Examples
    --------
    >>> format_interval(1.484, 1.307, 1.679), format_interval(1.484, float("nan"), float("nan"))
    ('1.48 [1.31, 1.68]', '1.48')
    """
    if not (is_known(value) and is_known(low) and is_known(high)):
        return format_factor(value)
    return f"{format_factor(value)} [{format_factor(low)}, {format_factor(high)}]"


def format_rank(value: float, low: float, high: float) -> str:
    """Format a rank with its interval, as "rank (low to high)".

    Examples
    --------
    >>> format_rank(3.0, 1.0, 6.0), format_rank(3.0, 3.0, 3.0), format_rank(float("nan"), 1.0, 2.0)
    ('3 (1 to 6)', '3', '–')
    """
    if math.isnan(value):
        return DASH
    if math.isnan(low) or low == high:
        return f"{value:.0f}"
    return f"{value:.0f} ({low:.0f} to {high:.0f})"


def format_ends(low: float | None, high: float | None) -> str:
    """Format the ends of an interval. An unknown or infinite end is left out.

    Without both ends, return ''.

    Examples
    --------
    >>> format_ends(0.029, 0.059), format_ends(0.004, None), format_ends(None, 0.12)
    ('0.029 to 0.059', 'at least 0.004', 'at most 0.12')
    """
    low, high = (end if is_known(end) and math.isfinite(end) else None for end in (low, high))
    if low is not None and high is not None:
        return f"{format_number(low)} to {format_number(high)}"
    if low is not None:
        return f"at least {format_number(low)}"
    return f"at most {format_number(high)}" if high is not None else ""


def format_p_value(value: float | None) -> str:
    """Format a p-value with its relation sign, to be printed after the letter p.

    None gives a dash.

    Examples
    --------
    >>> format_p_value(0.0123), format_p_value(1e-9), format_p_value(0.0), format_p_value(None)
    ('= 0.012', '< 0.0001', '= 0', '–')
    """
    if not is_known(value):
        return DASH
    return "< 0.0001" if 0.0 < value < 1e-4 else f"= {value:.2g}"


def count_decimals(width: float) -> int:
    """Return how many decimals show the ends of an interval of width `width`.

    With that many decimals, the difference of the ends has two significant digits. The number of
    decimals is at least 3 and at most 7.

    Examples
    --------
    >>> count_decimals(0.5), count_decimals(0.0012), count_decimals(0.0)
    (3, 4, 3)
    """
    return min(max(1 + math.ceil(-math.log10(width)), 3), 7) if width > 0.0 else 3


# Lists


def join_numbers(values: Collection[Any]) -> str:
    """Join numbers by commas and "and", for use in a sentence.

    Examples
    --------
    >>> join_numbers([200, 1000, 5000]), join_numbers([200])
    ('200, 1,000 and 5,000', '200')
    """
    texts = [f"{value:,}" for value in values]
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"


def format_count(count: int, what: str) -> str:
    """Format a count with its noun, in the plural unless the count is 1.

    Examples
    --------
    >>> format_count(1, "problem"), format_count(1200, "problem")
    ('1 problem', '1,200 problems')
    """
    return f"{count:,} {what}{'' if count == 1 else 's'}"


# Texts that come from data


def last_line(reason: object) -> str:
    """Return the last line of a recorded reason, without the traceback above it.

    Examples
    --------
    >>> last_line("Traceback ...\\nKeyError: 'bins'.")
    "KeyError: 'bins'"
    """
    return str(reason).strip().splitlines()[-1].rstrip(".")


def clean(text: object) -> str:
    """Return a text from a data file on one line, without invisible characters.

    Control characters could change a terminal's state. Other invisible characters change the
    direction of the text that follows.

    Examples
    --------
    >>> clean("a\\x1b[31mred\\nb\\u202e")
    'a[31mred b'
    """
    spaced = re.sub(r"\s+", " ", str(text))
    return "".join(c for c in spaced if not unicodedata.category(c).startswith("C")).strip()


def shorten_middle(text: object, most: int = 24) -> str:
    """Return a text cleaned by `clean`, with an ellipsis for its middle if it is too long.

    The result has at most `most` characters. Words stay whole, except long ones at the cut.

    Examples
    --------
    >>> shorten_middle("abcdefghij", 7)
    'abc…hij'
    >>> shorten_middle("one two three four five six", 20)
    'one two … five six'
    """
    whole = clean(text)
    if len(whole) <= most:
        return whole
    start, end = whole[: most // 2], whole[len(whole) - (most - 1) // 2 :]
    # Drop a part of a word, unless this takes more than half of the start or of the end.
    start = start[: start.rfind(" ", len(start) // 2) + 1] or start
    end = end[max(end.find(" ", 0, len(end) // 2 + 1), 0) :]
    return f"{start}…{end}"


def escape_markdown(text: str) -> str:
    r"""Return a text without markup in Markdown and HTML. A formula's $ is no markup either.

    >>> escape_markdown("a_b|<i> $1")
    'a\\_b\\|&lt;i&gt; \\$1'
    """
    return re.sub(r"([\\`*_\[\]|~#$])", r"\\\1", html.escape(text, quote=False))
