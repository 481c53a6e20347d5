"""Compare a user's estimator, calibrator or problem with the baseline (stored arena records).

Only new cells are computed. For an estimator, these are its cells on the arena's problems, with the
arena's replications and base seed. For a problem, these are the cells of the arena's cheap
estimators on it. The baseline is not changed.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.commands import comparison_cells, comparison_plan, comparison_verdicts
from harness.commands.comparison_cells import Comparison
from harness.commands.comparison_request import PARTS, Request, complete
from harness.commands.comparison_target import configuration
from harness.commands.comparison_verdicts import CHEAP, Verdict
from harness.common.progress import clock
from harness.configure.compose import out_folder
from harness.configure.settings import as_list
from harness.plan import components, requirements
from harness.records import baseline

if TYPE_CHECKING:
    import pandas as pd

FOLDER = "compare"
# Seconds of the evaluation for each second that the baseline takes to be read: for the whole arena,
# and for a small part of it. All depend on the machine and on what else it does.
EVALUATION, LEAST_EVALUATION = 2.5, 1.2


def compare(target: Any, kind: str = "estimator", **options: Any) -> pd.DataFrame:
    """Compare an object with the arena, and return the table of `harness.compare`.

    `kind` is estimator, calibrator or problem, and `options` are fields of `Request`.
    """
    for name in set(PARTS) - {"reps"}:
        options[name] = tuple(as_list(options.get(name)))
    request = complete(Request(kind, target, **options))
    verdict = decide(request, say=lambda text: None)
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
    name, config = configuration(request)
    component = components.build_component(request.group, name, config)
    requirements.verify(request.group, component)
    started = time.monotonic()
    arena = baseline.read(request.baseline)
    reading = time.monotonic() - started
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
        whole = len(plan.cells) - len(plan.skips)
        plan = comparison_plan.restrict(plan, request, arena)
        cells = len(plan.cells) - len(plan.skips)
        share = cells / whole
        evaluation = reading * (LEAST_EVALUATION * (1.0 - share) + EVALUATION * share)
        comparison = Comparison(
            request, component, plan, arena, store, is_recordable, evaluation, say
        )
        say(
            f"{cells:,} of {whole:,} cells to compare; the first cells run, then the contract "
            f"test, then all other cells, then the evaluation (about {clock(evaluation)})"
        )
        counts, findings = comparison_cells.compute(comparison)
        frame = comparison_cells.records(comparison)
        if request.family:
            chosen = {name for family in request.family for name in arena.families[family]}
            absent = {name: reason for name, reason in absent.items() if name in chosen}
        folder = out / FOLDER / name
        verdict = comparison_verdicts.write(comparison, frame, folder, findings, absent)
    return replace(verdict, counts={**counts, "rest": whole - cells})
