"""The text of a judgement for a terminal: at most 25 lines of 100 characters for one file.

The lines of a question do not depend on the other answers. Therefore each answer can be printed as
soon as it is known: `head` first, then `answer_lines` for every question, then `tail`.
"""

from __future__ import annotations

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
    shorten_middle,
)
from harness.judging.answers import QUESTIONS, Answers
from harness.judging.findings import Calibrated, Gains, HowFar, Interval, Judged, Versus, Where
from harness.judging.words import format_with_level

WIDTH = 100
INDENT = "   "
MORE = " …"  # end of a text that was cut
# Largest number of lines of the sentence, and of the details, of each answer.
SENTENCE_LINES = {"calibrated": 2, "how_far": 2, "where": 3, "gains": 3, "versus": 3}
DETAIL_LINES = {"calibrated": 3, "how_far": 6, "where": 2, "gains": 2, "versus": 2}


def text(judgement: Answers) -> str:
    """Return the whole text of a judgement for a terminal."""
    lines = head(judgement.data, judgement.level)
    for question in QUESTIONS:
        answer = judgement.answers.get(question, judgement.unanswered.get(question))
        lines += answer_lines(question, answer)
    return "\n".join(lines + tail(judgement))


def head(data: Judged, level: float) -> list[str]:
    """Return the first line: the file, how it was read, and the level of all statements."""
    name, read = shorten_middle(data.name, 30), clean(data.understood)
    start = read if read.startswith(name) else f"{name}: {read}"
    end = f" (all at the {format_percent(level)} level)"
    return [textwrap.shorten(start, WIDTH - len(end), placeholder=MORE) + end]


def tail(judgement: Answers) -> list[str]:
    """Return the error of each other model, and the options that give the page and the JSON."""
    lines = [
        textwrap.shorten(
            f"{shorten_middle(other.data.name, 30)}: {clean(other.how_far.sentence)}",
            WIDTH,
            placeholder=MORE,
        )
        for other in judgement.others
        if other.how_far is not None
    ]
    names = "".join(f" {shorten_middle(other.data.name, 20)}" for other in judgement.others)
    also = f" (both include{names})" if names else ""
    line = f"--html report.html writes a page with pictures, --json prints all values{also}"
    return [*lines, textwrap.shorten(line, WIDTH, placeholder=MORE)]


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
    most = DETAIL_LINES[question]
    if len(details) > most:
        details = details[:most]
        details[-1] = details[-1][: WIDTH - len(INDENT + MORE)].rstrip() + MORE
    lines = _wrap(f"{title} {clean(sentence)}", WIDTH, SENTENCE_LINES[question])
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
                    f"; would detect an error of {format_number(test.detectable)} with probability "
                    f"{power}"
                )
        yield f"{notion_name(test.notion)}: {clean(line)}"


def _errors(answer: HowFar) -> Iterable[str]:
    for error in answer.errors:
        if error.headline:
            name = f"{notion_name(error.notion)}, {estimand_name(error.estimand)}"
            coverage = error.coverage
            measured = f", measured coverage {format_percent(coverage.value)}" if coverage else ""
            value = format_with_level(error.interval)
            known = error.interval.value is not None
            yield f"{name}: {value + measured if known else clean(error.reason or 'no value')}"
    if answer.direction is not None:
        yield clean(answer.direction.sentence)
    for caution in answer.cautions[:1]:
        yield clean(caution)
    for bound in answer.certified[:1]:
        ends = format_ends(bound.interval.low, bound.interval.high)
        if ends:
            name = f"{notion_name(bound.notion)}, {estimand_name(bound.estimand)}"
            yield f"certified {name}: {ends}. Assumption: {clean(bound.assumption)}"
    if answer.disagreement:
        yield clean(answer.disagreement)


def _places(answer: Where) -> Iterable[str]:
    classes = [row for row in answer.classes if is_known(row.error.value)]
    if classes:
        parts = [f"{shorten_middle(row.name, 18)} {_short(row.error)}" for row in classes[:3]]
        yield f"worst classes: {', '.join(parts)}"
    groups = sorted(answer.groups, key=lambda row: -abs(row.gap.value or 0.0))
    if groups:
        parts = [
            f"{shorten_middle(row.column, 12)} = {shorten_middle(row.value, 14)} {_short(row.gap)}"
            for row in groups[:2]
        ]
        yield f"mean score minus frequency, by group: {', '.join(parts)}"
    region = max(answer.regions, key=lambda row: row.share, default=None)
    if not groups and region is not None and region.share > 0.0:
        scores = f"from {format_number(region.low)} to {format_number(region.high)}"
        if region.low == region.high:
            scores = f"of {format_number(region.low)}"
        yield (
            f"largest share of the error: {format_percent(region.share)} at scores {scores} (mean "
            f"score {format_number(region.said)}, "
            f"frequency {format_number(region.happened.value)})"
        )


def _gains(answer: Gains) -> Iterable[str]:
    parts = [
        f"{row.label.removesuffix(' scaling')} {_short(row.log_loss)}"
        for row in answer.gains
        if is_known(row.log_loss.value)
    ]
    if parts:
        yield f"decrease of the log-loss: {', '.join(parts)}"


def _differences(answer: Versus) -> Iterable[str]:
    parts = [
        f"{re.split('[:,]', row.label)[0]} {_short(row.difference)}"
        for row in answer.differences
        if is_known(row.difference.value)
    ]
    if parts:
        yield f"first model minus second: {', '.join(parts)}"


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
    if is_known(low) and is_known(high):
        text += f" [{format_number(low, 2)}, {format_number(high, 2)}]"
    return text


def _wrap(line: str, width: int = WIDTH - len(INDENT), most: int | None = None) -> list[str]:
    """Wrap a text to lines of the given width, and cut it after `most` lines.

    No line break separates a number from its % sign or the two ends of an interval.
    """
    line = re.sub(r" (?=%)|(?<=,) (?=[−\d.]+\])", "\N{NO-BREAK SPACE}", line)
    lines = textwrap.wrap(line, width, subsequent_indent=INDENT, max_lines=most, placeholder=MORE)
    return [line.replace("\N{NO-BREAK SPACE}", " ") for line in lines]
