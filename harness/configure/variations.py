"""Variations: runs of an experiment with something changed on the command line.

results/<paper>/ is written only by experiments without changes. Variations, and runs without an
experiment, write to results/variations/.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from harness.common.reading import read_text
from harness.common.seeds import digest
from harness.common.writing import write_json
from harness.configure import sweeps
from harness.configure.compose import compose
from harness.configure.figure import Labels
from harness.configure.rules import Role, option_names
from harness.configure.settings import OPERATIONAL, Settings

# {path of a setting: (value in the experiment's configuration, value in the variation)}
Differences = dict[str, tuple[Any, Any]]
# Settings that change the sample or the drawing, but not the quantity that a number estimates.
SAME_QUANTITIES = ("n", "reps", "seed", *option_names(Settings, Role.DRAWING))


def configured(settings: Settings) -> Settings | None:
    """Return the settings of the experiment of a run, without changes, or None without one.

    They are composed only if the command line has changed something.
    """
    if settings.is_as_configured:
        return settings
    return as_configured(settings.experiment, settings.trust, settings.config_dir)


def as_configured(
    experiment: str | None, trusted: Sequence[str] = (), config_dir: str | None = None
) -> Settings | None:
    """Return the settings of an experiment without changes, or None if `experiment` is empty.

    `trusted` are the modules of user code that the configuration may name. `config_dir` is the
    user's folder of configuration.
    """
    if not experiment:
        return None
    trust = [f"trust=[{','.join(trusted)}]"] if trusted else []
    folder = [f"config_dir='{config_dir}'"] if config_dir else []
    return compose([f"experiment={experiment}", *trust, *folder])


def differences(settings: Settings, reference: Settings | None) -> Differences:
    """Return {path: (value in `reference`, value in `settings`)} of all settings that differ.

    A problem or estimator may be in only one of the two settings. Then it has a single path, and
    the missing value is None. Settings with the role OPERATION, such as `jobs`, are not compared.
    """
    if reference is None:
        return {}
    return dict(_differing(_without(reference, "sweep"), _without(settings, "sweep"), ""))


def _without(settings: Settings, *names: str) -> dict[str, Any]:
    """Return {option: value} without the named options and those with the role OPERATION."""
    left_out = (*OPERATIONAL, *names)
    return {name: value for name, value in settings.to_dict().items() if name not in left_out}


def _differing(before: Any, after: Any, path: str) -> Iterator[tuple[str, tuple[Any, Any]]]:
    are_mappings = isinstance(before, dict) and isinstance(after, dict)
    if are_mappings and ("_target_" in before) == ("_target_" in after):
        for key in dict.fromkeys([*before, *after]):
            inner = f"{path}.{key}" if path else str(key)
            yield from _differing(before.get(key), after.get(key), inner)
    elif _canonical(before) != _canonical(after):
        yield path, (before, after)


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=str)


def identity(settings: Settings) -> str:
    """Return eight hexadecimal digits that identify the settings of a run.

    The run's name, its sweep, and settings with the role OPERATION do not count.
    """
    return digest(_canonical(_without(settings, "name", "sweep")))[:8]


def changed_components(differs: Differences, group: str) -> set[str]:
    """Return the ids of problems or estimators that are new in a variation, or have new parameters.

    `group` is "problem" or "estimator".
    """
    return {
        path.split(".")[1]
        for path, (_, after) in differs.items()
        if path.startswith(f"{group}.") and after is not None
    }


def same_quantities(differs: Differences) -> bool:
    """Return True if a variation's numbers can still be compared with the paper's numbers.

    That is so if only sample sizes, replications, seed or drawing differ from the experiment, or if
    problems or estimators are left out.
    """
    return all(
        path.split(".")[0] in SAME_QUANTITIES or _is_component(path) and after is None
        for path, (_, after) in differs.items()
    )


def _is_component(path: str) -> bool:
    return re.fullmatch(r"(problem|estimator)\.[^.]+", path) is not None


def labels(settings: Settings, differs: Differences) -> Labels:
    """Return the labels of problems and estimators for the figures of a variation.

    A problem or estimator with changed parameters loses the label that the paper gives it. Its new
    label is its id with the changes, such as 'binned15_mass (bins=30)'.
    """
    labels = {group: dict(settings.labels.texts(group)) for group in ("problem", "estimator")}
    for group, texts in labels.items():
        for name in changed_components(differs, group):
            head = f"{group}.{name}."
            new = {path: after for path, (_, after) in differs.items() if path.startswith(head)}
            if new and f"labels.{group}.{name}" not in differs:
                texts[name] = sweeps.add_values(name, new, sweeps.short_names(new))
    return Labels(**labels)


def move_other_aside(folder: Path, stem: str, content: dict[str, Any]) -> Path | None:
    """Rename a folder of results if it belongs to a run with other settings.

    Parameters
    ----------
    folder : Path
        Folder that the new results need.
    stem : str
        Name of the description of the results in that folder, without ".json".
    content : dict
        Description of the new results, which is written to <stem>.json.

    Returns
    -------
    Path or None
        New path of the old folder, <folder>~<identity of the old run>. None if nothing was renamed.
    """
    before = read_description(folder, stem)
    moved = None
    if before is not None and before.get("identity") != content["identity"]:
        moved = folder.with_name(f"{folder.name}~{before.get('identity')}")
        attempt = 1
        while moved.exists():
            attempt += 1
            moved = folder.with_name(f"{folder.name}~{before.get('identity')}.{attempt}")
        try:
            folder.rename(moved)
        except FileNotFoundError:  # another run has renamed it at the same time
            moved = None
    if before != content or moved:
        write_json(folder / f"{stem}.json", content)
    return moved


def read_description(folder: Path, stem: str) -> dict[str, Any] | None:
    """Return the content of <stem>.json in a folder of results, or None if it cannot be read."""
    try:
        content: dict[str, Any] = json.loads(read_text(folder / f"{stem}.json"))
        return content
    except (OSError, ValueError):
        return None


def shorten(value: Any, most: int = 60) -> str:
    """Return a value as text of at most `most` characters. Longer text ends in an ellipsis."""
    text = value if isinstance(value, str) else _canonical(value)
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _head(path: str, before: Any, after: Any) -> str:
    """Return the words by which a change is named: usually the path itself.

    If the change adds or removes a whole problem or estimator, return "problem" or "estimator".
    """
    is_chosen = _is_component(path) and (before is None or after is None)
    return path.split(".")[0] if is_chosen else path


def changes(settings: Settings, differs: Differences, most: int = 5) -> str:
    """Return the changes of a variation as on the command line, such as 'n=[200], reps=2'.

    After `most` changes, the others are only counted.
    """
    texts: dict[str, str] = {}
    for path, (before, after) in differs.items():
        head = _head(path, before, after)
        value = list(settings.chosen(head)) if head in ("problem", "estimator") else after
        text = value if isinstance(value, str) else _canonical(value).replace('"', "")
        texts.setdefault(head, f"{head}={shorten(text, 40)}")
    return _join(list(texts.values()), most)


def sentence(settings: Settings, differs: Differences) -> str:
    """Return a description such as 'a variation of berta2026_fig1 (n, reps, seed)'.

    For a run without an experiment, return 'a run without an experiment'.
    """
    if not settings.experiment:
        return "a run without an experiment"
    heads = dict.fromkeys(_head(path, *pair) for path, pair in differs.items() if path != "name")
    return f"a variation of {settings.experiment} ({_join(list(heads), 4) or 'name'})"


def _join(texts: list[str], most: int) -> str:
    more = f" and {len(texts) - most} more" if len(texts) > most else ""
    return ", ".join(texts[:most]) + more
