"""Describe plans that depend on data files, and restore such plans without the files.

The description is part of the metadata of a stored file. It contains the problems with their keys
and parameters, and how they are sampled. The stored file is refused if the configuration, an
estimator, or a problem without data files has changed.
"""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from typing import Any

from harness.common.seeds import digest
from harness.configure.settings import Settings
from harness.plan.cells import Block, Cell, Cells, Draws
from harness.plan.components import Component
from harness.plan.plan import Plan
from harness.plan.selection import build_selected
from harness.problems.base import ProblemSpec

CONFIGURATION = (  # settings that determine the cells of a plan
    "problem", "estimator", "n", "reps", "seed", "notion", "bootstrap", "ranking",
)  # fmt: skip
Description = dict[str, Any]


@dataclass(frozen=True)
class AbsentProblem:
    """Stand-in for a problem whose data files may be absent. It cannot draw samples."""

    rows_of_a_file: bool


def describe(plan: Plan) -> Description | None:
    """Return a description of a plan, from which `restore_plan` makes the same plan again.

    Return None if the plan does not depend on data files, or if it is a sweep or a ranking.
    """
    data = {name for name, problem in plan.problems.items() if _has_data(problem.object)}
    if not data or plan.points or plan.settings.ranking:
        return None
    if not plan.settings.estimator.keys() >= plan.estimators.keys():
        return None
    cells_of: dict[str, list[Cell]] = {name: [] for name in plan.problems}
    for cell in plan.cells:
        cells_of[cell.problem].append(cell)
    entries = []
    for name, cells in cells_of.items():
        problem = plan.problems[name]
        entry = {
            "name": name,
            "key": problem.key,
            "parameters": problem.parameters,
            "origin": problem.origin,
            "data": name in data,
            "rows_of_a_file": ProblemSpec.of(problem.object).rows_of_a_file,
            "reps": list(dict.fromkeys(cell.rep for cell in cells)),
            "n": list(dict.fromkeys(cell.n for cell in cells)),
            "notions": list(dict.fromkeys(cell.notion for cell in cells)),
            "estimators": list(dict.fromkeys(cell.estimator for cell in cells)),
        }
        entries.append(entry)
    if _cells(entries, plan.settings.seed, plan.estimators) != plan.cells:
        return None
    return {
        "configuration": _configuration_digest(plan.settings),
        "problems": entries,
        "estimators": list(plan.estimators),
        "all_rows": sorted(plan.all_rows),
    }


def restore_plan(description: Description, settings: Settings, here: Plan | None) -> Plan | None:
    """Return the plan that `describe` has described, or None if something has changed since.

    The configuration, the estimators, and problems without data files must be the same. `here` is
    the plan that the settings have on this machine, or None if data files are absent.
    """
    if description["configuration"] != _configuration_digest(settings):
        return None
    entries = description["problems"]
    estimators = build_selected("estimator", settings.estimator)
    without_data = {entry["origin"] for entry in entries if not entry["data"]}
    configs = {name: settings.problem[name] for name in without_data}
    configured = build_selected("problem", configs) if configs else {}
    problems: dict[str, Component] = {}
    for entry in entries:
        name, key, parameters = entry["name"], entry["key"], entry["parameters"]
        if entry["data"]:  # if the data files are the same, the key must be the same
            today = here.problems.get(name) if here else None
            is_same = today is None or today.parameters != parameters or today.key == key
        else:
            is_same = name in configured and configured[name].key == key
        if not is_same or not estimators.keys() >= set(entry["estimators"]):
            return None
        stand_in = AbsentProblem(entry["rows_of_a_file"])
        problems[name] = Component(name, {}, stand_in, parameters, key, entry["origin"], key)
    return Plan(
        settings,
        problems,
        {name: estimators[name] for name in description["estimators"]},
        _cells(entries, settings.seed, estimators),
        all_rows=frozenset((name, n) for name, n in description["all_rows"]),
    )


def _cells(entries: list[dict[str, Any]], seed: int, estimators: dict[str, Component]) -> Cells:
    """Return the cells of the problems in a description."""
    blocks = []
    for entry in entries:
        keys = {name: estimators[name].key for name in entry["estimators"]}
        draws = Draws(entry["reps"], entry["n"])
        blocks.append(Block(entry["name"], entry["key"], seed, draws, entry["notions"], keys))
    return Cells(blocks)


def _configuration_digest(settings: Settings) -> str:
    """Return a digest of the settings that determine the cells."""
    values = settings.to_dict()
    chosen_values = {name: values[name] for name in CONFIGURATION}
    return digest(json.dumps(chosen_values, sort_keys=True, default=str))


def _has_data(value: Any) -> bool:
    """Return True if a problem, or an object inside it, depends on a data file.

    The file may be present or absent.
    """
    if isinstance(value, (list, tuple)):
        return any(_has_data(item) for item in value)
    declared = any(
        getattr(value, name, None) for name in ("fingerprint", "rows_of_a_file", "unavailable")
    )
    fields = dataclasses.fields(value) if dataclasses.is_dataclass(value) else ()
    return declared or any(_has_data(getattr(value, field.name)) for field in fields)
