"""Parse the arguments of `calharness judge`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from harness.errors import BadInputError, guess

STDOUT = "-"
FLAGS = ("top_label", "renormalise", "float32")
READER = (
    "labels",
    "probabilities",
    "logits",
    "positive",
    "class_names",
    "top_label",
    "split",
    "renormalise",
    "float32",
)


def one_value_each(arguments: list[str]) -> list[str]:
    """Return the arguments, changed so that each --json and --fail-above has exactly one value.

    typer cannot parse options with a varying number of values.

    >>> one_value_each(["p.csv", "--json", "--fail-above", "brier.value=1", "log_loss.value=2"])
    ['p.csv', '--json=-', '--fail-above=brier.value=1', '--fail-above=log_loss.value=2']
    """
    result, words = list[str](), list(arguments)
    while words:
        word = words.pop(0)
        if word == "--json":
            has_file = words and (words[0] == STDOUT or words[0].lower().endswith(".json"))
            result.append(f"--json={words.pop(0) if has_file else STDOUT}")
        elif word == "--fail-above" and words:
            result.append(f"{word}={words.pop(0)}")
            while words and _is_threshold(words[0]):
                result.append(f"{word}={words.pop(0)}")
        else:
            result.append(word)
    return result


def _is_threshold(word: str) -> bool:
    """Return True if a word is NAME=NUMBER, and is neither a file nor an option in READER."""
    name, _, limit = word.rpartition("=")
    try:
        float(limit)
    except ValueError:
        return False
    return bool(name) and name not in READER and not Path(word).exists()


def files_and_reader(words: Sequence[str]) -> tuple[tuple[str, ...], dict[str, Any]]:
    """Split words into prediction files and options NAME=VALUE for reading them.

    Names stay as they are written, also names such as 0, 1.50, null and yes. A list of names has
    brackets. Flags are parsed as YAML.

    Raises
    ------
    BadInputError
        If NAME is not an option, or if there is no file.

    Examples
    --------
    >>> files_and_reader(["preds.csv", "labels=truth", "probabilities=[0,1]"])
    (('preds.csv',), {'labels': 'truth', 'probabilities': ['0', '1']})
    """
    files, reader = list[str](), dict[str, Any]()
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or Path(word).exists():
            files.append(word)
            continue
        if name not in READER:
            raise BadInputError(
                f"judge has no option {name!r}{guess(name, READER)}; "
                f"the options for prediction files are {', '.join(READER)}."
            )
        try:
            reader[name] = yaml.safe_load(value) if name in FLAGS else _names(value)
        except yaml.YAMLError as error:
            raise BadInputError(
                f"{word!r} cannot be read; write a value as NAME=VALUE and a list as NAME=[A,B]."
            ) from error
    if not files:
        raise BadInputError("judge was given no prediction file; give a .csv, .npz or .parquet.")
    return tuple(files), reader


def _names(value: str) -> Any:
    """Return the name, or in brackets the list of names, in the value of an option."""
    text = value.strip()
    return yaml.load(text, yaml.BaseLoader) if text.startswith(("[", "'", '"')) else text
