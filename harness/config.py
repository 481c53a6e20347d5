"""Configuration: where the YAMLs are, how overrides become a configuration, and how a node becomes an object.

Hydra's grammar is used through its compose API, so that the library, the command line and the tests read the same files in
the same way. Every mistake ends in a BadInput of one sentence.
"""

from __future__ import annotations

import dataclasses
import difflib
import fnmatch
import functools
import importlib
import inspect
import json
import os
import re
import sys
from pathlib import Path
from typing import Any, NamedTuple

from harness.errors import BadInput
from harness.seeds import digest

PACKAGE = Path(__file__).resolve().parent
CHECKOUT = PACKAGE.parent if (PACKAGE.parent / "conf" / "config.yaml").is_file() else None
CONF = CHECKOUT / "conf" if CHECKOUT else PACKAGE / "_conf"
EXPERIMENTS = CHECKOUT / "experiments" if CHECKOUT else PACKAGE / "_experiments"
PACKS = CHECKOUT / "data" / "packs.yaml" if CHECKOUT else PACKAGE / "_data" / "packs.yaml"
GROUPS = ("problem", "estimator", "experiment")


class Node(NamedTuple):
    """One problem or estimator of a run: its id, its YAML node, the object, what identifies it (JSON), and the key of that."""

    id: str
    config: dict
    object: Any
    parameters: str
    key: str


def ids(group: str) -> list[str]:
    """All ids of a group: the file names of conf/<group>."""
    return sorted(path.stem for path in (CONF / group).glob("*.yaml"))


def compose(overrides: list[str]) -> dict:
    """Overrides in Hydra's grammar -> the resolved configuration as plain dictionaries and lists."""
    from hydra import compose as hydra_compose
    from hydra import initialize_config_dir
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    try:
        with initialize_config_dir(str(CONF), version_base="1.3"):
            return OmegaConf.to_container(hydra_compose("config", overrides=expand_globs(overrides)), resolve=True)
    except BadInput:
        raise
    except Exception as error:
        if not isinstance(error, OmegaConfBaseException) and not type(error).__module__.startswith("hydra"):
            raise
        raise BadInput(_in_one_sentence(error, overrides)) from error


def expand_globs(overrides: list[str]) -> list[str]:
    """`estimator=glob(kde*)` -> a list, for `problem` and `estimator` (Hydra itself globs only in sweeps)."""
    expanded = []
    for text in overrides:
        match = re.fullmatch(r"(problem|estimator)=(\[.*\]|glob\(.*\))", text.replace(" ", ""))
        if not match or "glob(" not in text:
            expanded.append(text)
            continue
        group, value = match.groups()
        parts = re.findall(r"glob\(([^()]*)\)|([\w.-]+)", value)
        chosen: list[str] = []
        for pattern, plain in parts:
            found = fnmatch.filter(ids(group), pattern) if pattern else [plain]
            if not found:
                raise BadInput(f"no {group} matches {pattern!r}; `calharness list {group}s` shows all.")
            chosen += [name for name in found if name not in chosen]
        expanded.append(f"{group}=[{','.join(chosen)}]")
    return expanded


def _in_one_sentence(error, overrides):
    text = str(error).strip()
    first = text.splitlines()[0]
    missing = re.search(r"Could not (?:find|load) '(\w+)/([^']+)'", text)
    if missing and missing[1] in GROUPS:
        group, name = missing.groups()
        return f"there is no {group} {name!r}{guess(name, ids(group))}; `calharness list {group}s` shows all."
    wrong = re.search(r"Could not override '([^']+)'", text)
    if wrong:
        path = wrong[1]
        if "." not in path:
            return f"there is no option {path!r}{guess(path, _options())}; options are {', '.join(_options())}."
        return f"there is no setting {path!r} in this run; a parameter that its YAML does not list is given as +{path}=VALUE."
    return f"the options {' '.join(overrides)} are not valid: {first.rstrip('.')}."


def _options():
    text = (CONF / "config.yaml").read_text().split("\nhydra:")[0]
    return ["problem", "estimator", "experiment", *re.findall(r"^(\w+):", text, flags=re.M)[1:]]


def guess(word: str, known: list[str]) -> str:
    """' (did you mean ...?)', or nothing."""
    close = difflib.get_close_matches(word, known, n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""


def load(group: str, name: str, overrides: dict):
    """The object of conf/<group>/<name>.yaml, with fields replaced by `overrides`."""
    from omegaconf import OmegaConf

    if name not in ids(group):
        raise BadInput(f"there is no {group} {name!r}{guess(name, ids(group))}; harness.list_{group}s() shows all.")
    node = OmegaConf.to_container(OmegaConf.load(CONF / group / f"{name}.yaml"), resolve=True)[name]
    return build(group, name, {**node, **overrides})


def build(group: str, name: str, node: dict):
    """Make the object of a node: a class is instantiated with the node's parameters, a bare function is taken as it is."""
    if not isinstance(node, dict) or "_target_" not in node:
        raise BadInput(f"{group} {name!r} has no _target_; give +{group}.{name}._target_=module.ClassOrFunction.")
    target = _import(node["_target_"], f"{group} {name!r}")
    values = {k: _nested(v, f"{group} {name!r}") for k, v in node.items() if k != "_target_"}
    if not inspect.isclass(target):
        return functools.partial(target, **values) if values else target
    try:
        return target(**values)
    except TypeError as error:
        known = ", ".join(f.name for f in dataclasses.fields(target)) if dataclasses.is_dataclass(target) else ""
        raise BadInput(
            f"{group} {name!r}: {node['_target_']} does not take {', '.join(values) or 'no parameters'}"
            f"{f'; its parameters are {known}' if known else ''} ({error})."
        ) from error


def _nested(value, where):
    if isinstance(value, dict) and "_target_" in value:
        target = _import(value["_target_"], where)
        given = {k: _nested(v, where) for k, v in value.items() if k != "_target_"}
        try:
            return target(**given)
        except TypeError as error:
            raise BadInput(f"{where}: {value['_target_']} does not take {', '.join(given)} ({error}).") from error
    if isinstance(value, list):
        return tuple(_nested(v, where) for v in value)
    return value


def _import(path, where):
    module, _, name = str(path).rpartition(".")
    if not module:
        raise BadInput(f"{where}: _target_ is {path!r}; it must be module.Name.")
    try:
        return getattr(importlib.import_module(module), name)
    except ModuleNotFoundError as error:
        raise BadInput(f"{where}: cannot import {module!r} ({error}); is it in this folder or installed?") from error
    except AttributeError as error:
        raise BadInput(f"{where}: module {module!r} has no {name!r}.") from error


def node(group: str, name: str, config: dict) -> Node:
    """Build one node and derive its key: a pure function of id, class, parameters, version or revision, and, for code outside
    this package, of its source file."""
    made = build(group, name, config)
    described = describe(made) if dataclasses.is_dataclass(made) else {k: v for k, v in config.items()}
    fingerprint = getattr(made, "fingerprint", None)
    if fingerprint is not None:
        described = {"class": type(made).__qualname__, **fingerprint}
    stamp = {"revision": getattr(made, "version" if group == "problem" else "revision", 0)}
    source = _foreign_source(made)
    if source:
        stamp["source"] = source
    parameters = json.dumps(described, sort_keys=True, default=str)
    return Node(name, config, made, parameters, digest(json.dumps([group, name, parameters, stamp], sort_keys=True)))


def describe(value):
    """A dataclass as JSON-ready data: class name (with its module if it is not ours) and fields, recursively."""
    if dataclasses.is_dataclass(value):
        kind = type(value)
        name = kind.__qualname__ if kind.__module__.startswith("harness.") else f"{kind.__module__}.{kind.__qualname__}"
        return {"class": name, **{f.name: describe(getattr(value, f.name)) for f in dataclasses.fields(value)}}
    if isinstance(value, (list, tuple)):
        return [describe(v) for v in value]
    return value


def _foreign_source(made):
    while isinstance(made, functools.partial):
        made = made.func
    kind = made if inspect.isfunction(made) else type(made)
    if kind.__module__.startswith("harness."):
        return None
    try:
        return digest(inspect.getsource(sys.modules[kind.__module__]))
    except (OSError, TypeError, KeyError):
        return "source not at hand"


def out_folder(given) -> Path:
    """Where results go: `out`, else CALHARNESS_OUT, else results/ of the checkout (of the working folder, if installed)."""
    chosen = given or os.environ.get("CALHARNESS_OUT") or ((CHECKOUT or Path.cwd()) / "results")
    return Path(chosen).expanduser().resolve()
