"""A judgement on a screen: words first, numbers after, at most 25 lines of 100 characters.

Every question has its share of the lines, so that its answer can be shown as soon as it is there: `head`, then `Answers.lines`
for each question in its turn, then `tail`; `text` is all of them.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from harness.common import wording
from harness.common.wording import (
    clean,
    fitted,
    format_number,
    format_p_value,
    format_percent,
    is_known,
)
from harness.judging import words
from harness.judging.findings import (
    Calibrated,
    ErrorEstimate,
    Findings,
    Gains,
    HowFar,
    Interval,
    Judged,
    Versus,
    Where,
)
from harness.judging.words import ends

WIDTH = 100
LINES = 25
SHARES = {
    "calibrated": 5,
    "how_far": 8,
    "where": 4,
    "gains": 3,
    "versus": 3,
}  # with the head's and the tail's: 25
ALONE = {"calibrated": 5, "how_far": 8, "where": 5, "gains": 4, "versus": 0}  # of one file
NUMBERS = {
    "calibrated": 3,
    "how_far": 3,
    "where": 1,
    "gains": 1,
    "versus": 1,
}  # lines of numbers that no sentence takes away
HEAD = TAIL = 1
INDENT = "   "
BOLD, PLAIN = "\x1b[1m", "\x1b[0m"


def text(judgement: Findings, colour: bool = False) -> str:
    """All that is said; `colour` sets the questions in bold, for a terminal."""
    lines, of = head(judgement.data, judgement.level), Answers(not judgement.others, colour)
    for question in words.QUESTIONS:
        lines += of.lines(question, getattr(judgement, question), judgement.unanswered)
    return "\n".join(lines[: LINES - TAIL] + tail(judgement))


def head(data: Judged, level: float) -> list[str]:
    """What was read."""
    said = clean(data.understood) or f"{data.n:,} rows, {data.k} classes"
    name = fitted(data.name, 30)
    start = "" if said.startswith(name) else f"{name}: "
    end = f" (all at the {format_percent(level)} level)"
    return [_cut(f"{start}{said}", WIDTH - len(end)) + end]


@dataclass
class Answers:
    """The lines of one question after the other; `spare` is what earlier ones left of their share. `alone`: there is one file,
    and so more room for it."""

    alone: bool = True
    colour: bool = False
    spare: int = 0

    def lines(
        self, question: str, found: Any, unanswered: Mapping[str, str] | None = None
    ) -> list[str]:
        """The answer in a sentence, then its numbers; of a question without an answer the reason."""
        share = (ALONE if self.alone else SHARES)[question]
        most = share + (
            self.spare if question != "how_far" else 0
        )  # what is left is for the sentences behind its many numbers
        made = (
            self._answered(question, found, most)
            if found is not None
            else self._reason(question, unanswered or {})
        )
        self.spare += share - len(made)
        return made

    def _reason(self, question: str, unanswered: Mapping[str, str]) -> list[str]:
        why = unanswered.get(question)
        if not why or question == "versus":
            return []
        return _wrapped(
            f"{_title(question)} That cannot be said: {clean(why)}",
            2,
            _title(question),
            self.colour,
        )

    def _answered(self, question: str, found: Any, most: int) -> list[str]:
        made: dict[str, Callable[[Any], list[str]]] = {
            "calibrated": _tests, "how_far": _errors, "where": _places, "gains": _gains, "versus": _differences,
        }  # fmt: skip
        details, title = made[question](found), _title(question)
        room = max(1, most - min(len(details), NUMBERS[question]))
        said = _wrapped(f"{title} {clean(found.sentence)}", room, title, self.colour)
        return said + [INDENT + line for line in _within(details, most - len(said))]


def _title(question: str) -> str:
    return f"{1 + list(words.QUESTIONS).index(question)}. {words.QUESTIONS[question]}"


def _within(details: list[str], room: int) -> list[str]:
    """The first so many lines of the details: each has one, the first ones that are longer have what is left."""
    shown, left = details[:room], room - len(details)
    if len(shown) < len(details) and shown and shown[-1].endswith(","):
        shown[-1] += " …"
    lines = []
    for line in shown:
        more = max(0, min(left, len(_folded(line, WIDTH - len(INDENT))) - 1))
        left -= more
        lines += _folded(line, WIDTH - len(INDENT), 1 + more)
    return lines


def tail(judgement: Findings) -> list[str]:
    """How to get the rest."""
    others = "".join(f" {fitted(other.data.name, 20)}" for other in judgement.others)
    return [
        _cut(
            f"More, with pictures: --html report.html; for programs: --json{' (also of' + others + ')' if others else ''}",
            WIDTH,
        )
    ]


def _tests(found: Calibrated) -> list[str]:
    lines = []
    for test in found.tests:
        start = f"{wording.notion_name(test.notion)}: "
        p = test.adjusted if test.adjusted is not None else test.p_value
        if p is None or test.rejected is None:
            lines.append(start + clean(test.reason or "no answer"))
            continue
        seen = (
            f"; an error of {format_number(test.detectable)} would be found with {format_percent(test.power)} chance"
            if is_known(test.detectable)
            else ""
        )
        lines.append(
            f"{start}{'not calibrated' if test.rejected else 'nothing found'}, p {format_p_value(p)}{seen}"
        )
    return lines


def _errors(found: HowFar) -> list[str]:
    lines = [_estimate(error) for error in _headlines(found)]
    if found.direction is not None:
        lines.append(clean(found.direction.sentence))
    lines += [
        clean(caution) for caution in found.cautions[:1]
    ]  # what cannot be said matters more than one bound more
    bound = next(
        (
            one
            for one in found.certified
            if is_known(one.interval.low) or is_known(one.interval.high)
        ),
        None,
    )
    if bound is not None:
        name = f"{wording.notion_name(bound.notion)}, {wording.estimand_name(bound.estimand)}"
        lines.append(f"certified {name}: {ends(bound.interval)}, if: {clean(bound.assumption)}")
    elif found.disagreement:
        lines.append(clean(found.disagreement))
    return lines


def _headlines(found: HowFar) -> list[ErrorEstimate]:
    """The estimate that is quoted of each notion, else its first that has a value."""
    made: dict[str, ErrorEstimate] = {}
    for error in sorted(
        found.errors, key=lambda one: (not one.headline, not is_known(one.interval.value))
    ):
        made.setdefault(error.notion, error)
    order = [error.notion for error in found.errors]
    return sorted(made.values(), key=lambda one: order.index(one.notion))


def _estimate(error: ErrorEstimate) -> str:
    start = f"{wording.notion_name(error.notion)}, {wording.estimand_name(error.estimand)}: "
    if not is_known(error.interval.value) and not ends(error.interval):
        return start + clean(error.reason or "no value")
    coverage = error.coverage.value if error.coverage is not None else None
    measured = f", measured coverage {format_percent(coverage)}" if is_known(coverage) else ""
    return f"{start}{_with_ends(error.interval)}{measured}"


def _with_ends(interval: Interval) -> str:
    between = ends(interval)
    return format_number(interval.value) + (
        f" ({format_percent(interval.level)} interval: {between})" if between else ""
    )


def _places(found: Where) -> list[str]:
    lines = []
    worst = [one for one in found.classes if is_known(one.error.value)][:3]
    if worst:
        lines += _list(
            "worst classes:", (f"{fitted(one.name, 18)} {_short(one.error)}" for one in worst)
        )
    far = sorted(
        (one for one in found.groups if is_known(one.gap.value)),
        key=lambda one: -abs(one.gap.value or 0.0),
    )[:2]
    if far:
        named = (
            f"{fitted(one.column, 12)} = {fitted(one.value, 14)} {_short(one.gap)}" for one in far
        )
        lines += _list("said minus happened, by group:", named)
    elif any(region.share > 0.0 for region in found.regions):
        one = max(found.regions, key=lambda region: region.share)
        lines.append(
            f"largest share of it: {format_percent(one.share)} at scores from {format_number(one.low)} "
            f"to {format_number(one.high)}, said {format_number(one.said)}, happened {format_number(one.happened.value)}"
        )
    return lines


def _short(interval: Interval) -> str:
    low, high = interval.low, interval.high
    ends = (
        f" [{format_number(low, 2)}, {format_number(high, 2)}]"
        if is_known(low) and is_known(high)
        else ""
    )
    return format_number(interval.value, 2) + ends


def _gains(found: Gains) -> list[str]:
    known = [one for one in found.gains if is_known(one.log_loss.value)]
    if not known:
        return [clean(one.reason) for one in found.gains[:1] if one.reason]
    return _list(
        "log-loss less by:",
        (
            f"{fitted(one.label, 20).removesuffix(' scaling')} {_short(one.log_loss)}"
            for one in known
        ),
    )


def _differences(found: Versus) -> list[str]:
    known = [one for one in found.differences if is_known(one.difference.value)]
    return _list(
        "first minus second:",
        (f"{fitted(one.label, 28)} {_short(one.difference)}" for one in known),
    )


def _wrapped(said: str, most: int, title: str, colour: bool) -> list[str]:
    """The text in at most so many lines, its end left out where it is longer; the title in bold with `colour`."""
    lines = _folded(said, WIDTH, most)
    if colour and lines and lines[0].startswith(title):
        lines[0] = f"{BOLD}{title}{PLAIN}{lines[0][len(title) :]}"
    return lines


def _folded(text: str, width: int, most: int | None = None) -> list[str]:
    """Lines of at most so many letters, at most so many of them; 95 % stays in one line."""
    kept = text.replace(" %", "\N{NO-BREAK SPACE}%")
    lines = textwrap.wrap(kept, width, subsequent_indent=INDENT, max_lines=most, placeholder=" …")
    return [line.replace("\N{NO-BREAK SPACE}", " ") for line in lines]


def _list(start: str, parts: Iterable[str]) -> list[str]:
    """The parts in lines that break between them; nothing without parts."""
    lines = [start]
    for part in parts:
        if lines[-1] == start or len(lines[-1]) + len(part) + 1 <= WIDTH - len(INDENT) - 3:
            lines[-1] += f" {part},"
        else:
            lines.append(f"{INDENT}{part},")
    return [*lines[:-1], lines[-1].rstrip(",")] if lines != [start] else []


def _cut(line: str, most: int) -> str:
    return line if len(line) <= most else f"{line[: most - 1].rstrip()}…"
