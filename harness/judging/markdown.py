"""A judgement as a summary in Markdown, for instance of a job of GitHub Actions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from harness.common.wording import (
    clean,
    escape_markdown,
    format_number,
    format_percent,
)
from harness.judging.answers import QUESTIONS, Answers
from harness.judging.frames import ENDS, main_numbers
from harness.judging.thresholds import Outcome
from harness.judging.verdict import choose_verdict


def text(judgement: Answers, outcomes: Sequence[Outcome] = ()) -> str:
    """Return a summary of a judgement in Markdown, which ends with a line break.

    Parameters
    ----------
    judgement : Answers
        The judgement.
    outcomes : sequence of Outcome
        Numbers with limits. The summary begins with a table of them.
    """
    data = judgement.data
    verdict, _ = choose_verdict(judgement)
    about = f"{data.rows}, {data.k} classes"
    level = f"all statements at the {format_percent(judgement.level)} level"
    parts = [
        f"## Calibration of {_escape(data.name)}",
        f"**{_escape(verdict)}** ({about}; {level})",
    ]
    if outcomes:
        limits = [
            (
                outcome.threshold.name,
                format_number(outcome.value),
                format_number(outcome.threshold.limit),
                "above the limit ❌" if outcome.is_exceeded else "✅",
            )
            for outcome in outcomes
        ]
        parts.append(_table(("number", "value", "limit", ""), limits))
    answers = [
        (QUESTIONS[question], judgement.answers[question].sentence)
        for question in QUESTIONS
        if question in judgement.answers
    ]
    parts.append(_table(("question", "answer"), answers))
    numbers = main_numbers(judgement)
    rows = [(name, *row) for name, row in zip(numbers.index, numbers[list(ENDS)].to_numpy())]
    details = _table(("number", *ENDS), rows)
    parts.append(f"<details><summary>Main numbers</summary>\n\n{details}\n\n</details>")
    return "\n\n".join(parts) + "\n"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *([_escape(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _escape(text: str) -> str:
    r"""Return a text without markup: names of classes and files come from the data.

    >>> _escape("a_b|<i>")
    'a\\_b\\|&lt;i&gt;'
    """
    return escape_markdown(clean(text))
