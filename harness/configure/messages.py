"""The sentence that answers an override which cannot be used, with the remedy. `harness.configure.compose` finds the mistakes."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException

from harness.configure import catalogue
from harness.configure.catalogue import defaults, setting_names
from harness.configure.options import GROUPS, ids
from harness.errors import guess

EXTRAS = {
    "submitit": "slurm",
    "optuna": "optuna",
}  # the extra that has a launcher or sweeper, by how its name begins
Chosen = Callable[
    [str, str, list[str]], list[str] | None
]  # `harness.configure.compose.chosen_without`


def no_flag(text: str, after: str = "") -> str:
    """The answer to a word with dashes that is none of our flags; `after` is the word behind it, which may be its value."""
    name, _, value = text.lstrip("-").partition("=")
    value = value or (after if "=" not in after and not after.startswith("-") else "")
    known = [*setting_names(), "traceback", "help"]
    close = name if name in known else next(iter(difflib.get_close_matches(name, known, n=1)), None)
    if close in ("traceback", "help"):
        return f"there is no flag {text!r}; did you mean --{close}?"
    if close:
        return f"there is no flag {text!r}; options are NAME=VALUE without dashes: {close}={value or 'VALUE'}."
    return f"there is no flag {text!r} here; options are NAME=VALUE, and `calharness help` shows commands and flags."


def without_value(text: str, before: str | None) -> str:
    """The answer to a word without an equals sign behind the word `before`: it may be the rest of a list that the shell took
    apart, an id without its group, or a setting without a value."""
    if before is not None and before.count("[") + before.count("(") > before.count(
        "]"
    ) + before.count(")"):
        return f"{before} {text} came apart at the space; quote the whole, as '{before} {text}'."
    if before is not None and before.endswith("="):
        return f"{before} {text} came apart at the space; write {before}{text}."
    group = next((g for g in GROUPS if text in ids(g)), None)
    if group:
        return f"{text!r} is no option; did you mean {group}={text}?"
    if text in setting_names():
        return f"{text!r} has no value; give {text}=VALUE."
    if before is not None and re.fullmatch(r"[\w.+-]+", text):
        name, _, value = before.partition("=")
        return f"{text!r} has no NAME= before it; options are NAME=VALUE, and a list is in brackets: '{name}=[{value},{text}]'."
    return f"{text!r} is no option{guess(text.partition(':')[0], setting_names())}; options are NAME=VALUE, as n=500."


def no_id(group: str, name: str) -> str:
    """The answer to an id that a group does not have."""
    return f"there is no {group} {name!r}{guess(name, ids(group))}; `calharness list {group}s` shows all."


def no_option(name: str) -> str:
    """The answer to a name that conf/config.yaml does not have."""
    close = guess(name, setting_names())
    return f"there is no option {name!r}{close}; options are {', '.join(setting_names())}."


def in_one_sentence(error: Exception, overrides: list[str], chosen_without: Chosen) -> str:
    """The answer to overrides of which Hydra or OmegaConf raise an error. `chosen_without(group, path, overrides)` gives the ids
    of a run's problems or estimators as they are without the override of `path`, or None."""
    text = str(error).strip()
    first, *more = text.splitlines()
    missing = re.search(r"Could not (?:find|load) '([\w/]+)/([^'/]+)'", text)
    if missing and missing[1] in GROUPS:
        group, name = missing.groups()
        return no_id(group, name)
    if missing:
        group, name = missing.groups()
        have = re.findall(r"^\t([^\s=]+)$", text, flags=re.M)
        extra = next((extra for start, extra in EXTRAS.items() if name.startswith(start)), None)
        remedy = (
            f"`pip install 'calharness[{extra}]'` gets it"
            if extra
            else f"there are {', '.join(have) or 'none'}"
        )
        return f"there is no {group} {name!r}{guess(name, have)}; {remedy}."
    wrong = re.search(r"Could not override '([^']+)'", text)
    if wrong:
        return no_setting(wrong[1], overrides, chosen_without)
    there = re.search(r"Could not append to config. An item is already at '([^']+)'", text)
    if there:
        given = next((o for o in overrides if o.startswith(f"+{there[1]}=")), f"+{there[1]}=VALUE")
        return f"{there[1]} is there already; give {given.lstrip('+')}, without the +."
    if "Multiple values for" in text or "appears more than once" in text:
        return f"{first.split('. ')[0].rstrip('.')}; give it once, without the +."
    absent = re.search(r"Could not delete (?:from config. )?'([^']+)'", text)
    if absent:
        if absent[1] in GROUPS:
            return f"~{absent[1]} removes nothing; {absent[1]}=[ID,...] gives another choice."
        return f"there is nothing to remove at {absent[1]!r}; leave ~{absent[1]} out."
    ambiguous = re.search(r"Ambiguous value for argument '([^'=]+)=(.*)'$", first)
    if ambiguous:
        name, value = ambiguous.groups()
        text = "" if name in GROUPS else f", \"{name}='{value}'\" for a text"
        return f"{name}={value} is ambiguous; write '{name}=[{value}]' for a list{text}, or add -m to sweep over the values."
    sweep = re.search(r"Sweep parameters '(.*)' requires --multirun", first)
    if sweep:
        return f"{sweep[1]} is a sweep; add -m, or give a list in brackets."
    merged = re.search(r"Error merging override (.*)", first)
    if merged:
        return f"{merged[1]} cannot be put there; a value or a list is needed, as n=500 or 'n=[500,1000]'."
    unread = next((o for o in overrides if not o.startswith("-") and _unreadable(o)), None)
    if unread:
        return _unread(unread)
    if "Config group override" in first:
        first += ", as estimator=[binned15]"
    advice = "; ".join(
        line.strip() for line in more if line.strip() and not line.startswith("See https")
    )
    said = f"{first.rstrip('.')}{f' ({advice})' if advice and len(advice) < 300 else ''}"
    return f"the options {' '.join(overrides)} are not valid: {said}."


def _unreadable(override: str) -> bool:
    """Whether Hydra's grammar cannot read the override."""
    try:
        OverridesParser.create().parse_override(override)
    except HydraException:
        return True
    return False


def _unread(text: str) -> str:
    """The answer to an override that Hydra's grammar cannot read."""
    name, _, value = text.partition("=")
    if (
        value.count("[") != value.count("]")
        or value.count("(") != value.count(")")
        or value.count("{") != value.count("}")
    ):
        return f"{text} is cut off, or has a bracket too many; quote a value that has spaces or brackets, as '{name}=[a, b]'."
    if value.count("'") % 2 or value.count('"') % 2:
        return f"{text} has a quote that is not closed; a text with an apostrophe is given as '{name}=\"it is one\"'."
    value = value.strip("'\"")
    return f"{text} cannot be read: a text with =, :, ; or other signs needs quotes of its own, as \"{name}='{value}'\"."


def no_setting(path: str, overrides: list[str], chosen_without: Chosen) -> str:
    """The answer to an override of something that the configuration does not have; `chosen_without` as above."""
    first, *rest = path.split(".")
    if not rest:
        return no_option(path)
    if first not in setting_names():
        close = difflib.get_close_matches(first, setting_names(), n=1)
        full = f" (did you mean {'.'.join([*close, *rest])!r}?)" if close else ""
        return f"there is no setting {path!r}{full}; `calharness help run` shows what there is."
    if first in ("problem", "estimator"):
        return _no_parameter(first, rest, path, chosen_without(first, path, overrides))
    known = [f"{first}.{key}" for key in defaults().get(first) or {}]
    if not known:
        return f"there is no setting {path!r}: {first} is one value, {first}=VALUE."
    return f"there is no setting {path!r}{guess(path, known)}; those of {first} are {', '.join(known)}."


def _no_parameter(group: str, rest: list[str], path: str, chosen: list[str] | None) -> str:
    name, parameter = rest[0], ".".join(rest[1:])
    if chosen is not None and name not in chosen:
        run = f"this run's {group}s, {', '.join(chosen) or 'none'}"
        if name not in ids(group):
            return f"there is no setting {path!r}: {name} is not among {run}{guess(name, [*chosen, *ids(group)])}."
        return (
            f"there is no setting {path!r}: {name} is not among {run}; add it by +{group}={name}."
        )
    if name in ids(group) and len(rest) == 2:
        known, own = catalogue.parameters(group, name), catalogue.config(group, name)
        if parameter not in known:
            close = guess(path, [f"{group}.{name}.{k}" for k in known])
            return f"there is no setting {path!r}{close}; the parameters of {name} are {', '.join(known)}."
        if parameter not in own:
            return f"there is no setting {path!r} in its YAML, which leaves it as it is; give it as +{path}=VALUE."
    return f"there is no setting {path!r} in this run; a parameter that its YAML does not list is given as +{path}=VALUE."
