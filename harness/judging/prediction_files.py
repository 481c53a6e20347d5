"""Read prediction files and judge them, and tell each answer as soon as it is known."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from typing import Any

from harness.judging import terminal, thresholds
from harness.judging.data import from_file
from harness.judging.judge import align, judge_data
from harness.judging.judged import Judged
from harness.judging.judgement import Judgement
from harness.judging.progress import SMALL, judge_progress
from harness.judging.row_ids import match_rows, read_ids
from harness.judging.thresholds import Threshold


def judge_files(
    files: Sequence[str],
    reader: Mapping[str, Any],
    columns: Mapping[str, Any],
    limits: Sequence[Threshold],
    say: Callable[[Sequence[str]], None],
    level: float = 0.95,
    seed: int = 0,
) -> Judgement:
    """Read prediction files of one model each, judge them, and show the progress.

    Parameters
    ----------
    files : sequence of str
        Paths of the files.
    reader, columns : mapping
        Options of `from_file` for all files, and for the first file alone.
    limits : sequence
        Limits of numbers, which are checked before the judgement is computed.
    say : callable
        Called with lines of text: the head, and then the answer to each question about the first
        file.
    level, seed : float, int
        As in `judge_data`.
    """

    def show(lines: Sequence[str]) -> None:
        progress.close()  # the bar may be on the same terminal
        say(lines)

    def show_answer(question: str, answer: Any, model: Judged) -> None:
        """Tell an answer about the first file, and count it.

        Without an answer, `answer` is a text with the reason.
        """
        if model.name == models[0].name:
            show(terminal.answer_lines(question, answer))
        progress.add(1, 0)

    with closing(judge_progress(len(files))) as progress:
        models: list[Judged] = []
        for path in files:
            models.append(from_file(path, **({} if models else columns), **reader))
            progress.add(1, 0)
        if len(models) > 1:
            split = reader.get("split", "test")
            ids = [read_ids(path, split, model.n) for path, model in zip(files, models)]
            models = match_rows(models, ids)
        models = align(models)
        thresholds.check(limits, models)
        show(terminal.head(models[0], level))
        progress.quiet = sum(model.p.size for model in models) < SMALL
        progress.add(0, 0)
        return judge_data(models, level=level, seed=seed, on_answer=show_answer)
