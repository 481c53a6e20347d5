"""`calharness judge`: judge the calibration of models from their prediction files."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any

import typer

from harness.commands.base import Command
from harness.commands.judge_arguments import READER, STDOUT, files_and_reader, one_value_each
from harness.common import data_files
from harness.errors import BadInputError


class JudgeCommand(Command):
    """Command whose options --json and --fail-above take a varying number of values."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Give every option exactly one value, then parse the arguments."""
        return super().parse_args(ctx, one_value_each(args))


def command(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FILE|NAME=VALUE",
            show_default=False,
            help=f"Prediction files, and options for reading them: {'= '.join(READER)}=",
        ),
    ] = None,
    html: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Write a page with pictures: one self-contained file."),
    ] = None,
    json: Annotated[
        str | None,
        typer.Option(
            metavar="[FILE.json]",
            help="Write all numbers as JSON to a file. Without a file, print them instead of text.",
        ),
    ] = None,
    markdown: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Append a summary in Markdown to a file, such as $GITHUB_STEP_SUMMARY.",
        ),
    ] = None,
    fail_above: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=X...",
            help="Exit with status 1 if the number NAME is above X.",
            show_default=False,
        ),
    ] = None,
    save_calibrator: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Write the recalibration map that improves the loss most. "
            "To use it: map = harness.judging.saved.load(FILE), then q = map(p).",
        ),
    ] = None,
    level: Annotated[
        float, typer.Option(help="Level of all tests and intervals, in [0.5, 1).")
    ] = 0.95,
    group: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN",
            help="Also judge the rows with each value of this column separately.",
            show_default=False,
        ),
    ] = None,
    group_rows: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Rows with the same value of this column, such as a patient, may depend on one "
            "another.",
        ),
    ] = None,
    weights: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Weights of the rows: for how many cases of the population a row stands.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the random draws.")] = 0,
) -> int:
    """Judge predictions: how far from calibrated, where, and what recalibration gains.

    \b
    calharness judge preds.csv
    calharness judge preds.csv --html report.html labels=truth     with pictures
    calharness judge new.npz old.npz                               which model is better?
    calharness judge preds.csv --fail-above top_label.l1.high=0.05 log_loss.gain.low=0.01

    A prediction file is a .csv, .tsv, .npz or .parquet file. It contains labels, and probabilities
    or logits of all classes (with two classes, P(class 1) is enough). `calharness info predictions`
    explains the names and forms of columns. Two files must predict the same rows. A file whose rows
    may have several labels is judged label by label: labels=[y_cat,y_dog]
    probabilities=[p_cat,p_dog]. judge only overwrites files that it has written itself.

    The names of numbers for --fail-above follow. --json lists all of them under "numbers"; its
    schema is in harness/judging/as_json.py. END is value, low or high. NOTION is binary (two
    classes), top_label, classwise or canonical:

    \b
    NOTION.ESTIMAND.END (top_label.l1.high)   NOTION.l1.certified.low|high
    NOTION.p_value   NOTION.rejected (1 or 0)   NOTION.detectable   confidence_gap.END
    log_loss.value   log_loss.miscalibration.END   log_loss.gain.END (of the best map)
    log_loss.gain.METHOD.END   the same of brier   worst_class.l1.END   class.NAME.l1.END
    group.COLUMN.VALUE.gap.END   difference.QUANTITY.END (first minus second file)
    label.NAME.l1.END   label.NAME.p_value (rows with several labels)
    FILE:NOTION.ESTIMAND.END (of another file than the first: old:top_label.l1.high)

    Exit status: 0 success, 1 a number is above its limit (or no map improves the loss, so that none
    is saved), 2 wrong input, 130 interrupted.
    """
    if not 0.5 <= level < 1.0:
        raise BadInputError(f"--level is {level}; give a number in [0.5, 1), such as 0.95.")
    files, reader = files_and_reader(words or [])

    from harness.judging import outputs, terminal, thresholds
    from harness.judging.label_files import judge_label_file
    from harness.judging.prediction_files import judge_files

    limits = [thresholds.parse(text) for text in fail_above or []]
    options = {"page": html, "JSON": json, "summary": markdown, "map": save_calibrator}
    for name, path in (
        ("html", html),
        ("markdown", markdown),
        ("save-calibrator", save_calibrator),
    ):
        if path == STDOUT:
            raise BadInputError(f"--{name} is {STDOUT!r}; give the name of a file.")
    paths = {kind: path for kind, path in options.items() if path not in (None, STDOUT)}
    # An absent file is refused before any is read.
    outputs.check(paths, [str(data_files.find(path)) for path in files])

    def show(lines: Sequence[str]) -> None:
        if json != STDOUT and lines:
            print(*lines, sep="\n", flush=True)

    columns = {"group": group or [], "group_rows": group_rows, "weights": weights}
    of_labels = judge_label_file(files[0], reader, level)
    if of_labels is not None:
        given: dict[str, Any] = {
            **columns,
            "markdown": markdown,
            "save_calibrator": save_calibrator,
        }
        given |= {"second file": files[1:]}
        if refused := [name.replace("_", "-") for name, value in given.items() if value]:
            raise BadInputError(
                f"{files[0]} has several labels per row, which are judged without "
                f"{', '.join(refused)}; leave it out."
            )
        show(str(of_labels).splitlines())
        return _finish(of_labels, limits, paths, json, show)
    judgement = judge_files(files, reader, columns, limits, show, level, seed)
    status = _finish(judgement, limits, paths, json, show, terminal.tail(judgement))
    if save_calibrator is not None and (not judgement.gains or not judgement.gains.fitted):
        gains = judgement.gains
        why = gains.sentence if gains else judgement.unanswered["gains"]
        print(f"no map is saved to {save_calibrator}: {why}", file=sys.stderr)
        status = 1
    return status


def _finish(
    judgement: Any,
    limits: Sequence[Any],
    paths: Mapping[str, str],
    json: str | None,
    show: Callable[[Sequence[str]], None],
    tail: Sequence[str] = (),
) -> int:
    """Write the files of a judgement, tell which numbers exceed their limits, return the status.

    Without files, the lines `tail` are shown.
    """
    from harness.judging import outputs, thresholds

    outcomes = thresholds.outcomes(judgement, limits)
    if json == STDOUT:
        print(outputs.json_text(judgement))
    show(outputs.write(judgement, paths, outcomes) or tail)
    exceeded = [outcome.sentence for outcome in outcomes if outcome.is_exceeded]
    for sentence in exceeded:
        print(f"exceeded: {sentence}", file=sys.stderr)
    return int(bool(exceeded))
