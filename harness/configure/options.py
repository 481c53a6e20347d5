"""The ids of problems, estimators and experiments, and what conf/ says of each. Nothing but YAML is read here, so that lists,
completion and messages answer at once.

An id is a file conf/<group>/<id>.yaml. Products of several axes are made by a table, conf/<group>/tables/<table>.yaml,
which is a list of blocks:

    - each:
        calibrator:
          isotonic: {fit: {_target_: harness.calibrators.Isotonic}}
          temperature: {fit: {_target_: harness.calibrators.Temperature}}
      make:
        variational_$calibrator: {_target_: harness.estimators.Variational, calibrator: $fit}
        variational_${calibrator}_insample: {_target_: harness.estimators.Variational, calibrator: $fit, folds: 1}

makes four estimators. `each` holds axes, here one with two rows; of several axes the product is taken. The name of an axis stands
for the name of the row ($calibrator), and the fields of a row stand for themselves ($fit): a value that is nothing but $fit
becomes the field as it is, and a longer text has the field's text put in. A block has three more entries, none of which is
needed:

    packs: kull_cifar            the rows are the files of this group in data/packs.yaml: $pack is the name, $path the path
    meaning: {order: a text}     what parameters mean
    make: {ID: {about: a text}}  what the option is; a row may say it too, and `about` is no parameter

Hydra gets what the tables make from `harness.configure.hydra_source`, so that it is chosen and overridden like an option that is
a file. Experiments have no tables; one inherits another file by naming it in its defaults list, as base/NAME, and
conf/experiment/base/NAME.yaml is no id."""

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
    """One id: its configuration (`_target_` and parameters; of an experiment the whole file), what it is, what its
    parameters mean by name, and the file that it comes from."""

    config: dict[str, Any]
    about: str
    meaning: dict[str, str]
    file: Path


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """Reads 1e-3 as a number, as Hydra does."""


_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"[-+]?\d+(\.\d*)?[eE][-+]?\d+$"), list("-+0123456789")
)


def read(path: Path) -> Any:
    """What a YAML file holds."""
    return yaml.load(path.read_text(encoding="utf-8"), _Loader)


@functools.cache
def _files(group: str) -> dict[str, Path]:
    return {path.stem: path for path in (CONF / group).glob("*.yaml")}


@functools.cache
def made(group: str) -> dict[str, Option]:
    """The options of a group that its tables make, by id. Raises BadInputError where an id is made twice."""
    found: dict[str, Option] = {}
    for path in sorted((CONF / group / "tables").glob("*.yaml")):
        for block in read(path):
            for name, option in _of_block(block, path):
                if name in found or name in _files(group):
                    raise BadInputError(
                        f"{path} makes the {group} {name!r}, which is there already; an id is given once."
                    )
                found[name] = option
    return found


def _of_block(block: dict[str, Any], path: Path) -> Iterator[tuple[str, Option]]:
    for row in _rows(block):
        for template, config in block["make"].items():
            given = dict(_filled(config, row))
            about = given.pop("about", row.get("about", ""))
            yield (
                Template(template).substitute(row),
                Option(given, about, block.get("meaning", {}), path),
            )


def _rows(block: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """What the names in a block's templates stand for, once for each of its options."""
    axes = [
        [{axis: name, **fields} for name, fields in rows.items()]
        for axis, rows in block.get("each", {}).items()
    ]
    if "packs" in block:
        packs = {
            name: pack for name, pack in read(PACKS).items() if pack["group"] == block["packs"]
        }
        axes.append([{"pack": name, "path": pack["path"]} for name, pack in packs.items()])
    for fields in itertools.product(*axes):
        yield {name: value for one in fields for name, value in one.items()}


def _filled(value: Any, row: dict[str, Any]) -> Any:
    """A template with what its names stand for in place of them."""
    if isinstance(value, dict):
        return {key: _filled(item, row) for key, item in value.items()}
    if isinstance(value, list):
        return [_filled(item, row) for item in value]
    if isinstance(value, str):
        return (
            row[value[1:]]
            if value[:1] == "$" and value[1:] in row
            else Template(value).substitute(row)
        )
    return value


def ids(group: str) -> list[str]:
    """All ids of a group, in alphabetical order."""
    return sorted([*_files(group), *made(group)])


def option(group: str, name: str) -> Option:
    """What conf/ says of an id."""
    if name in made(group):
        return made(group)[name]
    path = _files(group)[name]
    text = path.read_text(encoding="utf-8")
    if group == "experiment":
        return Option(_experiment(path), _leading_comment(text), {}, path)
    meaning = {
        key: said.strip() for key, said in re.findall(r"^  (\w+):.*? # (.+)$", text, flags=re.M)
    }
    return Option(read(path)[name], _leading_comment(text), meaning, path)


def _experiment(path: Path) -> dict[str, Any]:
    """Read an experiment's file and what it inherits, as lists and completion need it: a key has the value
    of the nearest file alone. `compose` merges mappings such as labels, but takes 0.1 s for an experiment.

    The choices of problems and estimators are those of the nearest file that makes them, as in Hydra.
    """
    own = read(path)
    entries = own.get("defaults", [])
    bases = [
        _experiment(path.parent / f"{name}.yaml")
        for name in entries
        if isinstance(name, str) and name != "_self_"
    ]
    choices = [entry for entry in entries if isinstance(entry, dict)]
    choices += [entry for base in bases for entry in base["defaults"]]
    nearest = {key: ids for entry in reversed(choices) for key, ids in entry.items()}
    inherited = {key: value for base in bases for key, value in base.items()}
    return {**inherited, **own, "defaults": [{key: ids} for key, ids in nearest.items()]}


def _leading_comment(text: str) -> str:
    """The comment that a file begins with, without the directives, in one line."""
    lines = itertools.takewhile(lambda line: line.startswith("#"), text.splitlines())
    return " ".join(line.lstrip("# ") for line in lines if not line.startswith("# @package"))


def text(group: str, name: str) -> str:
    """An id as YAML: its file, or what a table makes of it."""
    found = option(group, name)
    if name not in made(group):
        return found.file.read_text(encoding="utf-8").rstrip()
    lines = [
        f"# made by conf/{found.file.relative_to(CONF)}{f': {found.about}' if found.about else ''}",
        f"{name}:",
    ]
    for key, value in json.loads(
        json.dumps(found.config)
    ).items():  # what two places share is written out in both
        said = yaml.safe_dump(value, sort_keys=False, default_flow_style=True, width=10_000)
        lines.append(f"  {key}: {said.removesuffix('...' + chr(10)).rstrip()}")
    return "\n".join(lines)
