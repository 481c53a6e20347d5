"""What the answers mean: plain sentences for the page, made from the same numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from harness.common.wording import clean, format_number, format_percent, notion_name
from harness.judging.findings import Calibrated, Gains, HowFar, Versus, Where

if TYPE_CHECKING:
    from harness.judging.judgement import Judgement


def headline(judgement: Judgement) -> tuple[str, str]:
    """Return a few words on the first question, and their tone: bad, good or open.

    "No miscalibration was found" never stands above an interval that excludes 0: intervals of the
    error are extended to 0 if the test does not reject (`howfar.errors`). A class, a group or a
    gain that stands out changes these words.
    """
    answer, where, gains = judgement.calibrated, judgement.where, judgement.gains
    if answer is None or answer.rejected is None:
        return "No answer to whether it is calibrated", "open"
    if answer.rejected:
        return "Not calibrated", "bad"
    if where is not None and _off(where.classes, judgement.level) + _off(
        where.groups, judgement.level
    ):
        return "Nothing was found over all rows, but a class or a group stands out", "open"
    if gains is not None and gains.best is not None:
        return "The tests found nothing, but recalibration gains something", "open"
    return "No miscalibration was found", "good"


def _off(findings: tuple[Any, ...], level: float) -> int:
    """Count the classes or groups that are off by more than chance."""
    return sum(one.adjusted is not None and one.adjusted <= 1.0 - level for one in findings)


def explain_calibrated(answer: Calibrated, level: float) -> list[str]:
    """Explain the tests."""
    if answer.rejected is None:
        return ["Nothing can be said for or against these predictions."]
    if answer.rejected:
        return [
            "The probabilities cannot be taken at face value: they differ from the outcomes by "
            "more than chance.",
            "The test says that there is a difference, not that it is large or matters. The next "
            "answer says how large it is.",
        ]
    texts = [
        "As far as these rows can tell, the predictions may be taken at face value. This does not "
        "prove that they are calibrated: with few rows a small error stays hidden."
    ]
    tests = [test for test in answer.tests if test.detectable is not None]
    if tests:
        errors = [
            f"{format_number(test.detectable)} ({notion_name(test.notion)})" for test in tests
        ]
        texts.append(
            f"An error of this size would have been detected with probability "
            f"{format_percent(tests[0].power)}: {', '.join(errors)}. Smaller errors could have "
            "been missed."
        )
    return texts


def explain_how_far(answer: HowFar, level: float) -> list[str]:
    """Explain the estimates."""
    texts = []
    for error in answer.errors:
        if error.headline and error.interval.value is not None:
            subject = "a stated probability"
            if error.notion == "canonical":
                subject = "a whole row of probabilities, all classes added up,"
            texts.append(
                f"On average, {subject} is off by about {100 * error.interval.value:.2g} "
                f"percentage points ({notion_name(error.notion)})."
            )
            break
    if answer.direction is not None:
        texts.append(clean(answer.direction.sentence))
    texts.append(
        "Different methods give different numbers, because each makes another compromise on few "
        "data. If their intervals overlap, they agree."
    )
    if any(bound.reason is None for bound in answer.certified):
        texts.append(
            "A certified interval is wider. It holds whatever the method, as long as its "
            "assumption does."
        )
    return texts


def explain_where(answer: Where, level: float) -> list[str]:
    """Explain the diagrams and tables."""
    texts = []
    if answer.panels:
        texts.append(
            f"Read the diagram from left to right, by {clean(answer.panels[0].score)}. Where the "
            "curve is below the dashed diagonal, the event happens less often than predicted; "
            "above it, more often. Inside the grey band, chance alone may explain the difference."
        )
    percent = format_percent(level)
    if answer.classes:
        texts.append(
            f"{_off(answer.classes, level)} of {len(answer.classes)} classes are off by more than "
            f"chance ({percent} level, corrected for the number of classes)."
        )
    if answer.groups:
        texts.append(
            f"{_off(answer.groups, level)} of {len(answer.groups)} groups are off by more than "
            f"chance ({percent} level, corrected for the number of groups)."
        )
    return texts


def explain_gains(answer: Gains, level: float) -> list[str]:
    """Explain the gains."""
    interval = "If an interval holds 0, the recalibration may as well do harm."
    for gain in answer.gains:
        if gain.method == answer.best:
            return [
                f"Recalibrate by {clean(gain.label)}: it was better on rows that it had not seen. "
                "The predictions change, the model does not.",
                "The map is fitted to data like these. If the data change, fit it again.",
                interval,
            ]
    return [
        "None of these recalibrations is sure to improve the predictions. Leave them as they are, "
        "or collect more rows.",
        interval,
    ]


def explain_versus(answer: Versus, level: float) -> list[str]:
    """Explain the differences between models."""
    texts = [
        "All models were judged on the same rows, so luck with the rows cancels.",
        "“Cannot be told apart” is an answer: if one model is better, the difference is too small "
        "for this number of rows.",
    ]
    if any(row.better is not None for row in answer.differences):
        texts.append(
            "A model can be right more often and still be worse calibrated. Choose the row that "
            "matters for your use."
        )
    return texts


EXPLAIN: dict[str, Callable[[Any, float], list[str]]] = {
    "calibrated": explain_calibrated,
    "how_far": explain_how_far,
    "where": explain_where,
    "gains": explain_gains,
    "versus": explain_versus,
}
