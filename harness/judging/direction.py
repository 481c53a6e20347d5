"""Over- or underconfidence, by the mean gap and by the calibration slope."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from harness.common.wording import format_percent
from harness.errors import UndefinedError
from harness.estimators.calibration_line import (
    FEWEST_EVENTS,
    FEWEST_FOR_SLOPE,
    CalibrationLine,
)
from harness.judging.bins import Array, Integers
from harness.judging.data import reduced
from harness.judging.findings import Direction
from harness.judging.interval import Interval
from harness.judging.judged import Judged
from harness.judging.scores import count_units, effective_groups, mean_interval
from harness.judging.words import as_sentence, capitalise, count_ends, format_end, format_size
from harness.math.rates import clopper_pearson


def mean_gap(
    s: Array, e: Array | Integers, level: float, row_groups: Integers | None = None
) -> Interval:
    """Return the mean of scores s (n,) minus the frequency of events e (n,), with its interval.

    The interval is gap +- t sd(s - e) / sqrt(n), clipped to [-1, 1]. With fewer than 10 events or
    non-events, it is the mean score minus the exact (Clopper-Pearson) limits of the frequency.
    Otherwise, with fewer than 10 outcomes of a probability below 1/2, it is extended by the exact
    upper limits of their rates. If rows come in `row_groups`, groups are counted, the interval is
    the union of both, and the exact limits are those of equal outcomes within each group.

    Examples
    --------
    >>> gap = mean_gap(np.full(100, 0.8), np.arange(100) % 2, 0.95)
    >>> round(gap.value, 3), gap.low > 0.0
    (0.3, True)
    """
    gap = mean_interval(s - e, level, level, row_groups=row_groups)
    n, mean, events = len(e), float(s.mean()), int(e.sum())
    units = float(n) if row_groups is None else effective_groups(row_groups)
    unlikely = (s < 0.5) & (e == 1), (s >= 0.5) & (e == 0)
    if min(count_units(e == outcome, row_groups) for outcome in (0, 1)) < FEWEST_EVENTS:
        low, high = clopper_pearson(events / n * units, units, level)
        exact = Interval(gap.value, mean - high, mean - low, level)
        # Of rows in groups, the exact limits alone may be too narrow.
        gap = exact if row_groups is None else gap.including(mean - high).including(mean - low)
    elif count_units(unlikely[0] | unlikely[1], row_groups) < FEWEST_EVENTS:
        # The spread of few unlikely outcomes does not show how often they occur.
        for mask, sign in zip(unlikely, (-1.0, 1.0)):
            rate = float(mask.mean())
            more = clopper_pearson(rate * units, units, level)[1] - rate
            gap = gap.including(mean - events / n + sign * more)
    assert gap.low is not None and gap.high is not None
    return replace(gap, low=max(gap.low, -1.0), high=min(gap.high, 1.0))


# {sign of the mean score minus the frequency of the event: begin of the sentence}
OF_PROBABILITIES = {
    1: "The probabilities are too high on average",
    -1: "The probabilities are too low on average",
    0: "It cannot be told if the probabilities are too high or too low on average",
}
OF_CONFIDENCES = {
    1: "The predictions are overconfident",
    -1: "The predictions are underconfident",
    0: "It cannot be told if the predictions are over- or underconfident",
}


def direction(data: Judged, level: float, join_zero: bool = False) -> Direction:
    """Return the over- or underconfidence, with the mean score minus the frequency of the event.

    The gap is that of `mean_gap`. The scores are confidences, or probabilities of class 1 for two
    classes.

    For binary scores the sentence is first on over- or underconfidence, by the calibration slope,
    and then on the gap. Rows with a score of exactly 0 or 1 have no part in the slope. `join_zero`
    extends the intervals of the gap and the intercept to 0, and that of the slope to 1. No
    direction is then claimed.

    Examples
    --------
    >>> from harness.judging.data import from_arrays
    >>> data = from_arrays(np.full(100, 0.8), np.arange(100) % 2)
    >>> gap = direction(data, 0.95).gap
    >>> round(gap.value, 3), gap.low > 0.0
    (0.3, True)
    """
    notion = data.notions[0]
    s, e = reduced(data, notion)
    mean, rate = float(s.mean()), float(e.mean())
    gap = mean_gap(s, e, level, data.row_groups)
    gap = gap.with_zero() if join_zero else gap
    if np.array_equal(s, e):
        sentence = (
            "The predictions are neither over- nor underconfident: all outcomes are as predicted."
        )
        return Direction(mean, rate, gap, sentence)
    is_binary = notion == "binary"
    if is_binary:
        scores, events = f"the mean probability of class {data.classes[1]}", "its frequency"
    else:
        scores, events = "the mean confidence", "the accuracy"
    result = (OF_PROBABILITIES if is_binary else OF_CONFIDENCES)[gap.sign]
    sentence = f"{result}: {_compare(scores, mean, events, rate, gap)}."
    if not is_binary:
        return Direction(mean, rate, gap, sentence)

    try:
        line = CalibrationLine(level)(s, e, groups=data.row_groups)
    except UndefinedError as error:
        return Direction(mean, rate, gap, sentence, slope_reason=as_sentence(error))
    slope, intercept = (Interval(x.value, x.low, x.high, level) for x in line.values())
    counts = line["slope"].diagnostics or {}
    left_out, wrong = int(counts["left_out"]), int(counts["left_out_wrong"])
    units = min(count_units(e == outcome, data.row_groups) for outcome in (0, 1))
    if slope.low is None or units < FEWEST_FOR_SLOPE:
        what = "events or non-events" if data.group_count is None else "groups with either outcome"
        reason = f"Fewer than {FEWEST_FOR_SLOPE} {what} are too few for a slope."
        return Direction(mean, rate, gap, sentence, slope_reason=reason)
    if join_zero:
        slope, intercept = slope.including(1.0), intercept.with_zero()
    about_slope = _describe_slope(slope)
    if left_out:
        about_slope += f" {_describe_left_out(left_out, wrong, data)}"
    return Direction(mean, rate, gap, f"{about_slope} {sentence}", slope, intercept)


def _compare(scores: str, mean: float, events: str, rate: float, gap: Interval) -> str:
    """Return a clause on the mean score and the frequency of the event.

    `scores` and `events` are the names of these two numbers, and `gap` is their difference.
    """
    assert gap.low is not None and gap.high is not None
    digits = count_ends(gap)
    first, second = f"{mean:.{digits}f}", f"{rate:.{digits}f}"
    clause = {
        1: f"{scores}, {first}, is above {events}, {second}",
        -1: f"{scores}, {first}, is below {events}, {second}",
        0: f"{scores} is {first} and {events} {second}",
    }[gap.sign]
    low, high = format_end(gap.low, digits), format_end(gap.high, digits)
    return (
        f"{clause} (difference {format_size(mean - rate, digits)}, {format_percent(gap.level)} "
        f"interval {low} to {high})"
    )


def _describe_slope(slope: Interval) -> str:
    """Return a sentence on over- or underconfidence, from the calibration slope."""
    if slope.low is not None and slope.low > 1.0:
        result, place = "The predictions are underconfident", ", above 1"
    elif slope.high is not None and slope.high < 1.0:
        result, place = "The predictions are overconfident", ", below 1"
    else:
        result, place = "It cannot be told if the predictions are over- or underconfident", ""
    ends, digits = (slope.value or 0.0, slope.low or 0.0, slope.high or 0.0), 2
    while digits < 6 and any(round(end, digits) == 1.0 != end for end in ends[1:]):
        digits += 1  # an end next to 1 does not read 1.00
    value, low, high = (format_end(end, digits) for end in ends)
    return (
        f"{result}: the calibration slope is {value} ({format_percent(slope.level)} "
        f"interval {low} to {high}){place}."
    )


def _describe_left_out(count: int, wrong: int, data: Judged) -> str:
    """Return a sentence on the rows that have no part in the slope, and the wrong ones of them."""
    have = "has a probability" if count == 1 else "have probabilities"
    of_these = f"{wrong:,} of them {'was' if wrong == 1 else 'were'} wrong"
    if data.weighted_rows is not None:
        of_these = f"{'some' if wrong else 'none'} of them were wrong"
    rows = capitalise(data.count_rows(count))
    return f"{rows} {have} of exactly 0 or 1 and no part in the slope; {of_these}."
