"""`calharness judge`: what files of predictions say about their models. Answers are printed as they come."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from harness.commands.base import Command
from harness.commands.judge_outputs import STDOUT, Outputs
from harness.common.escaping import unescaped
from harness.errors import BadInputError, guess

if TYPE_CHECKING:
    from harness.judging.findings import Judged
    from harness.judging.judgement import Judgement

READER = (
    "labels", "probabilities", "logits", "positive", "class_names", "top_label", "split", "renormalise", "float32",
)  # fmt: skip


class JudgeCommand(Command):
    """`judge`, whose options --json and --fail-above take a varying number of values."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, with_one_value_each(args))


def command(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FILE|NAME=VALUE",
            show_default=False,
            help=f"Files of predictions, and how they are read: {'= '.join(READER)}=",
        ),
    ] = None,
    html: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Write the page: one file that needs nothing else."),
    ] = None,
    json: Annotated[
        str | None,
        typer.Option(
            metavar="[FILE.json]", help="Write the values, to a file or in place of the text."
        ),
    ] = None,
    fail_above: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=X...", help="Exit status 1 if a number is above X.", show_default=False
        ),
    ] = None,
    save_calibrator: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Write the recalibration map that gained most: map = harness.judging.saved.load(FILE), then q = map(p).",
        ),
    ] = None,
    level: Annotated[
        float, typer.Option(help="Level of all tests and intervals, in [0.5, 1).")
    ] = 0.95,
    group: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN",
            help="Judge the rows of each value of a column, too.",
            show_default=False,
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the random draws.")] = 0,
) -> int:
    """Judge predictions: how far from calibrated, where, what to gain.

    \b
    calharness judge preds.csv
    calharness judge preds.csv --html report.html labels=truth     with pictures
    calharness judge new.npz old.npz                               which is better, on the same rows
    calharness judge preds.csv --fail-above top_label.l1.high=0.05 log_loss.gain.low=0.01

    A file is a .csv, .tsv, .npz or .parquet with probabilities or logits of every class (or P(class
    1) alone) and labels. `calharness info predictions` says which names and forms are understood.
    A file that judge did not make is never overwritten.

    Names of numbers for --fail-above; --json lists all under "numbers", its schema is in
    harness/judging/as_json.py. END is value, low or high, and NOTION one of binary (two classes),
    top_label, classwise, canonical:

    \b
    NOTION.ESTIMAND.END (top_label.l1.high)   NOTION.l1.certified.low|high
    NOTION.p_value   NOTION.rejected (1 or 0)   NOTION.detectable   confidence_gap.END
    log_loss.value   log_loss.miscalibration.END   log_loss.gain.END (of the best map)
    log_loss.gain.METHOD.END   the same of brier   worst_class.l1.END   class.NAME.l1.END
    group.COLUMN.VALUE.gap.END   difference.QUANTITY.END   SECOND:top_label.l1.high

    Exit status: 0 fine, 1 a number is above its limit (or no map gained, so that none is saved),
    2 wrong input, 130 interrupted.
    """
    from harness.judging import thresholds

    if not 0.5 <= level < 1.0:
        raise BadInputError(f"--level is {level}; a number in [0.5, 1) is needed, such as 0.95.")
    files, reader = files_and_reader(words or [])
    limits = tuple(thresholds.parse(text) for text in fail_above or [])
    outputs = Outputs(html, json, save_calibrator)
    outputs.refuse()
    from harness.judging.data import from_file

    first = from_file(files[0], group=group or [], **reader)
    printer = _Printer(first, level, quiet=json == STDOUT)
    from harness.judging.judge import judge_data  # takes a second, during which the head is read

    datas = [first, *(from_file(path, **reader) for path in files[1:])]
    found = judge_data(datas, level=level, seed=seed, on_answer=printer.answer)
    status = 0
    broken = thresholds.exceeded(found, limits)
    written = list(outputs.write(found))
    if save_calibrator is not None and (found.gains is None or found.gains.fitted is None):
        print(f"no map is saved to {save_calibrator}: {_no_map(found)}", file=sys.stderr)
        status = 1
    printer.end(found, written)
    for sentence in broken:
        print(f"exceeded: {sentence}", file=sys.stderr)
    return 1 if broken else status


class _Printer:
    """Print the answers about the first file, each as soon as it is known."""

    def __init__(self, data: Judged, level: float, quiet: bool) -> None:
        from harness.judging import terminal

        self.quiet, self.name = quiet, data.name
        self._print(terminal.head(data, level))

    def _print(self, lines: Sequence[str]) -> None:
        for line in lines if not self.quiet else ():
            print(line, file=unescaped(sys.stdout))  # bold on a terminal; texts of data are clean
        sys.stdout.flush()

    def answer(self, question: str, answer: Any, data: Judged) -> None:
        from harness.judging import terminal

        if data.name == self.name:
            self._print(terminal.answer_lines(question, answer, sys.stdout.isatty()))

    def end(self, judgement: Judgement, written: Sequence[str]) -> None:
        from harness.judging import terminal

        self._print(written or terminal.tail(judgement))


def _no_map(found: Judgement) -> str:
    if found.gains is None:
        return found.unanswered.get("gains", "the question of recalibration has no answer.")
    return found.gains.sentence


# The command line


def with_one_value_each(arguments: list[str]) -> list[str]:
    """The arguments with one value for each --json and --fail-above, as typer needs them.

    >>> with_one_value_each(["p.csv", "--json", "--fail-above", "brier.value=1", "log_loss.value=2"])
    ['p.csv', '--json=-', '--fail-above=brier.value=1', '--fail-above=log_loss.value=2']
    """
    found, words = list[str](), list(arguments)
    while words:
        word = words.pop(0)
        if word == "--json":
            found.append(f"--json={words.pop(0) if words and _is_output(words[0]) else STDOUT}")
        elif word == "--fail-above" and words:
            found.append(f"{word}={words.pop(0)}")
            while words and _is_threshold(words[0]):
                found.append(f"{word}={words.pop(0)}")
        else:
            found.append(word)
    return found


def _is_output(word: str) -> bool:
    return word == STDOUT or word.lower().endswith(".json")


def _is_threshold(word: str) -> bool:
    """Whether a word after --fail-above is one more threshold: it ends in =NUMBER, is no option of the reader, and no file."""
    name, _, limit = word.rpartition("=")
    try:
        float(limit)
    except ValueError:
        return False
    return bool(name) and name not in READER and not Path(word).exists()


def files_and_reader(words: Sequence[str]) -> tuple[tuple[str, ...], dict[str, Any]]:
    """The files among the words, and the settings of their reader, NAME=VALUE.

    Raises
    ------
    BadInputError
        If a word with an equals sign is neither a file nor a setting, or there is no file.

    Examples
    --------
    >>> files_and_reader(["preds.csv", "labels=truth"])
    (('preds.csv',), {'labels': 'truth'})
    """
    files, reader = list[str](), dict[str, Any]()
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or Path(word).exists():
            files.append(word)
        elif name not in READER:
            raise BadInputError(
                f"judge has no option {name!r}{guess(name, READER)}; of a file of predictions it takes {', '.join(READER)}."
            )
        else:
            reader[name] = _value(word, value)
    if not files:
        raise BadInputError("judge takes a file of predictions (.csv, .npz, .parquet); found none.")
    return tuple(files), reader


def _value(word: str, value: str) -> Any:
    """As YAML reads it: true, a number, or [a,b]."""
    import yaml

    try:
        return yaml.safe_load(value)
    except yaml.YAMLError as error:
        raise BadInputError(
            f"{word!r} cannot be read; give NAME=VALUE, a list as NAME=[A,B]."
        ) from error
