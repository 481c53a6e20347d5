"""A judgement as values that json can write, for programs such as the CI of a model.

The schema, version 1. Within a version fields are added, never renamed, removed or given another meaning.

    schema             "calharness.judge"
    schema_version     1
    calharness         version of the package
    level, seed        of the whole call; every interval, test and bound bears its own level besides
    data               name, n, k, classes, understood, notions (those judged, the main one first), confidences, groups
    sentences          the answers in one sentence each, by question
    unanswered         why a question has no answer, by question
    numbers            {name: {value, level, reason}}: every number by its short name, as --fail-above takes it
    calibrated         question 1: sentence, rejected, tests[]
    how_far            question 2: sentence, errors[], certified[], direction, scores[], disagreement, cautions[]
    where              question 3: sentence, classes[] (worst first), regions[], groups[], notes[]
    gains              question 4: sentence, gains[], best
    versus             question 5: sentence, differences[]
    others             the second and further files, each {data, calibrated, how_far, unanswered}

The fields of the answers are those of the dataclasses in `harness.judging.findings`, which say what they mean. An interval is
{value, low, high, level}. A number that does not exist is null, and `reason` beside it, or `unanswered`, says why; there is no
NaN and no infinity. Numbers are in the unit of the estimand, never percent. Curves, fitted maps and times are not part of it.

Short names (`numbers`); each of .value, .low and .high where there is an interval:

    NOTION.ESTIMAND.value|low|high             the headline estimate of that notion: top_label.l1.high
    NOTION.ESTIMAND.ESTIMATOR.value|low|high   any estimate: top_label.l1.binned15.high
    NOTION.ESTIMAND.certified.low|high         a certified bound
    NOTION.p_value, NOTION.rejected            of the test, p corrected for several tests; rejected is 1 or 0
    NOTION.detectable                          the L1 error that the test would have found (with what probability: `tests`)
    confidence_gap.value|low|high              mean confidence minus accuracy
    log_loss.value, brier.value                mean scores; .miscalibration.value|low|high, .discrimination, .uncertainty
    log_loss.gain.value|low|high               what the best recalibration gains (none with an interval above 0: that of the
                                               largest value); brier.gain.* of the same map
    log_loss.gain.METHOD.*, brier.gain.METHOD.*     of any map
    worst_class.l1.value|low|high              the first of `classes`; class.NAME.l1.* of any
    group.COLUMN.VALUE.gap.*, .l1.*            a group of rows
    difference.QUANTITY.value|low|high         first minus second file; difference.SECOND.QUANTITY.* where there are more than two
    OTHER:NAME                                 any of the first seven lines of another file, by that file's name
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from typing import Any

from harness.common.version import VERSION
from harness.judging.findings import Findings, Gain, Interval, Judged
from harness.judging.words import QUESTIONS

SCHEMA = "calharness.judge"
SCHEMA_VERSION = 1
SCORE_NAMES = {"log": "log_loss", "brier": "brier"}
NO_INTERVAL = "there is no such end of an interval"
Numbers = dict[str, dict[str, Any]]


def as_json(judgement: Findings) -> dict[str, Any]:
    """The judgement by the schema of this module.

    Returns
    -------
    dict
        Of dicts, lists, texts, numbers, booleans and None alone.
    """
    found = {question: getattr(judgement, question) for question in QUESTIONS}
    return {
        "schema": SCHEMA,
        "schema_version": SCHEMA_VERSION,
        "calharness": VERSION,
        "level": judgement.level,
        "seed": judgement.seed,
        "data": _data(judgement.data),
        "sentences": {
            question: answer.sentence for question, answer in found.items() if answer is not None
        },
        "unanswered": dict(judgement.unanswered),
        "numbers": numbers(judgement),
        **{question: _plain(answer) for question, answer in found.items()},
        "others": [
            {
                "data": _data(other.data),
                "calibrated": _plain(other.calibrated),
                "how_far": _plain(other.how_far),
                "unanswered": dict(other.unanswered),
            }
            for other in judgement.others
        ],
    }


def numbers(judgement: Findings) -> Numbers:
    """{short name: {value, level, reason}} of a judgement (the module says which names there are)."""
    found: Numbers = {}
    for name, value, level, reason in _all(judgement):
        known = float(value) if value is not None and math.isfinite(value) else None
        found.setdefault(
            name,
            {
                "value": known,
                "level": level,
                "reason": None if known is not None else reason or "it has no value",
            },
        )
    return found


Row = tuple[str, float | None, float | None, str | None]  # name, value, level, reason


def _all(judgement: Findings) -> Iterator[Row]:
    yield from _of_file(judgement)
    yield from _of_gains(judgement)
    yield from _of_places(judgement)
    yield from _of_differences(judgement)
    for other in judgement.others:
        for name, value, level, reason in _of_file(other):
            yield f"{other.data.name}:{name}", value, level, reason


def _interval(name: str, interval: Interval, reason: str | None = None) -> Iterator[Row]:
    yield f"{name}.value", interval.value, None, reason
    for end in ("low", "high"):
        yield f"{name}.{end}", getattr(interval, end), interval.level, reason or NO_INTERVAL


def _of_file(judgement: Findings) -> Iterator[Row]:
    """Answers to the first two questions."""
    if judgement.calibrated is not None:
        for test in judgement.calibrated.tests:
            yield (
                f"{test.notion}.p_value",
                test.adjusted if test.adjusted is not None else test.p_value,
                test.level,
                test.reason,
            )
            yield (
                f"{test.notion}.rejected",
                None if test.rejected is None else float(test.rejected),
                test.level,
                test.reason,
            )
            yield f"{test.notion}.detectable", test.detectable, test.level, test.reason
    if judgement.how_far is None:
        return
    errors = judgement.how_far.errors
    for error in sorted(
        errors, key=lambda one: not one.headline
    ):  # of a notion and estimand the first has the short name
        yield from _interval(f"{error.notion}.{error.estimand}", error.interval, error.reason)
    for error in errors:
        yield from _interval(
            f"{error.notion}.{error.estimand}.{error.estimator}", error.interval, error.reason
        )
    for bound in judgement.how_far.certified:
        for end in ("low", "high"):
            name = f"{bound.notion}.{bound.estimand}.certified.{end}"
            yield (
                name,
                getattr(bound.interval, end),
                bound.interval.level,
                bound.reason or NO_INTERVAL,
            )
    if judgement.how_far.direction is not None:
        yield from _interval("confidence_gap", judgement.how_far.direction.gap)
    for score in judgement.how_far.scores:
        name = SCORE_NAMES.get(score.score, score.score)
        yield f"{name}.value", score.mean_score, None, None
        yield from _interval(f"{name}.miscalibration", score.miscalibration)
        yield f"{name}.discrimination", score.discrimination, None, None
        yield f"{name}.uncertainty", score.uncertainty, None, None


def leading(judgement: Findings) -> Gain | None:
    """The gain that is quoted: of the best map, else the largest in log-loss, else the first; None without any."""
    if judgement.gains is None or not judgement.gains.gains:
        return None
    made = judgement.gains.gains
    named = next((gain for gain in made if gain.method == judgement.gains.best), None)
    with_value = [gain for gain in made if gain.log_loss.value is not None]
    return named or max(with_value, key=lambda gain: gain.log_loss.value or 0.0, default=made[0])


def _of_gains(judgement: Findings) -> Iterator[Row]:
    first = leading(judgement)
    if judgement.gains is None or first is None:
        return
    for score in ("log_loss", "brier"):
        yield from _interval(f"{score}.gain", getattr(first, score), first.reason)
        for gain in judgement.gains.gains:
            yield from _interval(f"{score}.gain.{gain.method}", getattr(gain, score), gain.reason)


def _of_places(judgement: Findings) -> Iterator[Row]:
    if judgement.where is None:
        return
    for i, one in enumerate(judgement.where.classes):
        if i == 0:
            yield from _interval("worst_class.l1", one.error)
        yield from _interval(f"class.{one.name}.l1", one.error)
    for group in judgement.where.groups:
        name = f"group.{group.column}.{group.value}"
        yield from _interval(f"{name}.gap", group.gap)
        yield from _interval(f"{name}.l1", group.error)


def _of_differences(judgement: Findings) -> Iterator[Row]:
    if judgement.versus is None:
        return
    first = judgement.data.name
    several = len(judgement.others) > 1
    for one in judgement.versus.differences:
        middle = (
            ""
            if not several
            else f"{one.second}."
            if one.first == first
            else f"{one.first}.{one.second}."
        )
        yield from _interval(f"difference.{middle}{one.quantity}", one.difference, one.sentence)


def _data(data: Judged) -> dict[str, Any]:
    return {
        "name": data.name,
        "n": data.n,
        "k": data.k,
        "classes": [str(name) for name in data.classes],
        "understood": data.understood,
        "notions": list(data.notions),
        "confidences": data.confidences,
        "groups": [str(name) for name in data.groups],
    }


LEFT_OUT = ("panels", "fitted", "seconds")  # curves, maps, times


def _plain(value: Any) -> Any:
    """A finding as JSON's values."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {
            f.name: _plain(getattr(value, f.name))
            for f in dataclasses.fields(value)
            if f.name not in LEFT_OUT
        }
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    if value is None or isinstance(value, (bool, str)):
        return value
    if hasattr(value, "item"):  # numpy's numbers
        return _plain(value.item())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if isinstance(value, int) else str(value)
