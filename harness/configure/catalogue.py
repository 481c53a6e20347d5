"""Describe ids and classes for lists, pages, completion of the shell, and messages.

An id names a problem, an estimator, an experiment or a calibrator. The first three are groups of
configurations in conf/; the fourth are classes of harness.calibrators.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
import importlib
import inspect
import re
from typing import Any

from harness.common.module_names import current_path, module_name
from harness.common.paths import CONF, EXPERIMENTS, PACKAGE
from harness.configure import trust
from harness.configure.options import GROUPS, ids, option, read
from harness.errors import BadInputError, guess


@functools.cache
def defaults() -> dict[str, Any]:
    """Return {name: default value} of all settings in conf/config.yaml.

    The list of groups and the configuration of Hydra are left out.
    """
    settings = read(CONF / "config.yaml").items()
    return {name: value for name, value in settings if name not in ("defaults", "hydra")}


def default_estimators() -> list[str]:
    """Return the ids of the estimators that a run uses if its command line names none."""
    entries = read(CONF / "config.yaml")["defaults"]
    return list(next(entry["estimator"] for entry in entries if "estimator" in entry))


def setting_names() -> list[str]:
    """Return the names that may stand before the equals sign of an override."""
    return [*GROUPS, *defaults()]


def config(group: str, name: str) -> dict[str, Any]:
    """Return the configuration that conf/ defines for an id: `_target_` and parameters.

    For an experiment, it is the content of its file.
    """
    return option(group, name).config


def papers() -> list[str]:
    """Return the ids of the papers, which are the names of the folders in experiments/."""
    folders = [path for path in EXPERIMENTS.iterdir() if path.is_dir()]
    return sorted(path.name for path in folders if not path.name.startswith(("_", ".")))


@functools.cache
def calibrators() -> dict[str, str]:
    """Return {class name: dotted path} of the calibrators of the harness.

    These are the public names of harness.calibrators, and the other classes of the package that a
    YAML file of conf/ uses. The public names are read from the source text, because importing the
    package takes too long for a list.
    """
    source = (PACKAGE / "calibrators" / "__init__.py").read_text()
    (public,) = (
        ast.literal_eval(statement.value)
        for statement in ast.parse(source).body
        if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "__all__"
    )
    paths = {name: f"harness.calibrators.{name}" for name in public}
    parts = (config(group, name) for group in ("problem", "estimator") for name in ids(group))
    for _, path in trust.targets(list(parts), ""):
        if path.startswith("harness.calibrators."):
            paths.setdefault(path.rpartition(".")[2], path)
    return dict(sorted(paths.items()))


def calibrator(name: str) -> dict[str, Any]:
    """Return the configuration of a calibrator: of `isotonic`, or of its class `Isotonic`.

    The first kind of id is the end of the id of an estimator, such as `variational_isotonic`.

    Raises
    ------
    BadInputError
        If there is no such calibrator.
    """
    short = {
        text.removeprefix("variational_"): text
        for text in ids("estimator")
        if text.startswith("variational_") and "insample" not in text
    }
    if name in short:
        chosen: dict[str, Any] = config("estimator", short[name])["calibrator"]
        return chosen
    if name in calibrators():
        return {"_target_": calibrators()[name]}
    known = [*short, *calibrators()]
    raise BadInputError(
        f"there is no calibrator {name!r}{guess(name, known)}; `calharness list calibrators` shows "
        "all."
    )


def all_ids(group: str) -> list[str]:
    """Return all ids of a group: problem, estimator, experiment or calibrator."""
    return list(calibrators()) if group == "calibrator" else ids(group)


def any_id(incomplete: str = "") -> list[str]:
    """Return the ids of problems, estimators, experiments and calibrators.

    The shell completes an incomplete word, which is not used here.
    """
    return [name for group in (*GROUPS, "calibrator") for name in all_ids(group)]


def _definition(target: str) -> Any:
    """Import the class or function at a dotted path in conf/."""
    module, _, name = current_path(target).rpartition(".")
    return getattr(importlib.import_module(module_name(module)), name)


def docstring(target: str) -> str:
    """Return the docstring of the class or function at a dotted path, or "" if it has none."""
    value = _definition(target)
    text = inspect.cleandoc(value.__doc__ or "")
    # dataclass generates a docstring "Name(fields)" for a class without one
    return "" if text.startswith(f"{value.__name__}(") else text


def parameters(group: str, name: str) -> list[str]:
    """Return the names of all parameters of a problem or estimator.

    Parameters that its YAML sets come first.
    """
    node = config(group, name)
    target = _definition(node["_target_"])
    if dataclasses.is_dataclass(target):
        known = [field.name for field in dataclasses.fields(target) if field.init]
    else:
        known = list(inspect.signature(target).parameters)
    return list(dict.fromkeys([*(key for key in node if key != "_target_"), *known]))


def first_sentence(text: str) -> str:
    """Return the first sentence of a text on one line, without its full stop.

    A semicolon or the end of a paragraph also ends the sentence. A full stop inside parentheses
    does not.
    """
    text = " ".join(text.strip().partition("\n\n")[0].split())
    ends = [match.end() for match in re.finditer(r"[a-z0-9)\]}|`\"][.;?](?=\s|$)", text)]
    whole = (text[:end] for end in ends if text[:end].count("(") <= text[:end].count(")"))
    return next(whole, text).rstrip(".;:")


def short_text(value: Any) -> str:
    """Return a YAML value as short text. An object becomes Class(parameter=value, ...)."""
    if isinstance(value, dict) and "_target_" in value:
        name = value["_target_"].rpartition(".")[2]
        given = ", ".join(
            f"{key}={short_text(item)}"
            for key, item in value.items()
            if key != "_target_" and item is not None and item != ""
        )
        return f"{name}({given})" if given else name
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {short_text(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return f"[{', '.join(map(short_text, value))}]"
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    return str(value)


def describe(group: str, name: str) -> str:
    """Return one line that describes an id: its class with parameters, and one sentence.

    The sentence is the first one in the comment of the YAML file. Without a comment, it is the
    first one in the docstring of the class.
    """
    if group == "calibrator":
        return first_sentence(docstring(calibrators()[name]))
    node, about = config(group, name), first_sentence(option(group, name).about)
    if group == "experiment":
        return about or str(node.get("title") or "")
    return f"{short_text(node)}: {about or first_sentence(docstring(node['_target_']))}"


def variant(name: str) -> str:
    """Return the ending of an id that marks it as a paper's variant, or "" without one.

    The ending is the id of the paper. The ending "legacy" marks a variant that uses the random
    numbers of a paper's authors.

    Examples
    --------
    >>> [variant(name) for name in ("ukkr", "binned15_berta2026", "beta_wavy_legacy")]
    ['', 'berta2026', 'legacy']
    """
    match = re.search(rf"_(legacy|{'|'.join(papers())})$", name)
    return match[1] if match else ""


def counts(group: str) -> tuple[int, int]:
    """Return (number of ids of a group that are no variants, number of variants)."""
    variants = [variant(name) != "" for name in all_ids(group)]
    return variants.count(False), variants.count(True)


def experiment_of_paper(incomplete: str = "") -> list[str]:
    """Return the ids of the experiments that belong to papers."""
    return [name for name in ids("experiment") if option("experiment", name).config.get("paper")]
