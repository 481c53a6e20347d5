"""Compare a user's estimator, calibrator or problem with the baseline (stored arena records).

Only new cells are computed. For an estimator, these are its cells on the arena's problems, with the
arena's replications and base seed. For a problem, these are the cells of the arena's cheap
estimators on it. The baseline is not changed.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.commands import comparison_cells, comparison_plan, comparison_verdicts
from harness.commands.comparison_cells import Comparison
from harness.commands.comparison_request import PARTS, Request
from harness.commands.comparison_verdicts import CHEAP, Verdict
from harness.configure.compose import out_folder
from harness.configure.settings import as_list
from harness.math import estimands
from harness.plan import components, requirements
from harness.records import baseline

if TYPE_CHECKING:
    import pandas as pd

FOLDER = "compare"


def compare(target: Any, kind: str = "estimator", **options: Any) -> pd.DataFrame:
    """Compare an object with the arena, and return the table of `harness.compare`.

    `kind` is estimator, calibrator or problem, and `options` are fields of `Request`.
    """
    for name in set(PARTS) - {"reps"}:
        options[name] = tuple(as_list(options.get(name)))
    verdict = decide(Request(kind, target, **options), say=lambda text: None)
    table = verdict.settings
    if kind != "problem":
        is_best = table["estimator"].eq(table["best"])
        table = table[table["estimator"].eq(verdict.name) | is_best]
    return table.drop(columns=["errors", "lost"], errors="ignore").reset_index(drop=True)


def decide(request: Request, say: Callable[[str], None]) -> Verdict:
    """Carry out a comparison, write its page and tables, and return the verdict.

    `say` is called with lines about the progress.

    Raises
    ------
    BadInputError
        If the object cannot be compared, or if there is no baseline.
    """
    name, config = request.configuration()
    component = components.build_component(request.group, name, config)
    requirements.verify(request.group, component)
    for estimand in request.estimand:
        estimands.check_name(str(estimand))
    arena = baseline.read(request.baseline)
    out = out_folder(request.out)
    # The key of an object typed at a prompt does not change with its code. Its records must not be
    # kept, because they could be mistaken for those of other code.
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
            plan, absent = comparison_plan.estimator_plan(arena, component, options)
        else:
            plan = comparison_plan.problem_plan(arena, component.id, config, CHEAP, options)
        plan = comparison_plan.restrict(plan, request, arena)
        comparison = Comparison(request, component, plan, arena, store, is_recordable, say)
        say(
            f"{len(plan.cells) - len(plan.skips):,} cells to compare; the first cells run, then "
            "the contract test, then all other cells"
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
