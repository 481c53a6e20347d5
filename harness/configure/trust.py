"""Modules whose code a configuration may name.

The user types the command line, or calls `harness.run`. A configuration file may come from anybody,
and naming a class in it runs the module of that class.

So a file may name, as `_target_` or as reader of `records_from`, only: our problems, estimators,
calibrators and their parts, the papers' modules in experiments/, and modules that the command line
names (in a `_target_` or reader, or in `trust=[module,...]`). Hydra's own node may name only
Hydra's plugins and Python's logging.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from omegaconf import OmegaConf

from harness.common.module_names import module_name
from harness.errors import BadInputError

OURS = (
    "harness.problems", "harness.estimators", "harness.calibrators", "harness.math",
    "harness.peers", "harness.experiments",
)  # fmt: skip
# allowed in Hydra's node; whole paths, because logging.os.system is Python's own, too, through the
# module that imports it
OF_HYDRA = re.compile(
    r"hydra\._internal\.core_plugins\.\w+\.\w+(Launcher|Sweeper)|"
    r"hydra\.experimental\.(\w+\.)?\w+Callback|"
    r"hydra_plugins\.[\w.]+(Launcher|Sweeper)|colorlog\.(\w+\.)?\w+Formatter|"
    r"logging\.(handlers\.)?\w*(Handler|Formatter|Filter|Listener)|optuna\.(samplers|pruners)\.\w+"
)
# keys whose value Hydra, or Python's logging, imports and calls; the last two in a handler only
_CALLED = ("_target_", "class", "()", "custom_search_space")
_CALLED_IN_HANDLER = ("queue", "listener")
_OUTSIDE_HYDRA = re.compile(r"\$\{(?!now:|oc\.env:|hydra[.:])")  # interpolation of other nodes
_PATH = r"[A-Za-z_]\w*(?:\.\w+)*"


def named_modules(overrides: Iterable[str]) -> set[str]:
    """Return the modules that overrides name.

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
    """Return a composed configuration whose `trust` has every module that the overrides name.

    Raises
    ------
    BadInputError
        If a file sets `trust`, or names code that is neither ours nor of these modules.
    """
    allowed = named_modules(overrides)
    trusted = config.get("trust") or []
    is_list = isinstance(trusted, list) and all(isinstance(module, str) for module in trusted)
    if not is_list or not all(re.fullmatch(_PATH, module) for module in trusted):
        raise BadInputError(
            f"trust is {trusted!r}; a list of modules is needed, as trust=[my_module]."
        )
    if not set(trusted) <= allowed:
        raise BadInputError(
            f"trust is {trusted!r} in a configuration file; only the command line can set it, as "
            "trust=[my_module]."
        )
    check_code(_code_of(config), allowed)
    return {**config, "trust": sorted(allowed)}


def check_code(code: Iterable[tuple[str, str]], allowed: Iterable[str]) -> None:
    """Raise BadInputError for a (place, dotted path) that is neither ours nor of these modules."""
    for place, path in code:
        if not is_allowed(path, allowed):
            module = path.rpartition(".")[0] or path
            raise BadInputError(
                f"{place} is {path!r} in a configuration file, which is code neither of harness "
                "nor "
                "of experiments; if you trust it, say so on the command line: "
                f"trust=[{module}]."
            )


def is_allowed(path: str, allowed: Iterable[str] = ()) -> bool:
    """Return True if a dotted path lies below one of our modules, or below one of `allowed`.

    >>> is_allowed("harness.estimators.Binned"), is_allowed("harness.execute.processes.Child")
    (True, False)
    >>> is_allowed("a.b.C", ["a"])
    True
    """
    return module_name(path).startswith(tuple(f"{module}." for module in (*OURS, *allowed)))


def _code_of(config: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield (place, dotted path) of all that a run would import for a configuration."""
    for group in ("problem", "estimator"):
        yield from targets(config.get(group), group)
    for number, source in enumerate(config.get("records_from") or ()):
        if isinstance(source, dict) and isinstance(source.get("reader"), str):
            yield f"records_from[{number}].reader", source["reader"]


def targets(value: Any, place: str) -> Iterator[tuple[str, str]]:
    """Yield (place, dotted path) of each `_target_` in a value. A swept one is a list of paths."""
    for inner, key, item in _walk(value, place):
        if key == "_target_":
            for path in item if isinstance(item, list) else [item]:
                yield inner, str(path)


def _walk(value: Any, place: str, key: str = "") -> Iterator[tuple[str, str, Any]]:
    """Yield (place, key, value) of a nested value and of everything in it."""
    yield place, key, value
    if isinstance(value, dict):
        for name, item in value.items():
            yield from _walk(item, f"{place}.{name}", str(name))
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from _walk(item, f"{place}[{number}]")


def check_hydra(node: Any, overrides: list[str]) -> None:
    """Check Hydra's node of a composed configuration, which Hydra calls before a run begins.

    Raises
    ------
    BadInputError
        If a file makes it call code other than Hydra's plugins and Python's logging, or set
        environment variables.
    """
    content = OmegaConf.to_container(node, resolve=False)
    typed = named_modules(overrides)
    for place, path in _hydra_code(content):
        # Hydra copies the words of the command line to override_dirname
        if place == "hydra.job.override_dirname" or OF_HYDRA.fullmatch(path):
            continue
        is_typed = "${" in path and any(path in text for text in overrides)
        if not is_typed and not is_allowed(path, typed):
            raise BadInputError(
                f"{place} is {path!r} in a configuration file, which is no part of Hydra or of "
                "Python's logging; take it out."
            )
    job = content.get("job") if isinstance(content, dict) else None
    variables = job.get("env_set") if isinstance(job, dict) else None
    if variables and not any("hydra.job.env_set" in text for text in overrides):
        raise BadInputError(
            f"hydra.job.env_set sets {', '.join(map(str, variables))} in a configuration file; set "
            "it in the shell instead."
        )


def _hydra_code(content: Any) -> Iterator[tuple[str, str]]:
    """Yield (place, dotted path) of all in Hydra's node that is called, or is from elsewhere."""
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
