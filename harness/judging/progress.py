"""Progress of `calharness judge`: reading the files, and the answers to all questions."""

from __future__ import annotations

from harness.common.progress import Progress
from harness.judging.answers import QUESTIONS
from harness.judging.judge import FOR_EVERY_MODEL

SMALL = 20_000  # rows times classes below which a judgement takes about a second; nothing is shown


def judge_progress(files: int) -> Progress:
    """Return the progress of a judgement of several files, which counts steps.

    A step is reading a file, or an answer. The first two questions are answered for every file.

    Examples
    --------
    >>> judge_progress(1).total
    6
    """
    answers = sum(files if question in FOR_EVERY_MODEL else 1 for question in QUESTIONS)
    return Progress(files + answers, unit="steps")
