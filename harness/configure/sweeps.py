"""Sweeps: one run over a product of parameter values, by `sweep.<path>=[values]` or Hydra's -m.

A path is a key of the configuration: `estimator.binned15.bins`, `problem.beta_overconfident.a`,
`seed`, `bootstrap` ... A point of the sweep is a value for each path; its settings are those of the
run with these values in place. A value bears on the cells of its estimator or problem or, if the
path belongs to neither, on all cells.
"""

from __future__ import annotations

import copy
import itertools
import json
import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from harness.common.columns import SUMMARY_COLUMNS
from harness.configure import trust
from harness.configure.rules import Role, is_number, names_of
from harness.configure.settings import OPTIONS, Settings
from harness.errors import BadInputError, guess

GRID = ("n", "notion", "reps")  # several values make one larger run, not a sweep
SWEPT = [name for name in names_of(Settings, Role.CELLS) if name not in GRID]
COMPONENTS = ("problem", "estimator")
FIXED = ("hydra", *(name for name in OPTIONS if name not in (*SWEPT, *GRID, *COMPONENTS)))
LARGEST_SWEEP = 10_000  # points


def flatten(tree: dict[str, Any], path: str = "") -> dict[str, list[Any]]:
    """Return nested mappings as paths with lists of values.

    {'estimator': {'binned15': {'bins': [5, 10]}}} -> {'estimator.binned15.bins': [5, 10]}
    """
    paths: dict[str, list[Any]] = {}
    for key, value in tree.items():
        where = f"{path}.{key}" if path else str(key)
        if isinstance(value, dict) and value and "_target_" not in value:
            paths |= flatten(value, where)
        else:
            paths[where] = list(value) if isinstance(value, list) else [value]
    return paths


def points(settings: Settings) -> list[tuple[dict[str, Any], Settings]]:
    """Return [({path: value}, settings of the point)] of a sweep; the last path varies fastest."""
    paths = flatten(settings.sweep)
    for path, values in paths.items():
        _check(path, values, settings)
        folder, _, name = path.rpartition(".")
        trust.check_code(trust.targets({name: values}, f"sweep.{folder}"), settings.trust)
    size = math.prod(map(len, paths.values()))
    if size > LARGEST_SWEEP:
        raise BadInputError(
            f"the sweep has {size:,} points; at most {LARGEST_SWEEP:,} are allowed: give fewer "
            "values."
        )
    base = replace(settings, sweep={})
    products = [dict(zip(paths, values)) for values in itertools.product(*paths.values())]
    return [(values, _placed(base, values)) for values in products]


def _check(path: str, values: list[Any], settings: Settings) -> None:
    """Raise BadInputError if a path cannot be swept over these values."""
    head, *rest = path.split(".")
    if settings.ranking:
        raise BadInputError(
            f"sweep.{path} is given in a run that ranks models; a sweep is of a run without "
            "ranking."
        )
    if head in FIXED:
        raise BadInputError(
            f"{head} cannot be swept; parameters of problems and estimators, seed and bootstrap "
            "can."
        )
    if head in GRID:
        raise BadInputError(
            f"sweep.{path} is given, but {head} takes several values as it is; give "
            f"{head}={json.dumps(values)}."
        )
    if head in COMPONENTS:
        if len(rest) < 2:
            raise BadInputError(
                f"sweep.{path} names no parameter; sweep.{head}.ID.PARAMETER=[values] is needed, "
                "or "
                f"{head}=[IDs]."
            )
        if rest[0] not in settings.chosen(head):
            chosen = ", ".join(settings.chosen(head)) or "none"
            raise BadInputError(
                f"sweep.{path} is of {rest[0]!r}, but the {head}s of this run are {chosen}; add it "
                f"to {head}=[...]."
            )
    elif rest or head not in OPTIONS:
        raise BadInputError(
            f"there is no option {path!r} to sweep{guess(path, SWEPT)}; options are "
            f"{', '.join(SWEPT)}."
        )
    if not values:
        raise BadInputError(f"sweep.{path} is an empty list; give at least one value.")
    seen: set[str] = set()
    for value in values:
        # 5 and 5.0 are one point, and two labels must read differently
        forms = {value_text(value), value_text(float(value) if is_number(value) else value)}
        if forms & seen:
            raise BadInputError(
                f"sweep.{path} holds {value_text(value)} twice; give every value once."
            )
        seen |= forms


def _placed(settings: Settings, values: dict[str, Any]) -> Settings:
    """Return the settings with values in place, as {'estimator.binned15.bins': 10}."""
    options = copy.deepcopy(settings.to_dict())
    for path, value in values.items():
        *folders, last = path.split(".")
        place = options
        for folder in folders:
            if not isinstance(place.get(folder), dict):
                raise BadInputError(
                    f"there is no setting {path!r} in this run: {folder!r} holds no parameters."
                )
            place = place[folder]
        place[last] = value
    return Settings.from_dict(options)


def short_names(paths: Iterable[str]) -> dict[str, str]:
    """Return a word for each path: its last parts, as many as tell the paths apart.

    'bins', or 'binned15.bins' and 'kmeans15.bins'. A word is never the name of a column of
    harness.evaluation, because it becomes a column beside them.
    """
    paths = list(dict.fromkeys(paths))
    named = {}
    for path in paths:
        parts = path.split(".")
        others = [f".{other}" for other in paths if other != path]
        ends = [".".join(parts[-size:]) for size in range(1, len(parts) + 1)]
        named[path] = next(
            (
                end
                for end in ends
                if end not in SUMMARY_COLUMNS
                and not any(other.endswith(f".{end}") for other in others)
            ),
            path,
        )
    return named


def component_values(values: dict[str, Any], group: str, origin: str) -> dict[str, Any]:
    """Return the values of paths below `group.origin`: those of one problem or estimator."""
    return {path: value for path, value in values.items() if path.startswith(f"{group}.{origin}.")}


def cell_values(values: dict[str, Any], problem: str, estimator: str) -> dict[str, Any]:
    """Return the values that bear on the cells of a problem and an estimator (by their origins)."""
    heads = (f"problem.{problem}.", f"estimator.{estimator}.")
    return {
        path: value
        for path, value in values.items()
        if path.startswith(heads) or path.split(".")[0] not in COMPONENTS
    }


def add_values(name: str, values: dict[str, Any], words_of: dict[str, str]) -> str:
    """Return 'binned15 (bins=10)', or the name alone without values."""
    if not values:
        return name
    texts = [f"{words_of[path]}={value_text(value)}" for path, value in values.items()]
    return f"{name} ({', '.join(texts)})"


def value_text(value: Any) -> str:
    """Return a value in a label, exact to the last digit: 0.1, 1, mass, null, [1, 2]."""
    if isinstance(value, float):
        text = f"{value:.6g}"
        return text if float(text) == value else repr(value)
    if isinstance(value, str):
        return value
    return json.dumps(value, sort_keys=True, default=str)
