"""Whose code a configuration may name. What is typed on the command line, or given to `harness.run`, is its author's wish; a
configuration file may come from anywhere, and naming a class there runs that class's module.

A `_target_`, or the reader of `records_from`, that a file names must therefore be a problem, an estimator, a calibrator or a part
of them of ours, of one of the papers' modules in experiments/, or of a module that the command line names: in a `_target_` or
reader of its own, or in `trust=[module,...]`. Hydra's own node may name Hydra's plugins and Python's logging alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from omegaconf import OmegaConf

from harness.errors import BadInputError
from harness.experiments import module_name

OURS = (
    "harness.problems", "harness.estimators", "harness.calibrators", "harness.math", "harness.peers", "harness.experiments",
)  # fmt: skip
# what Hydra's node may name: whole paths, as logging.os.system would be Python's own through the module that imports it
OF_HYDRA = re.compile(
    r"hydra\._internal\.core_plugins\.\w+\.\w+(Launcher|Sweeper)|"
    r"hydra\.experimental\.(\w+\.)?\w+Callback|hydra_plugins\.[\w.]+(Launcher|Sweeper)|colorlog\.(\w+\.)?\w+Formatter|"
    r"logging\.(handlers\.)?\w*(Handler|Formatter|Filter|Listener)|optuna\.(samplers|pruners)\.\w+"
)
_CALLED = (
    "_target_",
    "class",
    "()",
    "custom_search_space",
)  # keys whose value Hydra, or Python's logging, imports and calls
_OF_A_QUEUE = ("queue", "listener")  # likewise, of a handler of logging
_ELSEWHERE = re.compile(
    r"\$\{(?!now:|oc\.env:|hydra[.:])"
)  # what would come from beside Hydra's node
_WORD = r"[A-Za-z_]\w*(?:\.\w+)*"


def named(overrides: Iterable[str]) -> set[str]:
    """The modules that overrides name.

    >>> sorted(named(["+estimator.mine._target_=my_module.Mine", "n=500", "trust=[helpers,their.package]"]))
    ['helpers', 'my_module', 'their.package']
    >>> named(["records_from=[{file: a.csv, reader: my_module.reader}]"])
    {'my_module'}
    """
    found: set[str] = set()
    for text in overrides:
        name, _, value = text.partition("=")
        if name.lstrip("+") == "trust":
            found |= set(re.findall(_WORD, value))
        for part in re.split(r"(?:_target_|\breader)['\"]?\s*[:=]", text)[1:]:
            found |= {word.rpartition(".")[0] for word in re.findall(_WORD, part)} - {""}
    return found


def checked(config: dict[str, Any], overrides: list[str]) -> dict[str, Any]:
    """A composed configuration whose `trust` holds every module that the overrides name.

    Raises
    ------
    BadInputError
        If `trust` is set by a file, or a file names code that is neither ours nor among these modules.
    """
    allowed = named(overrides)
    given = config.get("trust") or []
    if not (
        isinstance(given, list)
        and all(isinstance(one, str) and re.fullmatch(_WORD, one) for one in given)
    ):
        raise BadInputError(
            f"trust is {given!r}; a list of modules is needed, as trust=[my_module]."
        )
    if not set(given) <= allowed:
        raise BadInputError(
            f"trust is {given!r} in a configuration file; only the command line can say it, as trust=[my_module]."
        )
    refuse(_code_of(config), allowed)
    return {**config, "trust": sorted(allowed)}


def refuse(code: Iterable[tuple[str, str]], allowed: Iterable[str]) -> None:
    """Raise BadInputError at the first (where, dotted path) that is neither ours nor of the modules allowed."""
    for place, path in code:
        if not is_allowed(path, allowed):
            module = path.rpartition(".")[0] or path
            raise BadInputError(
                f"{place} is {path!r} in a configuration file, which is code neither of harness nor of experiments; if you trust "
                f"it, say so on the command line: trust=[{module}]."
            )


def is_allowed(path: str, allowed: Iterable[str] = ()) -> bool:
    """Whether a dotted path is of ours, or of one of these modules and what is below them.

    >>> is_allowed("harness.estimators.Binned"), is_allowed("harness.execute.supervise.Child"), is_allowed("a.b.C", ["a"])
    (True, False, True)
    """
    given = module_name(path)
    return any(
        f"{given}.".startswith(f"{module}.") and given != module for module in (*OURS, *allowed)
    )


def _code_of(config: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """(where, dotted path) of everything in a configuration that is imported."""
    for group in ("problem", "estimator"):
        yield from targets(config.get(group), group)
    for number, one in enumerate(config.get("records_from") or ()):
        if isinstance(one, dict) and isinstance(one.get("reader"), str):
            yield f"records_from[{number}].reader", one["reader"]


def targets(value: Any, place: str) -> Iterator[tuple[str, str]]:
    """(where, dotted path) of every `_target_` in a value; a list of them stands where they are swept."""
    if isinstance(value, dict):
        for name, item in value.items():
            if name == "_target_":
                yield from (
                    (f"{place}.{name}", str(one))
                    for one in (item if isinstance(item, list) else [item])
                )
            else:
                yield from targets(item, f"{place}.{name}")
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from targets(item, f"{place}[{number}]")


def check_hydra(node: Any, overrides: list[str]) -> None:
    """Raise BadInputError where Hydra's node of a composed configuration names code beside Hydra's plugins and Python's logging,
    or sets environment variables, and the overrides do not: Hydra calls all of that before a run begins."""
    plain = OmegaConf.to_container(node, resolve=False)
    typed = named(overrides)
    for place, path in _hydra_code(plain, "hydra"):
        if (
            place == "hydra.job.override_dirname"
        ):  # Hydra writes what was typed there, whatever a file says
            continue
        is_typed = (
            is_allowed(path, typed) or "${" in path and any(path in text for text in overrides)
        )
        if not OF_HYDRA.fullmatch(path) and not is_typed:
            raise BadInputError(
                f"{place} is {path!r} in a configuration file, which is no part of Hydra or of Python's logging; take it out."
            )
    variables = ((plain or {}).get("job") or {}).get("env_set") if isinstance(plain, dict) else None
    if variables and not any("hydra.job.env_set" in text for text in overrides):
        raise BadInputError(
            f"hydra.job.env_set sets {', '.join(map(str, variables))} in a configuration file; set it in the shell instead."
        )


def _hydra_code(value: Any, place: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for name, item in value.items():
            called = name in _CALLED or name in _OF_A_QUEUE and "_logging." in place
            if called and isinstance(item, str):
                yield f"{place}.{name}", item
            else:
                yield from _hydra_code(item, f"{place}.{name}")
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from _hydra_code(item, f"{place}[{number}]")
    elif isinstance(value, str) and (
        "ext://" in value and not value.startswith("ext://sys.") or _ELSEWHERE.search(value)
    ):
        yield place, value.removeprefix("ext://")
