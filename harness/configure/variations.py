"""Variations: runs whose configuration differs from their experiment's.

results/<paper>/ belongs to the experiments as configured. Variations, and runs without an
experiment, write to results/variations/.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.common.seeds import digest
from harness.common.writing import write_json
from harness.configure import sweeps
from harness.configure.compose import compose
from harness.configure.figure import Labels
from harness.configure.rules import Role, names_of
from harness.configure.settings import Settings

if TYPE_CHECKING:
    import pandas as pd

Differences = dict[str, tuple[Any, Any]]  # path: (value as configured, value here)
OPERATIONAL = names_of(Settings, Role.OPERATION)
# with other values of these, each number still estimates the same quantity as the paper's
SAME_QUANTITIES = ("n", "reps", "seed", *names_of(Settings, Role.DRAWING))


def as_configured(experiment: str | None, trusted: Sequence[str] = ()) -> Settings | None:
    """Return the settings of an experiment with nothing changed, or None without an experiment.

    `trusted`: modules whose code it may name.
    """
    if not experiment:
        return None
    trust = [f"trust=[{','.join(trusted)}]"] if trusted else []
    return compose([f"experiment={experiment}", *trust])


def differences(settings: Settings, reference: Settings | None) -> Differences:
    """Return {path: (value in the reference, value here)}.

    A problem or estimator that only one of them has is one path.
    """
    if reference is None:
        return {}
    return dict(_differing(_without(reference, "sweep"), _without(settings, "sweep"), ""))


def _without(settings: Settings, *names: str) -> dict[str, Any]:
    """Return the options except the named and the operational ones."""
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
    """Return eight digits that identify a run, apart from its name."""
    return digest(_canonical(_without(settings, "name", "sweep")))[:8]


def changed_components(differs: Differences, group: str) -> set[str]:
    """Return the ids of problems or estimators that are new, or have other parameters."""
    return {
        path.split(".")[1]
        for path, (_, after) in differs.items()
        if path.startswith(f"{group}.") and after is not None
    }


def same_quantities(differs: Differences) -> bool:
    """Return True if the run's numbers can be compared with the paper's.

    It may differ from its experiment in sampling and drawing, or leave problems and estimators out.
    """
    return all(
        path.split(".")[0] in SAME_QUANTITIES or _is_component(path) and after is None
        for path, (_, after) in differs.items()
    )


def _is_component(path: str) -> bool:
    return re.fullmatch(r"(problem|estimator)\.[^.]+", path) is not None


def comparable(compared: pd.DataFrame, differs: Differences) -> pd.DataFrame:
    """Return the rows of reproduction.compare that a variation has a number for.

    If it changes n, only rows that name their n are kept.
    """
    kept = compared["ours"].notna()
    if "n" in differs:
        kept &= (compared["row"] + ", " + compared["column"]).str.contains("n = ", regex=False)
    return compared[kept].reset_index(drop=True)


def labels(settings: Settings, differs: Differences) -> Labels:
    """Return the labels for a variation.

    A problem or estimator with changed parameters does not have the paper's name for the unchanged
    one, but names the changes: 'binned15_mass (bins=30)'.
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
    """Move a named folder aside if it holds the results of another configuration.

    Parameters
    ----------
    folder : Path
        Folder that new results are to be written to.
    stem : str
        <stem>.json in the folder describes its results.
    content : dict
        Description of the new results; it is written to <stem>.json.

    Returns
    -------
    Path or None
        <folder>~<identity of the old results>, or None if nothing was moved.
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
        except FileNotFoundError:  # another run has moved it at the same time
            moved = None
    if before != content or moved:
        write_json(folder / f"{stem}.json", content)
    return moved


def read_description(folder: Path, stem: str) -> dict[str, Any] | None:
    """Return the content of <stem>.json in a folder of results, or None without it."""
    try:
        content: dict[str, Any] = json.loads((folder / f"{stem}.json").read_text())
        return content
    except (OSError, ValueError):
        return None


def shorten(value: Any, most: int = 60) -> str:
    """Return a value for a sentence or table, in at most so many characters."""
    text = value if isinstance(value, str) else _canonical(value)
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _head(path: str, before: Any, after: Any) -> str:
    """Return the path, or "problem" or "estimator" if only one of both values exists."""
    is_chosen = _is_component(path) and (before is None or after is None)
    return path.split(".")[0] if is_chosen else path


def changes(settings: Settings, differs: Differences, most: int = 5) -> str:
    """Return the changes of a variation as on the command line: 'n=[200], reps=2'."""
    texts: dict[str, str] = {}
    for path, (before, after) in differs.items():
        head = _head(path, before, after)
        value = list(settings.chosen(head)) if head in ("problem", "estimator") else after
        text = value if isinstance(value, str) else _canonical(value).replace('"', "")
        texts.setdefault(head, f"{head}={shorten(text, 40)}")
    return _join(list(texts.values()), most)


def sentence(settings: Settings, differs: Differences) -> str:
    """Return 'a variation of berta2026_fig1 (n, reps, seed)', or 'a run of its own'."""
    if not settings.experiment:
        return "a run of its own"
    heads = dict.fromkeys(_head(path, *pair) for path, pair in differs.items() if path != "name")
    return f"a variation of {settings.experiment} ({_join(list(heads), 4) or 'name'})"


def _join(texts: list[str], most: int) -> str:
    more = f" and {len(texts) - most} more" if len(texts) > most else ""
    return ", ".join(texts[:most]) + more
