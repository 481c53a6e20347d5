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
from typing import TYPE_CHECKING, Any

from harness.common.progress import clock
from harness.common.wording import format_count
from harness.comparing import cells, evaluate, page
from harness.comparing.cells import Comparison
from harness.comparing.evaluate import Verdict
from harness.comparing.experiment import count_runnable, find_absent, make_experiment
from harness.comparing.request import PARTS, Request, complete
from harness.comparing.target import configuration, load
from harness.configure.compose import out_folder
from harness.configure.settings import as_list
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
    # The key of an object typed at a prompt does not change with its code. Its records must not be
    # kept, because they could be mistaken for those of other code.
    is_recordable = "__main__." not in str(config)
    component = load(request, name, config, in_child=is_recordable)
    started = time.monotonic()
    arena = baseline.read(request.baseline)
    reading = time.monotonic() - started
    absent = find_absent(arena) if request.kind != "problem" else {}
    out = out_folder(request.out)
    with tempfile.TemporaryDirectory() as scratch:
        operation: dict[str, Any] = {"out": scratch, "engine": "serial"}
        if is_recordable:
            operation = {"out": str(out), "engine": "loky", "cell_timeout": float(request.limit)}
        operation |= {"jobs": request.jobs, "on_error": "stop", "seed": 0}
        experiment, whole = make_experiment(request, arena, {name: config}, absent, **operation)
        count = count_runnable(experiment.plan)
        share = count / whole
        evaluation = reading * (LEAST_EVALUATION * (1.0 - share) + EVALUATION * share)
        say(
            f"{count:,} of {whole:,} cells to compare; the first cells run, then the contract "
            f"test, then all other cells, then the evaluation (about {clock(evaluation)})"
        )
        if request.family:
            wanted = {name for family in request.family for name in arena.families[family]}
            absent = {name: reason for name, reason in absent.items() if name in wanted}
        comparison = Comparison(request, component, arena, experiment, absent, is_recordable, say)
        counts, findings = cells.compute(comparison)
        frame = cells.read_records(comparison)
        verdict = evaluate.judge(comparison, frame, findings)
        files = page.save(out / FOLDER / name / name, comparison, verdict, frame)
    notes = verdict.notes
    if absent:
        notes = [
            *notes,
            f"{format_count(len(absent), 'problem')} of the arena cannot be used on this machine; "
            "the end of the page gives the reasons",
        ]
    return replace(verdict, files=files, notes=notes, counts={**counts, "rest": whole - count})
