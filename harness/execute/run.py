"""Run a plan: compute those of its cells that have no record yet.

Cells are computed in chunks. Each chunk writes its records to Parquet files of its own. A run that
was stopped is resumed by running the same plan again.
"""

from __future__ import annotations

import contextlib
import pickle
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from harness.common import buckets, memory
from harness.common.escaping import error_message
from harness.common.progress import Progress
from harness.configure.compose import out_folder
from harness.configure.settings import Settings
from harness.errors import BadInputError
from harness.execute import engines, processes, stops, supervise
from harness.execute.chunk import CellFailedError
from harness.execute.pending import (
    FINISHED,
    Pending,
    make_chunks,
    pending,
    read_pace,
    read_states,
    worker_count,
)
from harness.execute.stops import RunInterruptedError, TerminatedError
from harness.execute.supervise import Answer, Task
from harness.plan.cells import Cell, Kind
from harness.plan.plan import Plan
from harness.problems.base import ProblemSpec
from harness.records import compaction, parts, provenance, reader

CELL_SECONDS = 4 * 3600.0  # time limit of a cell unless cell_timeout is given
SKIPS_OF_A_PART = 100_000  # largest number of skipped cells that one file records
LOOK_AFTER = 64  # number of chunks after which small files of records are joined, if there are many


def execute(plan: Plan, quiet: bool = False) -> dict[str, Any]:
    """Compute the cells of a plan that have no record yet, and record them.

    Parameters
    ----------
    plan : Plan
        Cells and settings of the run.
    quiet : bool
        Show no progress.

    Returns
    -------
    dict
        Numbers of cells: cells, done, skipped, new_skips, todo, failed (see `pending.Tally`). If
        cells failed, `reason` is the reason of the first one.

    Raises
    ------
    CellFailedError
        At the first failed cell if on_error=raise, and at the first cell that ends its process if
        on_error=stop.
    RunInterruptedError
        If Ctrl-C or SIGTERM stops the run.
    """
    settings = plan.settings
    out = out_folder(settings.out)
    work = pending(plan, out)
    check_sizes(plan, work.tally.kinds)
    counts = work.tally.counts
    if not counts["todo"] and not counts["new_skips"]:
        return {**counts, "failed": 0}
    started = time.monotonic()
    stops.received.clear()
    run_id = provenance.start(out, settings, counts, work.todo_by_component())
    state = "failed"
    try:
        if counts["new_skips"]:
            _record_skips(work, out, run_id)
        if counts["todo"]:
            _compute(work, out, run_id, quiet)
            compaction.keep_few(out)
        failed = reader.failures(out, run_id, alone=settings.refresh)
        state = "finished"
        reason = {"reason": reader.first_failure(out, run_id)} if failed else {}
        return {**counts, "failed": failed, **reason}
    except (Exception, KeyboardInterrupt) as error:
        if not isinstance(error, KeyboardInterrupt) and not stops.received:
            raise
        stop = stops.interruption(error)
        state = "interrupted"
        message = "interrupted; finished cells are recorded, and the same command resumes the run"
        raise RunInterruptedError(message, isinstance(stop, TerminatedError)) from None
    finally:
        provenance.finish(out, run_id, state, time.monotonic() - started)


def check_sizes(plan: Plan, kinds: Iterable[Kind]) -> None:
    """Raise BadInputError if a sample of this run alone needs more memory than a cell may use.

    `kinds` are the kinds of the cells to compute.
    """
    available = cell_limits(plan.settings).megabytes * 2**20
    for name, n in sorted({(problem, n) for problem, _, _, n in kinds}):
        problem = plan.problems[name]
        classes = ProblemSpec.of(problem.object).classes
        # Bytes of a row: predictions in double precision, and a label
        row = 8 * (1 + (classes if classes > 2 else 1))
        largest = int(available // row)
        if n > largest:
            raise BadInputError(
                f"n is {n:,}, but a sample of {name!r} fits into the memory of a cell "
                f"only up to n = {largest:,}; give a smaller n, or raise max_memory."
            )


def cell_limits(settings: Settings) -> processes.Limits:
    """Return the limits of a cell that the settings ask for, or the default limits."""
    megabytes = settings.max_memory or memory.default_limit() / 2**20
    return processes.Limits(float(settings.cell_timeout or CELL_SECONDS), float(megabytes))


def _compute(work: Pending, out: Path, run_id: str, quiet: bool) -> None:
    """Compute the pending cells of a plan, chunk by chunk.

    Parameters
    ----------
    work : Pending
        Cells to compute.
    out : Path
        Folder of records and results.
    run_id : str
        Id of the run in its records.
    quiet : bool
        Show no progress.
    """
    plan, tally = work.plan, work.tally
    settings, total = plan.settings, tally.counts["todo"]
    components = (*plan.problems.values(), *plan.estimators.values())
    if any("__main__" in component.foreign for component in components):
        # Code typed at a prompt exists in this process only.
        settings = replace(settings, engine="serial")
    workers = min(worker_count(settings), total)
    pace = read_pace(work, out)
    # If the records are in a bucket, workers on other hosts do not see the file of the run.
    run_file = None if buckets.bucket_address(out) else provenance.run_path(out, run_id)
    sent: dict[int, list[Cell]] = {}  # {number: cells} of the chunks that workers have not answered
    failed = 0
    try:
        with engines.connected(settings, workers, cell_limits(settings), run_file) as pool:
            left = lambda: pace.left(pool.workers, time.monotonic()).remaining  # noqa: E731
            progress = Progress(total, quiet, left=left)
            chunks = make_chunks(work.samples(), total, pace, pool.workers)
            tasks = _tasks(plan, chunks, out, run_id, sent)
            # Closing the generator stops the workers, for example if an answer cannot be recorded.
            with contextlib.closing(pool.answers(tasks)) as answers:
                for done, (number, answer) in enumerate(answers, 1):
                    _record_broken(plan, sent[number], answer, out, run_id)
                    chunk = sent.pop(number)
                    failed += answer.work.failed
                    pace.add((cell.kind for cell in chunk), answer.work, time.monotonic())
                    progress.add(len(chunk), failed)
                    if stops.received:  # in a destructor, a signal raises nothing
                        raise stops.interruption(None)
                    if done % LOOK_AFTER == 0:
                        compaction.keep_few(out)
    except CellFailedError:
        raise
    except BaseException as error:
        _record_interrupted(plan, sent, out, run_id, error)
        raise
    progress.close()


def _tasks(
    plan: Plan, chunks: Iterator[list[Cell]], out: Path, run_id: str, sent: dict[int, list[Cell]]
) -> Iterator[Task]:
    """Yield each chunk as a task for a worker, and add it to `sent`: {number: cells}."""
    settings = plan.settings
    shared = {
        "out": buckets.location(out),
        "run_id": run_id,
        "on_error": settings.on_error,
        "after": reader.latest(out) if settings.refresh else 0.0,
    }
    surroundings = supervise.surroundings(local=settings.engine not in engines.PACKAGES)
    for number, chunk in enumerate(chunks):
        sent[number] = chunk
        owner = plan.owner(chunk[0])
        names = {
            "problem": {cell.problem for cell in chunk},
            "estimator": {cell.estimator for cell in chunk},
        }
        planned = {"problem": plan.problems, "estimator": plan.estimators}
        components = {
            group: {name: _identified(planned[group][name]) for name in names[group]}
            for group in planned
        }
        task = {**shared, "components": components, "cells": chunk, "foreign": owner is not None}
        # The owner contains the id of the run. A process that has run user code therefore never
        # works for the next run, before which the user may edit the code.
        owner = owner and f"{run_id}|{owner}"
        is_typed = plan.is_typed(chunk[0])
        yield Task(number, pickle.dumps(task), len(chunk), owner, is_typed, surroundings)


def _identified(component: Any) -> tuple[str, dict[str, Any], str]:
    return component.id, component.config, component.key


def _record_skips(work: Pending, out: Path, run_id: str) -> None:
    """Write a record with the reason for each skipped cell that has none."""
    part = parts.Part(out)
    for count, cell in enumerate(work.new_skips(), 1):
        _add(part, work.plan, cell, run_id, "skipped", work.plan.skip(cell))
        if count % SKIPS_OF_A_PART == 0:
            part.write()
    part.write()


def _record_broken(plan: Plan, chunk: list[Cell], answer: Answer, out: Path, run_id: str) -> None:
    """Write records of the cells that ended their process, with status failed and the reason.

    Raises
    ------
    CellFailedError
        If there is such a cell and on_error is not `record`.
    """
    part = parts.Part(out)
    for position, reason, limit in answer.broken:
        remedy = f"; raise {limit}" if limit else ""
        _add(part, plan, chunk[position], run_id, "failed", f"the estimator {reason}{remedy}")
    part.write()
    if answer.broken and plan.settings.on_error != "record":
        position, reason, limit = answer.broken[0]
        raise CellFailedError(f"{chunk[position].described}, {reason}", limit)


def _record_interrupted(
    plan: Plan, sent: dict[int, list[Cell]], out: Path, run_id: str, error: BaseException
) -> None:
    """Write records with status interrupted for the cells of unanswered chunks.

    Cells that a worker has finished and recorded are left alone. `sent` is {number: cells} of the
    unanswered chunks, and `error` the exception that ended the run.
    """
    states = read_states(out, run_id if plan.settings.refresh else None)
    reason = "stopped by the user"
    if not isinstance(error, KeyboardInterrupt):
        reason = f"{type(error).__name__}: {error_message(error)}"[:500]
    part = parts.Part(out)
    for chunk in sent.values():
        for cell, state in zip(chunk, states.lookup(chunk)):
            if state != FINISHED:
                _add(part, plan, cell, run_id, "interrupted", reason)
    part.write()


def _add(
    part: parts.Part, plan: Plan, cell: Cell, run_id: str, status: str, reason: str | None
) -> None:
    """Add a record without an estimate to a part: the status of a cell, and the reason for it."""
    problem, estimator = plan.problems[cell.problem], plan.estimators[cell.estimator]
    columns = parts.record_columns(problem, estimator, cell, run_id)
    part.add(columns, [{"status": status, "reason": reason}])
