"""Write messages about overrides that cannot be used, each with a remedy."""

from __future__ import annotations

import difflib
import itertools
import re

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override

from harness.configure import catalogue
from harness.configure.catalogue import defaults, setting_names
from harness.configure.options import GROUPS, find_config_dir, ids
from harness.errors import guess

# {beginning of the name of a Hydra launcher or sweeper: extra of calharness that installs it}
EXTRAS = {"submitit": "slurm", "optuna": "optuna"}

# Settings that take a list, settings that take a text, and settings that a sweep can vary
LISTS = re.compile(
    r"(sweep\..+|problem|estimator|n|reps|notion|estimand|trust|compare|records_of"
    r"|figure\.(estimand|estimators|size|format))"
)
TEXTS = re.compile(r"(title|figure\.caption|labels\..+)")
SWEPT = re.compile(r"(seed|bootstrap|(problem|estimator)\..+)")
MOST_VALUES = 20  # values of a list that a message shows


def unknown_flag(flag: str, next_word: str = "") -> str:
    """Return the message about a word that begins with dashes but is no flag.

    `next_word` follows it on the command line, and may be meant as its value.
    """
    name, _, value = flag.lstrip("-").partition("=")
    if name in ("dry-run", "dry_run", "n"):
        return f"there is no flag {flag!r}; `calharness plan ...` shows what a run would compute."
    close = difflib.get_close_matches(name, setting_names(), n=1)
    if not close:
        return (
            f"there is no flag {flag!r} here; `calharness help` shows all commands and flags, and "
            "options are written NAME=VALUE."
        )
    if not value and "=" not in next_word and not next_word.startswith("-"):
        value = next_word
    return (
        f"there is no flag {flag!r}; options are written without dashes, so give "
        f"{close[0]}={value or 'VALUE'}."
    )


def without_value(word: str, before: str) -> str:
    """Return the message about a word without an equals sign, where NAME=VALUE is needed.

    `before` is the previous word of the command line, or ''.
    """
    if len(re.findall(r"[\[(]", before)) > len(re.findall(r"[\])]", before)):
        return f"{before} {word} was split at the space; put quotes around it: '{before} {word}'."
    name, equals, value = before.partition("=")
    is_number = re.fullmatch(r"[\d.]+", word) and re.fullmatch(r"[\d.,]+", value)
    if equals and is_number and LISTS.fullmatch(name):
        return f"{before} {word} is a list without brackets; write '{name}=[{value},{word}]'."
    group = next((group for group in GROUPS if word in ids(group)), None)
    if group:
        return f"{word!r} is not an option; did you mean {group}={word}?"
    if word in setting_names():
        return f"{word!r} has no value; give {word}=VALUE."
    close = guess(word.partition(":")[0], setting_names())
    return (
        f"{word!r} is not an option{close}; options are written NAME=VALUE, such as n=500 or "
        "'n=[500,1000]'."
    )


def unknown_id(group: str, name: str, config_dir: str | None = None) -> str:
    """Return the message about an id that is neither ours nor in the user's folder."""
    close = guess(name, ids(group, config_dir))
    place = f", and no file {config_dir}/{group}/{name}.yaml" if config_dir else ""
    return f"there is no {group} {name!r}{close}{place}; `calharness list {group}s` shows all."


def unknown_option(name: str) -> str:
    """Return the message about an option that conf/config.yaml does not have."""
    if name in catalogue.parameters("problem", "predictions"):
        return (
            f"there is no option {name!r} in a run; for a file of predictions, give "
            f"problem.predictions.{name}=VALUE."
        )
    close = guess(name, setting_names())
    return f"there is no option {name!r}{close}; options are {', '.join(setting_names())}."


def hydra_sentence(error: Exception, overrides: list[str]) -> str:
    """Return one sentence about an error that Hydra or OmegaConf raised for these overrides."""
    text = str(error).strip()
    missing = re.search(r"Could not (?:find|load) '([\w/]+)/([^'/]+)'", text)
    if missing and missing[1] in GROUPS:
        return unknown_id(missing[1], missing[2], find_config_dir(overrides))
    if missing:
        group, name = missing.groups()
        known = re.findall(r"^\t([^\s=]+)$", text, flags=re.M)
        extra = next((extra for start, extra in EXTRAS.items() if name.startswith(start)), None)
        remedy = f"`pip install 'calharness[{extra}]'` installs it"
        if extra is None:
            remedy = f"known are {', '.join(known)}" if known else "none is installed"
        return f"there is no {group} {name!r}{guess(name, known)}; {remedy}."
    wrong = re.search(r"Could not override '([^']+)'", text)
    if wrong:
        absent = re.search(r"full_key: (\S+)", f"{text}\n{error.__cause__}")
        return unknown_setting(wrong[1], absent[1] if absent else wrong[1])
    for line in text.splitlines():
        several = re.search(r"(?:Ambiguous value for argument|Sweep parameters) '(.+)'", line)
        if several and (sentence := several_values(several[1])):
            return sentence
    for word in overrides:
        name, _, value = word.partition("=")
        if re.fullmatch(r"\[[^][(){}'\"]*", value):
            return f"{word} lacks a closing bracket; write '{name}={value.rstrip(',')}]'."
    advice = "; ".join(
        line.strip() for line in text.splitlines() if not line.startswith("See https")
    )
    return (
        f"the options {' '.join(overrides)} cannot be read ({advice[:300].rstrip('.')}); write a "
        "list as 'n=[1,2]', a text with signs or spaces as \"title='a = b'\", and several values "
        "of one option after -m."
    )


def several_values(text: str) -> str:
    """Return the message about an override with several values, such as n=200,400, or ''.

    The message is empty if the values cannot be listed, as those of glob(...) and interval(...).
    """
    override: Override = OverridesParser.create().parse_override(text)
    if not (override.is_choice_sweep() or override.is_range_sweep()):
        return ""
    text = text.removeprefix("++")  # compose puts it before sweep.PATH
    name, _, given = text.partition("=")
    path = name.lstrip("+")
    values = list(itertools.islice(override.sweep_string_iterator(), MOST_VALUES + 1))
    some = [*values[:MOST_VALUES], *(["..."] if len(values) > MOST_VALUES else [])]
    if TEXTS.fullmatch(path):
        plain = given.replace("'", "").replace('"', "")
        return f"{text} is a text with a comma; write \"{name}='{plain}'\"."
    is_nested = any(value.startswith("[") for value in values)
    if LISTS.fullmatch(path) and not is_nested:
        return f"{text} is a list without brackets; write '{name}=[{','.join(some)}]'."
    if SWEPT.fullmatch(path):
        return (
            f"{text} has several values; write 'sweep.{path}=[{','.join(some)}]', or -m for a job "
            "of each value."
        )
    return f"{text} has several values; give one, or -m for a job of each value."


def unknown_setting(path: str, absent: str) -> str:
    """Return the message about an override of a path that the configuration does not have.

    `absent` is the shortest beginning of the path that the configuration does not have.
    """
    first, *rest = path.split(".")
    if not rest:
        return unknown_option(path)
    if first not in setting_names():
        close = difflib.get_close_matches(first, setting_names(), n=1)
        full = f" (did you mean {'.'.join([*close, *rest])!r}?)" if close else ""
        return f"there is no setting {path!r}{full}; `calharness help run` shows all."
    if first in ("problem", "estimator"):
        return _unknown_parameter(first, rest[0], path, absent)
    settings = defaults().get(first)
    if not isinstance(settings, dict):
        return f"there is no setting {path!r}, because {first} has no keys; give {first}=VALUE."
    known = [f"{first}.{key}" for key in settings]
    return f"there is no setting {path!r}{guess(path, known)}; {first} has {', '.join(known)}."


def _unknown_parameter(group: str, name: str, path: str, absent: str) -> str:
    if name not in ids(group):
        return f"there is no setting {path!r}: {unknown_id(group, name)}"
    if absent == f"{group}.{name}":
        return (
            f"there is no setting {path!r}, because {name} is not among the {group}s of this run; "
            f"add +{group}={name}."
        )
    known = catalogue.parameters(group, name)
    if path.count(".") == 2 and path.rpartition(".")[2] not in known:
        close = guess(path, [f"{group}.{name}.{key}" for key in known])
        return f"there is no setting {path!r}{close}; {name} has {', '.join(known)}."
    return f"there is no setting {path!r} in the YAML of {name}; add it by +{path}=VALUE."
