"""Sweeps: one run over a product of parameter values, given as `sweep.<path>=[values]` or by Hydra's -m.

A path is a key of the configuration: `estimator.binned15.bins`, `problem.beta_overconfident.a`, `seed`, `bootstrap` ... A point
of the sweep is a value for each path; its configuration is the run's with these values in place. A value bears on the cells of
its own estimator or problem, or, if the path belongs to neither, on all.
"""

from __future__ import annotations

import copy
import itertools
import json
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from harness.common.columns import SUMMARY_COLUMNS
from harness.configure import trust
from harness.configure.rules import Role, names_of
from harness.configure.settings import OPTIONS, Settings
from harness.errors import BadInputError, guess

GRID = (
    "n",
    "notion",
    "reps",
)  # lists as they are: their values make one larger run, and no parameter
SWEPT = [name for name in names_of(Settings, Role.CELLS) if name not in GRID]
FIXED = (
    "hydra",
    *(name for name in OPTIONS if name not in (*SWEPT, *GRID, "problem", "estimator")),
)
LARGEST_SWEEP = 10_000


def flatten(tree: dict[str, Any], path: str = "") -> dict[str, list[Any]]:
    """{'estimator': {'binned15': {'bins': [5, 10]}}} -> {'estimator.binned15.bins': [5, 10]}; a single value is a list of one."""
    found: dict[str, list[Any]] = {}
    for key, value in tree.items():
        where = f"{path}.{key}" if path else str(key)
        if isinstance(value, dict) and value and "_target_" not in value:
            found |= flatten(value, where)
        else:
            found[where] = list(value) if isinstance(value, list) else [value]
    return found


def points(settings: Settings) -> list[tuple[dict[str, Any], Settings]]:
    """[({path: value}, settings of the point)] of settings.sweep, the last path varying fastest."""
    paths = flatten(settings.sweep)
    for path, values in paths.items():
        _check(path, values, settings)
        trust.refuse(
            trust.targets({path.rpartition(".")[2]: values}, f"sweep.{path.rpartition('.')[0]}"),
            settings.trust,
        )
    size = 1
    for values in paths.values():
        size *= len(values)
    if size > LARGEST_SWEEP:
        raise BadInputError(
            f"the sweep has {size:,} points; at most {LARGEST_SWEEP:,} are allowed: give fewer values."
        )
    base = replace(settings, sweep={})
    return [
        (values, placed(base, values))
        for values in (dict(zip(paths, point)) for point in itertools.product(*paths.values()))
    ]


def _check(path: str, values: list[Any], settings: Settings) -> None:
    head, *rest = path.split(".")
    if settings.ranking:
        raise BadInputError(
            f"sweep.{path} is given in a run that ranks models; a sweep is of a run without ranking."
        )
    if path == "estimand":
        given = ",".join(map(str, values))
        raise BadInputError(
            f"estimand cannot be swept; estimand=[{given}] shows several, of one computation."
        )
    if head in FIXED:
        raise BadInputError(
            f"{head} cannot be swept; parameters of problems and estimators, seed and bootstrap can."
        )
    if head in GRID:
        raise BadInputError(
            f"sweep.{path} is given, but {head} takes several values as it is; give {head}={json.dumps(values)}."
        )
    if head in ("problem", "estimator"):
        if len(rest) < 2:
            raise BadInputError(
                f"sweep.{path} names no parameter; sweep.{head}.ID.PARAMETER=[values] is needed, or {head}=[IDs]."
            )
        if rest[0] not in settings.chosen(head):
            chosen = ", ".join(settings.chosen(head)) or "none"
            raise BadInputError(
                f"sweep.{path} is of {rest[0]!r}, but the {head}s of this run are {chosen}; add it to {head}=[...]."
            )
    elif rest or head not in OPTIONS:
        raise BadInputError(
            f"there is no option {path!r} to sweep{guess(path, SWEPT)}; options are {', '.join(SWEPT)}."
        )
    if not values:
        raise BadInputError(f"sweep.{path} is an empty list; give at least one value.")
    seen: set[str] = set()
    for value in values:
        if _same(value) in seen or said(value) in seen:
            raise BadInputError(f"sweep.{path} holds {said(value)} twice; give every value once.")
        seen |= {_same(value), said(value)}


def _same(value: Any) -> str:
    """Equal for values that are one point of a sweep: 5 and 5.0."""
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return json.dumps(float(value) if number else value, sort_keys=True, default=str)


def placed(settings: Settings, values: dict[str, Any]) -> Settings:
    """The settings with values in place: {'estimator.binned15.bins': 10}."""
    made = copy.deepcopy(settings.to_dict())
    for path, value in values.items():
        *folders, last = path.split(".")
        place = made
        for folder in folders:
            if not isinstance(place.get(folder), dict):
                raise BadInputError(
                    f"there is no setting {path!r} in this run: {folder!r} holds no parameters."
                )
            place = place[folder]
        place[last] = value
    return Settings.from_dict(made)


def words(paths: Iterable[str]) -> dict[str, str]:
    """{path: its last word}, or as many last words as tell the paths apart: bins, or binned15.bins and kmeans15.bins; and from
    the columns of harness.evaluation, beside which they stand."""
    paths = list(dict.fromkeys(paths))
    found = {}
    for path in paths:
        parts = path.split(".")
        for size in range(1, len(parts) + 1):
            end = ".".join(parts[-size:])
            alike = any(
                other != path and (other == end or other.endswith(f".{end}")) for other in paths
            )
            if not alike and end not in SUMMARY_COLUMNS:
                break
        found[path] = end
    return found


def own(values: dict[str, Any], group: str, origin: str) -> dict[str, Any]:
    """The values that make this problem or estimator: those of paths below `group.origin`."""
    return {path: value for path, value in values.items() if path.startswith(f"{group}.{origin}.")}


def bearing(values: dict[str, Any], problem: str, estimator: str) -> dict[str, Any]:
    """The values that bear on the cells of a problem and an estimator (their names in the configuration)."""
    mine = {**own(values, "problem", problem), **own(values, "estimator", estimator)}
    general = {path for path in values if not path.startswith(("problem.", "estimator."))}
    return {path: value for path, value in values.items() if path in mine or path in general}


def suffixed(name: str, values: dict[str, Any], words_of: dict[str, str]) -> str:
    """'binned15 (bins=10)'; the name alone without values."""
    return (
        f"{name} ({', '.join(f'{words_of[path]}={said(value)}' for path, value in values.items())})"
        if values
        else name
    )


def said(value: Any) -> str:
    """A value in a label, to the last digit, as labels tell values apart: 0.1, 1, mass, null, [1, 2]."""
    if isinstance(value, float):
        return text if float(text := f"{value:.6g}") == value else repr(value)
    if isinstance(value, str):
        return value
    return json.dumps(value, sort_keys=True, default=str)
