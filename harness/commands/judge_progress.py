"""Progress of `calharness judge`: reading the files, and the answers to all questions."""

from __future__ import annotations

from harness.common.progress import Progress
from harness.judging.answers import QUESTIONS
from harness.judging.judge import FOR_EVERY_MODEL

SMALL = 20_000  # rows times classes below which a judgement takes about a second; nothing is shown
READING = "reading"
# Approximate CPU seconds of a step for a file of 10^5 to 10^6 numbers. The time left is that of the
# remaining steps, corrected by the pace of the steps before.
SECONDS = {
    READING: 1.0,
    "calibrated": 2.0,
    "how_far": 4.0,
    "where": 0.5,
    "gains": 1.0,
    "versus": 1.0,
}


def judge_progress(files: int) -> Progress:
    """Return the progress of a judgement of several files, which counts steps.

    A step is reading a file, or an answer. The first two questions are answered for every file.

    Examples
    --------
    >>> progress = judge_progress(1)
    >>> progress.total, progress.expected
    (6, 8.5)
    """
    steps = [READING] * files
    for question in QUESTIONS:
        steps += [question] * (files if question in FOR_EVERY_MODEL else 1)
    expected = sum(SECONDS[step] for step in steps) - SECONDS["versus"] * (files == 1)
    return Progress(len(steps), unit="steps", expected=expected)
