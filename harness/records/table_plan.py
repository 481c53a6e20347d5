"""Make plans that depend on data files from stored rows, without the data files.

The plan of some experiments depends on data files, because a family of problems has one problem
for each data file. Results of such an experiment can then be drawn where the data files are absent
or different. The stored file is refused if the configuration, an estimator, or a problem without
data files has changed.
"""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from harness.common.module_names import former_path
from harness.common.seeds import digest
from harness.configure.settings import Settings
from harness.errors import BadInputError
from harness.plan.cells import Cell
from harness.plan.components import Component
from harness.plan.plan import Plan
from harness.plan.selection import build_selected

CONFIGURATION = (  # settings that determine the cells of a plan
    "problem", "estimator", "n", "reps", "seed", "notion", "bootstrap", "ranking",
)  # fmt: skip
PROBLEM = ["problem", "problem_key", "problem_parameters", "origin", "rows_of_a_file"]


@dataclass(frozen=True)
class AbsentProblem:
    """Stand-in for a problem whose data files may be absent. It cannot draw samples."""

    rows_of_a_file: bool


def configuration(plan: Plan) -> str | None:
    """Return a digest of the configuration of a plan that `restore_plan` can make from rows.

    Return None if the plan does not depend on data files, or if it is a sweep or a ranking.
    """
    has_data = any(depends_on_data(problem.object) for problem in plan.problems.values())
    if not has_data or plan.points or plan.settings.ranking:
        return None
    if not plan.settings.estimator.keys() >= plan.estimators.keys():
        return None
    return configuration_digest(plan.settings)


def configuration_digest(settings: Settings) -> str:
    """Return a digest of the settings that determine the cells."""
    values = settings.to_dict()
    chosen_values = {name: _with_former_paths(values[name]) for name in CONFIGURATION}
    return digest(json.dumps(chosen_values, sort_keys=True, default=str))


def _with_former_paths(value: Any) -> Any:
    """Return a setting in which each `_target_` of a moved class has its former path."""
    if isinstance(value, dict):
        return {
            name: former_path(item)
            if name == "_target_" and isinstance(item, str)
            else _with_former_paths(item)
            for name, item in value.items()
        }
    return [_with_former_paths(item) for item in value] if isinstance(value, list) else value


def restore_plan(rows: pd.DataFrame, settings: Settings) -> Plan | None:
    """Return the plan of stored rows, or None if a component has changed since.

    The keys of estimators, and of problems without data files, must be the same. `rows` are all
    rows of a stored file, in its order, with the column `key`.
    """
    estimators = build_selected("estimator", settings.estimator)
    keys = rows[["estimator", "estimator_key"]].drop_duplicates().astype(str)
    for name, key in keys.itertuples(index=False):
        if name not in estimators or estimators[name].key != key:
            return None
    problems: dict[str, Component] = {}
    here = {origin: _members(origin, settings) for origin in rows["origin"].unique()}
    for name, key, parameters, origin, from_file in (
        rows[PROBLEM].drop_duplicates("problem").itertuples(index=False)
    ):
        if not _is_same(here[origin].get(name), key, parameters):
            return None
        stand_in = AbsentProblem(bool(from_file))
        problems[name] = Component(name, {}, stand_in, parameters, key, origin, key)
    skipped = rows[rows["status"].eq("skipped")]
    kinds = skipped[["problem", "notion", "estimator", "n"]].itertuples(index=False, name=None)
    whole = rows.loc[rows["all_rows"], ["problem", "n"]].drop_duplicates()
    return Plan(
        settings,
        problems,
        {name: estimators[name] for name in keys["estimator"]},
        _cells(rows),
        dict(zip(kinds, skipped["reason"])),
        all_rows=frozenset(whole.itertuples(index=False, name=None)),
    )


def _cells(rows: pd.DataFrame) -> list[Cell]:
    """Return the cells of stored rows in the plan's order.

    In the file, the cells of each estimator are adjacent. In the plan, the cells of each problem,
    replication, n and notion are.
    """
    cells = rows.drop_duplicates("key")[[*Cell._fields]]
    sample = cells.groupby(["problem", "rep", "n", "notion"], sort=False, observed=True).ngroup()
    order = np.argsort(sample.to_numpy(), kind="stable")
    return [Cell(*row) for row in cells.iloc[order].itertuples(index=False, name=None)]


def _members(origin: str, settings: Settings) -> dict[str, Component]:
    """Return the problems that a configured problem or family has here, {} without its data."""
    try:
        return build_selected("problem", {origin: settings.problem[origin]})
    except BadInputError:
        return {}


def _is_same(today: Component | None, key: str, parameters: str) -> bool:
    """Return True if a stored problem can be the problem that is configured today.

    If it depends on data, the files may be absent or different. With the same files, its
    parameters are the same, and its key must then be the same.
    """
    if today is None or today.key == key:
        return True
    return depends_on_data(today.object) and today.parameters != parameters


def depends_on_data(value: Any) -> bool:
    """Return True if a problem, or an object inside it, depends on a data file.

    The file may be present or absent.
    """
    if isinstance(value, (list, tuple)):
        return any(depends_on_data(item) for item in value)
    declared = any(
        getattr(value, name, None) for name in ("fingerprint", "rows_of_a_file", "unavailable")
    )
    fields = dataclasses.fields(value) if dataclasses.is_dataclass(value) else ()
    return declared or any(depends_on_data(getattr(value, field.name)) for field in fields)
