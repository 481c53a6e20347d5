"""Run a plan: cells in parallel by joblib, one Parquet part per chunk, resume by running again."""

from __future__ import annotations

import os
import pickle
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import Any

from harness.common import buckets, user_code
from harness.common.escaping import message_of
from harness.common.progress import Progress
from harness.configure.compose import out_folder
from harness.execute import engines, profile, supervise
from harness.execute.chunk import CellFailedError, run_chunk
from harness.execute.engines import worker_count
from harness.execute.supervise import WorkerDiedError
from harness.plan.cells import Cell
from harness.plan.pending import Costs, Work, chunks_of, expected_seconds, of_chunk, pending
from harness.plan.plan import Plan
from harness.records import compaction, parts, provenance, reader
from harness.records import states as recorded

Broken = Callable[[Cell, supervise.Broke], None]
CELL_TIMEOUT, MEMORY_SHARE = 4 * 3600.0, 0.8  # seconds of a cell; of the machine's memory, for the process of a worker
SKIPS_OF_A_PART = 100_000
LOOK_AFTER = 64  # chunks, after which parts that have become many are joined


class RunInterruptedError(Exception):
    """The run was stopped, by Ctrl-C or (`terminated`) by SIGTERM; everything finished until then is recorded."""

    def __init__(self, said: str, terminated: bool = False):
        super().__init__(said)
        self.terminated = terminated


def execute(plan: Plan, quiet: bool = False, later: float = 0.0, broke: Broken | None = None) -> dict[str, Any]:
    """Compute the cells of the plan that no record holds. Returns counts {cells, done, skipped, todo, failed} and, where cells
    failed, the `reason` of the first. `later` are the expected seconds of what runs after this, for the estimate of the time
    left. `broke` is called with a cell that ended its process, which else is recorded as failed, and may raise."""
    config = plan.config
    out = out_folder(config["out"])
    work = pending(plan, out)
    counts = work.counts
    if not counts["todo"] and not counts["new_skips"]:
        return {**counts, "failed": 0}
    started = time.monotonic()
    run_id = provenance.start(out, config, counts)
    state = "failed"
    try:
        record_skips(work, out, run_id)
        if counts["todo"]:
            with engines.connected(config, min(worker_count(config), counts["todo"])) as joined:
                _compute_all(replace(work, plan=replace(plan, config=joined)), out, run_id, quiet, later, broke)
            compaction.keep_few(out)
        failed = reader.failures(out, run_id, alone=config["refresh"])
        state = "finished"
        return {**counts, "failed": failed, **({"reason": reader.first_failure(out, run_id)} if failed else {})}
    except KeyboardInterrupt as stop:
        state = "interrupted"
        said = "interrupted; what was finished is recorded, the same command goes on from there"
        raise RunInterruptedError(said, isinstance(stop, supervise.TerminatedError)) from None
    finally:
        provenance.finish(out, run_id, state, time.monotonic() - started)


def _compute_all(work: Work, out: Path, run_id: str, quiet: bool, later: float, broke: Broken | None) -> None:
    """Compute the cells that are to do. A worker that is killed takes the engine's pool with it: a new one does the rest, as long
    as something is finished in between. Raises WorkerDiedError where nothing is."""
    plan = work.plan
    costs, workers = Costs(plan, out), worker_count(plan.config)
    while work.counts["todo"]:
        try:
            progress = _Progress(work, costs, workers, quiet, later)
            _compute(plan, chunks_of(work.samples(), work.counts["todo"], costs, workers), out, run_id, progress, broke)
            return
        except WorkerDiedError as death:
            left = work.after(_states(plan, out, run_id))
            if left.counts["todo"] in (0, work.counts["todo"]):
                raise
            if not quiet:
                print(f"{death}; going on with the other cells", file=sys.stderr)
            work = left


class _Progress:
    """Progress over cells. How long they should take is known from past records, or from what the estimators declare."""

    def __init__(self, work: Work, costs: Costs, workers: int, quiet: bool, later: float):
        self.costs, self.workers, tally = costs, workers, work.tally
        known = all(costs.of_kind(kind)[1] for kind in tally.kinds)
        expected = expected_seconds(tally.kinds, tally.draws, costs, workers)
        self.progress = Progress(tally.counts["todo"], quiet, expected=expected, later=later, known=known)

    def add(self, chunk: list[Cell], failed: int) -> None:
        self.progress.add(len(chunk), failed, expected_seconds(*of_chunk(chunk), self.costs, self.workers))

    def close(self) -> None:
        self.progress.close()


def _states(plan: Plan, out: Path, run_id: str) -> recorded.States:
    """The states of the recorded cells. Of a refresh only what this run itself recorded counts, as all its cells were recorded
    before."""
    return recorded.states(out, run_id if plan.config["refresh"] else None)


def record_skips(work: Work, out: Path, run_id: str) -> None:
    """Record the cells that are skipped, with the reason."""
    part, plan = parts.Part(out), work.plan
    for count, cell in enumerate(work.new_skips(), 1):
        common = parts.common_columns(plan.problems[cell.problem], plan.estimators[cell.estimator], cell, run_id)
        part.add(common, [{"status": "skipped", "reason": plan.skip(cell)}])
        if count % SKIPS_OF_A_PART == 0:
            part.write()
    part.write()


def _compute(
    plan: Plan,
    chunks: Iterator[list[Cell]],
    out: Path,
    run_id: str,
    progress: _Progress,
    broke: Broken | None,
) -> None:
    """Run the chunks, in this process or in guarded ones of the engine's workers.

    This process computes our cells only if it has imported nobody else's code, as planning does.
    """
    config = plan.config
    task = {
        "out": buckets.named(out), "run_id": run_id, "on_error": config["on_error"], "path": list(sys.path),
        "after": reader.latest(out) if config["refresh"] else 0.0, "profile": profile.folder(), "surroundings": None,
    }  # fmt: skip
    components = {
        "problem": {k: (v.id, v.config, v.key) for k, v in plan.problems.items()},
        "estimator": {k: (v.id, v.config, v.key) for k, v in plan.estimators.items()},
    }

    def call(chunk: list[Cell]) -> dict[str, Any]:
        used = {
            "problem": {name: components["problem"][name] for name in {c.problem for c in chunk}},
            "estimator": {name: components["estimator"][name] for name in {c.estimator for c in chunk}},
        }
        return {**task, "components": used, "cells": chunk, "foreign": plan.owner(chunk[0]) is not None}

    failed = 0
    limits = limits_of(config)
    first = list(islice(chunks, worker_count(config)))
    workers, chunks = len(first), chain(first, chunks)
    if config["engine"] == "serial" or workers <= 1 and not is_limited(config) and not config["address"]:
        for done, chunk in enumerate(chunks, 1):
            if plan.is_typed(chunk[0]) or not user_code.have_run():
                failed += run_chunk(call(chunk))
            else:
                payload = pickle.dumps({**call(chunk), "surroundings": supervise.surroundings()})
                broken = _in_a_child(payload, len(chunk), plan.owner(chunk[0]), limits)
                failed += len(broken)
                _record_broken(plan, chunk, broken, out, run_id, broke)
            progress.add(chunk, failed)
            if done % LOOK_AFTER == 0:
                compaction.keep_few(out)
        progress.close()
        return

    sent: dict[int, list[Cell]] = {}
    tasks = ((at, pickle.dumps(call(chunk)), len(chunk), plan.owner(chunk[0])) for at, chunk in _noted(chunks, sent))
    seen = None if buckets.store_of(out) else provenance.path_of(out, run_id)
    try:
        with engines.answers(config, workers, tasks, limits, seen) as results:
            for done, (at, broken) in enumerate(results, 1):
                failed += len(broken)
                _record_broken(plan, sent[at], broken, out, run_id, broke)
                progress.add(sent.pop(at), failed)
                if done % LOOK_AFTER == 0:
                    compaction.keep_few(out)
    except CellFailedError:
        raise
    except BaseException as error:
        _record_interrupted(plan, sent, out, run_id, error)
        if engines.is_death(error):
            raise WorkerDiedError(_what_the_dead_worker_held(sent, _states(plan, out, run_id))) from error
        raise
    progress.close()


def _in_a_child(payload: bytes, cells: int, owner: str | None, limits: supervise.Limits) -> list[supervise.Broke]:
    """Compute a chunk in a child process of this one, as workers of engines do. It stays for the
    next run of this session, and ends with this process."""
    return supervise.compute(payload, cells, owner, limits, supervise.Driver.here())


def limits_of(config: dict[str, Any]) -> supervise.Limits:
    """What a cell may take, as the configuration says."""
    megabytes = config["max_memory"] or MEMORY_SHARE * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**20
    return supervise.Limits(float(config["cell_timeout"] or CELL_TIMEOUT), float(megabytes))


def is_limited(config: dict[str, Any]) -> bool:
    """Whether limits were asked for, which need a process beside this one."""
    return config["cell_timeout"] is not None or config["max_memory"] is not None


def _record_broken(
    plan: Plan, chunk: list[Cell], broken: list[supervise.Broke], out: Path, run_id: str, broke: Broken | None
) -> None:
    """Record the cells that ended their process as failed, with the reason; or call `broke` with the first."""
    part = parts.Part(out)
    for one in broken:
        cell = chunk[one.position]
        if broke is not None:
            broke(cell, one)
        common = parts.common_columns(plan.problems[cell.problem], plan.estimators[cell.estimator], cell, run_id)
        remedy = f"; {one.limit} allows more" if one.limit else ""
        part.add(common, [{"status": "failed", "reason": f"the estimator {one.reason}{remedy}"}])
    part.write()
    if broken and plan.config["on_error"] == "raise":
        cell = chunk[broken[0].position]
        raise CellFailedError(f"{cell.estimator} on {cell.problem}, n = {cell.n}, rep {cell.rep} {broken[0].reason}")


def _what_the_dead_worker_held(sent: dict[int, list[Cell]], states: recorded.States) -> str:
    """A sentence on a worker that was killed: how many cells were handed out and unfinished then."""
    found = states.of([cell for chunk in sent.values() for cell in chunk])
    unfinished = sum(state not in (recorded.FINISHED, recorded.FAILED) for state in found)
    return f"a worker process was killed from outside with {unfinished:,} cells handed out"


def _noted(chunks: Iterator[list[Cell]], sent: dict[int, list[Cell]]) -> Iterator[tuple[int, list[Cell]]]:
    """The chunks with their numbers; `sent` has those whose answer has not come."""
    for at, chunk in enumerate(chunks):
        sent[at] = chunk
        yield at, chunk


def _record_interrupted(plan: Plan, sent: dict[int, list[Cell]], out: Path, run_id: str, error: BaseException) -> None:
    """Record the cells that were handed to a worker and left no record as interrupted, with the reason."""
    states = _states(plan, out, run_id)
    part = parts.Part(out)
    reason = (
        "stopped by the user" if isinstance(error, KeyboardInterrupt) else f"{type(error).__name__}: {message_of(error)}"[:500]
    )
    for chunk in list(sent.values()):
        for cell, state in zip(chunk, states.of(chunk)):
            if state != recorded.FINISHED:
                common = parts.common_columns(plan.problems[cell.problem], plan.estimators[cell.estimator], cell, run_id)
                part.add(common, [{"status": "interrupted", "reason": reason}])
    part.write()
