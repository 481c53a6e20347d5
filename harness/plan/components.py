"""Components: an id and its configuration, `_target_` and parameters -> the object, what identifies it, and its key.

The key is a pure function of group, id, class, parameters, version or revision, and, for classes and functions of strangers
(also those inside our own objects), of the source file they come from and of all local modules that it imports. A user's module
of which any of these changed since it was imported is refused, so that key and code always belong together
(harness.common.user_code). Files of data that it reads are not seen: `refresh=true` computes its cells anew.

Records and random streams go by the key. Where a class or a field of ours is renamed, the key would be another one though every
number is the same; data/keys.csv therefore lists such keys, (group, key now, key before), and the component keeps the key before.
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
from harness.common.paths import KEYS
from harness.common.seeds import digest
from harness.common.user_code import (
    error_text,
    import_current,
    is_foreign,
    is_ours,
    source_digests,
)
from harness.configure import trust
from harness.configure.options import ids, option
from harness.errors import BadInputError, guess
from harness.estimators.base import EstimatorSpec
from harness.experiments import written_name
from harness.plan.cells import Cell
from harness.problems.base import ProblemSpec


class Component(NamedTuple):
    """One problem or estimator of a run.

    Parameters
    ----------
    id : str
        Its name in the configuration and in the records.
    config : dict
        Its configuration: `_target_` and parameters.
    object : object
        What is made of that.
    parameters : str
        What identifies the object, as JSON.
    key : str
        16 hexadecimal digits: the same for everything that gives the same numbers.
    origin : str
        The name in the configuration that it comes from: of a member of a family, the name of the family.
    stream : str
        The key that its random stream is seeded by.
    foreign : tuple of str
        The modules of its code that are not ours.
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
    """The object of conf/<group>/<name>.yaml, with fields replaced by `overrides`."""
    if name not in ids(group):
        raise BadInputError(
            f"there is no {group} {name!r}{guess(name, ids(group))}; `calharness list {group}s` shows all."
        )
    config: Any = OmegaConf.to_container(OmegaConf.create(option(group, name).config), resolve=True)
    foreign = next((path for path in targets(config) if not trust.is_allowed(path)), None)
    if foreign:
        raise BadInputError(f"{group} {name!r} is {foreign!r} by its file, which is code neither of harness nor of experiments; "
                            "name that itself if you trust it.")  # fmt: skip
    return build(group, name, {**config, **overrides})


def configured(group: str, name: str, config: dict[str, Any]) -> Component:
    """The component that a configuration, `_target_` and parameters, describes."""
    return component(group, name, build(group, name, config), config)


def component(group: str, name: str, made: Any, config: dict[str, Any] | None = None) -> Component:
    """The component of an object, with the configuration that it was made of, or else one that makes an equal object."""
    if escape(name) != name:
        raise BadInputError(
            f"the {group} id {escape(name)!r} has characters that a terminal would obey; give another."
        )
    config = configuration(made) if config is None else config
    described = describe(made, config)
    revision = (
        ProblemSpec.of(made).version if group == "problem" else EstimatorSpec.read(made, "revision")
    )
    stamp = {"revision": revision}
    read = strangers_sources(config)
    if read:
        stamp["source"] = read
    parameters = json.dumps(described, sort_keys=True, default=_class_of)
    key = digest(json.dumps([group, name, parameters, stamp], sort_keys=True))
    key = keys_before(KEYS).get((group, key), key)
    wrapped = None if group == "problem" else EstimatorSpec.read(made, "keeps_values_of")
    stream = configured(group, name, config[wrapped]).stream if wrapped else key
    return Component(name, config, made, parameters, key, name, stream, foreign_modules(config))


@functools.cache
def keys_before(path: Path) -> dict[tuple[str, str], str]:
    """{(group, key now): key before}, of components whose class or fields were renamed without changing a number: the table
    data/keys.csv."""
    with path.open(newline="") as file:
        return {(row["group"], row["now"]): row["before"] for row in csv.DictReader(file)}


def configuration(made: Any) -> Any:
    """The configuration that makes an equal object: of a dataclass its class and fields, recursively; any other value as it
    is."""
    if isinstance(made, (list, tuple)):
        return [configuration(one) for one in made]
    if isinstance(made, dict):
        return {name: configuration(one) for name, one in made.items()}
    if not dataclasses.is_dataclass(made) or isinstance(made, type):
        return made
    fields = {
        f.name: configuration(getattr(made, f.name)) for f in dataclasses.fields(made) if f.init
    }
    return {
        "_target_": f"{written_name(type(made).__module__)}.{type(made).__qualname__}",
        **fields,
    }


def build(group: str, name: str, config: dict[str, Any]) -> Any:
    """Make the object that a configuration describes: a class is instantiated with the parameters, and a bare function is taken
    as it is."""
    where = f"{group} {name!r}"
    if not isinstance(config, dict) or "_target_" not in config:
        raise BadInputError(
            f"{where} has no _target_; give +{group}.{name}._target_=module.ClassOrFunction."
        )
    return _build(config, where)


def _build(value: Any, where: str) -> Any:
    if isinstance(value, list):
        return tuple(_build(v, where) for v in value)
    if not isinstance(value, dict):
        return value
    if "_target_" not in value:
        return {k: _build(v, where) for k, v in value.items()}
    target = imported(value["_target_"], where)
    given = {k: _build(v, where) for k, v in value.items() if k != "_target_"}
    if not inspect.isclass(target):
        _refuse_unknown(target, list(given), f"{where}: {value['_target_']}")
        return functools.partial(target, **given) if given else target
    try:
        inspect.signature(target).bind(**given)
    except TypeError as error:
        known = (
            [f.name for f in dataclasses.fields(target) if f.init]
            if dataclasses.is_dataclass(target)
            else []
        )
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
        raise BadInputError(
            f"{where}: {value['_target_']} cannot be made of {given} ({error_text(error)})."
        ) from error


def _refuse_unknown(function: Any, given: list[str], what: str) -> None:
    """Raise BadInputError on a parameter that a function does not have."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # one without a signature: its own call decides
        return
    if any(one.kind is one.VAR_KEYWORD for one in parameters):
        return
    by_name = [
        one for one in parameters if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY)
    ]
    unknown = [name for name in given if name not in {one.name for one in by_name}]
    if unknown:
        known = [
            one.name
            for one in by_name
            if one.default is not one.empty or one.kind is one.KEYWORD_ONLY
        ]
        raise BadInputError(
            f"{what} does not take {', '.join(unknown)}{guess(unknown[0], known)}; its parameters are "
            f"{', '.join(known) or 'none'}."
        )


def imported(path: Any, where: str) -> Any:
    """What the dotted path module.Name stands for; `where` begins the sentence of the BadInputError if nothing."""
    module, _, name = str(path).rpartition(".")
    if not module:
        raise BadInputError(f"{where}: _target_ is {path!r}; it must be module.Name.")
    try:
        found = import_current(module)
    except BadInputError:
        raise
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
            raise BadInputError(
                f"{where}: cannot import {module!r} ({error}); is it in this folder or installed?"
            ) from error
        raise BadInputError(
            f"{where}: importing {module!r} failed ({error_text(error)})."
        ) from error
    try:
        named = getattr(found, name)
    except AttributeError as error:
        raise BadInputError(
            f"{where}: module {module!r} has no {name!r}{guess(name, list(vars(found)))}."
        ) from error
    if is_ours(module) and not is_ours(str(getattr(named, "__module__", ""))):
        raise BadInputError(
            f"{where}: {path} is not of {module!r}, which only imports it; name it where it is defined."
        )
    return named


def describe(value: Any, config: Any = None) -> Any:
    """JSON-ready data that identify a value: an object with a `fingerprint` (a dictionary: the checksums of files it stands for)
    by class name and that, a dataclass by class name and fields, recursively; another object of a stranger's by its class and
    the parameters it was made of."""
    fingerprint = getattr(value, "fingerprint", None)
    if fingerprint is not None:
        return {"class": _class_name(type(value)), **fingerprint}
    if dataclasses.is_dataclass(value):
        given = config if isinstance(config, dict) else {}
        fields = {
            f.name: describe(getattr(value, f.name), given.get(f.name))
            for f in dataclasses.fields(value)
        }
        return {"class": _class_name(type(value)), **fields}
    if isinstance(value, (list, tuple)):
        configs = (
            config
            if isinstance(config, list) and len(config) == len(value)
            else [None] * len(value)
        )
        return [describe(v, c) for v, c in zip(value, configs)]
    if isinstance(config, dict) and "_target_" in config:
        return config
    if isinstance(value, dict):
        given = config if isinstance(config, dict) else {}
        return {k: describe(v, given.get(k)) for k, v in value.items()}
    return value


def _class_of(value: Any) -> str:
    return _class_name(
        value if inspect.isfunction(value) or inspect.isclass(value) else type(value)
    )


def _class_name(kind: Any) -> str:
    """A class of the library by its bare name, which no other has; every other class, a paper's included, with its module."""
    module = written_name(kind.__module__)
    return (
        kind.__qualname__ if module.split(".")[0] == "harness" else f"{module}.{kind.__qualname__}"
    )


def strangers_sources(config: Any) -> list[str]:
    """What identifies the source files behind every _target_ of a configuration, nested ones included, that is not ours."""
    return sorted(
        {source for module in _target_modules(config) for source in source_digests(module)}
    )


def foreign_modules(config: Any) -> tuple[str, ...]:
    """Modules, not ours, that a configuration names or that its objects are of."""
    objects = {module for module in _object_modules(config) if is_foreign(module)}
    return tuple(sorted(_target_modules(config) | objects))


def _target_modules(config: Any) -> set[str]:
    """Modules, not ours, of every _target_ of a configuration: as named there, and as defined."""
    modules = set()
    for target in targets(config):
        module = target.rpartition(".")[0]
        modules |= {module, getattr(imported(target, "_target_"), "__module__", None) or module}
    return {module for module in modules if not is_ours(module)}


def _object_modules(config: Any) -> set[str]:
    """Modules of the objects in a configuration: members of a family may have such parameters."""
    if isinstance(config, (list, tuple)):
        return {module for item in config for module in _object_modules(item)}
    if isinstance(config, dict):
        return {module for item in config.values() for module in _object_modules(item)}
    return {str(getattr(config, "__module__", None) or type(config).__module__)}


def targets(config: Any) -> list[str]:
    """Every _target_ of a configuration, nested ones included."""
    if isinstance(config, list):
        return [target for item in config for target in targets(item)]
    if not isinstance(config, dict):
        return []
    own = [str(config["_target_"])] if "_target_" in config else []
    return own + [target for item in config.values() for target in targets(item)]


def record_columns(
    problem: Component, estimator: Component, cell: Cell, run_id: str
) -> dict[str, Any]:
    """Return the columns that all records of one cell share."""
    return {
        "key": cell.key, "problem": problem.id, "problem_key": problem.key, "problem_parameters": problem.parameters,
        "notion": cell.notion, "n": cell.n, "rep": cell.rep, "estimator": estimator.id, "estimator_key": estimator.key,
        "estimator_parameters": estimator.parameters, "seed": cell.seed, "run_id": run_id,
    }  # fmt: skip
