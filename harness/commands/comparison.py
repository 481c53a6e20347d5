"""A comparison with the arena's stored baseline.

Only new cells are computed: the user's estimator on the arena's problems, replications and base
seed, or the arena's cheap estimators on the user's problem. The baseline is only read.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.commands import comparison_cells, comparison_verdicts
from harness.commands.comparison_cells import Comparison
from harness.commands.comparison_request import PARTS, Request
from harness.commands.comparison_verdicts import CHEAP, Verdict
from harness.configure.compose import out_folder
from harness.configure.settings import as_list
from harness.errors import BadInputError
from harness.math import estimands
from harness.plan import components, requirements
from harness.plan.plan import Plan
from harness.records import baseline
from harness.records.baseline import Baseline

if TYPE_CHECKING:
    import pandas as pd

FOLDER = "compare"


def compare(target: Any, kind: str = "estimator", **options: Any) -> pd.DataFrame:
    """Return the rows of `harness.compare`."""
    for name in set(PARTS) - {"reps"}:
        options[name] = tuple(as_list(options.get(name)))
    verdict = decide(Request(kind, target, **options), say=lambda text: None)
    table = verdict.settings
    if kind != "problem":
        is_best = table["estimator"].eq(table["best"])
        table = table[table["estimator"].eq(verdict.name) | is_best]
    return table.drop(columns=["errors", "lost"], errors="ignore").reset_index(drop=True)


def decide(request: Request, say: Callable[[str], None]) -> Verdict:
    """Compare, and write the verdict. Progress goes to `say`.

    Raises
    ------
    BadInputError
        If the target cannot be compared, or there is no baseline.
    """
    name, config = request.configuration()
    own = components.configured(request.group, name, config)
    requirements.verify(request.group, own)
    for estimand in request.estimand:
        estimands.check_name(str(estimand))
    arena = baseline.read(request.baseline)
    out = out_folder(request.out)
    # the key of an object typed at a prompt does not change with its code: it cannot be recorded
    is_recordable = "__main__." not in str(config)
    with tempfile.TemporaryDirectory() as scratch:
        store = out if is_recordable else Path(scratch)
        options = {
            "out": str(store),
            "jobs": request.jobs,
            "engine": "loky" if is_recordable else "serial",
            "seed": 0,
        }
        absent: dict[str, str] = {}
        if request.group == "estimator":
            plan, absent = baseline.estimator_plan(arena, own, options)
        else:
            plan = baseline.problem_plan(arena, own.id, config, CHEAP, options)
        plan = _restrict(plan, request, arena)
        comparison = Comparison(request, own, plan, arena, store, is_recordable, say)
        say(
            f"{len(plan.cells) - len(plan.skips):,} cells on the arena's draws; the first ones, "
            "then the contract test, then all"
        )
        counts, findings = comparison_cells.compute(comparison)
        frame = comparison_cells.records(comparison)
        reasons = dict.fromkeys(absent.values())
        notes = [
            f"{list(absent.values()).count(reason)} of the arena's problems are left out: {reason}"
            for reason in reasons
        ]
        folder = out / FOLDER / name
        verdict = comparison_verdicts.write(comparison, frame, folder, findings, notes)
    return replace(verdict, counts=counts)


def _restrict(plan: Plan, request: Request, arena: Baseline) -> Plan:
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
        and (not request.family or arena.family_of(cell.problem) in request.family)
        and (not request.notion or cell.notion in request.notion)
    ]
    plan = replace(plan, cells=cells)
    if len(plan.skips) == len(cells):
        reason = next(iter(plan.skips.values()), "no cell is left")
        raise BadInputError(f"nothing can be compared: {reason}.")
    return plan
