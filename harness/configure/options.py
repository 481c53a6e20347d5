"""Read the ids of problems, estimators and experiments, and their configurations in conf/.

Only YAML files are read, and no Python module is imported. Lists, completion and messages therefore
answer at once.

An id is defined by a file conf/<group>/<id>.yaml, or by a table conf/<group>/tables/<table>.yaml. A
table defines many ids at once, one for each combination of some values. It is a list of blocks:

    - each:
        calibrator:
          isotonic: {fit: {_target_: harness.calibrators.Isotonic}}
          temperature: {fit: {_target_: harness.calibrators.Temperature}}
      make:
        variational_$calibrator:
          {_target_: harness.estimators.Variational, calibrator: $fit}
        variational_${calibrator}_insample:
          {_target_: harness.estimators.Variational, calibrator: $fit, folds: 1}

This block defines four estimators. `each` lists axes; here it is one axis, `calibrator`, with two
rows, `isotonic` and `temperature`. A block with several axes uses every combination of their rows.

The templates in `make` may contain $NAME. The name of an axis ($calibrator) is replaced by the name
of the row. The name of a field ($fit) is replaced by the value of this field in the row. A template
that consists of $fit alone becomes that value; within longer text the value is inserted as text.

Optional entries of a block:

    packs: kull_cifar            adds an axis whose rows are the files of this group in
                                 data/packs.yaml; $pack is the name of a file, $path its path
    meaning: {order: a text}     explanations of parameters, by name
    make: {ID: {about: a text}}  description of the option; a row may also have `about`

`harness.configure.hydra_source` passes these options to Hydra. Experiments have no tables. Instead,
an experiment inherits from a file conf/experiment/base/NAME.yaml if its defaults list contains
base/NAME. Such a file is not an id.
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
from harness.common.reading import read_text
from harness.configure.yaml_files import check_yaml
from harness.errors import BadInputError

GROUPS = ("problem", "estimator", "experiment")


class Option(NamedTuple):
    """Definition of an id in conf/.

    config   `_target_` and parameters; for an experiment, its whole file and what it inherits
    about    description
    meaning  {name of a parameter: explanation}
    file     YAML file that defines the id
    """

    config: dict[str, Any]
    about: str
    meaning: dict[str, str]
    file: Path


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """Loader of YAML that reads 1e-3 as a number, as Hydra does."""


_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"[-+]?\d+(\.\d*)?[eE][-+]?\d+$"), list("-+0123456789")
)


def read(path: Path) -> Any:
    """Return the content of a YAML file. BadInputError with line and column if it has a mistake."""
    check_yaml(path)
    return yaml.load(read_text(path), _Loader)


@functools.cache
def _files(group: str) -> dict[str, Path]:
    return {path.stem: path for path in (CONF / group).glob("*.yaml")}


@functools.cache
def table_options(group: str) -> dict[str, Option]:
    """Return {id: definition} of all ids that the tables of a group define.

    Raises
    ------
    BadInputError
        If an id is defined twice.
    """
    options: dict[str, Option] = {}
    for path in sorted((CONF / group / "tables").glob("*.yaml")):
        for block in read(path):
            for name, option in _make_options(block, path):
                if name in options or name in _files(group):
                    raise BadInputError(
                        f"{path} defines the {group} {name!r}, which another file or table defines "
                        "too; rename one of them."
                    )
                options[name] = option
    return options


def _make_options(block: dict[str, Any], path: Path) -> Iterator[tuple[str, Option]]:
    meaning = block.get("meaning", {})
    for row in _rows(block):
        for template, config in block["make"].items():
            filled = dict(_fill(config, row))
            about = filled.pop("about", row.get("about", ""))
            yield Template(template).substitute(row), Option(filled, about, meaning, path)


def _rows(block: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield {name: value} for the templates of a block, one for each combination of rows."""
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
    """Return a template (nested mappings, lists and texts) with each $NAME replaced.

    `row` is {NAME: value}.
    """
    if isinstance(value, dict):
        return {key: _fill(item, row) for key, item in value.items()}
    if isinstance(value, list):
        return [_fill(item, row) for item in value]
    if not isinstance(value, str):
        return value
    if value[:1] == "$" and value[1:] in row:
        return row[value[1:]]
    return Template(value).substitute(row)


def ids(group: str, config_dir: str | None = None) -> list[str]:
    """Return all ids of a group in alphabetical order, with those of the user's folder."""
    return sorted([*_files(group), *table_options(group), *users_files(group, config_dir)])


def find_config_dir(overrides: list[str]) -> str | None:
    """Return the folder in an override config_dir=FOLDER, or None without such an override."""
    folders = [text for text in overrides if text.startswith("config_dir=")]
    return folders[-1].partition("=")[2].strip("'") if folders else None


def users_files(group: str, config_dir: str | None) -> dict[str, Path]:
    """Return {id: file} of a group in the user's folder of configuration.

    Raises
    ------
    BadInputError
        If one of our ids is defined there again.
    """
    if not config_dir:
        return {}
    files = {path.stem: path for path in sorted(Path(config_dir, group).glob("*.yaml"))}
    if twice := set(files) & {*_files(group), *table_options(group)}:
        name = min(twice)
        raise BadInputError(
            f"{files[name]} defines the {group} {name!r}, which calharness has already; choose "
            "another id."
        )
    return files


def option(group: str, name: str, config_dir: str | None = None) -> Option:
    """Return the definition of an id, from conf/ or from the user's folder of configuration."""
    if name in table_options(group):
        return table_options(group)[name]
    path = {**users_files(group, config_dir), **_files(group)}[name]
    text = read_text(path)
    if group == "experiment":
        return Option(_experiment(path), _leading_comment(text), {}, path)
    comments = re.findall(r"^  (\w+):.*? # (.+)$", text, flags=re.M)
    meaning = {key: comment.strip() for key, comment in comments}
    return Option(read(path)[name], _leading_comment(text), meaning, path)


def _experiment(path: Path) -> dict[str, Any]:
    """Return the content of an experiment's file, with the keys that it inherits from base files.

    A key in the file itself wins over the same key in a base file, as in Hydra. The same holds for
    the choice of problems and of estimators. Mappings such as `labels` are not merged.

    `compose` would merge them, but it takes 0.1 s per experiment, hence 15 s for a list of all.
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
    """Return the comment at the beginning of a YAML file on one line.

    Hydra's directives, such as "# @package", are left out.
    """
    lines = itertools.takewhile(lambda line: line.startswith("#"), text.splitlines())
    return " ".join(line.lstrip("# ") for line in lines if not line.startswith("# @package"))


def text(group: str, name: str) -> str:
    """Return the definition of an id as YAML: its file, or the entry that a table defines."""
    chosen = option(group, name)
    if name not in table_options(group):
        return read_text(chosen.file).rstrip()
    about = f": {chosen.about}" if chosen.about else ""
    lines = [f"# defined by conf/{chosen.file.relative_to(CONF)}{about}", f"{name}:"]
    # JSON copies shared objects, so that YAML writes them in full instead of as anchors.
    for key, value in json.loads(json.dumps(chosen.config)).items():
        dumped = yaml.safe_dump(value, sort_keys=False, default_flow_style=True, width=10_000)
        lines.append(f"  {key}: {dumped.removesuffix('...' + chr(10)).rstrip()}")
    return "\n".join(lines)
