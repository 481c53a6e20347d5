"""Make the experiment of a comparison from the settings of the arena and a user's object.

A user's estimator is compared on the samples of the arena. On a user's problem, the estimators of
the arena are compared.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from harness.comparing.request import Request
from harness.errors import BadInputError
from harness.plan.cells import Cell
from harness.plan.components import Component
from harness.plan.plan import Plan
from harness.plan.selection import build_selected
from harness.problems.base import ProblemSpec
from harness.records.baseline import Baseline
from harness.records.baseline_description import Description
from harness.records.plan_records import PlanRecords
from harness.workflow.experiment import Experiment, Points

# An estimator of the arena runs on the user's problem if its cells at the largest n take at most so
# many CPU seconds.
CHEAP = 0.25


def make_experiment(
    request: Request, arena: Baseline, config: Any, absent: Mapping[str, str], **operation: Any
) -> tuple[Experiment, int]:
    """Return the experiment of a comparison, with those cells that the request selects.

    Parameters
    ----------
    request : Request
        What the user has asked for.
    arena : Baseline
        Stored records of the arena.
    config : mapping
        {id: configuration} of the user's estimator or problem.
    absent : mapping
        Problems that are left out (see `find_absent`).
    **operation
        Options of the run, such as out and jobs.

    Returns
    -------
    experiment : Experiment
        The experiment.
    whole : int
        Number of runnable cells of the comparison on the whole arena.

    Raises
    ------
    BadInputError
        If no cell can run.
    """
    make_points = _points_of_problem if request.kind == "problem" else _points_of_estimator
    points = make_points(request, arena, config, absent, operation)
    whole = Experiment.of_settings(points[0][1], points)
    experiment = _restrict(whole, lambda cell: _is_selected(cell, request, arena))
    plan = experiment.plan
    if not count_runnable(plan):
        reason = next(iter(plan.skips.values()), "no cell is left")
        raise BadInputError(f"nothing can be compared ({reason}); choose other cells.")
    return experiment, count_runnable(whole.plan)


def count_runnable(plan: Plan) -> int:
    """Return the number of cells of a plan that are not skipped."""
    return len(plan.cells) - len(plan.skips)


def _is_selected(cell: Cell, request: Request, arena: Baseline) -> bool:
    """Return True if a request selects a cell. Only problems of the arena have a known family."""
    if not request.selects_sample(cell.notion, cell.n, cell.rep):
        return False
    if request.kind == "problem":
        return True
    return request.selects(arena.find_family(cell.problem), arena.classes[cell.problem])


def _restrict(experiment: Experiment, is_selected: Callable[[Cell], bool]) -> Experiment:
    """Return an experiment with the selected cells alone, and with their problems."""
    cells = [cell for cell in experiment.plan.cells if is_selected(cell)]
    names = {cell.problem for cell in cells}
    problems = {name: part for name, part in experiment.plan.problems.items() if name in names}
    plan = replace(experiment.plan, cells=cells, problems=problems)
    return replace(experiment, plan=plan, records=PlanRecords((plan,), experiment.records.out))


def _points_of_estimator(
    request: Request,
    arena: Baseline,
    config: Any,
    absent: Mapping[str, str],
    operation: Mapping[str, Any],
) -> Points:
    """Return the experiments of the arena, each with the user's estimator alone.

    The plan of the comparison is the union of their plans.
    """
    points: Points = []
    for settings in arena.settings.values():
        problems = {name: c for name, c in settings.problem.items() if name not in absent}
        changes = {"problem": problems, "estimator": config, **operation}
        if problems:
            points.append(({}, replace(settings, experiment=None, name=None, **changes)))
    if not points:
        raise BadInputError("nothing can be compared (no problem can be sampled on this machine).")
    return points


def _points_of_problem(
    request: Request,
    arena: Baseline,
    config: Any,
    absent: Mapping[str, str],
    operation: Mapping[str, Any],
) -> Points:
    """Return settings with a user's problem and the cheap estimators of the arena.

    An estimator is cheap if its cells at the largest n took at most CHEAP seconds on average. Raise
    BadInputError if there is none.
    """
    costs = arena.costs()
    largest = costs[costs["n"].eq(costs["n"].max())]
    means = largest.groupby("estimator")["cpu_seconds"].mean()
    estimators: dict[str, Any] = {}
    for settings in reversed(arena.settings.values()):
        estimators |= settings.estimator
    cheap = {id: values for id, values in estimators.items() if means.get(id, CHEAP + 1) <= CHEAP}
    if not cheap:
        raise BadInputError(
            f"every estimator of the baseline takes more than {CHEAP:g} s for a cell; give another "
            "baseline=DIR."
        )
    known, first = arena.description, next(iter(arena.settings.values()))
    notion = [*request.notion] or first.notion
    draws: dict[str, Any] = {"n": known.n, "reps": known.reps, "notion": notion}
    changes = {"problem": config, "estimator": cheap, **draws, **operation}
    return [({}, replace(first, experiment=None, name=None, **changes))]


def find_absent(arena: Baseline) -> dict[str, str]:
    """Return {problem: reason} for problems of the arena that this machine cannot sample from."""
    problems = {name: c for part in arena.settings.values() for name, c in part.problem.items()}
    absent: dict[str, str] = {}
    for name, config in problems.items():
        try:
            members = build_selected("problem", {name: config})
        except BadInputError as error:
            absent[name] = str(error)
            continue
        for member in members.values():
            if reason := _why_absent(member, arena.description):
                absent[name] = reason
    return absent


def _why_absent(problem: Component, description: Description) -> str | None:
    unavailable = ProblemSpec.of(problem.object).unavailable
    if not unavailable and problem.key != description.keys.get(problem.id):
        return "its data files differ from those of the baseline"
    return unavailable
