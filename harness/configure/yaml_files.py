"""Refuse YAML files with mistakes in one sentence, before Hydra or we load them."""

from __future__ import annotations

from pathlib import Path

import yaml

from harness.common.reading import read_text
from harness.errors import BadInputError

MOST_VALUES = 100_000  # values of a file, where each alias counts as all that it stands for
MOST_LEVELS = 50  # lists and mappings inside each other; loaders are recursive

_FastLoader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def check_yaml(path: Path) -> None:
    """Raise BadInputError if a file is no YAML, is nested too deeply, or becomes too large.

    Only the events of the parser are read, so that a file of a few lines whose aliases stand for
    millions of values costs nothing. Keys that occur twice are found later, by Hydra.
    """
    try:
        _check_events(path, read_text(path))
    except yaml.YAMLError as error:
        raise yaml_mistake(error, str(path)) from None
    except UnicodeDecodeError:
        raise BadInputError(f"{path} is not in UTF-8; save it as UTF-8 text.") from None


def yaml_mistake(error: yaml.YAMLError, name: str) -> BadInputError:
    """Return an error of a YAML parser as one sentence with file, line and column.

    `name` is the file, unless the error names it.
    """
    mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", None)
    reason = " ".join(str(problem or error).split())[:200]
    if mark is None:
        return BadInputError(f"{name} is not valid YAML ({reason}); correct it.")
    name = name or mark.name
    return BadInputError(
        f"{name}, line {mark.line + 1}, column {mark.column + 1}, is not valid YAML ({reason}); "
        "correct it there."
    )


def _check_events(path: Path, text: str) -> None:
    sizes: dict[str, int] = {}  # {anchor: number of values that an alias to it stands for}
    open_nodes: list[tuple[str | None, int]] = []  # (anchor, values before it)
    values = 0
    for event in yaml.parse(text, _FastLoader):
        if isinstance(event, (yaml.MappingStartEvent, yaml.SequenceStartEvent)):
            open_nodes.append((event.anchor, values))
            values += 1
        elif isinstance(event, (yaml.MappingEndEvent, yaml.SequenceEndEvent)):
            anchor, before = open_nodes.pop()
            if anchor:
                sizes[anchor] = values - before
        elif isinstance(event, yaml.AliasEvent):
            values += sizes.get(event.anchor, 1)
        elif isinstance(event, yaml.ScalarEvent):
            values += 1
        if values > MOST_VALUES or len(open_nodes) > MOST_LEVELS:
            what = f"more than {MOST_VALUES:,} values"
            if len(open_nodes) > MOST_LEVELS:
                what = f"lists and mappings in each other on more than {MOST_LEVELS} levels"
            mark = event.start_mark
            raise BadInputError(
                f"{path}, line {mark.line + 1}, column {mark.column + 1}: the file has {what}; "
                "write it without them."
            )
