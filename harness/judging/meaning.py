"""What an answer means: plain sentences beside it, out of the same numbers, on what they allow and what they do not."""

from __future__ import annotations

from harness.common import wording
from harness.common.wording import clean, format_number, format_percent, is_known
from harness.judging.findings import Calibrated, Findings, Gains, HowFar, Versus, Where


def verdict(judgement: Findings) -> tuple[str, str]:
    """Return a few words on the first question, and their tone: bad | good | open.

    "No miscalibration was found" never stands above an interval that excludes 0: those of the error are extended to 0 where the
    test does not reject (`howfar.errors`), and a class, a group or a gain that stands out changes these words.
    """
    answer = judgement.calibrated
    if answer is None or answer.rejected is None:
        return "It cannot be said whether it is calibrated", "open"
    if answer.rejected:
        return "Not calibrated", "bad"
    where = judgement.where
    parts = (
        [*(one.adjusted for one in where.classes), *(one.adjusted for one in where.groups)]
        if where is not None
        else []
    )
    if any(adjusted is not None and adjusted <= 1.0 - judgement.level for adjusted in parts):
        return "Nothing was found over all rows, but a class or a group stands out", "open"
    if judgement.gains is not None and judgement.gains.best is not None:
        return "The tests found nothing, but recalibration gains something", "open"
    return "No miscalibration was found", "good"


def calibrated(found: Calibrated) -> list[str]:
    seen = [test for test in found.tests if is_known(test.detectable)]
    if found.rejected is None:
        return ["Nothing is said for or against these predictions."]
    if found.rejected:
        said = [
            "The probabilities cannot be taken at face value: they differ from what happened by more than chance would do.",
            "The test says that there is a difference, not that it is large or matters; the next answer says how large it is.",
        ]
    else:
        said = [
            "The predictions may be taken at face value as far as these rows can tell. That is no proof that they are "
            "calibrated: "
            "a small error stays hidden among few rows."
        ]
    if seen and not found.rejected:
        least = ", ".join(
            f"{format_number(test.detectable)} ({wording.notion_name(test.notion)})"
            for test in seen
        )
        said.append(
            f"An error of this size would have been found with a chance of {format_percent(seen[0].power)}: {least}; "
            "smaller ones not."
        )
    return said


def how_far(found: HowFar) -> list[str]:
    said = []
    quoted = next(
        (
            one
            for one in found.errors
            if one.headline and one.estimand == "l1" and is_known(one.interval.value)
        ),
        None,
    )
    if quoted is not None and quoted.interval.value is not None:
        points = 100 * quoted.interval.value
        of = (
            "a stated probability"
            if quoted.notion != "canonical"
            else "a whole row of probabilities, all classes added up,"
        )
        said.append(
            f"On average, {of} is off by about {points:.2g} percentage points ({wording.notion_name(quoted.notion)})."
        )
    if found.direction is not None:
        said.append(clean(found.direction.sentence))
    said.append(
        "Different methods give different numbers because each makes another compromise on few data. Where their intervals "
        "overlap, they agree."
    )
    if any(
        one.interval.low is not None or one.interval.high is not None for one in found.certified
    ):
        said.append(
            "A certified interval is wider, and holds without trust in a method, as long as its assumption does."
        )
    return said


def where(found: Where) -> list[str]:
    said = []
    if found.panels:
        top = found.panels[0].score
        said.append(
            f"Read the picture from left to right, by {clean(top)}. Where the curve is below the dashed diagonal, things "
            f"happen less often "
            "than was said; above it, more often. Inside the grey band, chance alone may explain it."
        )
    told = [
        one
        for one in found.classes
        if one.adjusted is not None and one.adjusted <= 1.0 - one.error.level
    ]
    if found.classes:
        level = format_percent(found.classes[0].error.level)
        said.append(
            f"{len(told)} of {len(found.classes)} classes can be told from calibrated ones at the {level} level, with a "
            f"correction for "
            "looking at all of them."
        )
    if found.groups:
        some = [
            one
            for one in found.groups
            if one.adjusted is not None and one.adjusted <= 1.0 - one.gap.level
        ]
        said.append(
            f"{len(some)} of {len(found.groups)} groups are off by more than chance, corrected for their number "
            f"({format_percent(found.groups[0].gap.level)} level)."
        )
    return said


def band(found: Where | None) -> str:
    """What the band of the first diagram is."""
    one = found.panels[0].band if found is not None and found.panels else None
    if one is None:
        return "not drawn."
    held = (
        "the line of calibrated predictions"
        if one.kind == "consistency"
        else "the line of further such data"
    )
    return f"where {held} would lie with a chance of {format_percent(one.level)}, at any one prediction."


def gains(found: Gains) -> list[str]:
    best = next((one for one in found.gains if one.method == found.best), None)
    if best is None:
        said = [
            "No recalibration that was tried improves these predictions for certain; leave them as they are, or collect "
            "more rows."
        ]
    else:
        said = [
            f"Recalibrate by {clean(best.label)}: it was better on rows that it had not seen. The predictions change, the "
            f"model does not.",
            "It is fitted to data like these. Once the data change, fit it again.",
        ]
    return [*said, "An interval that holds 0 says that the map may as well do harm."]


def versus(found: Versus) -> list[str]:
    told = [one for one in found.differences if one.better is not None]
    said = [
        "Both were judged on the same rows, so that luck with the rows cancels.",
        "“Cannot be told” is an answer: whichever is better, the difference is too small for this number of rows.",
    ]
    if told:
        said.append(
            "A model can be right more often and yet be worse calibrated; see which of the rows matters for the use."
        )
    return said
