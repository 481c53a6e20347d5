"""Ids of problems, estimators and experiments, and their configurations in conf/.

Nothing but YAML is read here, so that lists, completion and messages answer at once.

An id is a file conf/<group>/<id>.yaml. Products of several axes are made by a table,
conf/<group>/tables/<table>.yaml, which is a list of blocks:

    - each:
        calibrator:
          isotonic: {fit: {_target_: harness.calibrators.Isotonic}}
          temperature: {fit: {_target_: harness.calibrators.Temperature}}
      make:
        variational_$calibrator:
          {_target_: harness.estimators.Variational, calibrator: $fit}
        variational_${calibrator}_insample:
          {_target_: harness.estimators.Variational, calibrator: $fit, folds: 1}

This block makes four estimators. `each` holds axes, here one with two rows. The product of several
axes is taken. The name of an axis stands for the name of the row ($calibrator), and the fields of a
row for themselves ($fit). A value that is nothing but $fit becomes the field as it is. In a longer
text the field is inserted as text. Optional entries of a block:

    packs: kull_cifar            rows: the files of this group in data/packs.yaml; $pack is the
                                 name, $path the path
    meaning: {order: a text}     meanings of parameters
    make: {ID: {about: a text}}  description of the option, no parameter; a row may have it, too

Hydra gets these options from `harness.configure.hydra_source`. Experiments have no tables. An
experiment inherits another file by naming it in its defaults list, as base/NAME;
conf/experiment/base/NAME.yaml is no id.
"""

from __future__ import annotations

import functools
import itertools
import json
import re
from collections.abc import Iterator
from pathlib import Path
from string import Template
from typing import Any, NamedTuple

import yaml

from harness.common.paths import CONF, PACKS
from harness.errors import BadInputError

GROUPS = ("problem", "estimator", "experiment")


class Option(NamedTuple):
    """An id in conf/.

    config   `_target_` and parameters; the whole file of an experiment, with all that it inherits
    about    description
    meaning  meanings of parameters, by name
    file     the file that it comes from
    """

    config: dict[str, Any]
    about: str
    meaning: dict[str, str]
    file: Path


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """Read 1e-3 as a number, as Hydra does."""


_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"[-+]?\d+(\.\d*)?[eE][-+]?\d+$"), list("-+0123456789")
)


def read(path: Path) -> Any:
    """Return the content of a YAML file."""
    return yaml.load(path.read_text(encoding="utf-8"), _Loader)


@functools.cache
def _files(group: str) -> dict[str, Path]:
    return {path.stem: path for path in (CONF / group).glob("*.yaml")}


@functools.cache
def table_options(group: str) -> dict[str, Option]:
    """Return the options that the tables of a group make, by id.

    Raises
    ------
    BadInputError
        If an id is made twice.
    """
    options: dict[str, Option] = {}
    for path in sorted((CONF / group / "tables").glob("*.yaml")):
        for block in read(path):
            for name, option in _options_of(block, path):
                if name in options or name in _files(group):
                    raise BadInputError(
                        f"{path} defines the {group} {name!r}, which is defined already; use each "
                        "id once."
                    )
                options[name] = option
    return options


def _options_of(block: dict[str, Any], path: Path) -> Iterator[tuple[str, Option]]:
    meaning = block.get("meaning", {})
    for row in _rows(block):
        for template, config in block["make"].items():
            filled = dict(_fill(config, row))
            about = filled.pop("about", row.get("about", ""))
            yield Template(template).substitute(row), Option(filled, about, meaning, path)


def _rows(block: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the values of the names in a block's templates, one dictionary per row."""
    axes = [
        [{axis: name, **fields} for name, fields in rows.items()]
        for axis, rows in block.get("each", {}).items()
    ]
    if "packs" in block:
        packs = read(PACKS).items()
        axes.append(
            [
                {"pack": name, "path": pack["path"]}
                for name, pack in packs
                if pack["group"] == block["packs"]
            ]
        )
    for rows in itertools.product(*axes):
        yield {name: value for row in rows for name, value in row.items()}


def _fill(value: Any, row: dict[str, Any]) -> Any:
    """Return a template with its names replaced by their values."""
    if isinstance(value, dict):
        return {key: _fill(item, row) for key, item in value.items()}
    if isinstance(value, list):
        return [_fill(item, row) for item in value]
    if not isinstance(value, str):
        return value
    if value[:1] == "$" and value[1:] in row:
        return row[value[1:]]
    return Template(value).substitute(row)


def ids(group: str) -> list[str]:
    """Return all ids of a group, in alphabetical order."""
    return sorted([*_files(group), *table_options(group)])


def option(group: str, name: str) -> Option:
    """Return the option of an id."""
    if name in table_options(group):
        return table_options(group)[name]
    path = _files(group)[name]
    text = path.read_text(encoding="utf-8")
    if group == "experiment":
        return Option(_experiment(path), _leading_comment(text), {}, path)
    comments = re.findall(r"^  (\w+):.*? # (.+)$", text, flags=re.M)
    meaning = {key: comment.strip() for key, comment in comments}
    return Option(read(path)[name], _leading_comment(text), meaning, path)


def _experiment(path: Path) -> dict[str, Any]:
    """Return an experiment's file with all that it inherits, as lists and completion need it.

    Each key has the value of the nearest file, and problems and estimators are those of the nearest
    file that chooses them, as in Hydra. `compose` also merges mappings such as labels, but it takes
    0.1 s per experiment, which makes 15 s for a list of all.
    """
    content = read(path)
    entries = content.get("defaults", [])
    bases = [
        _experiment(path.parent / f"{name}.yaml")
        for name in entries
        if isinstance(name, str) and name != "_self_"
    ]
    choices = [entry for entry in entries if isinstance(entry, dict)]
    choices += [entry for base in bases for entry in base["defaults"]]
    nearest = {key: ids for entry in reversed(choices) for key, ids in entry.items()}
    inherited = {key: value for base in bases for key, value in base.items()}
    return {**inherited, **content, "defaults": [{key: ids} for key, ids in nearest.items()]}


def _leading_comment(text: str) -> str:
    """Return the comment at the beginning of a file on one line, without directives."""
    lines = itertools.takewhile(lambda line: line.startswith("#"), text.splitlines())
    return " ".join(line.lstrip("# ") for line in lines if not line.startswith("# @package"))


def text(group: str, name: str) -> str:
    """Return an id as YAML: its file, or what a table makes of it."""
    chosen = option(group, name)
    if name not in table_options(group):
        return chosen.file.read_text(encoding="utf-8").rstrip()
    about = f": {chosen.about}" if chosen.about else ""
    lines = [f"# made by conf/{chosen.file.relative_to(CONF)}{about}", f"{name}:"]
    # through JSON, so that YAML writes shared objects in full instead of as anchors
    for key, value in json.loads(json.dumps(chosen.config)).items():
        dumped = yaml.safe_dump(value, sort_keys=False, default_flow_style=True, width=10_000)
        lines.append(f"  {key}: {dumped.removesuffix('...' + chr(10)).rstrip()}")
    return "\n".join(lines)
