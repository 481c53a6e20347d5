"""A judgement: the answers about one file, and the ways to show them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.judging.findings import Calibrated, Gains, HowFar, Judged, Versus, Where
from harness.judging.words import QUESTIONS


@dataclass(frozen=True)
class Judgement:
    """All answers about one file, or about several on the same rows.

    An answer is None if its question was not asked or cannot be answered; `unanswered` then says
    why. `others` are the judgements of the second and further files, which answer questions 1 and 2
    only.
    """

    data: Judged
    level: float
    seed: int
    calibrated: Calibrated | None = None
    how_far: HowFar | None = None
    where: Where | None = None
    gains: Gains | None = None
    versus: Versus | None = None
    others: tuple[Judgement, ...] = ()
    unanswered: Mapping[str, str] = field(default_factory=dict)

    @property
    def answers(self) -> dict[str, Any]:
        """The answers by question, without those that are None."""
        answers = {question: getattr(self, question) for question in QUESTIONS}
        return {question: answer for question, answer in answers.items() if answer is not None}

    @property
    def sentences(self) -> list[str]:
        """The answers in one sentence each."""
        return [answer.sentence for answer in self.answers.values()]

    def __str__(self) -> str:
        """Return the text for a terminal."""
        from harness.judging.terminal import text

        return text(self)

    def to_html(self, path: str | Path | None = None) -> str:
        """Return the page. If `path` is given, also write it there."""
        from harness.judging.page import html, write

        return html(self) if path is None else write(self, path)

    def to_json(self) -> dict[str, Any]:
        """Return everything but curves and maps, as values that json can write."""
        from harness.judging.as_json import as_json

        return as_json(self)
