"""Sentences, each with a remedy, on overrides that cannot be used (see harness.configure.compose)."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable

from harness.configure import catalogue
from harness.configure.catalogue import defaults, setting_names
from harness.configure.options import GROUPS, ids
from harness.errors import guess

# extra of calharness that has a launcher or sweeper, by the beginning of its name
EXTRAS = {"submitit": "slurm", "optuna": "optuna"}
Chosen = Callable[[str, str, list[str]], list[str] | None]  # `harness.configure.compose.chosen_ids`


def unknown_flag(text: str, after: str = "") -> str:
    """Answer a word with dashes that is no flag. `after`: the next word, which may be its value."""
    name, _, value = text.lstrip("-").partition("=")
    value = value or (after if "=" not in after and not after.startswith("-") else "")
    close = next(iter(difflib.get_close_matches(name, [*setting_names(), "traceback"], n=1)), None)
    if close == "traceback":
        return f"there is no flag {text!r}; did you mean --traceback?"
    if close:
        return (
            f"there is no flag {text!r}; options are NAME=VALUE without dashes: "
            f"{close}={value or 'VALUE'}."
        )
    return (
        f"there is no flag {text!r} here; options are NAME=VALUE, and `calharness help` shows "
        "commands and flags."
    )


def without_value(text: str, before: str | None) -> str:
    """Answer a word without an equals sign. `before`: the word before it."""
    if before is not None and before.count("[") + before.count("(") > before.count(
        "]"
    ) + before.count(")"):
        return f"{before} {text} came apart at the space; quote the whole, as '{before} {text}'."
    group = next((g for g in GROUPS if text in ids(g)), None)
    if group:
        return f"{text!r} is no option; did you mean {group}={text}?"
    if text in setting_names():
        return f"{text!r} has no value; give {text}=VALUE."
    close = guess(text.partition(":")[0], setting_names())
    return f"{text!r} is no option{close}; options are NAME=VALUE, as n=500 or 'n=[500,1000]'."


def unknown_id(group: str, name: str) -> str:
    """Answer an id that a group does not have."""
    return f"there is no {group} {name!r}{guess(name, ids(group))}; `calharness list {group}s` shows all."


def unknown_option(name: str) -> str:
    """Answer a name that conf/config.yaml does not have."""
    close = guess(name, setting_names())
    return f"there is no option {name!r}{close}; options are {', '.join(setting_names())}."


def hydra_sentence(error: Exception, overrides: list[str], chosen_ids: Chosen) -> str:
    """Return an error of Hydra or OmegaConf about overrides as one sentence.

    `chosen_ids(group, path, overrides)` returns the ids of a run's problems or estimators without
    the override of `path`, or None.
    """
    text = str(error).strip()
    missing = re.search(r"Could not (?:find|load) '([\w/]+)/([^'/]+)'", text)
    if missing and missing[1] in GROUPS:
        return unknown_id(*missing.groups())
    if missing:
        group, name = missing.groups()
        known = re.findall(r"^\t([^\s=]+)$", text, flags=re.M)
        extra = next((extra for start, extra in EXTRAS.items() if name.startswith(start)), None)
        remedy = f"`pip install 'calharness[{extra}]'` gets it"
        if extra is None:
            remedy = f"there are {', '.join(known) or 'none'}"
        return f"there is no {group} {name!r}{guess(name, known)}; {remedy}."
    wrong = re.search(r"Could not override '([^']+)'", text)
    if wrong:
        return unknown_setting(wrong[1], overrides, chosen_ids)
    advice = "; ".join(
        line.strip() for line in text.splitlines() if not line.startswith("See https")
    )
    return (
        f"the options {' '.join(overrides)} cannot be read ({advice[:300].rstrip('.')}); a list is "
        "'n=[1,2]', a text with signs or spaces \"title='a = b'\", and -m sweeps over values."
    )


def unknown_setting(path: str, overrides: list[str], chosen_ids: Chosen) -> str:
    """Answer an override of a path that the configuration does not have; `chosen_ids` as above."""
    first, *rest = path.split(".")
    if not rest:
        return unknown_option(path)
    if first not in setting_names():
        close = difflib.get_close_matches(first, setting_names(), n=1)
        full = f" (did you mean {'.'.join([*close, *rest])!r}?)" if close else ""
        return f"there is no setting {path!r}{full}; `calharness help run` shows what there is."
    if first in ("problem", "estimator"):
        return _unknown_parameter(first, rest, path, chosen_ids(first, path, overrides))
    settings = defaults().get(first)
    if not isinstance(settings, dict):
        return f"there is no setting {path!r}: {first} is one value, {first}=VALUE."
    known = [f"{first}.{key}" for key in settings]
    return f"there is no setting {path!r}{guess(path, known)}; those of {first} are {', '.join(known)}."


def _unknown_parameter(group: str, rest: list[str], path: str, chosen: list[str] | None) -> str:
    name, parameter = rest[0], ".".join(rest[1:])
    if chosen is not None and name not in chosen:
        run = f"{name} is not among this run's {group}s, {', '.join(chosen) or 'none'}"
        if name not in ids(group):
            return f"there is no setting {path!r}: {run}{guess(name, [*chosen, *ids(group)])}."
        return f"there is no setting {path!r}: {run}; add it by +{group}={name}."
    if name in ids(group) and len(rest) == 2:
        known = catalogue.parameters(group, name)
        if parameter not in known:
            close = guess(path, [f"{group}.{name}.{key}" for key in known])
            return f"there is no setting {path!r}{close}; the parameters of {name} are {', '.join(known)}."
    return f"there is no setting {path!r} in its YAML; give it as +{path}=VALUE."
