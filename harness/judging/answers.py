"""All answers about one file of predictions, or about several files with the same rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from harness.judging.findings import Calibrated, Gains, HowFar, Versus, Where
from harness.judging.judged import Judged

QUESTIONS = {
    "calibrated": "Is it calibrated?",
    "how_far": "How far off is it, and how sure is that?",
    "where": "Where is it off?",
    "gains": "What would it gain to recalibrate?",
    "versus": "Which model is better?",
}


@dataclass(frozen=True)
class Answers:
    """All answers about one file, or about several files with the same rows.

    An answer is None if its question was not asked or cannot be answered. In the latter case
    `unanswered` holds the reason. `others` are the answers to questions 1 and 2 for the second and
    further files.
    """

    data: Judged
    level: float
    seed: int
    calibrated: Calibrated | None = None
    how_far: HowFar | None = None
    where: Where | None = None
    gains: Gains | None = None
    versus: Versus | None = None
    others: tuple[Answers, ...] = ()
    unanswered: Mapping[str, str] = field(default_factory=dict)

    @property
    def answers(self) -> dict[str, Any]:
        """{question: answer}, without answers that are None."""
        answers = {question: getattr(self, question) for question in QUESTIONS}
        return {question: answer for question, answer in answers.items() if answer is not None}

    @property
    def sentences(self) -> list[str]:
        """The first sentence of each answer."""
        return [answer.sentence for answer in self.answers.values()]
