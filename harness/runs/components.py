"""Nodes of the configuration: a YAML node -> the object, what identifies it, and its key.

The key is a pure function of group, id, class, parameters, version or revision, and, for classes and functions of strangers
(also those inside our own objects), of the source file they come from and of all local modules that it imports. A stranger's
module of which any of these changed on disk since it was imported is imported again, so that key and code always belong together
(harness.common.strangers). Files of data that it reads are not seen: `refresh=true` computes its cells anew.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import json
from typing import Any, NamedTuple

from harness.common.paths import CONF
from harness.common.seeds import digest
from harness.common.strangers import current, ours, said, sources
from harness.errors import BadInputError, guess
from harness.runs.catalogue import ids


class Component(NamedTuple):
    """One problem or estimator of a run: its id, its YAML node, the object, what identifies it (JSON), the key of that, the name
    in the configuration that it comes from (the family's, of a member of a family), and the key that its random stream is of."""

    id: str
    config: dict
    object: Any
    parameters: str
    key: str
    origin: str
    stream: str


def load(group: str, name: str, overrides: dict):
    """The object of conf/<group>/<name>.yaml, with fields replaced by `overrides`."""
    from omegaconf import OmegaConf

    if name not in ids(group):
        raise BadInputError(f"there is no {group} {name!r}{guess(name, ids(group))}; `calharness list {group}s` shows all.")
    config = OmegaConf.to_container(OmegaConf.load(CONF / group / f"{name}.yaml"), resolve=True)[name]
    return build(group, name, {**config, **overrides})


def node(group: str, name: str, config: dict) -> Component:
    """Build one node and derive its key."""
    return component(group, name, build(group, name, config), config)


def component(group: str, name: str, made, config: dict | None = None) -> Component:
    """The component of an object: of the node that it was built of, or, without one, of a node that builds an equal object."""
    config = configuration(made) if config is None else config
    described = describe(made, config)
    stamp = {"revision": getattr(made, "version" if group == "problem" else "revision", 0)}
    read = strangers_sources(config)
    if read:
        stamp["source"] = read
    parameters = json.dumps(described, sort_keys=True, default=_class_of)
    key = digest(json.dumps([group, name, parameters, stamp], sort_keys=True))
    wrapped = getattr(made, "keeps_values_of", None)  # its values are those of another node, to the last bit
    stream = node(group, name, config[wrapped]).stream if wrapped else key
    return Component(name, config, made, parameters, key, name, stream)


def configuration(made):
    """The node that builds an equal object: a dataclass by its class and fields, recursively; other values as they are."""
    if isinstance(made, (list, tuple)):
        return [configuration(one) for one in made]
    if isinstance(made, dict):
        return {name: configuration(one) for name, one in made.items()}
    if not dataclasses.is_dataclass(made) or isinstance(made, type):
        return made
    fields = {f.name: configuration(getattr(made, f.name)) for f in dataclasses.fields(made) if f.init}
    return {"_target_": f"{type(made).__module__}.{type(made).__qualname__}", **fields}


def build(group: str, name: str, config: dict):
    """Make the object of a node: a class is instantiated with the node's parameters, a bare function is taken as it is."""
    where = f"{group} {name!r}"
    if not isinstance(config, dict) or "_target_" not in config:
        raise BadInputError(f"{where} has no _target_; give +{group}.{name}._target_=module.ClassOrFunction.")
    return _build(config, where)


def _build(value, where):
    if isinstance(value, list):
        return tuple(_build(v, where) for v in value)
    if not isinstance(value, dict):
        return value
    if "_target_" not in value:
        return {k: _build(v, where) for k, v in value.items()}
    target = _import(value["_target_"], where)
    given = {k: _build(v, where) for k, v in value.items() if k != "_target_"}
    if not inspect.isclass(target):
        return functools.partial(target, **given) if given else target
    try:
        inspect.signature(target).bind(**given)
    except TypeError as error:
        known = [f.name for f in dataclasses.fields(target) if f.init] if dataclasses.is_dataclass(target) else []
        unknown = [name for name in given if known and name not in known] or list(given)
        close = guess(unknown[0], known) if unknown else ""
        listed = f"; its parameters are {', '.join(known)}" if known else ""
        taken = f"does not take {', '.join(unknown)}{close}" if unknown else "needs parameters"
        raise BadInputError(f"{where}: {value['_target_']} {taken}{listed} ({error}).") from error
    except ValueError:  # a class without a signature: its own call decides
        pass
    try:
        return target(**given)
    except BadInputError:
        raise
    except (Exception, SystemExit) as error:
        raise BadInputError(f"{where}: {value['_target_']} cannot be made of {given} ({said(error)}).") from error


def _import(path, where):
    module, _, name = str(path).rpartition(".")
    if not module:
        raise BadInputError(f"{where}: _target_ is {path!r}; it must be module.Name.")
    try:
        found = current(module)
    except (Exception, SystemExit) as error:
        absent = error.name if isinstance(error, ModuleNotFoundError) else None
        outer = module.rpartition(".")[0]
        if absent and "is not a package" in str(error) and outer == absent.rpartition(".")[0]:
            inner = path.removeprefix(f"{outer}.")
            raise BadInputError(
                f"{where}: {outer!r} is a module, in which {inner!r} cannot be found; a class or function is named module.Name: "
                f"give one within a class a name at the end of its module, {name} = {inner}."
            ) from error
        if absent and f"{module}.".startswith(f"{absent}."):
            raise BadInputError(f"{where}: cannot import {module!r} ({error}); is it in this folder or installed?") from error
        raise BadInputError(f"{where}: importing {module!r} failed ({said(error)}).") from error
    try:
        return getattr(found, name)
    except AttributeError as error:
        raise BadInputError(f"{where}: module {module!r} has no {name!r}{guess(name, list(vars(found)))}.") from error


def describe(value, config=None):
    """JSON-ready data that identify a value: an object with a `fingerprint` (a dictionary: the checksums of files it stands for)
    by class name and that, a dataclass by class name and fields, recursively; another object of a stranger's by its class and
    the parameters it was made of."""
    fingerprint = getattr(value, "fingerprint", None)
    if fingerprint is not None:
        return {"class": _class_name(type(value)), **fingerprint}
    if dataclasses.is_dataclass(value):
        given = config if isinstance(config, dict) else {}
        fields = {f.name: describe(getattr(value, f.name), given.get(f.name)) for f in dataclasses.fields(value)}
        return {"class": _class_name(type(value)), **fields}
    if isinstance(value, (list, tuple)):
        given = config if isinstance(config, list) and len(config) == len(value) else [None] * len(value)
        return [describe(v, c) for v, c in zip(value, given)]
    if isinstance(config, dict) and "_target_" in config:
        return config
    if isinstance(value, dict):
        given = config if isinstance(config, dict) else {}
        return {k: describe(v, given.get(k)) for k, v in value.items()}
    return value


def _class_of(value):
    return _class_name(value if inspect.isfunction(value) or inspect.isclass(value) else type(value))


def _class_name(kind):
    return kind.__qualname__ if ours(kind.__module__) else f"{kind.__module__}.{kind.__qualname__}"


def strangers_sources(config) -> list[str]:
    """What identifies the source files behind every _target_ of a node, its nested ones included, that is not ours."""
    found = set()
    for target in targets(config):
        module = target.rpartition(".")[0]
        defined_in = getattr(_import(target, "_target_"), "__module__", None) or module
        for name in {module, defined_in}:
            if not ours(name):
                found |= set(sources(name))
    return sorted(found)


def targets(config) -> list[str]:
    """Every _target_ of a node, its nested ones included."""
    if isinstance(config, list):
        return [target for item in config for target in targets(item)]
    if not isinstance(config, dict):
        return []
    own = [str(config["_target_"])] if "_target_" in config else []
    return own + [target for item in config.values() for target in targets(item)]
