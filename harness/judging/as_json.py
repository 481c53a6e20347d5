"""A judgement as values that json can write, for programs such as the CI of a model.

This is version 1 of the schema. Within a version fields may be added, but no field is renamed,
removed or given another meaning.

    schema             "calharness.judge"
    schema_version     1
    calharness         version of the package
    level, seed        of the whole call; every interval, test and bound also has its own level
    data               name, n, k, classes, understood, notions (the main one first), confidences,
                       groups, row_groups (number of groups of --group-rows), note (how rows
                       were matched with those of the first file), weighted
    sentences          {question: its answer in one sentence}
    unanswered         {question: reason why it has no answer}
    numbers            {short name: {value, level, reason}}, see below; infinite where it is
    calibrated         question 1: sentence, rejected, tests[]
    how_far            question 2: sentence, errors[], certified[], direction, scores[],
                       disagreement, cautions[], clinical (numbers[])
    where              question 3: sentence, classes[] (worst first), regions[], groups[], notes[]
    gains              question 4: sentence, gains[], best
    versus             question 5: sentence, differences[]
    others             one entry per further file: {data, calibrated, how_far, unanswered}

The fields of the answers are those of the dataclasses in `harness.judging.findings`. An interval is
{value, low, high, level}. A missing number is null, and `reason` or `unanswered` explains it; there
is no NaN and no infinity. If a number is infinite, such as a mean log-loss, it is null, and the
object that holds it has another field, `infinite`: true. In `numbers`, `reason` then tells an
infinity from minus infinity. Numbers are in the unit of the estimand, never in percent. Curves and
fitted maps are left out.

The option --fail-above takes these short names. Numbers with an interval have .value, .low, .high:

    NOTION.ESTIMAND.value|low|high             headline estimate of a notion: top_label.l1.high
    NOTION.ESTIMAND.ESTIMATOR.value|low|high   any estimate: top_label.l1.binned15.value
    NOTION.ESTIMAND.certified.low|high         certified bound
    NOTION.p_value                             p-value of the test, corrected for several tests
    NOTION.rejected                            1 if the test rejects, else 0
    NOTION.detectable                          L1 error that the test would have detected with the
                                               probability in `tests`
    confidence_gap.value|low|high              mean confidence minus accuracy
    clinical.NAME.value|low|high               intercept, slope, ici, e50, e90, brier, scaled_brier,
                                               auroc of a clinical report; binary predictions only
    log_loss.value, brier.value                mean scores
    log_loss.miscalibration.value|low|high     part of the score; also brier.miscalibration.*
    log_loss.discrimination, .uncertainty      parts of the score; also for brier
    log_loss.gain.value|low|high               gain of the recommended recalibration (`best`). If
                                               no interval in either score is above 0: gain of the
                                               map with the largest value.
                                               brier.gain.* belongs to the same map.
    log_loss.gain.METHOD.*, brier.gain.METHOD.*   gain of any map
    worst_class.l1.value|low|high              error of the first of `classes`
    class.NAME.l1.*                            error of any class
    group.COLUMN.VALUE.gap.*, .l1.*            gap and error of a group of rows
    label.NAME.l1.*, .p_value                  of each label, if rows have several labels
    difference.QUANTITY.value|low|high         first minus second file. With more than two files:
                                               difference.SECOND.QUANTITY.*
    OTHER:NAME                                 a number of the first two questions, for another file
                                               with the name OTHER
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from harness.common.version import VERSION
from harness.judging.answers import QUESTIONS, Answers
from harness.judging.findings import Gains, HowFar
from harness.judging.interval import Interval
from harness.judging.judged import Judged
from harness.judging.labels import LabelsJudgement

SCHEMA = "calharness.judge"
SCHEMA_VERSION = 1
SCORE_NAMES = {"log": "log_loss", "brier": "brier"}
NO_END = "the interval has no such end"
NO_VALUE = "it has no value"
LEFT_OUT = ("panels", "fitted", "curve")  # fields that are not part of the schema
Row = tuple[str, float | None, float | None, str | None]  # name, value, level, reason
Number = tuple[float | None, float | None, str | None]  # value, level, reason


def as_json(judgement: Answers) -> dict[str, Any]:
    """Return the judgement in the schema of this module: dicts, lists, texts, numbers, None."""
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


def labels_as_json(judgement: LabelsJudgement) -> dict[str, Any]:
    """Return the judgement of several labels per row, with "labels" in place of the questions."""
    return {
        "schema": SCHEMA,
        "schema_version": SCHEMA_VERSION,
        "calharness": VERSION,
        "level": judgement.level,
        "data": {"name": judgement.name, "n": judgement.n, "k": len(judgement.labels)},
        "sentences": {"labels": judgement.sentence},
        "numbers": _table(named_label_values(judgement)),
        "labels": _plain(judgement.labels),
    }


def named_label_values(judgement: LabelsJudgement) -> dict[str, Number]:
    """Return {short name: (value, level, reason)}: label.NAME.l1.END and label.NAME.p_value."""
    rows: list[Row] = []
    for label in judgement.labels:
        rows += _interval(f"label.{label.name}.l1", label.error)
        rows.append((f"label.{label.name}.p_value", label.adjusted, judgement.level, None))
    return _named(rows)


def _data(data: Judged) -> dict[str, Any]:
    return {
        "name": data.name,
        "n": data.given,
        "k": data.k,
        "classes": [str(name) for name in data.classes],
        "understood": data.understood,
        "notions": list(data.notions),
        "confidences": data.confidences,
        "groups": [str(name) for name in data.groups],
        "row_groups": data.group_count,
        "note": data.note,
        "weighted": data.weighted_rows is not None,
    }


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [
            finding.name for finding in dataclasses.fields(value) if finding.name not in LEFT_OUT
        ]
        fields = {name: _plain(getattr(value, name)) for name in names}
        # An infinite end alone means that an interval has no such end.
        values = [getattr(value, name) for name in names if name not in ("low", "high")]
        if any(isinstance(number, float) and math.isinf(number) for number in values):
            fields["infinite"] = True
        return fields
    if isinstance(value, (list, tuple)):
        return [_plain(finding) for finding in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def numbers(judgement: Answers) -> dict[str, dict[str, Any]]:
    """Return {short name: {value, level, reason}} for all numbers with a name in the schema.

    An infinite value is None, and its entry has `infinite`: True.
    """
    return _table(named_values(judgement))


def _table(values: Mapping[str, Number]) -> dict[str, dict[str, Any]]:
    table: dict[str, dict[str, Any]] = {}
    for name, (value, level, reason) in values.items():
        table[name] = {"value": value, "level": level, "reason": reason}
        if value is not None and math.isinf(value):
            reason = "it is infinite" if value > 0.0 else "it is minus infinity"
            table[name] = {"value": None, "level": level, "reason": reason, "infinite": True}
    return table


def named_values(judgement: Answers) -> dict[str, Number]:
    """Return {short name: (value, level, reason)}, with infinite values as they are.

    A number without a value has a reason.
    """
    return _named(_rows(judgement))


def _named(rows: Iterable[Row]) -> dict[str, Number]:
    table: dict[str, Number] = {}
    for name, value, level, reason in rows:
        row: Number = (None, level, reason or NO_VALUE)
        if value is not None and not math.isnan(value):
            row = (float(value), level, None)
        table.setdefault(name, row)
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
    """Yield (name, value, level, reason) for each number of the answers to questions 1 and 2."""
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
    for number in how_far.clinical.numbers if how_far.clinical else ():
        yield from _interval(f"clinical.{number.name}", number.interval, number.reason)
    for score in how_far.scores:
        name = SCORE_NAMES[score.score]
        yield f"{name}.value", score.mean_score, None, None
        yield from _interval(f"{name}.miscalibration", score.miscalibration, score.reason)
        yield f"{name}.discrimination", score.discrimination, None, score.reason
        yield f"{name}.uncertainty", score.uncertainty, None, score.reason


def _rows_of_gains(answer: Gains) -> Iterator[Row]:
    """Yield the named numbers of the quoted gain, then of all gains.

    The quoted gain is that of `answer.best`. If no map is best, it is the gain that is largest in
    log-loss.
    """
    if not answer.gains:
        return
    known = [gain for gain in answer.gains if gain.log_loss.value is not None] or answer.gains[:1]
    quoted = max(known, key=lambda gain: (gain.log_loss.value or 0.0, gain.brier.value or 0.0))
    quoted = next((gain for gain in answer.gains if gain.method == answer.best), quoted)
    for score in ("log_loss", "brier"):
        yield from _interval(f"{score}.gain", getattr(quoted, score), quoted.reason)
        for gain in answer.gains:
            name = f"{score}.gain.{gain.method}"
            yield from _interval(name, getattr(gain, score), gain.reason)
