"""Compose the settings of a run from overrides such as `n=500` and the files of conf/.

The library, the command line and the tests all use Hydra for this, so that they read the same files
in the same way. Each mistake of the user becomes a BadInputError of one sentence.
"""

from __future__ import annotations

import contextlib
import fnmatch
import functools
import itertools
import os
import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml
from hydra import compose as hydra_compose
from hydra import initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from harness.common import buckets
from harness.common.module_names import current_path
from harness.common.paths import CHECKOUT, CONF
from harness.common.reading import refuse_special
from harness.configure import (
    catalogue,
    hydra_source,
    messages,
    nodes,
    record_sources,
    sweeps,
    trust,
)
from harness.configure.catalogue import setting_names
from harness.configure.options import GROUPS, find_config_dir, ids
from harness.configure.settings import OPERATIONAL, Settings
from harness.configure.yaml_files import check_yaml, yaml_mistake
from harness.errors import BadInputError

# Texts that pages print. References in them, such as ${oc.env:HOME}, stay as they are written.
PRINTED = ("name", "title", "labels", "reasons", "figure.caption")


def compose(overrides: list[str]) -> Settings:
    """Return the settings that overrides in Hydra's grammar select, after all checks."""
    overrides = replace_config_dir(overrides)
    check_overrides(overrides)
    composed = compose_unchecked(overrides)
    for text in overrides:
        _check_added(text, composed)
    return check_composed(composed, overrides)


def check_composed(composed: dict[str, Any], overrides: list[str]) -> Settings:
    """Return a composed configuration as checked settings.

    The configuration may name modules of user code only if `overrides` name them too.
    """
    for name in composed:
        if name not in setting_names():
            raise BadInputError(messages.unknown_option(str(name)))
    for group in ("problem", "estimator"):
        composed[group] = nodes.without_others(group, composed.get(group) or {}, overrides)
        nodes.check(group, composed[group])
    settings = Settings.from_dict(trust.add_trusted(composed, overrides))
    names = {text.partition("=")[0] for text in overrides}
    is_as_configured = settings.experiment is not None and names <= set(OPERATIONAL)
    settings = replace(settings, is_as_configured=is_as_configured)
    for group in ("problem", "estimator"):
        for _, path in trust.targets(composed.get(group), group):
            _note_move(path, current_path(path))
    record_sources.check(settings)
    return settings


@functools.cache
def _note_move(former: str, current: str) -> None:
    """Say once per process that a configuration names a class by its former path."""
    if former != current:
        print(
            f"{former} has moved; write {current}, as the former path works only until version "
            "0.5.",
            file=sys.stderr,
        )


def compose_unchecked(overrides: list[str], typed: list[str] | None = None) -> dict[str, Any]:
    """Return the configuration that Hydra composes from overrides, without checks of its values.

    A file with Hydra's own settings may name a module of user code only if `typed` names it too.
    `typed` are all words of the command line. By default, they are the overrides.
    """
    hydra_source.register()
    _check_files(overrides)
    with (
        hydra_mistakes(overrides),
        _suspend_hydra_job(),
        initialize_config_dir(str(CONF), version_base="1.3"),
    ):
        expanded = [*expand_globs(free_paths(overrides)), *search_path(overrides)]
        composed = hydra_compose("config", overrides=expanded, return_hydra_config=True)
        trust.check_hydra(composed.hydra, overrides if typed is None else typed)
        return plain(composed, composed.hydra.runtime.choices.get("experiment"))


def check_hydra_choices(overrides: list[str], typed: list[str]) -> None:
    """Raise BadInputError if a file that configures Hydra itself names untrusted user code.

    The command line chooses such a file by hydra/launcher=mine, for example. `compose` does not see
    this choice.

    Parameters
    ----------
    overrides : list of str
        Overrides that all jobs of a multirun share.
    typed : list of str
        All words of the command line, with the choices for Hydra.
    """
    choices = [
        text
        for text in typed
        if re.match(r"[+~]*hydra[./]", text) and not text.startswith("hydra.searchpath=")
    ]
    if choices:
        compose_unchecked([*overrides, *choices], typed)


def _check_files(overrides: list[str]) -> None:
    """Raise BadInputError if Hydra cannot read the user's folder, or the experiment of the run.

    A device or a pipe would make Hydra wait for ever, and so would a YAML file that becomes huge.
    """
    for name in re.findall(r"^experiment=([\w-]+)$", "\n".join(overrides), flags=re.M):
        if (file := CONF / "experiment" / f"{name}.yaml").is_file():
            check_yaml(file)
    for text in [*overrides, *search_path(overrides)]:
        if text.startswith("hydra.searchpath="):
            for folder in re.findall(r"file://([^'\",\]]+)", text):
                for file in sorted(Path(folder).rglob("*.yaml")):
                    refuse_special(file)
                    if file.relative_to(folder).parts[0] in GROUPS:
                        check_yaml(file)


@contextlib.contextmanager
def _suspend_hydra_job() -> Iterator[None]:
    """Suspend the running Hydra job inside the block, so that the block can compose.

    Hydra keeps one global state and refuses a composition inside a job.
    """
    instance = GlobalHydra.instance()
    job, instance.hydra = instance.hydra, None
    try:
        yield
    finally:
        instance.hydra = job


def plain(composed: Any, experiment: str | None) -> dict[str, Any]:
    """Return a composed configuration as dictionaries and lists, without the node `hydra`.

    `experiment` is the id that the command line chose; it becomes an entry of the result.
    """
    settings = OmegaConf.masked_copy(composed, [key for key in composed if key != "hydra"])
    texts: dict[str, Any] = {}
    for path in PRINTED:
        parent, _, name = path.rpartition(".")
        node = settings[parent] if parent else settings
        if OmegaConf.is_dict(node) and name in node:
            text: Any = OmegaConf.to_container(OmegaConf.masked_copy(node, [name]))
            texts[path] = text[name]
            node[name] = None
    chosen: Any = OmegaConf.to_container(settings, resolve=True)
    for path in texts:
        parent, _, name = path.rpartition(".")
        (chosen[parent] if parent else chosen)[name] = texts[path]
    # Hydra leaves out a group in which nothing is selected.
    config = {"problem": {}, "estimator": {}, **chosen, "experiment": experiment}
    uses_others = not config["problem"] and (config.get("records_of") or config.get("records_from"))
    if uses_others and list(config["estimator"]) == catalogue.default_estimators():
        config["estimator"] = {}  # the user did not choose the default estimators
    return config


def free_paths(overrides: list[str]) -> list[str]:
    """Return the overrides, with `++` before each override that adds a key to the configuration.

    Hydra demands `++` for such keys. They begin with sweep, reasons or labels. Hydra also allows
    ranges only with -m, so `sweep.PATH=range(5,20,5)` becomes the list of its values.
    """
    pattern = r"(sweep|reasons|labels\.(problem|estimator))\.[^=]+="
    return [f"++{_list_range(t)}" if re.match(pattern, t) else t for t in overrides]


def _list_range(text: str) -> str:
    """Return an override with the list of values in place of a range."""
    path, _, value = text.partition("=")
    if not (path.startswith("sweep.") and value.strip().startswith("range(")):
        return text
    with hydra_mistakes([text]):
        values = OverridesParser.create().parse_override(text).sweep_string_iterator()
        return f"{path}=[{','.join(itertools.islice(values, sweeps.LARGEST_SWEEP + 1))}]"


@contextlib.contextmanager
def hydra_mistakes(overrides: list[str]) -> Iterator[None]:
    """Turn errors of Hydra and OmegaConf into BadInputError of one sentence."""
    try:
        yield
    except BadInputError:
        raise
    except yaml.YAMLError as error:
        raise yaml_mistake(error, "") from None
    except Exception as error:
        is_hydras = type(error).__module__.startswith("hydra")
        # Hydra raises ValueError on group=null
        if not is_hydras and not isinstance(error, (OmegaConfBaseException, ValueError)):
            raise
        raise BadInputError(messages.hydra_sentence(error, overrides)) from error


def expand_globs(overrides: list[str]) -> list[str]:
    """Replace each `estimator=glob(kde*)` by a list of the ids that match the pattern.

    Hydra itself expands globs in sweeps only.
    """
    expanded = []
    for text in overrides:
        match = re.fullmatch(r"(\+?)(problem|estimator)=(\[.*\]|glob\(.*\))", text.replace(" ", ""))
        if not match or "glob(" not in text:
            expanded.append(text)
            continue
        plus, group, value = match.groups()
        chosen: list[str] = []
        for pattern, name in re.findall(r"glob\(([^()]*)\)|([\w.-]+)", value):
            names = fnmatch.filter(ids(group), pattern) if pattern else [name]
            if not names:
                raise BadInputError(
                    f"no {group} matches {pattern!r}; `calharness list {group}s` shows all."
                )
            chosen += [name for name in names if name not in chosen]
        expanded.append(f"{plus}{group}=[{','.join(chosen)}]")
    return expanded


def check_overrides(overrides: list[str], sweep: bool = False) -> None:
    """Raise BadInputError unless all words are NAME=VALUE and name at most one experiment.

    With `sweep`, one override may name several experiments.
    """
    experiments = [text for text in overrides if text.startswith("experiment=")]
    is_list = any(re.match(r"experiment=(\[|.*,)", text) for text in experiments)
    if len(experiments) > 1 or is_list and not sweep:
        raise BadInputError(
            f"{' '.join(experiments)} names several experiments, but a run has one; "
            "`-m experiment=a,b` runs several in turn."
        )
    for before, text, after in zip(["", *overrides], overrides, [*overrides[1:], ""]):
        if text.startswith("-"):
            raise BadInputError(messages.unknown_flag(text, after))
        name, equals, value = text.partition("=")
        if not equals and not text.startswith("~"):
            raise BadInputError(messages.without_value(text, before))
        if name in GROUPS and not value:
            raise BadInputError(
                f"{name} is empty; give {name}=ID, or leave it out (`calharness list {name}s` "
                "shows all)."
            )


def _check_added(text: str, composed: dict[str, Any]) -> None:
    """Raise BadInputError if the override `+GROUP=ID` has no effect on the composed run.

    Hydra drops the added id if another override replaces the list of that group.
    """
    added = re.fullmatch(r"\+(problem|estimator)=\[?([\w.,-]*)\]?", text.replace(" ", ""))
    if added:
        group, names = added[1], added[2].split(",")
        lost = [name for name in names if name and name not in (composed.get(group) or {})]
        if lost:
            raise BadInputError(
                f"{text} has no effect, because {group}=[...] replaces the list; put "
                f"{', '.join(lost)} into {group}=[...] instead."
            )


def replace_config_dir(words: list[str]) -> list[str]:
    """Replace the flag --config-dir=FOLDER (or -cd FOLDER) by the option config_dir='FOLDER'.

    The path becomes absolute.

    Raises
    ------
    BadInputError
        If there is no such folder, or if its path has an apostrophe.
    """
    replaced: list[str] = []
    waiting = iter(words)
    for word in waiting:
        flag, equals, folder = word.partition("=")
        if flag not in ("--config-dir", "-cd", "config_dir") or flag == "config_dir" and not folder:
            replaced.append(word)
            continue
        path = (folder if equals else next(waiting, "")).strip("'\"")
        if not path or not Path(path).is_dir():
            raise BadInputError(
                f"{flag} is {path!r}, which is no folder; give one with experiment/ID.yaml, "
                "problem/ID.yaml or estimator/ID.yaml."
            )
        if "'" in str(Path(path).resolve()):
            raise BadInputError(
                f"{flag} is {path!r}; Hydra cannot read a path with an apostrophe, so rename the "
                "folder."
            )
        replaced.append(f"config_dir='{Path(path).resolve()}'")
    return replaced


def search_path(overrides: list[str]) -> list[str]:
    """Return the override with which Hydra also reads the user's folder of configuration."""
    folder = find_config_dir(overrides)
    return [f"hydra.searchpath=['file://{folder}']"] if folder else []


def out_folder(out: Any) -> Path:
    """Return the absolute path of the folder of results.

    The first of these that is given, or that applies, is used:

    1. the setting `out`,
    2. the environment variable CALHARNESS_OUT,
    3. results/ of the Git checkout, if the working folder lies in it,
    4. results/ of the working folder.

    For the address of a bucket, return the folder on this host that belongs to the bucket.

    Raises
    ------
    BadInputError
        If the path cannot be a folder, or the bucket cannot be read.
    """
    if out is not None and not isinstance(out, (str, Path)) or out == "":
        raise BadInputError(f"out is {out!r}; give the path of a folder.")
    name, chosen = "out", out
    if chosen is None and os.environ.get("CALHARNESS_OUT"):
        name, chosen = "CALHARNESS_OUT", os.environ["CALHARNESS_OUT"]
    if chosen is None:
        here = Path.cwd()
        is_in_checkout = CHECKOUT is not None and here.is_relative_to(CHECKOUT)
        chosen = (CHECKOUT if CHECKOUT is not None and is_in_checkout else here) / "results"
    if buckets.is_address(chosen):
        return buckets.resolve_bucket(str(chosen))
    if re.match(r"(s3|gs|gcs|abfss?|hdfs|file):", str(chosen)):
        raise BadInputError(
            f"{name} is {str(chosen)!r}, an address without two slashes; give it as "
            "s3://BUCKET/FOLDER."
        )
    try:
        folder = Path(chosen).expanduser().resolve()
    except (RuntimeError, ValueError) as error:  # "~" of an unknown user, or a NUL character
        raise BadInputError(
            f"{name} is {str(chosen)!r}, which is not a path ({error}); give the path of a folder."
        ) from error
    parts = (folder, *folder.parents)
    if file := next((part for part in parts if part.exists() and not part.is_dir()), None):
        raise BadInputError(
            f"{name} is {str(chosen)!r}, but {file} is a file; give the path of a folder."
        )
    return folder
