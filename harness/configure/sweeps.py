"""Sweeps: one run over all combinations of parameter values.

`sweep.<path>=[values]` or Hydra's flag -m asks for a sweep. A path is a key of the configuration,
such as `estimator.binned15.bins`, `problem.beta_overconfident.a`, `seed` or `bootstrap`.

A point of the sweep is one combination: one value for each path. The settings of a point are those
of the run, with these values put in. The value of a parameter changes only the cells of its
estimator or problem. The value of a path such as `seed` changes all cells.
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
from harness.configure.rules import Role, is_number, option_names
from harness.configure.settings import OPTIONS, Settings
from harness.errors import BadInputError, guess

GRID = ("n", "notion", "reps")  # options that take several values without a sweep
SWEPT = [name for name in option_names(Settings, Role.CELLS) if name not in GRID]
COMPONENTS = ("problem", "estimator")
FIXED = ("hydra", *(name for name in OPTIONS if name not in (*SWEPT, *GRID, *COMPONENTS)))
LARGEST_SWEEP = 10_000  # largest number of points


def flatten(tree: dict[str, Any], path: str = "") -> dict[str, list[Any]]:
    """Return nested mappings as one mapping {path: list of values}.

    {'estimator': {'binned15': {'bins': [5, 10]}}} becomes {'estimator.binned15.bins': [5, 10]}.
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
    """Return the points of a sweep, each as ({path: value}, settings with these values).

    From one point to the next, the value of the last path varies fastest.
    """
    paths = flatten(settings.sweep)
    for path, values in paths.items():
        _check(path, values, settings)
        folder, _, name = path.rpartition(".")
        trust.check_code(trust.targets({name: values}, f"sweep.{folder}"), settings.trust)
    size = math.prod(map(len, paths.values()))
    if size > LARGEST_SWEEP:
        raise BadInputError(
            f"the sweep has {size:,} combinations of values; give fewer values, for at most "
            f"{LARGEST_SWEEP:,} combinations."
        )
    base = replace(settings, sweep={})
    products = [dict(zip(paths, values)) for values in itertools.product(*paths.values())]
    return [(values, _put_values(base, values)) for values in products]


def _check(path: str, values: list[Any], settings: Settings) -> None:
    """Raise BadInputError if the run cannot be swept over these values of a path."""
    head, *rest = path.split(".")
    if settings.ranking:
        raise BadInputError(
            f"sweep.{path} is given in a run that ranks models, which cannot be swept; leave out "
            "ranking or the sweep."
        )
    if head in FIXED:
        raise BadInputError(
            f"{head} cannot be swept; sweep parameters of problems and estimators, seed or "
            "bootstrap."
        )
    if head in GRID:
        raise BadInputError(
            f"sweep.{path} is given, but {head} itself can be a list; give "
            f"{head}={json.dumps(values)}."
        )
    if head in COMPONENTS:
        if len(rest) < 2:
            raise BadInputError(
                f"sweep.{path} names no parameter; give sweep.{head}.ID.PARAMETER=[values], or "
                f"{head}=[IDs]."
            )
        if rest[0] not in settings.chosen(head):
            chosen = ", ".join(settings.chosen(head)) or "none"
            raise BadInputError(
                f"sweep.{path} names {rest[0]!r}, but the {head}s of this run are {chosen}; add it "
                f"to {head}=[...]."
            )
    elif rest or head not in OPTIONS:
        raise BadInputError(
            f"there is no option {path!r} to sweep{guess(path, SWEPT)}; allowed are "
            f"{', '.join(SWEPT)}."
        )
    if not values:
        raise BadInputError(f"sweep.{path} is an empty list; give at least one value.")
    seen: set[str] = set()
    for value in values:
        # 5 and 5.0 would be the same point, and labels of different points must differ.
        forms = {value_text(value), value_text(float(value) if is_number(value) else value)}
        if forms & seen:
            raise BadInputError(
                f"sweep.{path} contains {value_text(value)} twice; give each value once."
            )
        seen |= forms


def _put_values(settings: Settings, values: dict[str, Any]) -> Settings:
    """Return a copy of the settings with the values {path: value} put in."""
    options = copy.deepcopy(settings.to_dict())
    for path, value in values.items():
        *folders, last = path.split(".")
        place = options
        for folder in folders:
            if not isinstance(place.get(folder), dict):
                raise BadInputError(
                    f"there is no setting {path!r} in this run, because {folder!r} has no "
                    "parameters; correct the path."
                )
            place = place[folder]
        place[last] = value
    return Settings.from_dict(options)


def short_names(paths: Iterable[str]) -> dict[str, str]:
    """Return {path: short name}, where a short name is the end of a path and unique.

    'estimator.binned15.bins' becomes 'bins' if no other path ends in '.bins', and 'binned15.bins'
    otherwise. Short names become columns of the table of `harness.evaluate`, so they never equal
    the name of another column of that table.
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
    """Return the entries of {path: value} that are parameters of one problem or estimator.

    `group` is "problem" or "estimator", and `origin` is its id in the configuration.
    """
    return {path: value for path, value in values.items() if path.startswith(f"{group}.{origin}.")}


def cell_values(values: dict[str, Any], problem: str, estimator: str) -> dict[str, Any]:
    """Return the entries of {path: value} that change the cells of a problem and an estimator.

    These are the parameters of both, and paths such as `seed` that change all cells. `problem` and
    `estimator` are ids in the configuration.
    """
    heads = (f"problem.{problem}.", f"estimator.{estimator}.")
    return {
        path: value
        for path, value in values.items()
        if path.startswith(heads) or path.split(".")[0] not in COMPONENTS
    }


def add_values(name: str, values: dict[str, Any], words: dict[str, str]) -> str:
    """Return a name with swept values, such as 'binned15 (bins=10)'. Without values, return `name`.

    `values` is {path: value}, and `words` is {path: short name}.
    """
    if not values:
        return name
    texts = [f"{words[path]}={value_text(value)}" for path, value in values.items()]
    return f"{name} ({', '.join(texts)})"


def value_text(value: Any) -> str:
    """Return the text of a value in labels: 0.1, 1, mass, null, [1, 2]. Numbers keep all digits."""
    if isinstance(value, float):
        text = f"{value:.6g}"
        return text if float(text) == value else repr(value)
    if isinstance(value, str):
        return value
    return json.dumps(value, sort_keys=True, default=str)
