"""Over- or underconfidence, and the parts of proper scores."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from scipy.special import stdtrit

from harness.common.wording import count_decimals, format_count, format_percent
from harness.errors import UndefinedError
from harness.estimators.calibration_line import FEWEST_EVENTS, CalibrationLine
from harness.evaluation.rates import clopper_pearson
from harness.judging.bins import Array, Integers
from harness.judging.data import reduced
from harness.judging.ece import estimate
from harness.judging.estimates import UNAVAILABLE
from harness.judging.findings import Decomposition, Direction, ErrorEstimate, Interval, Judged
from harness.judging.words import format_end, format_size
from harness.plan.components import load

CLIP = 1e-12  # smaller probabilities count as this in the log-loss of a row


def row_scores(p: Array, y: Integers) -> tuple[Array, Array]:
    """Return the log-loss and the Brier score of every row of p (n, k) with labels y (n,).

    In the log-loss, probabilities below 1e-12 count as 1e-12. The Brier score is that of one
    column for two classes, and the sum over all columns for more.

    Examples
    --------
    >>> log_loss, brier = row_scores(np.array([[0.5, 0.5], [1.0, 0.0]]), np.array([1, 1]))
    >>> log_loss.round(3).tolist(), brier.tolist()
    ([0.693, 27.631], [0.25, 1.0])
    """
    given = p[np.arange(len(y)), y]
    log_loss = -np.log(np.clip(given, CLIP, 1.0))
    if p.shape[1] == 2:
        return log_loss, (1.0 - given) ** 2
    brier: Array = np.einsum("ij,ij->i", p, p) - 2.0 * given + 1.0
    return log_loss, brier


def mean_interval(
    d: Array,
    level: float,
    each: float,
    inflation: float = 1.0,
    row_groups: Integers | None = None,
) -> Interval:
    """Return the mean of d (n,) with its t interval, mean +- t s inflation / sqrt(n).

    s is the standard deviation of d, and `inflation` a factor on the width. The interval is
    computed at level `each`. It is labelled with `level`, at which several such intervals hold
    together. For n = 1 it has no ends.

    If rows come in G `row_groups`, s^2 is G / ((G - 1) n) times the sum over the groups of (sum of
    d - mean over the rows of the group)^2, and t has G - 1 degrees of freedom. If every row is a
    group of its own, this is the same interval.

    Examples
    --------
    >>> d, groups = np.array([0.0, 0.0, 1.0, 1.0, 2.0, 2.0]), np.array([0, 0, 1, 1, 2, 2])
    >>> interval = mean_interval(d, 0.95, 0.95, row_groups=groups)
    >>> usual = mean_interval(d[::2], 0.95, 0.95)
    >>> interval.value, round(interval.high, 9) == round(usual.high, 9)
    (1.0, True)
    """
    n, mean = len(d), float(d.mean())
    if n < 2:
        return Interval(mean, level=level)
    if row_groups is None:
        count, error = n, float(d.std(ddof=1)) / math.sqrt(n)
    else:
        sums = np.bincount(row_groups, d - mean)
        count = len(sums)
        error = math.sqrt(float((sums**2).sum()) * count / (count - 1)) / n
    half = float(stdtrit(count - 1, 0.5 + each / 2.0)) * error * inflation
    return Interval(mean, mean - half, mean + half, level)


def direction(data: Judged, level: float, join_zero: bool = False) -> Direction:
    """Return the over- or underconfidence, with the mean score minus the frequency of the event.

    For n rows with scores s_i and events e_i (0 or 1),

        gap = mean_i (s_i - e_i),   interval gap +- t sd(s - e) / sqrt(n), clipped to [-1, 1]

    The scores are confidences, or probabilities of class 1 for two classes. With fewer than 10
    events or non-events, the interval is the mean score minus the exact (Clopper-Pearson) limits
    of the frequency. If rows come in groups, it is the union of both intervals.

    For binary scores the sentence is first on over- or underconfidence, by the calibration slope,
    and then on the gap. `join_zero` extends the intervals of the gap and the intercept to 0, and
    that of the slope to 1. No direction is then claimed.

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
    mean, rate, events = float(s.mean()), float(e.mean()), int(e.sum())
    gap = mean_interval(s - e, level, level, row_groups=data.row_groups)
    if min(events, data.n - events) < FEWEST_EVENTS:
        low, high = clopper_pearson(events, data.n, level)
        exact = Interval(gap.value, mean - high, mean - low, level)
        # Of rows in groups, the exact limits alone may be too narrow.
        gap = exact if data.row_groups is None else gap.including(mean - high).including(mean - low)
    assert gap.low is not None and gap.high is not None
    gap = replace(gap, low=max(gap.low, -1.0), high=min(gap.high, 1.0))
    gap = gap.with_zero() if join_zero else gap
    if np.array_equal(s, e):
        sentence = "The predictions are neither over- nor underconfident: all of them came true."
        return Direction(mean, rate, gap, sentence)
    if notion != "binary":
        result = {
            1: "The predictions are overconfident",
            -1: "The predictions are underconfident",
            0: "It cannot be told if the predictions are over- or underconfident",
        }[gap.sign]
        sentence = f"{result}: {_compare('the mean confidence', mean, 'the accuracy', rate, gap)}."
        return Direction(mean, rate, gap, sentence)

    result = {
        1: "The probabilities are too high on average",
        -1: "The probabilities are too low on average",
        0: "It cannot be told if the probabilities are too high or too low on average",
    }[gap.sign]
    scores = f"the mean probability of class {data.classes[1]}"
    sentence = f"{result}: {_compare(scores, mean, 'its frequency', rate, gap)}."
    try:
        line = CalibrationLine(level)(s, e, groups=data.row_groups)
    except UndefinedError:
        return Direction(mean, rate, gap, sentence)
    slope, intercept = (Interval(x.value, x.low, x.high, level) for x in line.values())
    if slope.low is None:  # there are too few events
        return Direction(mean, rate, gap, sentence)
    if join_zero:
        slope, intercept = slope.including(1.0), intercept.with_zero()
    return Direction(mean, rate, gap, f"{_describe_slope(slope)} {sentence}", slope, intercept)


def _compare(scores: str, mean: float, events: str, rate: float, gap: Interval) -> str:
    """Return a clause on the mean score and the frequency of the event.

    `scores` and `events` are the names of these two numbers, and `gap` is their difference.
    """
    assert gap.low is not None and gap.high is not None
    digits = count_decimals(gap.high - gap.low)
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
    value, low, high = (format_end(x or 0.0, 2) for x in (slope.value, slope.low, slope.high))
    return (
        f"{result}: the calibration slope is {value} ({format_percent(slope.level)} "
        f"interval {low} to {high}){place}."
    )


def decompositions(
    data: Judged, squared: ErrorEstimate, level: float, rng: np.random.Generator
) -> tuple[tuple[Decomposition, ...], list[str]]:
    """Split the Brier score and the log score into their parts.

        score = miscalibration - discrimination + uncertainty

    With p_j the probability of class j, y the label, s the score and e the event:

    * The Brier score is the mean of (s - e)^2 for two classes, and of sum_j (p_j - [y = j])^2 for
      more. Its miscalibration E |p - C|^2, with C = E[Y given p], is `squared`, the headline
      estimate of the last notion.
    * The log score is the mean of -log p_y in nats. Its miscalibration E KL(C, p) is estimated by
      the cross-fitted gain of temperature scaling, which is on average at most this
      miscalibration.

    The uncertainty is the score of the class frequencies, and the discrimination is the remainder.
    Also return a sentence for each score that cannot be split.
    """
    parts, cautions = [], []
    frequency = np.bincount(data.y, minlength=data.k) / data.n
    given = data.p[np.arange(data.n), data.y]

    brier = float(row_scores(data.p, data.y)[1].mean())
    uncertainty = float(1.0 - np.sum(frequency**2)) / (2.0 if data.k == 2 else 1.0)
    error = squared.interval
    if error.value is None:
        cautions.append(f"The Brier score ({brier:.4f}) is not decomposed: {squared.reason}")
    else:
        source = "learned estimate" if data.row_groups is None else squared.label
        how = f"{source} of the mean squared calibration error. {squared.coverage_note}"
        rest = error.value + uncertainty - brier
        parts.append(Decomposition("brier", brier, error, rest, uncertainty, how.strip()))

    impossible = int(np.sum(given <= 0.0))
    if impossible:
        cautions.append(
            f"The log score is infinite and is not decomposed: {format_count(impossible, 'row')} "
            "had probability 0 for the label that occurred."
        )
        return tuple(parts), cautions
    log = float(-np.log(given).mean())
    positive = frequency[frequency > 0.0]
    uncertainty = float(-np.sum(positive * np.log(positive)))
    if data.row_groups is not None:
        cautions.append(
            f"The log score ({log:.4f}) is not decomposed: the estimate of its miscalibration "
            "needs independent rows."
        )
        return tuple(parts), cautions
    notion = "canonical" if data.k > 2 else data.notions[0]
    try:
        estimator = load("estimator", "variational_temperature", {"level": level})
        e = estimate(estimator, *reduced(data, notion), notion, rng)["kl"]
    except UNAVAILABLE as reason:
        cautions.append(f"The log score ({log:.4f}) is not decomposed: {reason}")
        return tuple(parts), cautions
    low = e.low if e.low is None or abs(e.low) >= 1e-12 else 0.0
    value = max(float(e.value), 0.0)
    how = "cross-fitted gain of temperature scaling, at most the miscalibration on average"
    rest = value + uncertainty - log
    parts.append(
        Decomposition("log", log, Interval(value, low, None, level), rest, uncertainty, how)
    )
    return tuple(parts), cautions
