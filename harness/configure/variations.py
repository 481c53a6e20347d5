"""Which result a run writes: an experiment's own, or a variation's.

results/<paper>/ belongs to the experiments as they are configured. A run whose configuration differs from its experiment's, or
that has no experiment, is a result of its own, below results/variations/.
"""

from __future__ import annotations

import contextlib
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
from harness.errors import BadInputError

if TYPE_CHECKING:
    import pandas as pd

Differences = dict[str, tuple[Any, Any]]  # path -> (value as configured, value here)
OPERATIONAL = names_of(Settings, Role.OPERATION)
# These can differ while every number is of what the paper has: other replications and sizes, and
# another drawing.
SAME_QUANTITIES = ("n", "reps", "seed", *names_of(Settings, Role.DRAWING))


def as_configured(experiment: str | None, trusted: Sequence[str] = ()) -> Settings | None:
    """Settings of an experiment with nothing changed; None without one. `trusted`: the modules whose code it may name."""
    if not experiment:
        return None
    return compose(
        [f"experiment={experiment}", *([f"trust=[{','.join(trusted)}]"] if trusted else [])]
    )


def differences(settings: Settings, reference: Settings | None) -> Differences:
    """{path: (value in the reference, value here)}; a problem or estimator that only one of them has is one path."""
    if reference is None:
        return {}
    mine, theirs = (_without(one, "sweep") for one in (settings, reference))
    return dict(_differing(theirs, mine, ""))


def _without(settings: Settings, *names: str) -> dict[str, Any]:
    """The options, but for these and the operational ones."""
    return {
        name: value
        for name, value in settings.to_dict().items()
        if name not in (*OPERATIONAL, *names)
    }


def _differing(before: Any, after: Any, path: str) -> Iterator[tuple[str, tuple[Any, Any]]]:
    if (
        isinstance(before, dict)
        and isinstance(after, dict)
        and not ("_target_" in before) ^ ("_target_" in after)
    ):
        for key in [*before, *(key for key in after if key not in before)]:
            yield from _differing(
                before.get(key), after.get(key), f"{path}.{key}" if path else str(key)
            )
    elif _canonical(before) != _canonical(after):
        yield path, (before, after)


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=str)


def identity(settings: Settings) -> str:
    """Eight digits that identify what a run is, its name aside."""
    return digest(_canonical(_without(settings, "name", "sweep")))[:8]


def changed_components(differs: Differences, group: str) -> set[str]:
    """The ids of problems or estimators of the run that are not as the experiment has them, in parameters or at all."""
    return {
        path.split(".")[1]
        for path, (_, after) in differs.items()
        if path.startswith(f"{group}.") and after is not None
    }


def same_quantities(differs: Differences) -> bool:
    """Whether the run differs from its experiment in sampling and drawing alone, or leaves some problems and estimators out, so
    that its numbers answer to the paper's."""
    node = re.compile(r"(problem|estimator)\.[^.]+")
    left_out = {
        path for path, (_, after) in differs.items() if after is None and node.fullmatch(path)
    }
    return all(path in left_out or path.split(".")[0] in SAME_QUANTITIES for path in differs)


def comparable(compared: pd.DataFrame, differs: Differences) -> pd.DataFrame:
    """The rows of reproduction.compare that a variation has a number for, of what the paper's is of: where it changes n, those
    that say of which n they are."""
    kept = compared["ours"].notna()
    if "n" in differs:
        kept &= (compared["row"] + ", " + compared["column"]).str.contains("n = ", regex=False)
    return compared[kept].reset_index(drop=True)


def labels(settings: Settings, differs: Differences) -> Labels:
    """The labels for a variation: a problem or estimator with changed parameters does not bear the paper's name for the unchanged
    one, but says what was changed: 'binned15_mass (bins=30)'."""
    found = {group: dict(settings.labels.of(group)) for group in ("problem", "estimator")}
    for group, texts in found.items():
        for name in changed_components(differs, group):
            head = f"{group}.{name}."
            new = {path: after for path, (_, after) in differs.items() if path.startswith(head)}
            if new and f"labels.{group}.{name}" not in differs:
                texts[name] = sweeps.suffixed(name, new, sweeps.words(new))
    return Labels(**found)


def keep_other(folder: Path, stem: str, content: dict[str, Any]) -> Path | None:
    """Before results are written to a named folder that holds those of another configuration: move it aside, to
    <folder>~<identity of what it holds>, and return that path. `content` is what <stem>.json is to say of the new ones."""
    held = kept(folder, stem)
    moved = None
    if held is not None and held.get("identity") != content["identity"]:
        moved = folder.with_name(f"{folder.name}~{held.get('identity')}")
        attempt = 1
        while moved.exists():
            attempt += 1
            moved = folder.with_name(f"{folder.name}~{held.get('identity')}.{attempt}")
        try:
            folder.rename(moved)
        except FileNotFoundError:  # another run, at the same time, has moved it
            moved = None
    if held != content or moved:
        write_json(folder / f"{stem}.json", content)
    return moved


@contextlib.contextmanager
def undisturbed(folder: Path, stem: str, identity: str) -> Iterator[None]:
    """While results are written to a folder: raise BadInputError if another run takes it, by the same name at the same time."""
    try:
        yield
    except FileNotFoundError:  # moved aside
        if (kept(folder, stem) or {}).get("identity") == identity:
            raise
    if (kept(folder, stem) or {}).get("identity") != identity:
        raise BadInputError(
            f"another run of that name wrote to {folder} meanwhile; nothing recorded is lost: `calharness report` with the same "
            "options and another name= draws this one."
        )


def kept(folder: Path, stem: str) -> dict[str, Any] | None:
    """What <stem>.json says of the results in a folder, None without it."""
    try:
        content: dict[str, Any] = json.loads((folder / f"{stem}.json").read_text())
        return content
    except (OSError, ValueError):
        return None


def brief(value: Any, most: int = 60) -> str:
    """A value in a sentence or table."""
    text = "null" if value is None else value if isinstance(value, str) else _canonical(value)
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _head(path: str, before: Any, after: Any) -> str:
    """The path; of a problem or estimator that only one of both has, problem or estimator."""
    chosen = (
        path.startswith(("problem.", "estimator."))
        and (before is None or after is None)
        and path.count(".") == 1
    )
    return path.split(".")[0] if chosen else path


def changes(settings: Settings, differs: Differences, most: int = 5) -> str:
    """What a variation changes, as on the command line: 'n=[200], reps=2, problem=[beta_wavy]'; of many the first `most`."""
    texts: dict[str, str] = {}
    for path, (before, after) in differs.items():
        head = _head(path, before, after)
        value = list(settings.chosen(head)) if head in ("problem", "estimator") else after
        text = value if isinstance(value, str) else _canonical(value).replace('"', "")
        texts.setdefault(head, f"{head}={brief(text, 40)}")
    shown = list(texts.values())
    return ", ".join(shown[:most]) + (f" and {len(shown) - most} more" if len(shown) > most else "")


def sentence(settings: Settings, differs: Differences) -> str:
    """'a variation of berta2026_fig1 (n, reps, seed)', or what the run is without an experiment."""
    if not settings.experiment:
        return "a run of its own"
    heads = list(
        dict.fromkeys(_head(path, *pair) for path, pair in differs.items() if path != "name")
    )
    shown = ", ".join(heads[:4]) + (f" and {len(heads) - 4} more" if len(heads) > 4 else "")
    return f"a variation of {settings.experiment} ({shown or 'name'})"
