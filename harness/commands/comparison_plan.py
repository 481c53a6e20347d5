"""Plan of a comparison: an estimator on the arena's draws, or its estimators on a problem."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from harness.commands.comparison_request import Request
from harness.configure.settings import Settings
from harness.errors import BadInputError
from harness.estimators.base import EstimatorSpec
from harness.plan import plan as planning
from harness.plan.cells import Block, Cell, Draws, Kind
from harness.plan.components import Component
from harness.plan.plan import Plan
from harness.plan.selection import build_selected
from harness.problems.base import ProblemSpec
from harness.records.baseline import Baseline


def estimator_plan(
    baseline: Baseline, component: Component, options: Mapping[str, Any]
) -> tuple[Plan, dict[str, str]]:
    """Plan an estimator on the problems of the arena, on the same draws as the others.

    Parameters
    ----------
    baseline : Baseline
    component : Component
        The estimator.
    options : mapping
        Options of the run, such as out and jobs.

    Returns
    -------
    tuple
        The plan; and {problem: reason} for the problems that cannot be drawn from here.
    """
    spec = EstimatorSpec.of(component.object)
    problems: dict[str, Component] = {}
    absent: dict[str, str] = {}
    cells: dict[str, Cell] = {}
    reasons: dict[Kind, str] = {}
    for plan in baseline.plans.values():
        here, missing = _problems_here(plan)
        absent |= missing
        problems = {**here, **problems}
        cells_of: dict[str, list[Cell]] = {name: [] for name in here}
        for cell in plan.cells:
            if cell.problem in here:
                cells_of[cell.problem].append(cell)
        for name, members in cells_of.items():
            problem = ProblemSpec.of(here[name].object)
            draws = Draws((), (), list(dict.fromkeys((cell.rep, cell.n) for cell in members)))
            notions = list(dict.fromkeys(cell.notion for cell in members))
            keys = {component.id: component.key}
            for cell in Block(name, here[name].key, plan.settings.seed, draws, notions, keys):
                cells.setdefault(cell.key, cell)
                if reason := planning.skip_reason(problem, spec, cell.notion, cell.n):
                    reasons[cell.kind] = reason
    settings = _first_settings(baseline, {"estimator": {component.id: component.config}, **options})
    return Plan(
        settings, problems, {component.id: component}, list(cells.values()), reasons
    ), absent


def _problems_here(plan: Plan) -> tuple[dict[str, Component], dict[str, str]]:
    """Return the problems of a stored plan that can be drawn from here, and why others cannot."""
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
                absent[name] = "its data are not here"
            elif reason := ProblemSpec.of(configured[name].object).unavailable:
                absent[name] = reason
            elif configured[name].key != problem.key:
                absent[name] = "its data are others here than those of the baseline"
            else:
                here[name] = configured[name]
    return here, absent


def problem_plan(
    baseline: Baseline, name: str, config: dict[str, Any], most: float, options: Mapping[str, Any]
) -> Plan:
    """Plan the arena's cheap estimators on a problem, with the arena's sizes and replications.

    An estimator is cheap if its cells at the largest n took at most `most` CPU seconds on average.

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
        raise BadInputError(f"no estimator of the baseline takes at most {most:g} s for a cell.")
    changes = {"problem": {name: config}, "estimator": cheap, **options}
    return planning.plan(_first_settings(baseline, changes))


def _first_settings(baseline: Baseline, changes: Mapping[str, Any]) -> Settings:
    """Return the settings of the arena's first experiment, changed and without its name."""
    settings = next(iter(baseline.plans.values())).settings
    return replace(settings, experiment=None, name=None, **changes)


def restrict(plan: Plan, request: Request, arena: Baseline) -> Plan:
    """Return the plan with the cells that are asked for.

    Raises BadInputError if a value is unknown to the baseline, or nothing can be compared.
    """
    known: dict[str, list[Any]] = {
        "n": sorted({cell.n for cell in plan.cells}),
        "family": sorted(arena.families),
        "notion": sorted({cell.notion for cell in plan.cells}),
    }
    for name, values in known.items():
        for value in getattr(request, name):
            if value not in values:
                raise BadInputError(
                    f"{name} is {value!r}, which the baseline does not have; it has "
                    f"{', '.join(map(str, values))}."
                )
    reps = 1 + max((cell.rep for cell in plan.cells), default=-1)
    if request.reps is not None and request.reps > reps:
        raise BadInputError(f"reps is {request.reps}; the baseline has {reps} replications.")
    cells = [
        cell
        for cell in plan.cells
        if (not request.n or cell.n in request.n)
        and (request.reps is None or cell.rep < request.reps)
        and (not request.family or arena.find_family(cell.problem) in request.family)
        and (not request.notion or cell.notion in request.notion)
    ]
    plan = replace(plan, cells=cells)
    if len(plan.skips) == len(cells):
        reason = next(iter(plan.skips.values()), "no cell is left")
        raise BadInputError(f"nothing can be compared: {reason}.")
    return plan
