"""Refuse configuration files that name untrusted code.

A class named in a configuration is imported, which runs the module of the class. The command line
is typed by the user, but a configuration file may come from anybody.

A `_target_` or a reader of `records_from` in a file may therefore name only:

* problems, estimators and calibrators of the harness, and the objects that they contain;
* modules of the papers in experiments/;
* modules that the command line names, in a `_target_`, a reader, or `trust=[module,...]`.

The node `hydra` of a configuration may name only Hydra's plugins and Python's logging.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from omegaconf import OmegaConf

from harness.common.module_names import current_path, item_module, module_name
from harness.errors import BadInputError

OURS = (
    "harness.problems", "harness.estimators", "harness.calibrators", "harness.math",
    "harness.experiments",
)  # fmt: skip
# Paths that the node `hydra` may name. The pattern matches whole paths, because a test of the first
# word alone would allow logging.os.system.
OF_HYDRA = re.compile(
    r"hydra\._internal\.core_plugins\.\w+\.\w+(Launcher|Sweeper)|"
    r"hydra\.experimental\.(\w+\.)?\w+Callback|"
    r"hydra_plugins\.[\w.]+(Launcher|Sweeper)|colorlog\.(\w+\.)?\w+Formatter|"
    r"logging\.(handlers\.)?\w*(Handler|Formatter|Filter|Listener)|optuna\.(samplers|pruners)\.\w+"
)
# Keys whose value is imported and called by Hydra or by Python's logging. The second list is called
# only in the configuration of a logging handler.
_CALLED = ("_target_", "class", "()", "custom_search_space")
_CALLED_IN_HANDLER = ("queue", "listener")
# Interpolation ${...} that takes its value from outside the node `hydra`.
_OUTSIDE_HYDRA = re.compile(r"\$\{(?!now:|oc\.env:|hydra[.:])")
_PATH = r"[A-Za-z_]\w*(?:\.\w+)*"


def named_modules(overrides: Iterable[str]) -> set[str]:
    """Return the modules of user code in the overrides: in trust, `_target_` or a reader.

    >>> sorted(named_modules(["+estimator.mine._target_=my_module.Mine", "n=5", "trust=[a,b.c]"]))
    ['a', 'b.c', 'my_module']
    >>> named_modules(["records_from=[{file: a.csv, reader: my_module.reader}]"])
    {'my_module'}
    """
    modules: set[str] = set()
    for text in overrides:
        name, _, value = text.partition("=")
        if name.lstrip("+") == "trust":
            modules |= set(re.findall(_PATH, value))
        for part in re.split(r"(?:_target_|\breader)['\"]?\s*[:=]", text)[1:]:
            modules |= {path.rpartition(".")[0] for path in re.findall(_PATH, part)} - {""}
    return modules


def add_trusted(config: dict[str, Any], overrides: list[str]) -> dict[str, Any]:
    """Return a copy of a composed configuration whose `trust` lists all modules in the overrides.

    Raises
    ------
    BadInputError
        If a configuration file sets `trust`, or names code of a module that is neither part of the
        harness nor named in the overrides.
    """
    allowed = named_modules(overrides)
    trusted = config.get("trust") or []
    is_list = isinstance(trusted, list) and all(isinstance(module, str) for module in trusted)
    if not is_list or not all(re.fullmatch(_PATH, module) for module in trusted):
        raise BadInputError(
            f"trust is {trusted!r}; give a list of modules, such as trust=[my_module]."
        )
    if not set(trusted) <= allowed:
        raise BadInputError(
            f"trust is {trusted!r} in a configuration file; set it on the command line instead, "
            "such as trust=[my_module]."
        )
    check_code(_list_code(config), allowed)
    return {**config, "trust": sorted(allowed)}


def check_code(code: Iterable[tuple[str, str]], allowed: Iterable[str]) -> None:
    """Raise BadInputError if a configuration file names untrusted code.

    Parameters
    ----------
    code : iterable of (str, str)
        Pairs (place in the configuration, dotted path of the code).
    allowed : iterable of str
        Modules that are trusted in addition to those of the harness.
    """
    for place, path in code:
        if not is_allowed(path, allowed):
            if "." not in path:
                raise BadInputError(
                    f"{place} is {path!r}, which names no module; write my_module.{path}, for code "
                    "in a file my_module.py."
                )
            module = path.rpartition(".")[0]
            raise BadInputError(
                f"{place} in a configuration file names {path!r}, which is not part of the "
                f"harness; if you trust this code, add trust=[{module}] to the command line."
            )


def is_allowed(path: str, allowed: Iterable[str] = ()) -> bool:
    """Return True if a dotted path lies in a trusted module of the harness, or in one of `allowed`.

    >>> is_allowed("harness.estimators.Binned"), is_allowed("harness.execute.processes.Child")
    (True, False)
    >>> is_allowed("harness.peers.Netcal")  # the former path of a moved class
    True
    >>> is_allowed("a.b.C", ["a"])
    True
    """
    return module_name(current_path(path)).startswith(
        tuple(f"{module}." for module in (*OURS, *allowed))
    )


def _list_code(config: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield (place, dotted path) of all code that a run with this configuration would import."""
    for group in ("problem", "estimator"):
        yield from targets(config.get(group), group)
    paper, item = config.get("paper"), config.get("item")
    if isinstance(paper, str) and isinstance(item, str):
        yield "item", item_module(paper, item)
    for number, source in enumerate(config.get("records_from") or ()):
        if isinstance(source, dict) and isinstance(source.get("reader"), str):
            yield f"records_from[{number}].reader", source["reader"]


def targets(value: Any, place: str) -> Iterator[tuple[str, str]]:
    """Yield (place, dotted path) of each `_target_` inside a nested value.

    The argument `place` is the path of the nested value, with which each yielded place begins. In
    a sweep, a `_target_` may be a list of dotted paths. Then one pair is yielded for each path.
    """
    for inner, key, item in _walk(value, place):
        if key == "_target_":
            for path in item if isinstance(item, list) else [item]:
                yield inner, str(path)


def _walk(value: Any, place: str, key: str = "") -> Iterator[tuple[str, str, Any]]:
    """Yield (place, key, value) for a nested value and for everything inside it.

    `place` is the path of the value, such as "problem.mine[0]". `key` is the last key of it.
    """
    yield place, key, value
    if isinstance(value, dict):
        for name, item in value.items():
            yield from _walk(item, f"{place}.{name}", str(name))
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from _walk(item, f"{place}[{number}]")


def check_hydra(node: Any, overrides: list[str]) -> None:
    """Check the node `hydra` of a composed configuration.

    Hydra imports and calls code that this node names before the run begins.

    Raises
    ------
    BadInputError
        If a configuration file makes Hydra set environment variables, or call code that is neither
        a plugin of Hydra nor part of Python's logging.
    """
    content = OmegaConf.to_container(node, resolve=False)
    typed = named_modules(overrides)
    for place, path in _hydra_code(content):
        # Hydra itself copies the words of the command line to override_dirname.
        if place == "hydra.job.override_dirname" or OF_HYDRA.fullmatch(path):
            continue
        is_typed = "${" in path and any(path in text for text in overrides)
        if not is_typed and not is_allowed(path, typed):
            raise BadInputError(
                f"{place} in a configuration file names {path!r}, which belongs neither to Hydra "
                "nor to Python's logging; remove it."
            )
    job = content.get("job") if isinstance(content, dict) else None
    variables = job.get("env_set") if isinstance(job, dict) else None
    if variables and not any("hydra.job.env_set" in text for text in overrides):
        raise BadInputError(
            f"hydra.job.env_set in a configuration file sets {', '.join(map(str, variables))}; set "
            "environment variables in the shell instead."
        )


def _hydra_code(content: Any) -> Iterator[tuple[str, str]]:
    """Yield (place, text) of each text in the node `hydra` that must be checked.

    These are dotted paths that Hydra or Python's logging would call, and interpolations ${...} of
    values from outside the node.
    """
    for place, key, value in _walk(content, "hydra"):
        if not isinstance(value, str):
            continue
        in_handler = "_logging." in place.rpartition(".")[0] + "."
        if key in _CALLED or key in _CALLED_IN_HANDLER and in_handler:
            yield place, value
        elif "ext://" in value and not value.startswith("ext://sys."):
            yield place, value.removeprefix("ext://")
        elif _OUTSIDE_HYDRA.search(value):
            yield place, value
