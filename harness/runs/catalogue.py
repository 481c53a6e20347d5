"""What is known of ids and classes without importing them: YAMLs and source files are read, so that lists, completion and
messages answer at once."""

from __future__ import annotations

import ast
import functools
import re
from typing import NamedTuple

from harness.common.paths import CONF, EXPERIMENTS, PACKAGE

GROUPS = ("problem", "estimator", "experiment")


def ids(group: str) -> list[str]:
    """All ids of a group: the file names of conf/<group>."""
    return sorted(path.stem for path in (CONF / group).glob("*.yaml"))


@functools.cache
def defaults() -> dict:
    """The settings of conf/config.yaml by name, without the groups and what is Hydra's."""
    import yaml

    read = yaml.safe_load((CONF / "config.yaml").read_text())
    return {name: value for name, value in read.items() if name not in ("defaults", "hydra")}


def options() -> list[str]:
    """Names that may stand on the left of an override."""
    return [*GROUPS, *defaults()]


class Field(NamedTuple):
    """A parameter of a class or function as its source has it; `type` and `default` are source text, None where there is none."""

    name: str
    type: str | None
    default: str | None


def config(group: str, name: str) -> dict:
    """The YAML of an id: for a problem or estimator its node (_target_ and parameters), for an experiment the whole file."""
    import yaml

    read = yaml.load((CONF / group / f"{name}.yaml").read_text(), getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    return read if group == "experiment" else read[name]


def comment(group: str, name: str) -> str:
    """The comment that an id's YAML begins with, without the directives, in one line."""
    lines = (CONF / group / f"{name}.yaml").read_text().splitlines()
    said = []
    for line in lines:
        if not line.startswith("#"):
            break
        if not line.startswith("# @package"):
            said.append(line.lstrip("# "))
    return " ".join(said)


def comments(group: str, name: str) -> dict[str, str]:
    """What the YAML of an id says behind its parameters, by parameter."""
    text = (CONF / group / f"{name}.yaml").read_text()
    return {key: said.strip() for key, said in re.findall(r"^  (\w+):.*? # (.+)$", text, flags=re.M)}


def papers() -> list[str]:
    """Ids of the papers: the folders of experiments/."""
    return sorted(path.name for path in EXPERIMENTS.iterdir() if path.is_dir() and not path.name.startswith(("_", ".")))


def calibrators() -> list[str]:
    """Class names of harness.calibrators, as a YAML's _target_ has them behind `harness.calibrators.`."""
    for statement in _tree(PACKAGE / "calibrators" / "__init__.py").body:
        if isinstance(statement, ast.Assign) and getattr(statement.targets[0], "id", None) == "__all__":
            return sorted(ast.literal_eval(statement.value))
    return []


@functools.cache
def _tree(path):
    return ast.parse(path.read_text())


@functools.cache
def definition(target: str):
    """(module, ast node) of the class or function of ours at a dotted path, followed through imports; None for anything else."""
    module, _, name = str(target).rpartition(".")
    package, *parts = module.split(".")
    place = PACKAGE.joinpath(*parts)
    path = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
    if package != "harness" or not path.is_file():
        return None
    for statement in _tree(path).body:
        if isinstance(statement, (ast.ClassDef, ast.FunctionDef)) and statement.name == name:
            return module, statement
        if isinstance(statement, ast.ImportFrom):
            for alias in statement.names:
                if (alias.asname or alias.name) == name:
                    return definition(f"{statement.module}.{alias.name}")
    return None


def docstring(target: str) -> str:
    """The docstring of a class or function of ours, or nothing."""
    found = definition(target)
    return (ast.get_docstring(found[1]) or "") if found else ""


def fields(target: str) -> list[Field]:
    """The parameters of a dataclass or function of ours, those of its bases first."""
    found = definition(target)
    if not found:
        return []
    module, node = found
    if isinstance(node, ast.FunctionDef):
        names = [*node.args.args, *node.args.kwonlyargs]
        return [Field(a.arg, ast.unparse(a.annotation) if a.annotation else None, None) for a in names]
    known: dict[str, Field] = {}
    for base in node.bases:
        if isinstance(base, ast.Name):
            known |= {field.name: field for field in fields(f"{module}.{base.id}")}
    for statement in node.body:
        if isinstance(statement, ast.AnnAssign) and "init=False" not in (value := _text(statement.value) or ""):
            name = statement.target.id
            known[name] = Field(name, _text(statement.annotation), value or None)
    return list(known.values())


def _text(node):
    return None if node is None else ast.unparse(node)


def parameters(group: str, name: str) -> list[str]:
    """Names of all parameters of a problem or estimator: those of its YAML, then the others that its class has."""
    node = config(group, name)
    return list(dict.fromkeys([*(k for k in node if k != "_target_"), *(f.name for f in fields(node["_target_"]))]))


def first_sentence(text: str) -> str:
    """The first sentence of a text, or its part before a semicolon, in one line; a bracket is not cut."""
    text = " ".join(text.split())
    ends = [match.end() for match in re.finditer(r"[a-z0-9)\]}|`\"][.;?](?=\s|$)", text)]
    whole = (text[:end] for end in ends if text[:end].count("(") <= text[:end].count(")"))
    return next(whole, text).rstrip(".;:")


def short(value) -> str:
    """A YAML value in a few characters; a nested object by its class and what it is given."""
    if isinstance(value, dict) and "_target_" in value:
        name = value["_target_"].rpartition(".")[2]
        given = ", ".join(f"{k}={short(v)}" for k, v in value.items() if k != "_target_" and v is not None and v != "")
        return f"{name}({given})" if given else name
    if isinstance(value, dict):
        return "{" + ", ".join(f"{k}: {short(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return f"[{', '.join(map(short, value))}]"
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    return str(value)


def describe(group: str, name: str) -> str:
    """A line on an id: its class with what the YAML gives, and what the YAML's comment, or else the class, says first."""
    if group == "calibrator":
        return first_sentence(docstring(f"harness.calibrators.{name}"))
    said = first_sentence(comment(group, name))
    if group == "experiment":
        return said or str(config(group, name).get("title") or "")
    node = config(group, name)
    return f"{short(node)}: {said or first_sentence(docstring(node['_target_']))}"


def every(group: str) -> list[str]:
    """All ids of problems, estimators, experiments or calibrators."""
    return calibrators() if group == "calibrator" else ids(group)
