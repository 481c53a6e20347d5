"""Plan a comparison between an object of the user and the arena.

A user's estimator is compared on the samples of the arena. On a user's problem, the estimators of
the arena are compared.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from harness.commands.comparison_request import QUICK_CLASSES, Request
from harness.configure.settings import Settings
from harness.errors import BadInputError
from harness.estimators.base import EstimatorSpec
from harness.plan import plan as planning
from harness.plan.cells import Cell, Kind
from harness.plan.components import Component
from harness.plan.plan import Plan
from harness.plan.selection import build_selected
from harness.problems.base import ProblemSpec
from harness.records.baseline import Baseline


def estimator_plan(
    baseline: Baseline, component: Component, options: Mapping[str, Any]
) -> tuple[Plan, dict[str, str]]:
    """Plan the cells of an estimator on the samples of all problems in the arena.

    Parameters
    ----------
    baseline : Baseline
        Stored records of the arena.
    component : Component
        The estimator.
    options : mapping
        Options of the run, such as out and jobs.

    Returns
    -------
    plan : Plan
        The cells of the estimator.
    absent : dict
        {problem: reason} for problems that this machine cannot draw samples from.
    """
    spec = EstimatorSpec.of(component.object)
    problems: dict[str, Component] = {}
    absent: dict[str, str] = {}
    cells: dict[str, Cell] = {}
    reasons: dict[Kind, str] = {}
    for name, plan in baseline.plans.items():
        here, missing = _problems_here(plan)
        absent |= missing
        problems = {**here, **problems}
        for block in baseline.blocks(name):
            if block.problem not in here:
                continue
            own = replace(
                block,
                problem_key=here[block.problem].key,
                estimators={component.id: component.key},
            )
            problem = ProblemSpec.of(here[block.problem].object)
            for cell in own:
                cells.setdefault(cell.key, cell)
                if reason := planning.skip_reason(problem, spec, cell.notion, cell.n):
                    reasons[cell.kind] = reason
    settings = _first_settings(baseline, {"estimator": {component.id: component.config}, **options})
    return Plan(
        settings, problems, {component.id: component}, list(cells.values()), reasons
    ), absent


def _problems_here(plan: Plan) -> tuple[dict[str, Component], dict[str, str]]:
    """Return the problems of a stored plan that this machine can draw samples from.

    The second value is {problem: reason} for the other problems.
    """
    here: dict[str, Component] = {}
    absent: dict[str, str] = {}
    for origin in {problem.origin: None for problem in plan.problems.values()}:
        members = {id: one for id, one in plan.problems.items() if one.origin == origin}
        try:
            configured = build_selected("problem", {origin: plan.settings.problem[origin]})
        except BadInputError as error:
            absent |= dict.fromkeys(members, str(error))
            continue
        for name, problem in members.items():
            if name not in configured:
                absent[name] = "its data files are not on this machine"
            elif reason := ProblemSpec.of(configured[name].object).unavailable:
                absent[name] = reason
            elif configured[name].key != problem.key:
                absent[name] = "its data files differ from those of the baseline"
            else:
                here[name] = configured[name]
    return here, absent


def problem_plan(
    baseline: Baseline, name: str, config: dict[str, Any], most: float, options: Mapping[str, Any]
) -> Plan:
    """Plan the cells of the arena's cheap estimators on a user's problem.

    Sample sizes and replications are those of the arena. An estimator is cheap if its cells at the
    largest n took at most `most` CPU seconds on average.

    Parameters
    ----------
    baseline : Baseline
        Stored records of the arena.
    name, config : str, dict
        Id and configuration of the problem.
    most : float
        Largest CPU seconds of a cell.
    options : mapping
        Options of the run, such as out and jobs.

    Raises
    ------
    BadInputError
        If no estimator is cheap.
    """
    rows = baseline.records(["n", "estimator", "value", "cpu_seconds"]).dropna(subset=["value"])
    costs = (
        rows[rows["n"].eq(rows["n"].max())]
        .groupby("estimator", observed=True)["cpu_seconds"]
        .mean()
    )
    estimators: dict[str, Any] = {}
    for plan in reversed(baseline.plans.values()):
        estimators |= plan.settings.estimator
    cheap = {id: values for id, values in estimators.items() if costs.get(id, most + 1.0) <= most}
    if not cheap:
        raise BadInputError(
            f"every estimator of the baseline takes more than {most:g} s for a cell; give another "
            "baseline=DIR."
        )
    changes = {"problem": {name: config}, "estimator": cheap, **options}
    return planning.plan(_first_settings(baseline, changes))


def _first_settings(baseline: Baseline, changes: Mapping[str, Any]) -> Settings:
    """Return the settings of the arena's first experiment without its name, with `changes`."""
    settings = next(iter(baseline.plans.values())).settings
    return replace(settings, experiment=None, name=None, **changes)


def restrict(plan: Plan, request: Request, arena: Baseline) -> Plan:
    """Return the plan with only those cells that the request selects.

    Raise BadInputError if no cell can run.
    """
    most = QUICK_CLASSES if request.quick else math.inf
    cells = [
        cell
        for cell in plan.cells
        if arena.classes.get(cell.problem, 0) <= most
        and (not request.n or cell.n in request.n)
        and (request.reps is None or cell.rep < request.reps)
        and (not request.family or arena.find_family(cell.problem) in request.family)
        and (not request.notion or cell.notion in request.notion)
    ]
    plan = replace(plan, cells=cells)
    if len(plan.skips) == len(cells):
        reason = next(iter(plan.skips.values()), "no cell is left")
        raise BadInputError(f"nothing can be compared ({reason}); choose other cells.")
    return plan
