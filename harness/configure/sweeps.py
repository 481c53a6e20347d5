"""Sweeps: one run over all combinations of parameter values.

`sweep.<path>=[values]` or Hydra's flag -m asks for a sweep. A path is a key of the configuration,
such as `estimator.binned15.bins`, `problem.beta_overconfident.a`, `seed` or `bootstrap`.

`sweep.zip.<path>=[values]` takes the values of several paths together: the first values make the
first point, the second values the second.

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

from harness.common.columns import RESERVED
from harness.configure import catalogue, trust
from harness.configure.rules import Role, is_number, option_names
from harness.configure.settings import OPTIONS, Settings
from harness.errors import BadInputError, guess

GRID = ("n", "notion", "reps")  # options that take several values without a sweep
SWEPT = [name for name in option_names(Settings, Role.CELLS) if name not in GRID]
COMPONENTS = ("problem", "estimator")
FIXED = ("hydra", *(name for name in OPTIONS if name not in (*SWEPT, *GRID, *COMPONENTS)))
TOGETHER = "zip."  # first part of paths whose values are taken together
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
    written = flatten(settings.sweep)
    paths = {path.removeprefix(TOGETHER): values for path, values in written.items()}
    paired = [path.removeprefix(TOGETHER) for path in written if path.startswith(TOGETHER)]
    for path, values in paths.items():
        _check(path, values, settings, path in paired)
        folder, _, name = path.rpartition(".")
        trust.check_code(trust.targets({name: values}, f"sweep.{folder}"), settings.trust)
    lengths = {path: len(paths[path]) for path in paired}
    if len(paths) < len(written) or len(set(lengths.values())) > 1:
        listed = ", ".join(f"{path} has {length}" for path, length in lengths.items())
        raise BadInputError(
            f"the values of sweep.{TOGETHER}PATH are taken together ({listed}); give each path "
            "once, and lists of the same length."
        )
    pairs = list(zip(*(paths[path] for path in paired)))
    if len({json.dumps(pair, default=str) for pair in pairs}) < len(pairs):
        raise BadInputError(
            f"sweep.{TOGETHER}PATH contains the same values twice; give each pair once."
        )
    axes = [[{path: value} for value in paths[path]] for path in paths if path not in paired]
    if paired:
        axes.insert(0, [dict(zip(paired, row)) for row in pairs])
    size = math.prod(map(len, axes))
    if size > LARGEST_SWEEP:
        raise BadInputError(
            f"the sweep has {size:,} combinations of values; give fewer values, for at most "
            f"{LARGEST_SWEEP:,} combinations."
        )
    base = replace(settings, sweep={})
    products = [
        {path: value for part in parts for path, value in part.items()}
        for parts in itertools.product(*axes)
    ]
    return [(values, _put_values(base, values)) for values in products]


def _check(path: str, values: list[Any], settings: Settings, is_paired: bool) -> None:
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
        group = next((g for g in COMPONENTS if rest and head in settings.chosen(g)), None)
        if group:
            raise BadInputError(
                f"sweep.{path} does not say that {head} is one of the {group}s; give "
                f"sweep.{group}.{path}=[values]."
            )
        raise BadInputError(
            f"there is no option {path!r} to sweep{guess(path, SWEPT)}; allowed are "
            f"{', '.join(SWEPT)}."
        )
    if not values:
        raise BadInputError(f"sweep.{path} is an empty list; give at least one value.")
    if is_paired:
        return  # only the pairs must differ
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
    otherwise. Short names become columns of tables. A name that a column of records or summaries
    has gets its group in front: 'estimator.certified.level' becomes 'estimator.level'.
    """
    paths = list(dict.fromkeys(paths))
    named = {}
    for path in paths:
        parts = path.split(".")
        others = [other.split(".") for other in paths if other != path]
        ends = [parts[-size:] for size in range(1, len(parts) + 1)]
        unique = (
            end
            for end in ends
            if ".".join(end) not in RESERVED
            and not any(other[-len(end) :] == end for other in others)
        )
        named[path] = ".".join(next(unique, parts))
        is_only = not any(other[0] == parts[0] and other[-1] == parts[-1] for other in others)
        if parts[-1] in RESERVED and is_only and len(parts) > 2:
            named[path] = f"{parts[0]}.{parts[-1]}"
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


def shown_text(value: Any) -> str:
    """Return the text of a value in tables and pictures: that of an object is Class(name=value)."""
    is_object = isinstance(value, dict) and "_target_" in value
    return catalogue.short_text(value) if is_object else value_text(value)
