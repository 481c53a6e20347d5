"""Components: an id and its configuration (`_target_` and parameters) become an object with a key.

The key is a pure function of group, id, class, parameters, and version or revision. For user code,
also inside our own objects, it covers the source file and all local modules that it imports. A user
module that changed since it was imported is refused, so that key and code always belong together
(harness.common.user_code). The key does not cover data files that user code reads: `refresh=true`
computes its cells anew.

Records and random streams go by the key. A renamed class or field of ours would change the key,
though every number stays the same. data/keys.csv lists such keys, (group, key now, key before), and
the component keeps the key before.
"""

from __future__ import annotations

import csv
import dataclasses
import functools
import inspect
import json
from pathlib import Path
from typing import Any, NamedTuple

from omegaconf import OmegaConf

from harness.common.escaping import escape
from harness.common.module_names import written_name
from harness.common.paths import KEYS
from harness.common.seeds import digest
from harness.common.user_code import error_text, import_current, is_foreign, is_ours, source_digests
from harness.configure import trust
from harness.configure.options import ids, option
from harness.errors import BadInputError, guess
from harness.estimators.base import EstimatorSpec
from harness.plan.cells import Cell
from harness.problems.base import ProblemSpec


class Component(NamedTuple):
    """A problem or estimator of a run.

    Parameters
    ----------
    id : str
        Its name in the configuration and in the records.
    config : dict
        Its configuration: `_target_` and parameters.
    object : object
        The problem or estimator.
    parameters : str
        The class and parameters of the object, as JSON.
    key : str
        16 hexadecimal digits, equal for all components that give the same numbers.
    origin : str
        Its name in the configuration. For the member of a family, the name of the family.
    stream : str
        The key that seeds its random stream.
    foreign : tuple of str
        Modules of its code that are not ours.
    """

    id: str
    config: dict[str, Any]
    object: Any
    parameters: str
    key: str
    origin: str
    stream: str
    foreign: tuple[str, ...] = ()


def load(group: str, name: str, overrides: dict[str, Any]) -> Any:
    """Return the object of an id in conf/, with fields replaced by `overrides`."""
    if name not in ids(group):
        raise BadInputError(
            f"there is no {group} {name!r}{guess(name, ids(group))}; `calharness list {group}s` "
            "shows all."
        )
    config: Any = OmegaConf.to_container(OmegaConf.create(option(group, name).config), resolve=True)
    foreign = next((path for path in targets(config) if not trust.is_allowed(path)), None)
    if foreign:
        raise BadInputError(
            f"{group} {name!r} is {foreign!r} by its file, which is code neither of harness nor of "
            "experiments; name that itself if you trust it."
        )
    return build(group, name, {**config, **overrides})


def configured(group: str, name: str, config: dict[str, Any]) -> Component:
    """Return the component of a configuration: `_target_` and parameters."""
    return component(group, name, build(group, name, config), config)


def component(group: str, name: str, value: Any, config: dict[str, Any] | None = None) -> Component:
    """Return the component of an object.

    `config` is the configuration that it was made from. By default, one that makes an equal object.
    """
    if escape(name) != name:
        raise BadInputError(
            f"the {group} id {escape(name)!r} has characters that would steer a terminal; give "
            "another."
        )
    config = configuration(value) if config is None else config
    if group == "problem":
        stamp: dict[str, Any] = {"revision": ProblemSpec.of(value).version}
    else:
        stamp = {"revision": EstimatorSpec.read(value, "revision")}
    if source := user_sources(config):
        stamp["source"] = source
    parameters = json.dumps(describe(value, config), sort_keys=True, default=_described_class)
    key = digest(json.dumps([group, name, parameters, stamp], sort_keys=True))
    key = keys_before(KEYS).get((group, key), key)
    wrapped = None if group == "problem" else EstimatorSpec.read(value, "keeps_values_of")
    stream = configured(group, name, config[wrapped]).stream if wrapped else key
    return Component(name, config, value, parameters, key, name, stream, foreign_modules(config))


@functools.cache
def keys_before(path: Path) -> dict[tuple[str, str], str]:
    """Return {(group, key now): key before} of renamed components, from the table data/keys.csv."""
    with path.open(newline="") as file:
        return {(row["group"], row["now"]): row["before"] for row in csv.DictReader(file)}


def configuration(value: Any) -> Any:
    """Return the configuration that makes an equal object.

    It is class and fields of a dataclass, recursively, and any other value itself.
    """
    if isinstance(value, (list, tuple)):
        return [configuration(item) for item in value]
    if isinstance(value, dict):
        return {name: configuration(item) for name, item in value.items()}
    if not dataclasses.is_dataclass(value) or isinstance(value, type):
        return value
    fields = {
        f.name: configuration(getattr(value, f.name)) for f in dataclasses.fields(value) if f.init
    }
    kind = type(value)
    return {"_target_": f"{written_name(kind.__module__)}.{kind.__qualname__}", **fields}


def build(group: str, name: str, config: dict[str, Any]) -> Any:
    """Make the object of a configuration: an instance of a class, or a function.

    Raises
    ------
    BadInputError
        If the class cannot be imported, or does not take the parameters.
    """
    where = f"{group} {name!r}"
    if not isinstance(config, dict) or "_target_" not in config:
        raise BadInputError(
            f"{where} has no _target_; give +{group}.{name}._target_=module.ClassOrFunction."
        )
    return _build(config, where)


def _build(value: Any, where: str) -> Any:
    if isinstance(value, list):
        return tuple(_build(item, where) for item in value)
    if not isinstance(value, dict):
        return value
    arguments = {k: _build(v, where) for k, v in value.items() if k != "_target_"}
    if "_target_" not in value:
        return arguments
    target = imported(value["_target_"], where)
    where = f"{where}: {value['_target_']}"
    _check_parameters(target, arguments, where)
    if not inspect.isclass(target):
        return functools.partial(target, **arguments) if arguments else target
    try:
        return target(**arguments)
    except BadInputError:
        raise
    except (Exception, SystemExit) as error:
        raise BadInputError(
            f"{where} cannot be made of {arguments} ({error_text(error)})."
        ) from error


def _check_parameters(target: Any, arguments: dict[str, Any], where: str) -> None:
    """Raise BadInputError for a parameter that `target` does not have, or a class lacks."""
    try:
        parameters = inspect.signature(target).parameters.values()
    except (TypeError, ValueError):  # no signature: the call itself decides
        return
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        return
    named = [p for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    needed = [p.name for p in named if p.default is p.empty]
    known = [p.name for p in named]
    if not inspect.isclass(target):  # p, y and rng of a function are given at its call
        known = [p.name for p in named if p.default is not p.empty or p.kind is p.KEYWORD_ONLY]
        needed = []
    listed = f"its parameters are {', '.join(known) or 'none'}"
    if unknown := [name for name in arguments if name not in {p.name for p in named}]:
        close = guess(unknown[0], known)
        raise BadInputError(f"{where} does not take {', '.join(unknown)}{close}; {listed}.")
    if missing := [name for name in needed if name not in arguments]:
        raise BadInputError(f"{where} needs {', '.join(missing)}; {listed}.")


def imported(path: Any, where: str) -> Any:
    """Return the object at a dotted path, or raise BadInputError that begins with `where`."""
    module_path, _, name = str(path).rpartition(".")
    if not module_path:
        raise BadInputError(f"{where}: _target_ is {path!r}; it must be module.Name.")
    try:
        module = import_current(module_path)
    except BadInputError:
        raise
    except (Exception, SystemExit) as error:
        absent = error.name if isinstance(error, ModuleNotFoundError) else None
        if absent and f"{module_path}.".startswith(f"{absent}."):
            raise BadInputError(
                f"{where}: cannot import {module_path!r} ({error}); is it in this folder or "
                "installed? A class or function is named module.Name, at the top of its module."
            ) from error
        raise BadInputError(
            f"{where}: importing {module_path!r} failed ({error_text(error)})."
        ) from error
    if not hasattr(module, name):
        close = guess(name, list(vars(module)))
        raise BadInputError(f"{where}: module {module_path!r} has no {name!r}{close}.")
    value = getattr(module, name)
    # our modules import os and others, which a configuration must not reach through them
    if is_ours(module_path) and not is_ours(str(getattr(value, "__module__", ""))):
        raise BadInputError(
            f"{where}: {path} is only imported by {module_path!r}; give the path of the module "
            "that defines it."
        )
    return value


def describe(value: Any, config: Any = None) -> Any:
    """Return JSON-ready data that identify a value.

    An object with a `fingerprint` (a dict with checksums of files) gives its class name and the
    fingerprint. A dataclass gives its class name and fields, recursively. Any other object of user
    code gives the configuration that it was made from.
    """
    fingerprint = getattr(value, "fingerprint", None)
    if fingerprint is not None:
        return {"class": _class_name(type(value)), **fingerprint}
    configs = config if isinstance(config, dict) else {}
    if dataclasses.is_dataclass(value):
        fields = {
            f.name: describe(getattr(value, f.name), configs.get(f.name))
            for f in dataclasses.fields(value)
        }
        return {"class": _class_name(type(value)), **fields}
    if isinstance(value, (list, tuple)):
        fits = isinstance(config, list) and len(config) == len(value)
        return [describe(v, c) for v, c in zip(value, config if fits else [None] * len(value))]
    if "_target_" in configs:
        return config
    if isinstance(value, dict):
        return {k: describe(v, configs.get(k)) for k, v in value.items()}
    return value


def _described_class(value: Any) -> str:
    is_name = inspect.isfunction(value) or inspect.isclass(value)
    return _class_name(value if is_name else type(value))


def _class_name(kind: Any) -> str:
    """Return the name of a class, with its module unless it is of the library (unique names)."""
    module = written_name(kind.__module__)
    return (
        kind.__qualname__ if module.split(".")[0] == "harness" else f"{module}.{kind.__qualname__}"
    )


def user_sources(config: Any) -> list[str]:
    """Return digests of the source files of each `_target_` that is not ours."""
    return sorted(
        {source for module in _target_modules(config) for source in source_digests(module)}
    )


def foreign_modules(config: Any) -> tuple[str, ...]:
    """Return the modules, not ours, that a configuration names or that define its objects."""
    objects = {module for module in _object_modules(config) if is_foreign(module)}
    return tuple(sorted(_target_modules(config) | objects))


def _target_modules(config: Any) -> set[str]:
    """Return the modules, not ours, of each `_target_`: the named one and the defining one."""
    modules = set()
    for target in targets(config):
        module = target.rpartition(".")[0]
        modules |= {module, getattr(imported(target, "_target_"), "__module__", None) or module}
    return {module for module in modules if not is_ours(module)}


def _object_modules(config: Any) -> set[str]:
    """Return the modules of objects in a configuration, which members of families may have."""
    if isinstance(config, (list, tuple)):
        return {module for item in config for module in _object_modules(item)}
    if isinstance(config, dict):
        return {module for item in config.values() for module in _object_modules(item)}
    return {str(getattr(config, "__module__", None) or type(config).__module__)}


def targets(config: Any) -> list[str]:
    """Return each `_target_` of a configuration, nested ones included."""
    return [path for _, path in trust.targets(config, "")]


def record_columns(
    problem: Component, estimator: Component, cell: Cell, run_id: str
) -> dict[str, Any]:
    """Return the columns that all records of a cell share."""
    return {
        "key": cell.key, "problem": problem.id, "problem_key": problem.key,
        "problem_parameters": problem.parameters, "notion": cell.notion, "n": cell.n,
        "rep": cell.rep, "estimator": estimator.id, "estimator_key": estimator.key,
        "estimator_parameters": estimator.parameters, "seed": cell.seed, "run_id": run_id,
    }  # fmt: skip
