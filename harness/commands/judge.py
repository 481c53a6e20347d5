"""`calharness judge`: what files of predictions say about their models. Answers are printed as they come."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.common.escaping import unescaped
from harness.errors import BadInputError, guess

if TYPE_CHECKING:
    from harness.judging.findings import Judged
    from harness.judging.judgement import Judgement
    from harness.judging.thresholds import Threshold

READER = (
    "labels", "probabilities", "logits", "positive", "class_names", "top_label", "split", "renormalise", "float32",
)  # fmt: skip
VALUED = ("--html", "--save-calibrator", "--level", "--group", "--seed")
FLAGS = (*VALUED, "--json", "--fail-above")
STDOUT = "-"


@dataclass(frozen=True)
class Asked:
    """What the command line asks for. json: a path, "-" for the standard output, or None."""

    files: tuple[str, ...]
    html: str | None = None
    json: str | None = None
    thresholds: tuple[Threshold, ...] = ()
    save: str | None = None
    level: float = 0.95
    groups: tuple[str, ...] = ()
    seed: int = 0
    reader: dict[str, Any] = field(default_factory=dict)


def command(arguments: list[str]) -> int:
    """`calharness judge FILE [FILE ...] [options]`. Returns the exit status: 1 if a threshold was exceeded, or if there was no
    map to save."""
    asked = parsed(arguments)
    _refuse_outputs(asked)
    from harness.judging.data import from_file

    first = from_file(asked.files[0], group=list(asked.groups), **asked.reader)
    printer = _Printer(first, asked.level, alone=len(asked.files) == 1, quiet=asked.json == STDOUT)
    datas = [first, *(from_file(path, **asked.reader) for path in asked.files[1:])]
    from harness.judging.judge import judge_data

    found = judge_data(datas, level=asked.level, seed=asked.seed, on_answer=printer.answer)
    status = 0
    from harness.judging import thresholds

    broken = thresholds.exceeded(found, asked.thresholds)
    written = list(_written(asked, found))
    if asked.save is not None and (found.gains is None or found.gains.fitted is None):
        print(f"no map is saved to {asked.save}: {_no_map(found)}", file=sys.stderr)
        status = 1
    printer.end(found, written)
    for sentence in broken:
        print(f"exceeded: {sentence}", file=sys.stderr)
    return 1 if broken else status


class _Printer:
    """Prints the lines of each question as soon as it is answered, or known to have no answer; of the first file alone."""

    def __init__(self, data: Judged, level: float, alone: bool, quiet: bool) -> None:
        from harness.judging import terminal

        self.quiet, self.seen, self.name = quiet, set[str](), data.name
        self.answers = terminal.Answers(alone, colour=sys.stdout.isatty())
        self._print(terminal.head(data, level))

    def _print(self, lines: Sequence[str]) -> None:
        for line in lines if not self.quiet else ():
            print(line, file=unescaped(sys.stdout))  # bold on a terminal; texts of data are clean
        sys.stdout.flush()

    def answer(self, question: str, found: Any, data: Judged) -> None:
        if data.name == self.name and question not in self.seen:
            self.seen.add(question)
            reason = {question: found} if isinstance(found, str) else None
            self._print(self.answers.lines(question, None if reason else found, reason))

    def end(self, judgement: Judgement, written: Sequence[str]) -> None:
        from harness.judging import terminal

        self._print(written or terminal.tail(judgement))


def _no_map(found: Judgement) -> str:
    if found.gains is None:
        return found.unanswered.get("gains", "the question of recalibration has no answer.")
    return found.gains.sentence


def _written(asked: Asked, found: Judgement) -> Iterator[str]:
    """Write what was asked for; what was written, in words."""
    if asked.html is not None:
        from harness.judging import page

        page.write(found, asked.html)
        yield f"  {'page':<6}{asked.html}"
    if asked.json is not None:
        import json

        text = json.dumps(found.to_json(), indent=1, allow_nan=False, ensure_ascii=False)
        if asked.json == STDOUT:
            print(text)
        else:
            from harness.common.writing import write_text

            write_text(asked.json, text + "\n")
            yield f"  {'JSON':<6}{asked.json}"
    if asked.save is not None and found.gains is not None and found.gains.fitted is not None:
        from harness.judging.saved import save

        save(found.gains.fitted, asked.save)
        yield f"  {'map':<6}{asked.save}, which harness.judging.saved.load reads"


# What is asked for


def parsed(arguments: Sequence[str]) -> Asked:
    """The command line.

    Raises
    ------
    BadInputError
        If a word is no option and no file, or an option lacks its value.

    Examples
    --------
    >>> parsed(["preds.csv", "--html", "report.html", "labels=truth"]).reader
    {'labels': 'truth'}
    """
    from harness.judging import thresholds

    files: list[str] = []
    given: dict[str, Any] = {"thresholds": [], "groups": [], "reader": {}}
    words = [part for word in arguments for part in _split(word)]
    while words:
        word = words.pop(0)
        if word.startswith("--json="):
            given["json"] = word.partition("=")[2]
        elif word == "--json":
            given["json"] = words.pop(0) if words and _is_output(words[0]) else STDOUT
        elif word == "--fail-above":
            if not words:
                raise BadInputError("--fail-above lacks its value; give NAME=LIMIT, such as top_label.l1.high=0.05.")
            given["thresholds"].append(thresholds.parsed(words.pop(0)))
            while words and _is_threshold(words[0]):
                given["thresholds"].append(thresholds.parsed(words.pop(0)))
        elif word in VALUED:
            if not words or words[0].startswith("--"):
                raise BadInputError(f"{word} lacks its value; `calharness judge --help` shows what it takes.")
            _set(given, word, words.pop(0))
        elif word.startswith("-"):
            raise BadInputError(f"judge has no option {word!r}{guess(word, FLAGS)}; it takes {', '.join(FLAGS)}.")
        elif "=" in word and not Path(word).exists():
            name, _, value = word.partition("=")
            if name not in READER:
                raise BadInputError(
                    f"judge has no option {name!r}{guess(name, READER)}; of a file of predictions it takes {', '.join(READER)}."
                )
            given["reader"][name] = _value(word, value)
        else:
            files.append(word)
    if not files:
        raise BadInputError("judge takes a file of predictions (.csv, .npz, .parquet); found none.")
    for name in ("thresholds", "groups"):
        given[name] = tuple(given[name])
    return Asked(tuple(files), **given)


def _split(word: str) -> list[str]:
    """--html=report.html is --html report.html; --json=FILE stays, as what follows --json may be a file of predictions."""
    name, equals, value = word.partition("=")
    return [name, value] if equals and name in FLAGS and name != "--json" else [word]


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


def _set(given: dict[str, Any], option: str, value: str) -> None:
    if option == "--group":
        given["groups"].append(value)
        return
    if option not in ("--level", "--seed"):
        given[{"--html": "html", "--save-calibrator": "save"}[option]] = value
        return
    try:
        given[option[2:]] = float(value) if option == "--level" else int(value)
    except ValueError:
        wanted = "a number in [0.5, 1), such as 0.95" if option == "--level" else "an integer"
        raise BadInputError(f"{option} is {value!r}; {wanted} is needed.") from None
    if option == "--level" and not 0.5 <= given["level"] < 1.0:
        raise BadInputError(f"--level is {value}; a number in [0.5, 1) is needed, such as 0.95.")
    if option == "--seed" and given["seed"] < 0:
        raise BadInputError(f"--seed is {value}; an integer of at least 0 is needed.")


def _value(word: str, value: str) -> Any:
    """As YAML reads it: true, a number, or [a,b]."""
    import yaml

    try:
        return yaml.safe_load(value)
    except yaml.YAMLError as error:
        raise BadInputError(f"{word!r} cannot be read; give NAME=VALUE, a list as NAME=[A,B].") from error


# What may be written


def _refuse_outputs(asked: Asked) -> None:
    """Raise BadInputError, before anything is computed, where a file would be overwritten that judge did not make, or there is
    no folder that it can be written to."""
    outputs = [path for path in (asked.html, asked.json, asked.save) if path is not None and path != STDOUT]
    twice = next((path for path in outputs if outputs.count(path) > 1), None)
    if twice:
        raise BadInputError(f"{twice} is named for two outputs; give each a name of its own.")
    for path in outputs:
        _refuse_folder(Path(path))
    if asked.html is not None:
        from harness.judging import page

        page.allowed(asked.html)
    if asked.json is not None and asked.json != STDOUT:
        from harness.judging.as_json import SCHEMA

        _refuse(Path(asked.json), f'"schema": "{SCHEMA}"', "JSON of judge")
    if asked.save is not None:
        from harness.judging.saved import FORMAT

        _refuse(Path(asked.save), f'"format": "{FORMAT}"', "recalibration map of judge")


def _refuse(path: Path, mark: str, what: str) -> None:
    if path.is_dir():
        raise BadInputError(f"{path} is a folder; name a file.")
    if path.exists() and mark not in path.read_bytes()[:200].decode("utf-8", "replace"):
        raise BadInputError(f"{path} is there already and no {what}; it is not overwritten: give another name.")


def _refuse_folder(path: Path) -> None:
    folder = next(one for one in path.absolute().parents if one.exists())
    if not folder.is_dir():
        raise BadInputError(f"{path} cannot be written: {folder} is no folder.")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise BadInputError(f"{path} cannot be written: nothing may be written to {folder}.")
