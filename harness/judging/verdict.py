"""The verdict on predictions in a few words, and the three numbers that support it."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from harness.common.wording import DASH, clean, count_decimals, format_percent
from harness.judging.answers import Answers
from harness.judging.data import reduced
from harness.judging.direction import mean_gap
from harness.judging.findings import ClassFinding, GroupFinding, Region
from harness.judging.interval import Interval
from harness.judging.judged import Judged

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

    If the tests find nothing, the verdict still mentions that the rows are too few, that a class, a
    group or a region stands out, or that recalibration improves the scores. "No miscalibration
    found" does not contradict the intervals: `howfar.errors` extends them to 0 if the test does not
    reject.
    """
    answer, how_far = judgement.calibrated, judgement.how_far
    if answer is None or answer.rejected is None:
        return "It cannot be tested whether the predictions are calibrated", "open"
    if answer.rejected:
        return _describe_error(judgement), "bad"
    highest = how_far.errors[0].interval.high if how_far else None
    if highest is not None and highest > LARGEST:
        if judgement.data.given == 1:
            return "1 row says nothing about calibration", "open"
        about = f"the error may be up to {_format_points(highest)}"
        return f"{judgement.data.given:,} rows are too few to tell: {about}", "open"
    worst = _find_outlier(judgement)
    if worst is not None:
        return f"No miscalibration found overall, but {worst} stands out", "open"
    if judgement.gains is not None and judgement.gains.best is not None:
        return "No miscalibration found, but recalibration improves the scores", "open"
    confidence, accuracy = measure_confidence(judgement.data)
    if round(100 * confidence) == round(100 * accuracy):
        says, right, _ = _format_accuracy(judgement.data)
        return f"No miscalibration found: says {says}, is right {right}", "good"
    return "No miscalibration found", "good"


def compare_models(judgement: Answers) -> str | None:
    """Return which of two models is better calibrated and more often right, in a few words.

    Return None for one model, and for more than two.
    """
    if judgement.versus is None or len(judgement.others) != 1:
        return None
    better = {row.quantity: row.better for row in judgement.versus.differences}
    calibrated, right = (
        name and clean(name) for name in (better.get("calibration"), better.get("error_rate"))
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
    # A binary model may be both shifted and over- or underconfident: the larger difference counts.
    shifted = abs(direction.mean_confidence - direction.accuracy) if shift else 0.0
    if way and (not is_binary or _is_shown(judgement, way, max(VISIBLE, shifted))):
        says, right, _ = _format_accuracy(judgement.data)
        return f"{name}: says {says}, is right {right}"
    if shift:
        says, happens = _format_shares(direction.mean_confidence, direction.accuracy)
        height = "high" if shift > 0 else "low"
        return f"Probabilities too {height}: says {says} on average, {happens} happens"
    if way:
        return f"{name}: probabilities differ too {'much' if way > 0 else 'little'}"
    value = how_far.errors[0].interval.value
    if value is None:
        return "Not calibrated"
    return f"Not calibrated: off by {_format_points(value)} on average"


def _is_shown(judgement: Answers, way: int, least: float) -> bool:
    """Return True if the confidence differs from the accuracy in the direction `way`.

    The difference must be significant, and at least `least`. `way` is 1 for overconfidence and -1
    for underconfidence.
    """
    confidence, right = reduced(judgement.data, "top_label")
    gap = mean_gap(confidence, right, judgement.level, judgement.data.row_groups)
    return gap.sign == way and abs(gap.value or 0.0) >= least


def _direction_of_slope(slope: Interval | None) -> int:
    """Return 1 if the calibration slope shows overconfidence, -1 for underconfidence, else 0."""
    if slope is None or slope.low is None or slope.high is None:
        return 0
    return int(slope.high < 1.0) - int(slope.low > 1.0)


def _find_outlier(judgement: Answers) -> str | None:
    """Return the name of the first class, group or region that stands out, or None."""
    findings: list[ClassFinding | GroupFinding | Region] = []
    if judgement.where is not None:
        regions = sorted(judgement.where.regions, key=lambda region: region.adjusted)
        findings = [*judgement.where.classes, *judgement.where.groups]
        findings += regions if len(regions) > 1 else []
    worst = next((finding for finding in findings if finding.stands_out), None)
    if worst is None:
        return None
    if isinstance(worst, ClassFinding):
        return f"class {clean(worst.name)}"
    if isinstance(worst, Region):
        return f"the region of scores from {worst.low:.3g} to {worst.high:.3g}"
    return f"{clean(worst.column)} = {clean(worst.value)}"


# The numbers


def key_numbers(judgement: Answers) -> tuple[KeyNumber, ...]:
    """Return the error with its interval, the accuracy, and the number of rows."""
    return _describe_size(judgement), _describe_accuracy(judgement.data), _describe_rows(judgement)


def measure_confidence(data: Judged) -> tuple[float, float]:
    """Return the mean probability of the predicted class, and the accuracy."""
    if data.confidences:
        return float(data.p[:, 1].mean()), float(data.y.mean())
    return float(data.p.max(axis=1).mean()), float((data.p.argmax(axis=1) == data.y).mean())


def advise(judgement: Answers) -> KeyNumber | None:
    """Return what to do with the first model, with the sentence that supports it.

    Return None if the gains by recalibration are not known. A recalibration is recommended only if
    its gain is significant, and nothing is to be changed only if nothing was found.
    """
    if judgement.gains is None:
        return None
    sentence = judgement.gains.sentence
    gains = judgement.gains.gains
    best = next((gain for gain in gains if gain.method == judgement.gains.best), None)
    data = judgement.data
    wrong = int((data.p[np.arange(data.n), data.y] == 0.0).sum())
    if wrong:
        were = "one was" if wrong == 1 else f"{wrong:,} were"
        what = "confidence of 0 or 1" if data.confidences else "probability of 0"
        some = were if data.weighted_rows is None else "some were"
        text = f"Never state a {what}: {some} wrong"
    elif best is not None:
        text = f"Recalibrate by {best.label}"
    elif choose_verdict(judgement)[1] == "good":
        text = "Leave the predictions as they are"
    else:
        text = "Collect more rows before you change anything"
    return KeyNumber(text, "what to do", sentence)


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
    says, right, share = _format_accuracy(data)
    note = f"The mean confidence is {says}."
    if not data.confidences:
        most = clean(data.classes[int(np.bincount(data.y).argmax())])
        note += f" Always predicting class {most} would be right for {share}."
    return KeyNumber(right, "accuracy", note)


def _describe_rows(judgement: Answers) -> KeyNumber:
    """Return the number of rows, with the smallest error that the test detects on them."""
    tests = judgement.calibrated.tests if judgement.calibrated else ()
    n, note = judgement.data.given, ""
    if n > 1 and tests and tests[0].detectable is not None:
        note = (
            f"The test finds over- or underconfidence of {_format_points(tests[0].detectable)} "
            f"with a probability of {_format_percent(tests[0].power)}; it may miss other errors."
        )
    elif n > 1 and tests and tests[0].rejected is False and judgement.how_far is not None:
        highest = judgement.how_far.errors[0].interval.high
        if highest is not None:
            note = f"An error of {_format_points(highest)} may have been missed."
    count, name = judgement.data.rows.split(" ", 1)
    return KeyNumber(count, name, note)


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


def _format_accuracy(data: Judged) -> tuple[str, ...]:
    """Format the mean confidence, the accuracy, and the share of the most frequent class.

    They have as many decimals as show their differences, the same wherever they are printed.
    """
    return _format_shares(*measure_confidence(data), float(np.bincount(data.y).max()) / data.n)


def _format_shares(*shares: float) -> tuple[str, ...]:
    """Format shares in percent, with as many decimals as show their differences, at most 2.

    There are up to 4 if a share that is neither 0 nor 1 would read 0 % or 100 %.

    >>> [text.replace(SPACE, " ") for text in _format_shares(0.9642, 0.926)]
    ['96 %', '93 %']
    >>> [text.replace(SPACE, " ") for text in _format_shares(0.75, 0.82, 0.755)]
    ['75.0 %', '82.0 %', '75.5 %']
    >>> [text.replace(SPACE, " ") for text in _format_shares(0.98, 0.998)]
    ['98.0 %', '99.8 %']
    """
    differences = [abs(a - b) for a, b in combinations(shares, 2) if a != b]
    smallest = min(differences, default=1.0)
    digits = int(smallest < 0.015) + int(smallest < 0.0015)
    while digits < 4 and any(round(100 * x, digits) in (0, 100) and 0 < x < 1 for x in shares):
        digits += 1
    return tuple(f"{100 * share:.{digits}f}{SPACE}%" for share in shares)
