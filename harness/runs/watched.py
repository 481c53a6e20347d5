"""Cells of a stranger's estimator in processes that are watched: one that takes too long over a cell, or takes its process down,
is stopped and named. What was finished is recorded, as in any run.

A process is given chunks of cells, one after the other, and says of every cell that it begins. Where nothing is heard for longer
than the limit, it is killed with all that it started.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from harness.common.paths import PACKAGE
from harness.common.progress import Progress
from harness.common.threads import one_thread
from harness.errors import BadInputError
from harness.runs import provenance, runner, worker
from harness.runs.plan import Cell, Plan
from harness.runs.runner import RunInterruptedError

POLL_SECONDS = 0.25
STARTS_WITHIN = 120.0  # seconds for a process to import what it needs, on a busy machine
WRITES_WITHIN = 5.0  # seconds for a process that is interrupted to record what it has


class TooSlowError(BadInputError):
    """A cell or a call took longer than its limit."""


def execute(
    plan: Plan, out: Path, limit: float, first: Callable[[list[Cell]], list[Cell]], judge: Callable[[], None]
) -> dict[str, Any]:
    """Compute the cells of a plan that no record holds.

    Parameters
    ----------
    plan : Plan
        Its configuration says on how many processes (`jobs`).
    out : Path
        Folder of results.
    limit : float
        Seconds that a cell may take.
    first : function
        Chooses of the cells to do those that are computed before all others.
    judge : function
        Called when they are recorded; raises what stops the run.

    Returns
    -------
    dict
        The counts of `runner.pending`.

    Raises
    ------
    BadInputError
        If a cell takes longer than the limit, or its process dies: with estimator, problem, n and rep.
    """
    groups, counts = runner.pending(plan, out)
    cells = [cell for group in groups.values() for cell in group if cell.key not in plan.skips]
    if not cells and not counts["new_skips"]:
        judge()
        return counts
    started, state = time.monotonic(), "failed"
    children: list[_Child] = []
    run_id = provenance.start(out, plan.config, counts)
    try:
        runner.record_skips(plan, groups, out, run_id)
        begin = first(cells)
        _compute(plan, [begin] if begin else [], out, run_id, limit, children)
        judge()
        tried = {cell.key for cell in begin}
        rest = [[cell for cell in group if cell.key not in tried and cell.key not in plan.skips] for group in groups.values()]
        rest = [group for group in rest if group]
        costs, jobs = runner.Costs(plan, out), runner.worker_count(plan.config)
        progress = Progress(sum(map(len, rest)), expected=runner.expected_seconds(rest, costs, jobs), known=True)

        def done(chunk: list[Cell], failed: int) -> None:
            progress.add(len(chunk), failed, runner.expected_seconds([chunk], costs, jobs))

        try:
            _compute(plan, runner.chunks_of(rest, costs, jobs), out, run_id, limit, children, jobs, done)
        finally:
            progress.close()
        state = "finished"
        return counts
    except KeyboardInterrupt:
        state = "interrupted"
        raise RunInterruptedError("interrupted; what was finished is recorded, the same command goes on from there") from None
    finally:
        for child in children:
            child.kill()
        provenance.finish(out, run_id, state, time.monotonic() - started)


def call(function: str, argument: Any, limit: float, what: str) -> Any:
    """What a function of ours, "module:name", returns of an argument, in a process of its own.

    Raises
    ------
    BadInputError
        If the function raises it, takes longer than `limit` seconds, or dies; `what` begins these sentences.
    """
    child = _Child("serve_call", limit)
    try:
        child.begins(0)
        child.pipe.send((list(sys.path), function, argument))
        while True:
            wait([child.pipe], POLL_SECONDS)
            told = child.heard(f"{what} took longer than {limit:g} s and was stopped", f"{what} took its process down")
            if told and told[0] == "returned":
                return told[1]
            if told:
                raise BadInputError(told[1])
    finally:
        child.kill()


def _compute(
    plan: Plan,
    chunks: list[list[Cell]],
    out: Path,
    run_id: str,
    limit: float,
    children: list[_Child],
    jobs: int = 1,
    done: Callable[[list[Cell], int], None] | None = None,
) -> None:
    """Compute chunks on the children that there are and, up to `jobs`, new ones; `done` is told of each chunk, and of the number
    of cells that failed so far."""
    waiting, failed = list(reversed(chunks)), 0
    busy: dict[_Child, list[Cell]] = {}
    children += [_Child("serve_cells", limit) for _ in range(min(jobs, len(chunks)) - len(children))]
    idle = list(children)
    try:
        while idle or busy:
            for child in idle:
                if waiting:
                    busy[child] = waiting.pop()
                    child.begins(None)
                    child.pipe.send(_task(plan, busy[child], out, run_id))
            idle = []
            wait([child.pipe for child in busy], POLL_SECONDS)
            for child, cells in list(busy.items()):
                cell = cells[child.at or 0]
                which = f"{plan.estimators[cell.estimator].id} on {plan.problems[cell.problem].id}, n = {cell.n}, rep {cell.rep},"
                told = child.heard(
                    f"{which} took longer than {limit:g} s and was stopped; limit=SECONDS allows more.",
                    f"{which} took its process down (it exited, crashed in native code, or ran out of memory).",
                )
                if told and told[0] == "at":
                    child.begins(told[1])
                elif told and told[0] == "refused":
                    raise BadInputError(told[1])
                elif told:
                    failed += told[1]
                    if done:
                        done(cells, failed)
                    del busy[child]
                    idle.append(child)
    except BaseException:
        for child in children:
            child.interrupt()
        for child in children:
            child.ends_within(WRITES_WITHIN)
        raise


def _task(plan: Plan, cells: list[Cell], out: Path, run_id: str) -> dict[str, Any]:
    components = {
        group: {name: (made[name].id, made[name].config, made[name].key) for name in {getattr(cell, group) for cell in cells}}
        for group, made in (("problem", plan.problems), ("estimator", plan.estimators))
    }
    return {
        "out": str(out),
        "run_id": run_id,
        "on_error": "record",
        "path": list(sys.path),
        "components": components,
        "cells": cells,
    }


class _Child:
    """A process that runs a function of this module with its end of a pipe. `at` is the position of the cell that it is at, None
    before the first."""

    def __init__(self, function: str, limit: float):
        self.pipe, other = Pipe()
        self.limit, self.since = limit, time.monotonic()
        self.at: int | None = None
        code = (
            f"import sys; sys.path[:0] = [{str(PACKAGE.parent)!r}]; from multiprocessing.connection import Connection; "
            f"from harness.runs import watched; watched.{function}(Connection({other.fileno()}))"
        )
        self.process = subprocess.Popen(
            [sys.executable, "-c", code], pass_fds=[other.fileno()], stdin=subprocess.DEVNULL, stdout=2, start_new_session=True
        )
        other.close()

    def begins(self, at: int | None) -> None:
        """Note that it begins with a cell, or with getting ready for the first."""
        self.at, self.since = at, time.monotonic()

    def heard(self, slow: str, died: str) -> Any:
        """What it said, if anything. Raises BadInputError where it said nothing for too long, or is no more."""
        try:
            if self.pipe.poll():
                return self.pipe.recv()
        except (EOFError, OSError):
            raise BadInputError(died) from None
        if self.process.poll() is not None:
            raise BadInputError(died)
        if time.monotonic() - self.since > (STARTS_WITHIN if self.at is None else self.limit):
            raise TooSlowError(slow)
        return None

    def interrupt(self) -> None:
        """Ask it to record what it has and to end."""
        with contextlib.suppress(OSError):
            self.process.send_signal(signal.SIGINT)

    def ends_within(self, seconds: float) -> None:
        """Wait for it to end."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(seconds)

    def kill(self) -> None:
        """End it and all that it started."""
        self.pipe.close()
        with contextlib.suppress(OSError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def serve_cells(pipe: Connection) -> None:
    """In a watched process: compute the chunks that come through the pipe, until it is closed or the process interrupted."""
    with contextlib.suppress(KeyboardInterrupt, EOFError, BrokenPipeError):
        while True:
            task = pipe.recv()
            _as_there(task["path"])
            try:
                pipe.send(("done", worker.run_chunk({**task, "cells": _announced(task, pipe)})))
            except BadInputError as error:  # a file was edited while the run was going on
                pipe.send(("refused", str(error)))


def _announced(task: dict[str, Any], pipe: Connection) -> Iterator[Cell]:
    """The cells of a chunk; of each it is said that it begins, when what it needs is made."""
    for position, cell in enumerate(task["cells"]):
        worker.component_of("problem", cell.problem, task)
        worker.component_of("estimator", cell.estimator, task)
        pipe.send(("at", position))
        yield cell


def _as_there(path: list[str]) -> None:
    """Modules are found here where the process that watches finds them, in the same order."""
    sys.path[:] = [*path, *(folder for folder in sys.path if folder not in path)]


def serve_call(pipe: Connection) -> None:
    """In a watched process: call the function that comes through the pipe, and send back what it returns."""
    path, function, argument = pipe.recv()
    _as_there(path)
    module, _, name = function.partition(":")
    try:
        with one_thread():
            pipe.send(("returned", getattr(importlib.import_module(module), name)(argument)))
    except BadInputError as error:
        pipe.send(("refused", str(error)))
