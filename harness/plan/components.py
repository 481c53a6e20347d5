"""Build components: objects with a key, from an id and its configuration.

A configuration is `_target_` (the dotted path of a class or function) and parameters.

The key depends only on the group, the id, the class, the parameters, and the version or revision.
If a component contains user code, the key also covers the source of that code and of all local
modules that it imports. `harness.common.user_code` refuses a module whose source has changed since
its import, so that key and code always belong together. The key does not cover data files that user
code reads; `refresh=true` computes the cells again after those change.

Records and random streams are found by the key. If a class or field of the harness is renamed, its
key would change although no number does. data/keys.csv lists the new and the former key of each
such component, and the component keeps the former key. A class in data/moved.csv keeps its key
without such a row, whatever its parameters are.
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
from harness.common.module_names import moved_classes, written_name
from harness.common.paths import KEYS
from harness.common.seeds import digest
from harness.common.user_code import error_text
from harness.configure import catalogue, trust
from harness.configure.options import ids, option
from harness.errors import BadInputError, guess
from harness.estimators.base import EstimatorSpec
from harness.plan.targets import foreign_modules, import_object, targets, user_sources
from harness.problems.base import ProblemSpec


class Component(NamedTuple):
    """A problem or estimator of a run, with the key of its records.

    Parameters
    ----------
    id : str
        Name of the component in the records.
    config : dict
        Configuration of the component: `_target_` and parameters.
    object : object
        The problem or estimator itself.
    parameters : str
        Class and parameters of the object, as JSON.
    key : str
        16 hexadecimal digits. Components with equal keys give equal numbers.
    origin : str
        Name of the component in the run's configuration. A family of problems has one name there,
        but each of its members has an `id`.
    stream : str
        Key that seeds the random generator of an estimator.
    foreign : tuple of str
        Modules of the component's code that are not part of the harness.
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
    """Return the problem or estimator that an id in conf/ names.

    `overrides` is {parameter: value} of the parameters to change.

    Raises
    ------
    BadInputError
        If the id is unknown, if its file names code outside the harness, or if the parameters are
        wrong.
    """
    if name not in ids(group):
        raise BadInputError(
            f"there is no {group} {name!r}{guess(name, ids(group))}; `calharness list {group}s` "
            "shows all."
        )
    config: Any = OmegaConf.to_container(OmegaConf.create(option(group, name).config), resolve=True)
    foreign = next((path for path in targets(config) if not trust.is_allowed(path)), None)
    if foreign:
        raise BadInputError(
            f"the file of {group} {name!r} names {foreign!r}, which is not part of the harness; if "
            "you trust this code, import it and pass the object itself."
        )
    return build(group, name, {**config, **overrides})


def build_component(group: str, name: str, config: dict[str, Any]) -> Component:
    """Build the object of a configuration, and return it as a component with the id `name`."""
    return component(group, name, build(group, name, config), config)


def component(group: str, name: str, value: Any, config: dict[str, Any] | None = None) -> Component:
    """Return an object as a component with the id `name`.

    `config` is the configuration that the object was built from. By default, it is derived from the
    object by `configuration`.
    """
    if escape(name) != name:
        raise BadInputError(
            f"the {group} id {escape(name)!r} contains control characters; give another id."
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
    key = former_keys(KEYS).get((group, key), key)
    wrapped = None if group == "problem" else EstimatorSpec.read(value, "keeps_values_of")
    stream = build_component(group, name, config[wrapped]).stream if wrapped else key
    return Component(name, config, value, parameters, key, name, stream, foreign_modules(config))


@functools.cache
def former_keys(path: Path) -> dict[tuple[str, str], str]:
    """Return {(group, new key): former key} of renamed components, read from data/keys.csv."""
    with path.open(newline="") as file:
        return {(row["group"], row["now"]): row["before"] for row in csv.DictReader(file)}


def configuration(value: Any) -> Any:
    """Return a configuration from which an equal object can be built.

    A dataclass becomes {"_target_": path of its class, field: value, ...}, recursively. Any other
    value is returned as it is.
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
    """Build the object that a configuration describes: an instance of a class, or a function.

    Raises
    ------
    BadInputError
        If `_target_` is missing or cannot be imported, or if it does not take the parameters.
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
    target = import_object(value["_target_"], where)
    if isinstance(arguments.get("calibrator"), str) and _is_ours(value["_target_"]):
        arguments["calibrator"] = _build(catalogue.calibrator(arguments["calibrator"]), where)
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
            f"{where} cannot be built with the parameters {arguments} ({error_text(error)}); "
            "correct them."
        ) from error


def _is_ours(path: str) -> bool:
    """Return True if a dotted path names code of the harness, whose calibrators may be ids."""
    return path.split(".")[0] in ("harness", "experiments")


def _check_parameters(target: Any, arguments: dict[str, Any], where: str) -> None:
    """Raise BadInputError if `target` does not take a given parameter, or needs a missing one.

    `arguments` is {parameter: value}, and messages begin with `where`.
    """
    try:
        parameters = inspect.signature(target).parameters.values()
    except (TypeError, ValueError):  # without a signature, only the call itself can tell
        return
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        return
    named = [p for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    needed = [p.name for p in named if p.default is p.empty]
    known = [p.name for p in named]
    if not inspect.isclass(target):  # p, y and rng of a function are passed later, at its call
        known = [p.name for p in named if p.default is not p.empty or p.kind is p.KEYWORD_ONLY]
        needed = []
    listed = f"its parameters are {', '.join(known) or 'none'}"
    if unknown := [name for name in arguments if name not in {p.name for p in named}]:
        close = guess(unknown[0], known)
        raise BadInputError(f"{where} has no parameter {', '.join(unknown)}{close}; {listed}.")
    if missing := [name for name in needed if name not in arguments]:
        raise BadInputError(f"{where} needs a value for {', '.join(missing)}; {listed}.")


def describe(value: Any, config: Any = None) -> Any:
    """Return the description of a value that enters a component's key, as data for JSON.

    * An object with a `fingerprint` (a dict, such as checksums of files) becomes its class name
      and the fingerprint.
    * A dataclass becomes its class name and its fields, recursively.
    * Any other object that was built from a configuration becomes this configuration.
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
    """Return the name of a class in keys.

    Classes of the harness have unique names. For others, the name begins with their module. A
    class that was moved from the harness to a paper keeps its name.
    """
    module, name = written_name(kind.__module__), kind.__qualname__
    path = f"{module}.{name}"
    is_ours = module.split(".")[0] == "harness" or path in moved_classes().values()
    return name if is_ours else path
