"""Answer question 2: how large the calibration error is, and how sure that is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from harness.common.names import notion_name
from harness.common.wording import format_number, format_percent
from harness.judging.bins import Array
from harness.judging.clinical import clinical
from harness.judging.data import reduced
from harness.judging.decomposition import decompositions
from harness.judging.direction import direction
from harness.judging.estimates import certify, estimates, group_estimates
from harness.judging.findings import Calibrated, CalibrationTest, ErrorEstimate, Gains, HowFar
from harness.judging.gain import gains
from harness.judging.hints import hints
from harness.judging.interval import Interval
from harness.judging.judged import Judged
from harness.judging.words import capitalise, join_names

FEW_ROWS = 50  # with fewer rows there is a caution
FEW_VALUES = 0.1  # with fewer distinct scores per row, ties matter
NEAR = 1e-3  # a score this close to 0 or 1 is saturated
MOST_STATED = 11  # stated confidences have at most so many different values
SATURATED = 0.2  # smallest share of saturated scores that can explain a disagreement


def errors(
    data: Judged,
    level: float,
    rng: np.random.Generator,
    calibrated: Calibrated | None = None,
    recalibrated: Gains | None = None,
) -> HowFar:
    """Answer question 2.

    The answer holds estimates of the L1 error of every notion, with intervals and measured
    coverage. It also holds certified intervals for scores, over- or underconfidence, the parts of
    the proper scores, and cautions.

    Parameters
    ----------
    data : Judged
        The predictions.
    level : float
        Level of all intervals.
    rng : numpy.random.Generator
        Generator of folds and random subsets.
    calibrated : Calibrated, optional
        The answer to question 1. If the test of a notion does not reject, its intervals are
        extended to 0, so that intervals and tests agree.
    recalibrated : Gains, optional
        The answer to question 4, whose gains are part of the miscalibration. Default: they are
        computed.

    Notes
    -----
    If rows come in groups, the only estimates are those whose intervals account for groups.

    The L1 error of a score is E|P(event given score) - score|. The class-wise error is the mean
    over the classes, the canonical error the sum.

    Examples
    --------
    >>> from harness.judging.data import from_arrays
    >>> p = np.linspace(0.01, 0.99, 400)
    >>> data = from_arrays(p, (p > 0.5).astype(int))
    >>> answer = errors(data, 0.95, np.random.default_rng(0))
    >>> [row.estimator for row in answer.errors][:3], answer.errors[0].interval.low > 0.1
    (['best', 'best_lower', 'binned15'], True)
    """
    tests = calibrated.tests if calibrated else ()
    not_rejected = {test.notion for test in tests if test.rejected is False}
    *others, stream_of_report = rng.spawn(2 * len(data.notions) + 2)
    streams = iter(others)
    rows: list[ErrorEstimate] = []
    bounds = []
    for notion in data.notions:
        p, y = reduced(data, notion)
        stream, stream_of_bound = next(streams), next(streams)
        is_grouped = data.row_groups is not None
        estimate = group_estimates if is_grouped else estimates
        of_notion, squared = estimate(data, notion, p, y, level, stream)
        of_bound = []
        if p.ndim == 1 and not is_grouped:
            of_bound = [certify(notion, p, y, level, stream_of_bound)]
        if notion in not_rejected:
            of_notion = [replace(row, interval=row.interval.with_zero()) for row in of_notion]
            of_bound = [replace(row, interval=row.interval.with_zero()) for row in of_bound]
        rows += of_notion
        bounds += of_bound
    main = data.notions[0]
    bias = direction(data, level, join_zero=main in not_rejected)
    # An L1 error is at least the size of the mean gap, so its interval must not exclude such sizes.
    rows[0] = replace(rows[0], interval=rows[0].interval.reaching(_largest_size(bias.gap)))
    if recalibrated is None:
        recalibrated = gains(data, level, next(streams))
    scores = decompositions(data, squared, recalibrated, level)
    if data.notions[-1] in not_rejected:
        scores = tuple(
            replace(score, miscalibration=score.miscalibration.with_zero()) for score in scores
        )
    x, _ = reduced(data, main)
    report = None
    if main == "binary":
        report = clinical(data, level, bias, stream_of_report, join_zero=main in not_rejected)
    return HowFar(
        sentence=" ".join([_sentence(rows[0], data), *_reconcile(rows, tests)]),
        errors=tuple(rows),
        certified=tuple(bounds),
        direction=bias,
        scores=scores,
        disagreement=_disagreement([row for row in rows if row.notion == main], x),
        cautions=(
            *hints(data, level),
            *cautions(data, x),
            *(score.reason for score in scores if score.reason),
        ),
        clinical=report,
    )


def _largest_size(gap: Interval) -> float:
    """Return the largest absolute value in an interval with two ends."""
    assert gap.low is not None and gap.high is not None
    return max(-gap.low, gap.high)


def cautions(data: Judged, scores: Array) -> tuple[str, ...]:
    """Return sentences on properties of these predictions that limit all numbers.

    `scores` are the scores of the main notion.
    """
    texts = []
    n, k = data.given, data.k
    if n == 1:
        texts.append("There is only 1 row, too few to estimate a calibration error.")
    elif n < FEW_ROWS:
        texts.append(f"There are only {n} rows, too few to estimate a calibration error well.")
    if data.row_groups is not None:
        about = "The rows have weights, and all numbers are weighted."
        if data.group_count is not None:
            weighted = "" if data.weighted_rows is None else " and have weights"
            about = f"The rows come in {data.group_count:,} groups{weighted}."
        texts.append(
            f"{about} Learned, cross-fitted and certified estimates need independent rows of equal "
            "weight and are left out."
        )
    seen = np.bincount(data.y, minlength=k) > 0
    only = data.classes[int(np.argmax(seen))]
    missing = [name for name, occurs in zip(data.classes, seen) if not occurs]
    if data.confidences and len(missing) == 1:
        texts.append("All predictions are right." if seen[1] else "All predictions are wrong.")
    elif len(missing) == k - 1:
        texts.append(
            f"All labels are {only}: about other classes it can only be said whether their "
            "probabilities are too high."
        )
    elif missing:
        noun, their = f"{len(missing)} classes never occur", "their errors"
        if len(missing) == 1:
            noun, their = "1 class never occurs", "its error"
        texts.append(
            f"{noun} among the labels ({join_names(missing)}): little can be said about {their}."
        )
    if k > n and k > 2:
        texts.append(
            f"There are more classes ({k}) than rows ({n}). Statements about single classes or "
            "whole vectors are very uncertain."
        )
    certain = (scores == 0.0) | (scores == 1.0)
    distinct = len(np.unique(scores))
    counted = n
    if data.are_copies and data.row_groups is not None:
        counted = int(data.row_groups.max()) + 1  # rows with a copy
    if certain.all() and data.confidences:
        texts.append(
            "All confidences are 0 or 1. Their calibration error is the share of rows in which a "
            "confidence of 1 was wrong or one of 0 was right."
        )
    elif certain.all():
        texts.append(
            "All scores are 0 or 1: these are decisions, not probabilities. Their calibration "
            "error is their error rate."
        )
    elif distinct == 1:
        texts.append("All scores are equal: only their mean can be judged.")
    elif counted >= FEW_ROWS and distinct < FEW_VALUES * counted:
        texts.append(
            f"There are only {distinct:,} different scores in {counted:,} rows, so that curves "
            "are only known at these scores."
        )
    if not certain.all() and certain.mean() >= 0.01:
        rounded = ", perhaps by rounding to 32 bits" if distinct > MOST_STATED else ""
        texts.append(
            f"{capitalise(_not_all(certain))} of the scores are exactly 0 or 1{rounded}. A single "
            "unexpected outcome among them refutes calibration."
        )
    return tuple(texts)


def _sentence(headline: ErrorEstimate, data: Judged) -> str:
    name = f"{notion_name(headline.notion)} calibration error"
    if data.confidences:
        name = "calibration error of the confidences"
    interval = headline.interval
    if interval.value is None:
        return f"The {name} (L1) cannot be estimated. {headline.reason}"
    text = f"The {name} (L1) is about {_two_digits(interval.value)}"
    if interval.low is None or interval.high is None:
        return f"{text}."
    ends = (
        f"{format_percent(interval.level)} interval {_two_digits(interval.low)} to "
        f"{_two_digits(interval.high)}"
    )
    if data.n == 1:
        return f"One row does not show how large the {name} (L1) is: {ends}."
    text += f" ({ends})"
    text += f", but {data.n} rows are few." if data.n < FEW_ROWS else "."
    if headline.beyond is not None:
        text += f" The coverage of such intervals was not measured {headline.beyond}."
    return text


def _reconcile(rows: Sequence[ErrorEstimate], tests: Sequence[CalibrationTest]) -> list[str]:
    """Return a sentence if a test rejects calibration but the interval of the error contains 0."""
    rejected = {test.notion for test in tests if test.rejected}
    names = [
        notion_name(row.notion)
        for row in rows
        if row.headline
        and row.notion in rejected
        and row.interval.low is not None
        and _two_digits(row.interval.low) == "0"
    ]
    if not names:
        return []
    return [
        f"The interval of the {join_names(names)} error contains 0, although the test of question "
        "1 rejects calibration: the test shows that there is an error, and the interval how large "
        "it can be."
    ]


def _not_all(mask: NDArray[np.bool_]) -> str:
    """Format the share of true values, which is 100 % only if all are true.

    >>> _not_all(np.arange(1000) > 2), _not_all(np.arange(1000) >= 0)
    ('more than 99 %', '100 %')
    """
    percent = f"{100 * mask.mean():.0f} %"
    return "more than 99 %" if percent == "100 %" and not mask.all() else percent


def _two_digits(value: float) -> str:
    """Format an error with two significant digits, or as 0 if it is below 0.00005."""
    return format_number(value if value >= 5e-5 else 0.0, 2)


def _disagreement(rows: list[ErrorEstimate], scores: Array) -> str | None:
    """Describe the estimate that is furthest outside the headline's interval, and a likely cause.

    Return None if all estimates are inside.
    """
    values = {row.label: row.interval.value for row in rows if row.kind == "point"}
    points = {label: value for label, value in values.items() if value is not None}
    headline = rows[0]
    best = headline.interval.value
    if best is None:
        return None
    low = headline.interval.low or 0.0
    high = 1.0 if headline.interval.high is None else headline.interval.high
    outside = {
        label: value
        for label, value in points.items()
        if not low - 1e-12 <= value <= high + 1e-12 and label != headline.label
    }
    if not outside:
        return None
    label, value = max(outside.items(), key=lambda item: abs(item[1] - best))
    return (
        f"The estimates disagree: {label} give {_two_digits(value)}, but the "
        f"{headline.label.split(' (')[0]} is {_two_digits(best)} ({_two_digits(low)} to "
        f"{_two_digits(high)}). Likely cause: {_cause(scores, value, best)}."
    )


def _cause(scores: Array, value: float, best: float) -> str:
    n = len(scores)
    distinct = len(np.unique(scores))
    is_near = np.minimum(scores, 1.0 - scores) < NEAR
    if distinct < FEW_VALUES * n and distinct < 1000:
        return (
            f"there are only {distinct} different scores in {n:,} rows, which smoothing and bins "
            "treat differently"
        )
    bins = np.minimum((15 * scores).astype(int), 14)
    variance = np.bincount(bins, scores * (1.0 - scores))
    noise = float(np.sqrt(2.0 / np.pi) * np.sum(np.sqrt(variance)) / n)
    if value > best and value - best <= 2.5 * noise:
        return (
            f"n is small; for perfectly calibrated predictions, 15 bins would give "
            f"{_two_digits(noise)} on average"
        )
    if is_near.mean() >= SATURATED:
        return (
            f"{_not_all(is_near)} of the scores lie within {NEAR:g} of 0 or 1, so that a few bins "
            "hold nearly all rows"
        )
    if value < best:
        return "errors of opposite sign cancel within bins"
    return "the error varies quickly with the score, and the smoother estimate averages over it"
