"""The text of a judgement for a terminal, in lines of at most 100 characters. Nothing is cut.

The lines of a question do not depend on the other answers. Therefore each answer can be printed as
soon as it is known: `head` first, then `answer_lines` for every question, then `tail`.
"""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Callable, Iterable
from typing import Any

from harness.common.names import estimand_name, notion_name
from harness.common.wording import (
    clean,
    format_ends,
    format_number,
    format_p_value,
    format_percent,
    is_known,
)
from harness.judging.answers import QUESTIONS, Answers
from harness.judging.findings import Calibrated, Gains, HowFar, Versus, Where
from harness.judging.interval import Interval
from harness.judging.judged import Judged
from harness.judging.measured import KINDS
from harness.judging.words import format_with_level

WIDTH = 100
INDENT = "   "
SHOWN = 3  # number of classes and groups that are listed; the page and the JSON have all


def text(judgement: Answers) -> str:
    """Return the whole text of a judgement for a terminal."""
    lines = head(judgement.data, judgement.level)
    for question in QUESTIONS:
        answer = judgement.answers.get(question, judgement.unanswered.get(question))
        lines += answer_lines(question, answer)
    return "\n".join(lines + tail(judgement))


def head(data: Judged, level: float) -> list[str]:
    """Return the first lines: the file, how it was read, and the level of all statements."""
    name, read = clean(data.name), clean(data.understood)
    start = read if read.startswith(name) else f"{name}: {read}"
    return _wrap(f"{start} (all at the {format_percent(level)} level)", WIDTH)


def tail(judgement: Answers) -> list[str]:
    """Return the error of each other model, and the options that give the page and the JSON."""
    texts = [
        f"{clean(other.data.name)}: {clean(other.how_far.sentence)}"
        for other in judgement.others
        if other.how_far is not None
    ]
    names = ", ".join(clean(other.data.name) for other in judgement.others)
    also = f" (both include {names})" if names else ""
    texts.append(f"--html report.html writes a page with pictures, --json prints all values{also}")
    return [line for text in texts for line in _wrap(text, WIDTH)]


def answer_lines(question: str, answer: Any) -> list[str]:
    """Return the lines of the answer to one question.

    If the question cannot be answered, `answer` is the reason (a str). If it is None, there are no
    lines.
    """
    if answer is None or (question == "versus" and isinstance(answer, str)):
        return []
    title = f"{1 + list(QUESTIONS).index(question)}. {QUESTIONS[question]}"
    details = []
    if isinstance(answer, str):
        sentence = f"This cannot be answered: {answer}"
    else:
        sentence = answer.sentence
        details = [line for detail in DETAILS[question](answer) for line in _wrap(detail)]
    lines = _wrap(f"{title} {clean(sentence)}", WIDTH)
    return lines + [INDENT + line for line in details]


def _tests(answer: Calibrated) -> Iterable[str]:
    for test in answer.tests:
        line = test.reason or "no answer"
        if test.rejected is not None:
            result = "not calibrated" if test.rejected else "nothing found"
            line = f"{result}, p {format_p_value(test.adjusted)}"
            if is_known(test.detectable):
                power = format_percent(test.power)
                line += (
                    f"; would detect over- or underconfidence of {format_number(test.detectable)} "
                    f"with probability {power}"
                )
        note = f". {test.note}" if test.note else ""
        yield f"{notion_name(test.notion)}: {clean(line + note)}"


def _errors(answer: HowFar) -> Iterable[str]:
    for error in answer.errors:
        if error.headline:
            name = f"{notion_name(error.notion)}, {estimand_name(error.estimand)}"
            measured = ""
            if error.coverage is not None:
                share = format_percent(error.coverage.value)
                measured = f", measured coverage {share} on simulated {KINDS}"
            elif error.beyond is not None and error is not answer.errors[0]:  # the sentence has it
                measured = f"; coverage was not measured {error.beyond}"
            value = format_with_level(error.interval)
            known = error.interval.value is not None
            yield f"{name}: {value + measured if known else clean(error.reason or 'no value')}"
    if answer.direction is not None:
        yield clean(answer.direction.sentence)
    if answer.clinical is not None:
        numbers = answer.clinical.numbers
        parts = [f"{row.label.split(' (')[0]} {_short(row.interval)}" for row in numbers]
        yield f"clinical report: {', '.join(parts)}"
    yield from map(clean, answer.cautions)
    for bound in answer.certified:
        ends = format_ends(bound.interval.low, bound.interval.high)
        if ends:
            name = f"{notion_name(bound.notion)}, {estimand_name(bound.estimand)}"
            yield f"certified {name}: {ends}. Assumption: {clean(bound.assumption)}"
    if answer.disagreement:
        yield clean(answer.disagreement)


def _places(answer: Where) -> Iterable[str]:
    classes = [row for row in answer.classes if is_known(row.error.value)]
    if classes:
        parts = [f"{clean(row.name)} {_short(row.error)}" for row in classes[:SHOWN]]
        count = len(classes)
        which = f" (the {SHOWN} clearest of {count})" if count > SHOWN else ""
        yield f"L1 error by class{which}: {', '.join(parts)}"
    if answer.groups:
        parts = [
            f"{clean(row.column)} = {clean(row.value)} {_short(row.gap)}"
            for row in answer.groups[:SHOWN]
        ]
        count = len(answer.groups)
        which = f" (the {SHOWN} clearest of {count})" if count > SHOWN else ""
        yield f"mean score minus frequency, by group{which}: {', '.join(parts)}"
    yield from map(clean, answer.notes)


def _gains(answer: Gains) -> Iterable[str]:
    is_brier = any(
        row.log_loss.value == math.inf or (row.method == answer.best and row.log_loss.sign <= 0)
        for row in answer.gains
    )
    parts = []
    for row in answer.gains:
        gain = row.brier if is_brier else row.log_loss
        if is_known(gain.value):
            parts.append(f"{row.label.removesuffix(' scaling')} {_short(gain)}")
    if parts:
        yield f"decrease of the {'Brier score' if is_brier else 'log-loss'}: {', '.join(parts)}"


def _differences(answer: Versus) -> Iterable[str]:
    pairs: dict[str, list[str]] = {}
    for row in answer.differences:
        if is_known(row.difference.value):
            name = f"{clean(row.first)} minus {clean(row.second)}"
            part = f"{re.split('[:,]', row.label)[0]} {_short(row.difference)}"
            pairs.setdefault(name, []).append(part)
    for name, parts in pairs.items():
        yield f"{name}: {', '.join(parts)}"


DETAILS: dict[str, Callable[[Any], Iterable[str]]] = {
    "calibrated": _tests,
    "how_far": _errors,
    "where": _places,
    "gains": _gains,
    "versus": _differences,
}


def _short(interval: Interval) -> str:
    value, low, high = interval.value, interval.low, interval.high
    text = format_number(value, 2)
    if is_known(low) and is_known(high) and math.isfinite(value or 0.0):
        text += f" [{format_number(low, 2)}, {format_number(high, 2)}]"
    return text


def _wrap(line: str, width: int = WIDTH - len(INDENT)) -> list[str]:
    """Wrap a text to lines of the given width.

    No line break separates a number from its % sign or the two ends of an interval.
    """
    line = re.sub(r" (?=%)|(?<=,) (?=[−\d.]+\])", "\N{NO-BREAK SPACE}", line)
    lines = textwrap.wrap(line, width, subsequent_indent=INDENT, break_on_hyphens=False)
    return [line.replace("\N{NO-BREAK SPACE}", " ") for line in lines]
