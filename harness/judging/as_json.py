"""A judgement as values that json can write, for programs such as the CI of a model.

The schema, version 1. Within a version fields are added, never renamed, removed or given another
meaning.

    schema             "calharness.judge"
    schema_version     1
    calharness         version of the package
    level, seed        of the whole call; every interval, test and bound also has its own level
    data               name, n, k, classes, understood, notions (the main one first), confidences,
                       groups
    sentences          the answers in one sentence each, by question
    unanswered         why a question has no answer, by question
    numbers            {name: {value, level, reason}}: every number by its short name, as
                       --fail-above takes it
    calibrated         question 1: sentence, rejected, tests[]
    how_far            question 2: sentence, errors[], certified[], direction, scores[],
                       disagreement, cautions[]
    where              question 3: sentence, classes[] (worst first), regions[], groups[], notes[]
    gains              question 4: sentence, gains[], best
    versus             question 5: sentence, differences[]
    others             the second and further files, each {data, calibrated, how_far, unanswered}

The fields of the answers are those of the dataclasses in `harness.judging.findings`. An interval is
{value, low, high, level}. A number that does not exist is null, and its `reason`, or `unanswered`,
says why; there is no NaN and no infinity. Numbers are in the unit of the estimand, never percent.
Curves and fitted maps are not part of it.

Short names (`numbers`), each with .value, .low and .high if there is an interval:

    NOTION.ESTIMAND.value|low|high             headline estimate of a notion: top_label.l1.high
    NOTION.ESTIMAND.ESTIMATOR.value|low|high   any estimate: top_label.l1.binned15.value
    NOTION.ESTIMAND.certified.low|high         certified bound
    NOTION.p_value, NOTION.rejected            of the test, corrected for several tests; rejected is
                                               1 or 0
    NOTION.detectable                          L1 error that the test would have detected (with the
                                               probability in `tests`)
    confidence_gap.value|low|high              mean confidence minus accuracy
    log_loss.value, brier.value                mean scores; also .miscalibration.value|low|high,
                                               .discrimination, .uncertainty
    log_loss.gain.value|low|high               gain of the best recalibration (if no interval is
                                               above 0: of that with the largest value);
                                               brier.gain.* is of the same map
    log_loss.gain.METHOD.*, brier.gain.METHOD.*   of any map
    worst_class.l1.value|low|high              first of `classes`; class.NAME.l1.* of any class
    group.COLUMN.VALUE.gap.*, .l1.*            a group of rows
    difference.QUANTITY.value|low|high         first minus second file; with more than two files
                                               difference.SECOND.QUANTITY.*
    OTHER:NAME                                 any of the first seven lines for another file, by its
                                               name
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from harness.common.version import VERSION
from harness.judging.findings import QUESTIONS, Answers, Gains, HowFar, Interval, Judged

SCHEMA = "calharness.judge"
SCHEMA_VERSION = 1
SCORE_NAMES = {"log": "log_loss", "brier": "brier"}
NO_END = "there is no such end of an interval"
LEFT_OUT = ("panels", "fitted")
Row = tuple[str, float | None, float | None, str | None]  # name, value, level, reason


def as_json(judgement: Answers) -> dict[str, Any]:
    """Return the judgement by the schema of this module: dicts, lists, texts, numbers, None."""
    others = [
        {
            "data": _data(other.data),
            "calibrated": _plain(other.calibrated),
            "how_far": _plain(other.how_far),
            "unanswered": dict(other.unanswered),
        }
        for other in judgement.others
    ]
    answers = judgement.answers
    return {
        "schema": SCHEMA,
        "schema_version": SCHEMA_VERSION,
        "calharness": VERSION,
        "level": judgement.level,
        "seed": judgement.seed,
        "data": _data(judgement.data),
        "sentences": {question: answer.sentence for question, answer in answers.items()},
        "unanswered": dict(judgement.unanswered),
        "numbers": numbers(judgement),
        **{question: _plain(answers.get(question)) for question in QUESTIONS},
        "others": others,
    }


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


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [
            finding.name for finding in dataclasses.fields(value) if finding.name not in LEFT_OUT
        ]
        return {name: _plain(getattr(value, name)) for name in names}
    if isinstance(value, (list, tuple)):
        return [_plain(finding) for finding in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def numbers(judgement: Answers) -> dict[str, dict[str, Any]]:
    """Return {short name: {value, level, reason}}. The module's docstring lists the names."""
    table: dict[str, dict[str, Any]] = {}
    for name, value, level, reason in _rows(judgement):
        value = float(value) if value is not None and math.isfinite(value) else None
        reason = None if value is not None else reason or "it has no value"
        table.setdefault(name, {"value": value, "level": level, "reason": reason})
    return table


def _rows(judgement: Answers) -> Iterator[Row]:
    yield from _rows_of_model(judgement)
    if judgement.gains is not None:
        yield from _rows_of_gains(judgement.gains)
    if judgement.where is not None:
        for worst in judgement.where.classes[:1]:
            yield from _interval("worst_class.l1", worst.error)
        for finding in judgement.where.classes:
            yield from _interval(f"class.{finding.name}.l1", finding.error)
        for group in judgement.where.groups:
            yield from _interval(f"group.{group.column}.{group.value}.gap", group.gap)
            yield from _interval(f"group.{group.column}.{group.value}.l1", group.error)
    for row in judgement.versus.differences if judgement.versus else ():
        names: list[str] = []
        if len(judgement.others) > 1:
            names = [row.second] if row.first == judgement.data.name else [row.first, row.second]
        name = ".".join(["difference", *names, row.quantity])
        yield from _interval(name, row.difference, row.sentence)
    for other in judgement.others:
        for name, value, level, reason in _rows_of_model(other):
            yield f"{other.data.name}:{name}", value, level, reason


def _interval(name: str, interval: Interval, reason: str | None = None) -> Iterator[Row]:
    yield f"{name}.value", interval.value, None, reason
    yield f"{name}.low", interval.low, interval.level, reason or NO_END
    yield f"{name}.high", interval.high, interval.level, reason or NO_END


def _rows_of_model(judgement: Answers) -> Iterator[Row]:
    """Rows of the first two answers."""
    for test in judgement.calibrated.tests if judgement.calibrated else ():
        rejected = None if test.rejected is None else float(test.rejected)
        p_value = test.p_value if test.adjusted is None else test.adjusted
        yield f"{test.notion}.p_value", p_value, test.level, test.reason
        yield f"{test.notion}.rejected", rejected, test.level, test.reason
        yield f"{test.notion}.detectable", test.detectable, test.level, test.reason
    if judgement.how_far is not None:
        yield from _rows_of_errors(judgement.how_far)


def _rows_of_errors(how_far: HowFar) -> Iterator[Row]:
    # The first row of a name counts: the headline has the short name of its notion and estimand.
    for error in sorted(how_far.errors, key=lambda error: not error.headline):
        yield from _interval(f"{error.notion}.{error.estimand}", error.interval, error.reason)
    for error in how_far.errors:
        name = f"{error.notion}.{error.estimand}.{error.estimator}"
        yield from _interval(name, error.interval, error.reason)
    for bound in how_far.certified:
        name = f"{bound.notion}.{bound.estimand}.certified"
        _, *ends = _interval(name, bound.interval, bound.reason)
        yield from ends
    if how_far.direction is not None:
        yield from _interval("confidence_gap", how_far.direction.gap)
    for score in how_far.scores:
        name = SCORE_NAMES[score.score]
        yield f"{name}.value", score.mean_score, None, None
        yield from _interval(f"{name}.miscalibration", score.miscalibration)
        yield f"{name}.discrimination", score.discrimination, None, None
        yield f"{name}.uncertainty", score.uncertainty, None, None


def _rows_of_gains(answer: Gains) -> Iterator[Row]:
    """Rows of the quoted gain, then of all. Quoted is the best map, else the largest log-loss."""
    if not answer.gains:
        return
    known = [gain for gain in answer.gains if gain.log_loss.value is not None] or answer.gains[:1]
    quoted = max(known, key=lambda gain: gain.log_loss.value or 0.0)
    quoted = next((gain for gain in answer.gains if gain.method == answer.best), quoted)
    for score in ("log_loss", "brier"):
        yield from _interval(f"{score}.gain", getattr(quoted, score), quoted.reason)
        for gain in answer.gains:
            name = f"{score}.gain.{gain.method}"
            yield from _interval(name, getattr(gain, score), gain.reason)
