"""What is known of ids and classes without importing them. YAMLs and source files are read, so that lists, completion and
messages answer at once."""

from __future__ import annotations

import ast
import functools
import re
from pathlib import Path
from typing import Any, NamedTuple

from harness.common.paths import CONF, EXPERIMENTS, PACKAGE
from harness.configure.options import GROUPS, ids, option, read
from harness.experiments import written_name


@functools.cache
def defaults() -> dict[str, Any]:
    """The settings of conf/config.yaml by name, without the groups and what is Hydra's."""
    return {
        name: value
        for name, value in read(CONF / "config.yaml").items()
        if name not in ("defaults", "hydra")
    }


def default_estimators() -> list[str]:
    """The estimators of a run that names none."""
    chosen = [
        entry["estimator"]
        for entry in read(CONF / "config.yaml")["defaults"]
        if "estimator" in entry
    ]
    return list(chosen[0])


def setting_names() -> list[str]:
    """Names that may stand on the left of an override."""
    return [*GROUPS, *defaults()]


class Field(NamedTuple):
    """A parameter of a class or function as its source has it; `type` and `default` are source text, None where there is none."""

    name: str
    type: str | None
    default: str | None


def config(group: str, name: str) -> dict[str, Any]:
    """What conf/ gives an id: for a problem or estimator its `_target_` and parameters, for an experiment the whole file with
    what it inherits."""
    return option(group, name).config


def papers() -> list[str]:
    """Ids of the papers: the folders of experiments/."""
    return sorted(
        path.name
        for path in EXPERIMENTS.iterdir()
        if path.is_dir() and not path.name.startswith(("_", "."))
    )


def calibrators() -> list[str]:
    """Class names of harness.calibrators, as a YAML's _target_ has them behind `harness.calibrators.`."""
    for statement in _tree(PACKAGE / "calibrators" / "__init__.py").body:
        if (
            isinstance(statement, ast.Assign)
            and getattr(statement.targets[0], "id", None) == "__all__"
        ):
            return sorted(ast.literal_eval(statement.value))
    return []


@functools.cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def _file(module: str) -> Path | None:
    """The source file of a module of ours; None for any other."""
    package, *parts = written_name(module).split(".")
    if package not in ("harness", "experiments"):
        return None
    place = (PACKAGE if package == "harness" else EXPERIMENTS).joinpath(*parts)
    file = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
    return file if file.is_file() else None


@functools.cache
def definition(target: str) -> tuple[str, ast.ClassDef | ast.FunctionDef] | None:
    """The module and the definition of the class or function of ours at a dotted path, which is followed through imports; None
    for anything else."""
    module, _, name = str(target).rpartition(".")
    file = _file(module)
    for statement in _tree(file).body if file else ():
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
        return [
            Field(a.arg, ast.unparse(a.annotation) if a.annotation else None, None) for a in names
        ]
    known: dict[str, Field] = {}
    for base in node.bases:
        known |= {field.name: field for field in fields(_path_of(ast.unparse(base), module))}
    is_dataclass = any(
        "dataclass" in ast.unparse(one) for one in node.decorator_list
    )  # else annotations are no parameters
    for statement in node.body if is_dataclass else ():
        if isinstance(statement, ast.AnnAssign) and "init=False" not in (
            value := _text(statement.value) or ""
        ):
            name = ast.unparse(statement.target)
            known[name] = Field(name, _text(statement.annotation), value or None)
    return list(known.values())


def _path_of(name: str, module: str) -> str:
    """The dotted path of a class that a module calls `name`: its own, or that of a module which it imports, as
    estimators.Binned."""
    first, dot, rest = name.partition(".")
    file = _file(module) if dot else None
    for statement in _tree(file).body if file else ():
        if isinstance(statement, ast.ImportFrom):
            for alias in statement.names:
                if (alias.asname or alias.name) == first:
                    return f"{statement.module}.{alias.name}.{rest}"
    return f"{module}.{name}"


def _text(node: ast.expr | None) -> str | None:
    return None if node is None else ast.unparse(node)


def parameters(group: str, name: str) -> list[str]:
    """Names of all parameters of a problem or estimator: those of its YAML, then the others that its class has."""
    node = config(group, name)
    return list(
        dict.fromkeys(
            [*(k for k in node if k != "_target_"), *(f.name for f in fields(node["_target_"]))]
        )
    )


def first_sentence(text: str) -> str:
    """The first sentence of a text, or its part before a semicolon, in one line; a bracket is not cut."""
    text = " ".join(text.split())
    ends = [match.end() for match in re.finditer(r"[a-z0-9)\]}|`\"][.;?](?=\s|$)", text)]
    whole = (text[:end] for end in ends if text[:end].count("(") <= text[:end].count(")"))
    return next(whole, text).rstrip(".;:")


def short(value: Any) -> str:
    """A YAML value in a few characters; a nested object by its class and what it is given."""
    if isinstance(value, dict) and "_target_" in value:
        name = value["_target_"].rpartition(".")[2]
        given = ", ".join(
            f"{k}={short(v)}"
            for k, v in value.items()
            if k != "_target_" and v is not None and v != ""
        )
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
    said = first_sentence(option(group, name).about)
    if group == "experiment":
        return said or str(config(group, name).get("title") or "")
    node = config(group, name)
    return f"{short(node)}: {said or first_sentence(docstring(node['_target_']))}"


def variant(name: str) -> str:
    """The ending that makes an id the variant of a paper or one on an author's random stream, or nothing.

    Examples
    --------
    >>> variant("ukkr"), variant("variational_temperature_berta2026"), variant("dirichlet3_calibrated_legacy")
    ('', 'berta2026', 'legacy')
    """
    match = re.search(rf"_(legacy|{'|'.join(papers())})$", name)
    return match[1] if match else ""


def counts(group: str) -> tuple[int, int]:
    """How many ids of a group there are without variants, and how many variants."""
    variants = [variant(name) != "" for name in every(group)]
    return variants.count(False), variants.count(True)


def every(group: str) -> list[str]:
    """All ids of problems, estimators, experiments or calibrators."""
    return calibrators() if group == "calibrator" else ids(group)
