"""Configuration: where the YAMLs are, and how overrides become a configuration.

Hydra's grammar is used through its compose API, so that the library, the command line and the tests read the same files in
the same way. Every mistake ends in a BadInput of one sentence.
"""

from __future__ import annotations

import contextlib
import difflib
import fnmatch
import os
import re
from pathlib import Path

from harness.errors import BadInput

PACKAGE = Path(__file__).resolve().parent
CHECKOUT = PACKAGE.parent if (PACKAGE.parent / "conf" / "config.yaml").is_file() else None
CONF = CHECKOUT / "conf" if CHECKOUT else PACKAGE / "_conf"
EXPERIMENTS = CHECKOUT / "experiments" if CHECKOUT else PACKAGE / "_experiments"
PACKS = CHECKOUT / "data" / "packs.yaml" if CHECKOUT else PACKAGE / "_data" / "packs.yaml"
GROUPS = ("problem", "estimator", "experiment")


def ids(group: str) -> list[str]:
    """All ids of a group: the file names of conf/<group>."""
    return sorted(path.stem for path in (CONF / group).glob("*.yaml"))


def compose(overrides: list[str]) -> dict:
    """Overrides in Hydra's grammar -> the resolved configuration as plain dictionaries and lists."""
    from hydra import compose as hydra_compose
    from hydra import initialize_config_dir

    several = next((text for text in overrides if re.match(r"experiment=(\[|.*,)", text)), None)
    if several:
        raise BadInput(f"{several} names several experiments; a run is of one, and `-m experiment=a,b` runs one after the other.")
    with hydra_mistakes(overrides), initialize_config_dir(str(CONF), version_base="1.3"):
        composed = hydra_compose("config", overrides=prepared(overrides), return_hydra_config=True)
        return plain(composed, composed.hydra.runtime.choices.get("experiment"))


def plain(composed, experiment: str | None) -> dict:
    """A composed configuration as dictionaries and lists, without Hydra's own node; `experiment` is the one chosen."""
    from omegaconf import OmegaConf

    own = OmegaConf.masked_copy(composed, [key for key in composed if key != "hydra"])
    return {**OmegaConf.to_container(own, resolve=True), "experiment": experiment}


def prepared(overrides: list[str]) -> list[str]:
    """Overrides for Hydra: globs expanded, and paths below `sweep`, which no file can list, as additions."""
    return [f"++{text}" if text.startswith("sweep.") else text for text in expand_globs(overrides)]


@contextlib.contextmanager
def hydra_mistakes(overrides: list[str]):
    """Turn the errors of Hydra and OmegaConf into BadInput of one sentence."""
    from omegaconf.errors import OmegaConfBaseException

    try:
        yield
    except Exception as error:
        known = isinstance(error, OmegaConfBaseException) or type(error).__module__.startswith("hydra")
        known |= isinstance(error, ValueError) and not isinstance(error, BadInput)  # Hydra on group=null
        if not known:
            raise
        raise BadInput(_in_one_sentence(error, overrides)) from error


def expand_globs(overrides: list[str]) -> list[str]:
    """`estimator=glob(kde*)` -> a list, for `problem` and `estimator` (Hydra itself globs only in sweeps)."""
    expanded = []
    for text in overrides:
        match = re.fullmatch(r"(problem|estimator)=(\[.*\]|glob\(.*\))", text.replace(" ", ""))
        if not match or "glob(" not in text:
            expanded.append(text)
            continue
        group, value = match.groups()
        parts = re.findall(r"glob\(([^()]*)\)|([\w.-]+)", value)
        chosen: list[str] = []
        for pattern, plain in parts:
            found = fnmatch.filter(ids(group), pattern) if pattern else [plain]
            if not found:
                raise BadInput(f"no {group} matches {pattern!r}; `calharness list {group}s` shows all.")
            chosen += [name for name in found if name not in chosen]
        expanded.append(f"{group}=[{','.join(chosen)}]")
    return expanded


def _in_one_sentence(error, overrides):
    text = str(error).strip()
    first = text.splitlines()[0]
    missing = re.search(r"Could not (?:find|load) '(\w+)/([^']+)'", text)
    if missing and missing[1] in GROUPS:
        group, name = missing.groups()
        return f"there is no {group} {name!r}{guess(name, ids(group))}; `calharness list {group}s` shows all."
    wrong = re.search(r"Could not override '([^']+)'", text)
    if wrong:
        path = wrong[1]
        if "." not in path:
            return f"there is no option {path!r}{guess(path, _options())}; options are {', '.join(_options())}."
        return f"there is no setting {path!r} in this run; a parameter that its YAML does not list is given as +{path}=VALUE."
    return f"the options {' '.join(overrides)} are not valid: {first.rstrip('.')}."


def _options():
    text = (CONF / "config.yaml").read_text().split("\nhydra:")[0]
    return ["problem", "estimator", "experiment", *re.findall(r"^(\w+):", text, flags=re.M)[1:]]


def guess(word: str, known: list[str]) -> str:
    """' (did you mean ...?)', or nothing."""
    close = difflib.get_close_matches(word, known, n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""


def out_folder(given) -> Path:
    """Where results go: `out`, else CALHARNESS_OUT, else results/ of the checkout (of the working folder, if installed)."""
    if given is not None and not isinstance(given, (str, Path)):
        raise BadInput(f"out is {given!r}; the path of a folder is needed.")
    chosen = given or os.environ.get("CALHARNESS_OUT") or ((CHECKOUT or Path.cwd()) / "results")
    return Path(chosen).expanduser().resolve()
