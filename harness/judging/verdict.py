"""The verdict on predictions in a few words, and the three numbers that support it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harness.common.wording import DASH, count_decimals, format_percent, shorten_middle
from harness.judging.answers import Answers
from harness.judging.findings import ClassFinding, GroupFinding, Interval, Judged

LARGEST = 0.1  # if the L1 error may be above this, the rows are too few for a verdict
VISIBLE = 0.005  # smallest difference of mean confidence and accuracy that a verdict states
SPACE = "\N{NO-BREAK SPACE}"


@dataclass(frozen=True)
class KeyNumber:
    """A number with its unit, its name, and one or two sentences on it."""

    text: str
    name: str
    note: str


# The verdict


def choose_verdict(judgement: Answers) -> tuple[str, str]:
    """Return the verdict on the first model of a judgement, and its tone: bad, good or open.

    If the tests find nothing, the verdict still mentions that the rows are too few, that a class or
    a group stands out, or that recalibration improves the scores. "No miscalibration found" does
    not contradict the intervals: `howfar.errors` extends them to 0 if the test does not reject.
    """
    answer, how_far = judgement.calibrated, judgement.how_far
    if answer is None or answer.rejected is None:
        return "It cannot be tested whether the predictions are calibrated", "open"
    if answer.rejected:
        return _describe_error(judgement), "bad"
    highest = how_far.errors[0].interval.high if how_far else None
    if highest is not None and highest > LARGEST:
        if judgement.data.n == 1:
            return "1 row says nothing about calibration", "open"
        about = f"the error may be up to {_format_points(highest)}"
        return f"{judgement.data.n:,} rows are too few to tell: {about}", "open"
    worst = _find_outlier(judgement)
    if worst is not None:
        return f"No miscalibration found overall, but {worst} stands out", "open"
    if judgement.gains is not None and judgement.gains.best is not None:
        return "No miscalibration found, but recalibration improves the scores", "open"
    confidence, accuracy = _format_pair(*measure_confidence(judgement.data), most=0)
    if confidence == accuracy:
        return f"No miscalibration found: says {confidence}, is right {accuracy}", "good"
    return "No miscalibration found", "good"


def compare_models(judgement: Answers) -> str | None:
    """Return which of two models is better calibrated and more often right, in a few words.

    Return None for one model, and for more than two.
    """
    if judgement.versus is None or len(judgement.others) != 1:
        return None
    better = {row.quantity: row.better for row in judgement.versus.differences}
    calibrated, right = (
        name and shorten_middle(name, 40)
        for name in (better.get("calibration"), better.get("error_rate"))
    )
    if calibrated and calibrated == right:
        return f"{calibrated} is better calibrated and more often right"
    if calibrated and right:
        return f"{calibrated} is better calibrated, {right} is more often right"
    if calibrated:
        return f"{calibrated} is better calibrated; neither is shown to be more often right"
    if right:
        return f"{right} is more often right; neither is shown to be better calibrated"
    return "Neither model is shown to be better calibrated or more often right"


def _describe_error(judgement: Answers) -> str:
    """Return the verdict on predictions that are not calibrated: the direction and its size."""
    how_far = judgement.how_far
    direction = how_far.direction if how_far else None
    if how_far is None or direction is None:
        return "Not calibrated"
    is_binary = judgement.data.notions[0] == "binary"
    way = _direction_of_slope(direction.slope) if is_binary else direction.gap.sign
    shift = direction.gap.sign if is_binary else 0
    name = {1: "Overconfident", -1: "Underconfident", 0: ""}[way]
    confidence, accuracy = measure_confidence(judgement.data)
    excess = way * (confidence - accuracy)
    # A binary model may be both shifted and over- or underconfident: the larger difference counts.
    shifted = abs(direction.mean_confidence - direction.accuracy) if shift else 0.0
    if way and (not is_binary or excess >= max(VISIBLE, shifted)):
        says, right = _format_pair(confidence, accuracy)
        return f"{name}: says {says}, is right {right}"
    if shift:
        says, happens = _format_pair(direction.mean_confidence, direction.accuracy)
        height = "high" if shift > 0 else "low"
        return f"Probabilities too {height}: says {says} on average, {happens} happens"
    if way:
        return f"{name}: probabilities are too {'near to' if way > 0 else 'far from'} 0 and 1"
    value = how_far.errors[0].interval.value
    if value is None:
        return "Not calibrated"
    return f"Not calibrated: off by {_format_points(value)} on average"


def _direction_of_slope(slope: Interval | None) -> int:
    """Return 1 if the calibration slope shows overconfidence, -1 for underconfidence, else 0."""
    if slope is None or slope.low is None or slope.high is None:
        return 0
    return int(slope.high < 1.0) - int(slope.low > 1.0)


def _find_outlier(judgement: Answers) -> str | None:
    """Return the name of the first class or group that stands out; None if there is none."""
    findings: list[ClassFinding | GroupFinding] = []
    if judgement.where is not None:
        findings = [*judgement.where.classes, *judgement.where.groups]
    worst = next((finding for finding in findings if finding.stands_out), None)
    if worst is None:
        return None
    if isinstance(worst, ClassFinding):
        return f"class {shorten_middle(worst.name, 30)}"
    return f"{shorten_middle(worst.column, 20)} = {shorten_middle(worst.value, 20)}"


# The numbers


def key_numbers(judgement: Answers) -> tuple[KeyNumber, ...]:
    """Return the error with its interval, the accuracy, and the number of rows."""
    return _describe_size(judgement), _describe_accuracy(judgement.data), _describe_rows(judgement)


def measure_confidence(data: Judged) -> tuple[float, float]:
    """Return the mean probability of the predicted class, and the accuracy."""
    if data.confidences:
        return float(data.p[:, 1].mean()), float(data.y.mean())
    return float(data.p.max(axis=1).mean()), float((data.p.argmax(axis=1) == data.y).mean())


def _describe_size(judgement: Answers) -> KeyNumber:
    is_binary = judgement.data.notions[0] == "binary"
    name = f"average error of a stated {'probability' if is_binary else 'confidence'}"
    if judgement.how_far is None:
        return KeyNumber(DASH, name, "It was not estimated.")
    if judgement.data.n == 1:
        return KeyNumber(DASH, name, "One row cannot show it.")
    error = judgement.how_far.errors[0]
    value, low, high = error.interval.value, error.interval.low, error.interval.high
    if value is None:
        return KeyNumber(DASH, name, error.reason or "It has no value.")
    if low is None or high is None:
        return KeyNumber(_format_points(value), name, "It has no interval.")
    digits = count_decimals(high - low) - 2  # those of an interval in percent
    ends = f"{100 * low:.{digits}f} to {100 * high:.{digits}f} percentage points"
    note = f"{_format_percent(error.interval.level)} interval: {ends}."
    return KeyNumber(f"{100 * value:.{digits}f}{SPACE}points", name, note)


def _describe_accuracy(data: Judged) -> KeyNumber:
    says, right = _format_pair(*measure_confidence(data), most=1)
    note = f"The mean confidence is {says}."
    if not data.confidences:
        counts = np.bincount(data.y, minlength=data.k)
        most = shorten_middle(data.classes[int(counts.argmax())], 20)
        share = _format_percent(float(counts.max()) / data.n)
        note += f" Always predicting class {most} would be right for {share}."
    return KeyNumber(right, "accuracy", note)


def _describe_rows(judgement: Answers) -> KeyNumber:
    """Return the number of rows, with the smallest error that the test detects on them."""
    tests = judgement.calibrated.tests if judgement.calibrated else ()
    n, groups, note = judgement.data.n, judgement.data.row_groups, ""
    if n > 1 and tests and tests[0].detectable is not None:
        note = (
            f"The test finds an error of {_format_points(tests[0].detectable)} with a probability "
            f"of {_format_percent(tests[0].power)}; it may miss smaller ones."
        )
    elif n > 1 and tests and tests[0].rejected is False and judgement.how_far is not None:
        highest = judgement.how_far.errors[0].interval.high
        if highest is not None:
            note = f"An error of {_format_points(highest)} may have been missed."
    name = "row" if n == 1 else "rows"
    if groups is not None:
        name += f" in {groups.max() + 1:,} groups"
    return KeyNumber(f"{n:,}", name, note)


# Formats


def _format_points(value: float) -> str:
    """Format an error in percentage points with two digits.

    >>> _format_points(0.0381).replace(SPACE, " "), _format_points(1.0).replace(SPACE, " ")
    ('3.8 points', '100 points')
    """
    text = f"{100 * value:.2g}" if value < 0.995 else f"{100 * value:.0f}"
    return f"{text}{SPACE}points"


def _format_percent(value: float) -> str:
    return format_percent(value).replace(" ", SPACE)


def _format_pair(first: float, second: float, most: int = 2) -> tuple[str, str]:
    """Format two shares in percent, with as many decimals as show their difference.

    There are at most `most` decimals.

    >>> [text.replace(SPACE, " ") for text in _format_pair(0.9642, 0.926)]
    ['96 %', '93 %']
    >>> [text.replace(SPACE, " ") for text in _format_pair(0.9642, 0.9602)]
    ['96.4 %', '96.0 %']
    """
    difference = abs(first - second)
    digits = min(most, int(difference < 0.015) + int(difference < 0.0015))
    return f"{100 * first:.{digits}f}{SPACE}%", f"{100 * second:.{digits}f}{SPACE}%"
