"""Complete ids and overrides in the shell.

The shell starts the program whenever the user presses Tab. Ids and parameters are therefore read
from YAML, and no large package is imported.
"""

from __future__ import annotations

from typing import Any

from harness.configure import catalogue
from harness.configure.options import GROUPS, ids, option
from harness.sources.packs import packs

VALUES = {  # {option: values that are offered}
    "notion": ("binary", "top_label", "classwise", "canonical", "all", "main"),
    "engine": ("serial", "loky", "dask", "ray"),
    "on_error": ("record", "raise"),
    "refresh": ("true", "false"),
    "profile": ("true", "false"),
    "same_draws_as_paper": ("true", "false"),
    "reliability": ("overall", "classes", "none"),
    "estimand": ("l1", "l2_squared", "rms", "kl", "linf"),
}


def overrides(ctx: Any, incomplete: str) -> list[str]:
    """Return completions of an override NAME=VALUE.

    bash splits a word at its equals sign. In that case, NAME is the previous word, and only values
    are returned.
    """
    words = [word for word in (ctx.params or {}).get("overrides") or [] if word != "="]
    name = words[-1].lstrip("'\"+") if words else ""
    if "=" not in name + incomplete and name in _names():
        return _values(name, incomplete)
    return _overrides(incomplete)


def problem_or_estimator(incomplete: str) -> list[str]:
    """Return the ids of estimators and problems, which `calharness check` takes."""
    return [*ids("estimator"), *ids("problem")]


def estimator(incomplete: str) -> list[str]:
    """Return the ids of estimators."""
    return ids("estimator")


def pack(incomplete: str) -> list[str]:
    """Return the names of the packs of data and of their groups."""
    known = packs()
    groups = dict.fromkeys(entry.group for entry in known.values() if entry.group)
    return [*groups, *known, "tabrepo"]


def _overrides(word: str) -> list[str]:
    """Return overrides that may be meant by an incomplete word.

    They agree with the word up to its last dot or equals sign. The shell compares the rest.
    """
    plus = "+" if word.startswith("+") else ""
    name, equals, value = word.lstrip("+").partition("=")
    if equals:
        return [f"{plus}{name}={text}" for text in _values(name, value)]
    group, dot, rest = name.partition(".")
    if not dot or group not in ("problem", "estimator"):
        return [f"{plus}{text}=" for text in _names()]
    component, dot, _ = rest.partition(".")
    if not dot:
        return [f"{plus}{group}.{text}." for text in ids(group)]
    return [f"{plus}{group}.{component}.{text}=" for text in _parameters(group, component, plus)]


def _values(name: str, value: str) -> list[str]:
    """Return the known values of an option. In an unfinished list of ids, complete the last id."""
    if name in ("problem", "estimator"):
        head = value[: max(value.rfind("["), value.rfind(","), value.rfind("(")) + 1]
        return [head + text for text in ids(name)]
    return ids(name) if name == "experiment" else list(VALUES.get(name, ()))


def _parameters(group: str, name: str, plus: str) -> list[str]:
    """Return the parameters that the YAML of an id sets.

    If the override begins with a plus, return all parameters of the class.
    """
    if name not in ids(group):
        return []
    if plus:
        return catalogue.parameters(group, name)
    return [key for key in option(group, name).config if key != "_target_"]


def _names() -> list[str]:
    """Return the names of all options that take a value, such as n and figure.dpi."""
    settings = catalogue.defaults()
    plain = [name for name in settings if name not in ("figure", "sweep", "labels", "reasons")]
    return [*GROUPS, *plain, *(f"figure.{name}" for name in settings["figure"])]
