"""How overrides become a configuration.

The library, the command line and the tests all compose through Hydra, so that they read the same files in the same way. Every
mistake of the user ends in a BadInputError of one sentence.
"""

from __future__ import annotations

import contextlib
import copy
import fnmatch
import functools
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

from hydra import compose as hydra_compose
from hydra import initialize_config_dir
from hydra._internal.utils import get_args_parser
from hydra.core.global_hydra import GlobalHydra
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from harness.common import buckets
from harness.common.paths import CHECKOUT, CONF, PACKS
from harness.configure import catalogue, hydra_source, messages, record_sources, trust
from harness.configure.catalogue import defaults, setting_names
from harness.configure.options import GROUPS, ids
from harness.configure.settings import Settings
from harness.errors import BadInputError, guess


def compose(overrides: list[str]) -> Settings:
    """Settings that overrides in Hydra's grammar ask for, checked."""
    if len(overrides) == 1 and re.fullmatch(r"experiment=\w+", overrides[0]):
        return copy.deepcopy(_of_experiment(overrides[0], _stamp()))
    return _composed(overrides)


@functools.lru_cache(maxsize=64)
def _of_experiment(override: str, stamp: int) -> Settings:
    """An experiment as configured, which a run composes twice: to run it, and to compare with it. `stamp` is that of `_stamp`."""
    return _composed([override])


def _stamp() -> int:
    """Changes with every file that a configuration is made of."""
    files = [PACKS, *(Path(folder, name) for folder, _, names in os.walk(CONF) for name in names)]
    return hash(
        tuple(
            (str(path), found.st_mtime_ns, found.st_size)
            for path in files
            for found in [path.stat()]
        )
    )


def _composed(overrides: list[str]) -> Settings:
    check_overrides(overrides)
    composed = compose_unchecked(overrides)
    for text in overrides:
        _check_added(text, composed)
    return settings_of(composed, overrides)


def settings_of(composed: dict[str, Any], overrides: list[str]) -> Settings:
    """Check a composed configuration. `overrides` say whose code it may name."""
    settings = Settings.from_dict(trust.checked(check_known(composed), overrides))
    record_sources.check(settings)
    return settings


def compose_unchecked(overrides: list[str], typed: list[str] | None = None) -> dict[str, Any]:
    """The same with every key that Hydra accepts, known or not. `typed` is all that the command line holds, if that is more."""
    hydra_source.register()
    with (
        hydra_mistakes(overrides),
        _apart_from_a_job(),
        initialize_config_dir(str(CONF), version_base="1.3"),
    ):
        composed = hydra_compose(
            "config", overrides=expand_globs(free_paths(overrides)), return_hydra_config=True
        )
        trust.check_hydra(composed.hydra, overrides if typed is None else typed)
        return plain(composed, composed.hydra.runtime.choices.get("experiment"))


def check_hydra_choices(overrides: list[str], typed: list[str]) -> None:
    """Raise BadInputError where a choice of Hydra's own among `typed`, hydra/launcher=mine, is of a file that names foreign code;
    `overrides` are those of the same in all jobs. `compose` sees the node without these choices."""
    own = [
        text
        for text in typed
        if re.match(r"[+~]*hydra[./]", text) and not text.startswith("hydra.searchpath=")
    ]
    if own:
        compose_unchecked([*overrides, *own], typed)


@contextlib.contextmanager
def _apart_from_a_job() -> Iterator[None]:
    """Put the state of a running Hydra job aside, so that a configuration can be composed within it."""
    instance = GlobalHydra.instance()
    job, instance.hydra = instance.hydra, None
    try:
        yield
    finally:
        instance.hydra = job


def plain(composed: Any, experiment: str | None) -> dict[str, Any]:
    """A composed configuration as dictionaries and lists, without Hydra's own node; `experiment` is the one chosen."""
    own = OmegaConf.masked_copy(composed, [key for key in composed if key != "hydra"])
    empty: dict[str, Any] = {
        "problem": {},
        "estimator": {},
    }  # Hydra leaves a group out of which nothing is selected
    chosen: Any = OmegaConf.to_container(own, resolve=True)
    config = {**empty, **chosen, "experiment": experiment}
    uses_others = not config["problem"] and (config.get("records_of") or config.get("records_from"))
    by_default = list(config["estimator"]) == catalogue.default_estimators()
    return (
        {**config, "estimator": {}} if uses_others and by_default else config
    )  # they are not of it, nor were they asked for


def free_paths(overrides: list[str]) -> list[str]:
    """The overrides with `++` before those whose names are the user's own: texts of labels, reasons and swept parameters."""
    return [
        f"++{text}"
        if re.match(r"(sweep|reasons|labels\.(problem|estimator))\.[^=]+=", text)
        else text
        for text in overrides
    ]


@contextlib.contextmanager
def hydra_mistakes(overrides: list[str]) -> Iterator[None]:
    """Turn the errors of Hydra and OmegaConf into BadInputError of one sentence."""
    try:
        yield
    except Exception as error:
        known = isinstance(error, OmegaConfBaseException) or type(error).__module__.startswith(
            "hydra"
        )
        known |= isinstance(error, ValueError) and not isinstance(
            error, BadInputError
        )  # Hydra on group=null
        if not known:
            raise
        raise BadInputError(messages.in_one_sentence(error, overrides, chosen_without)) from error


def chosen_without(group: str, path: str, overrides: list[str]) -> list[str] | None:
    """Ids of the problems or estimators that the run has without its override of `path`; None where it does not compose."""
    others = [text for text in overrides if text.lstrip("+~").partition("=")[0] != path]
    try:
        return list(compose_unchecked(others)[group]) if len(others) < len(overrides) else None
    except BadInputError:
        return None


def expand_globs(overrides: list[str]) -> list[str]:
    """The overrides with a list in place of `estimator=glob(kde*)` or `problem=glob(...)`: Hydra itself globs only in sweeps."""
    expanded = []
    for text in overrides:
        match = re.fullmatch(
            r"(\+?(?:problem|estimator))=(\[.*\]|glob\(.*\))", text.replace(" ", "")
        )
        if not match or "glob(" not in text:
            expanded.append(text)
            continue
        given, value = match.groups()
        group = given.lstrip("+")
        parts = re.findall(r"glob\(([^()]*)\)|([\w.-]+)", value)
        chosen: list[str] = []
        for pattern, plain in parts:
            found = fnmatch.filter(ids(group), pattern) if pattern else [plain]
            if not found:
                raise BadInputError(
                    f"no {group} matches {pattern!r}; `calharness list {group}s` shows all."
                )
            chosen += [name for name in found if name not in chosen]
        expanded.append(f"{given}=[{','.join(chosen)}]")
    return expanded


def check_overrides(overrides: list[str], sweep: bool = False) -> None:
    """Raise BadInputError on what is no NAME=VALUE, before Hydra reads it: flags, values that the shell took apart, names without
    a value, and several experiments unless it is a sweep."""
    several = [text for text in overrides if text.startswith("experiment=")]
    if len(several) > 1 or several and not sweep and re.match(r"experiment=(\[|.*,)", several[0]):
        said = " ".join(several)
        raise BadInputError(
            f"{said} names several experiments; a run is of one, and `-m experiment=a,b` runs one after the other."
        )
    before = None
    for text, after in zip(overrides, [*overrides[1:], ""]):
        if text.startswith("-"):
            raise BadInputError(messages.no_flag(text, after))
        name, equals, value = text.partition("=")
        if not equals and not text.startswith("~"):
            raise BadInputError(messages.without_value(text, before))
        if not name.strip("+~ ") and not text.startswith("~"):
            raise BadInputError(
                f"{text!r} has no name before its equals sign; options are NAME=VALUE, as n=500."
            )
        if value.startswith("=") or name.rstrip() != name:
            right = f"{name.rstrip()}={value.lstrip('= ')}"
            raise BadInputError(
                f"{text!r} is no option; there is one equals sign, without spaces around it: {right}."
            )
        if name in GROUPS and not value:
            raise BadInputError(
                f"{name} is empty; give {name}=ID, or leave it out (`calharness list {name}s` shows all)."
            )
        top, dot, _ = name.lstrip("+~").partition(".")
        if dot and top in defaults() and top != "ranking" and not isinstance(defaults()[top], dict):
            raise BadInputError(messages.no_setting(name.lstrip("+~"), overrides, chosen_without))
        before = text


def _check_added(text: str, composed: dict[str, Any]) -> None:
    """Raise BadInputError if `+problem=`, `+estimator=` or the label of an estimator names what is not in the run."""
    added = re.fullmatch(r"\+(problem|estimator)=\[?([\w.,-]*)\]?", text.replace(" ", ""))
    if added:
        lost = [
            name
            for name in added[2].split(",")
            if name and name not in (composed.get(added[1]) or {})
        ]
        if lost:
            raise BadInputError(
                f"{text} adds to a list that {added[1]}= gives anew; name {', '.join(lost)} in that list."
            )
    labelled = re.match(r"\+*labels\.estimator\.([^=.]+)=", text)
    if labelled and labelled[1] not in (composed.get("estimator") or {}):
        have = list(composed.get("estimator") or {})
        raise BadInputError(
            f"{text} names no estimator of this run{guess(labelled[1], have)}; they are {', '.join(have)}."
        )


def check_known(config: dict[str, Any]) -> dict[str, Any]:
    """The composed configuration, if it has the keys of conf/config.yaml and no others; else it raises BadInputError. Parameters
    of problems and estimators are checked when those are built, a sweep when it is planned, and reasons are free texts."""
    for name in config:
        if name not in setting_names():
            raise BadInputError(messages.no_option(str(name)))
    for name, default in defaults().items():
        if name not in config:
            remedy = (
                f"leave ~{name} out"
                if isinstance(default, dict)
                else f"{name}={_plain(default)} is its default"
            )
            raise BadInputError(f"{name} is removed, but a run needs it; {remedy}.")
        if isinstance(default, dict):
            _check_mapping(name, config[name], default)
    for group in ("problem", "estimator"):
        for name, node in (config.get(group) or {}).items():
            _check_node(group, name, node, config[group])
    return config


def _check_mapping(name: str, found: Any, default: dict[str, Any]) -> None:
    keys = list(default)
    if not isinstance(found, dict):
        wanted = ", ".join(f"{name}.{key}" for key in keys) or f"{name}.NAME"
        raise BadInputError(f"{name} is {found!r}; it holds settings by name: {wanted}.")
    if not keys:  # names are the user's own
        return
    for key in found:
        if key not in keys:
            every = [f"{name}.{k}" for k in keys]
            raise BadInputError(
                f"there is no setting '{name}.{key}'{guess(f'{name}.{key}', every)}; allowed are {', '.join(every)}."
            )
    gone = [key for key in keys if key not in found]
    if gone:
        path = f"{name}.{gone[0]}"
        raise BadInputError(
            f"{path} is removed, but a run needs it; {path}={_plain(default[gone[0]])} is its default."
        )
    for key, value in default.items():
        if isinstance(value, dict) and not (found[key] is None or isinstance(found[key], dict)):
            raise BadInputError(
                f"{name}.{key} is {found[key]!r}; it holds texts by id: {name}.{key}.ID=TEXT."
            )


def _check_node(group: str, name: str, node: Any, chosen: dict[str, Any]) -> None:
    if not isinstance(node, dict) or "_target_" not in node:
        if name in ids(group):
            if isinstance(node, dict) and node:
                others = [n for n in chosen if n != name]
                raise BadInputError(
                    f"{group}.{name} is given settings, but {name} is not among this run's {group}s "
                    f"({', '.join(others) or 'none'}); add it by +{group}={name}."
                )
            known = ", ".join(f"{group}.{name}.{key}" for key in catalogue.parameters(group, name))
            raise BadInputError(
                f"{group}.{name} is {node!r}; it holds parameters: {known or 'none'}."
            )
        if not isinstance(node, dict):
            raise BadInputError(
                f"{group}.{name} is {node!r}; give +{group}.{name}._target_=module.ClassOrFunction."
            )


def _plain(value: Any) -> str:
    """A value as YAML has it."""
    return (
        {None: "null", False: "false", True: "true"}[value]
        if value is None or isinstance(value, bool)
        else str(value)
    )


def check_flags(arguments: list[str]) -> list[str]:
    """The arguments in the order that Hydra takes, its flags before the overrides. Raises BadInputError on flags that Hydra does
    not have, on values that its flags do not take, and on names that are no options."""
    parser = get_args_parser()
    flags = {flag for action in parser._actions for flag in action.option_strings}
    for text, after in zip(arguments, [*arguments[1:], ""]):
        if text.startswith("-") and text.partition("=")[0] not in flags:
            raise BadInputError(messages.no_flag(text, after))

    def refuse(message: str) -> NoReturn:
        raise BadInputError(
            f"{' '.join(arguments)} cannot be read: {message}; `calharness help run` shows what there is."
        )

    parser.error = refuse  # type: ignore[method-assign]
    given = parser.parse_intermixed_args(arguments)
    if given.config_path or given.config_name:
        raise BadInputError(
            "--config-path and --config-name are not taken; --config-dir=FOLDER adds problems and estimators."
        )
    if given.config_dir:
        arguments, given = _with_folder(arguments, given.config_dir, parser)
    check_overrides(given.overrides, sweep=given.multirun)
    for text in given.overrides:
        name = re.split(r"[.=]", text.lstrip("+~"))[0]
        if name not in setting_names() and name.partition("/")[0] != "hydra":
            raise BadInputError(messages.no_option(name))
        plain = re.fullmatch(r"\w+=([\w.,-]+)", text)
        for one in plain[1].split(",") if plain and name in GROUPS else ():
            if one not in ids(name):
                raise BadInputError(messages.no_id(name, one))
    if given.multirun and not any(
        re.match(r"\+*(experiment|problem)[=.]", text) for text in given.overrides
    ):
        raise BadInputError(
            "-m has no experiment= or problem= to run; give one, as `calharness -m experiment=smoke seed=0,1`."
        )
    return [*(text for text in arguments if text not in given.overrides), *given.overrides]


def _with_folder(arguments: list[str], folder: str, parser: Any) -> tuple[list[str], Any]:
    """The arguments with Hydra's search path in place of --config-dir, so that every composition, ours and its, reads the folder;
    and what the parser makes of them."""
    if not Path(folder).is_dir():
        raise BadInputError(
            f"--config-dir is {folder!r}, where there is no folder; give one with estimator/ID.yaml or problem/ID.yaml."
        )
    kept, skip = [], False
    for text in arguments:
        if not skip and not re.match(r"(--config-dir|-cd)(=|$)", text):
            kept.append(text)
        skip = not skip and text in ("--config-dir", "-cd")
    kept.append(f"hydra.searchpath=['file://{Path(folder).resolve()}']")
    return kept, parser.parse_intermixed_args(kept)


def out_folder(given: Any) -> Path:
    """Return the folder of results.

    That is the setting `out`, else CALHARNESS_OUT, else results/ of the checkout that the working
    folder is in, else results/ of the working folder. For the address of a bucket it is the folder
    of this host that stands for it. Raises BadInputError if it can be no folder.
    """
    if given is not None and not isinstance(given, (str, Path)) or given == "":
        raise BadInputError(f"out is {given!r}; the path of a folder is needed.")
    where, chosen = "out", given
    if chosen is None and os.environ.get("CALHARNESS_OUT"):
        where, chosen = "CALHARNESS_OUT", os.environ["CALHARNESS_OUT"]
    if chosen is None:
        here = Path.cwd()
        chosen = (
            CHECKOUT if CHECKOUT is not None and here.is_relative_to(CHECKOUT) else here
        ) / "results"
    if buckets.is_address(chosen):
        return buckets.folder_of(str(chosen))
    if isinstance(chosen, str) and (
        slashes := re.match(r"(s3|gs|gcs|abfss?|hdfs|file):/*", chosen)
    ):
        meant = f"{slashes[1]}://{chosen[slashes.end() :]}"
        raise BadInputError(
            f"{where} is {chosen!r}; the address of a store has two slashes, {meant}, and a folder ./{chosen}."
        )
    try:
        folder = Path(chosen).expanduser().resolve()
    except (RuntimeError, ValueError) as error:  # ~ of an unknown user, a NUL
        raise BadInputError(
            f"{where} is {str(chosen)!r}, which is no path ({error}); give the path of a folder."
        ) from error
    file = next(
        (part for part in (folder, *folder.parents) if part.exists() and not part.is_dir()), None
    )
    if file:
        raise BadInputError(
            f"{where} is {str(chosen)!r}, but {file} is a file; a folder is needed."
        )
    return folder
