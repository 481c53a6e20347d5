"""Compute the cells of one chunk on one thread, and write their records.

This code runs in a computing process (see `harness.execute.supervise`). The records of a chunk form
a part, which is one Parquet file.

Faults that need this: an estimator raises, also an error whose message cannot be read. It alters
its sample, which its neighbours share. The process is killed, which may cost only the records of
the last FLUSH_SECONDS.
"""

from __future__ import annotations

import json
import os
import pickle
import resource
import sys
import time
import traceback
from typing import Any

import numpy as np

from harness.common import buckets
from harness.common.escaping import error_message, escape
from harness.common.seeds import estimator_rng, identity, problem_rng
from harness.common.threads import one_thread
from harness.common.user_code import error_text
from harness.errors import BadInputError, UndefinedError
from harness.estimators.application import apply
from harness.estimators.base import Estimate, EstimatorSpec, is_finite
from harness.execute import isolation, processes, stops
from harness.execute.pace import Work
from harness.math import estimands
from harness.math.notions import reduce
from harness.plan.cells import Cell
from harness.plan.components import Component, build_component
from harness.problems.base import ProblemSpec
from harness.records import parts

# Peak memory is read only after cells that take longer. Faster cells do not make a process larger.
PEAK_SECONDS = 5e-4
# Records are written to a file when the oldest of them has waited so many seconds.
FLUSH_SECONDS = 10.0
FLUSH_NUMBERS = 4_000_000  # or when their arrays have more numbers (32 MB)
TRACEBACK_CHARACTERS = 1500  # length of the traceback in the record of a failed cell


class CellFailedError(Exception):
    """Error that ends a run at a failed cell, if on_error is not `record`.

    With on_error=raise, it is the first cell that fails. With on_error=stop, it is the first cell
    whose process ends. `limit` is the setting that the cell exceeded, such as cell_timeout, or
    None.
    """

    def __init__(self, message: str, limit: str | None = None):
        super().__init__(message)
        self.limit = limit


# {(group, name in the plan): component} of the components that this process has built
_components: dict[tuple[str, str], Component] = {}
_identities: dict[str, str] = {}  # {key of a problem: digits that seed its random generators}


def run_chunk(argument: tuple[bytes, list[int]]) -> Work:
    """Compute some cells of a chunk, and return a report on them.

    `argument` contains the pickled chunk and the positions of the cells to compute.
    """
    # Unpickling may import modules, whose time must not count as the time of a cell.
    processes.note(0, False, 0)
    payload, positions = argument
    task = pickle.loads(payload)
    return compute({**task, "cells": [task["cells"][position] for position in positions]})


def compute(task: dict[str, Any]) -> Work:
    """Compute the cells of a chunk in this process, write their records, and return a report.

    `task` is the dictionary that `run._tasks` makes.

    Raises
    ------
    CellFailedError
        At the first failed cell if on_error=raise.
    """
    pid = os.getpid()
    part = parts.Part(buckets.local_folder(task["out"]), task["after"])
    samples = _Samples(task["foreign"])
    work, recorded, peak = Work(), 0, _peak_mb()
    # Code typed at a prompt runs in the user's process, which is left as it is.
    is_tidied = task["foreign"] and processes.is_supervised()
    folder = isolation.working_folder()
    ended = time.perf_counter()
    try:
        with one_thread():
            for position, cell in enumerate(task["cells"]):
                processes.note(position, False, recorded)
                needed = {("problem", cell.problem), ("estimator", cell.estimator)}
                is_cold = not needed <= _components.keys()
                problem = _component("problem", cell.problem, task)
                estimator = _component("estimator", cell.estimator, task)
                columns = parts.record_columns(problem, estimator, cell, task["run_id"])
                wall, cpu = time.perf_counter(), _cpu_seconds()
                try:
                    p, y = samples.reduced(problem, cell)
                    wants = EstimatorSpec.read(estimator.object, "wants")
                    groups = samples.groups(problem, cell) if "groups" in wants else None
                    rng = _estimator_stream(problem, estimator, cell)
                    wall, cpu = time.perf_counter(), _cpu_seconds()
                    processes.note(position, True, recorded)
                    estimates = apply(
                        estimator.object, p, y, cell.notion, rng, problem.object, groups=groups
                    )
                    rows = _rows(estimates)
                except UndefinedError as error:
                    rows = [{"status": "undefined", "reason": error_message(error)}]
                except BaseException as error:
                    processes.exit_if_forked(pid)
                    if processes.is_stop(error):
                        reason = "stopped by the user"
                        part.add(columns, [{"status": "interrupted", "reason": reason}])
                        raise stops.interruption(error) from None
                    remedy = "; raise max_memory" if isinstance(error, MemoryError) else ""
                    rows = [{"status": "failed", "reason": f"{_traceback_tail(error)}{remedy}"}]
                    work.failed += 1
                processes.exit_if_forked(pid)
                seconds = time.perf_counter() - wall
                if seconds > PEAK_SECONDS:
                    peak = _peak_mb()
                used = {"seconds": seconds, "cpu_seconds": _cpu_seconds() - cpu, "peak_mb": peak}
                if is_tidied:
                    isolation.tidy(folder)
                part.add({**columns, **used}, rows)
                if rows[0]["status"] == "failed" and task["on_error"] == "raise":
                    raise CellFailedError(f"{cell.described}: {rows[0]['reason']}")
                began, ended = ended, time.perf_counter()
                work.add_cell(cell.kind, ended - began, is_cold)
                is_old = time.monotonic() - part.since > FLUSH_SECONDS
                if is_old or part.numbers > FLUSH_NUMBERS:
                    part.write()
                    recorded = position + 1
    finally:
        processes.exit_if_forked(pid)
        part.write()
    return work


class _Samples:
    """Cache of the current sample and its reductions to notions.

    All cells with the same problem, rep, n and seed share a sample. They must not be able to change
    it. If user code runs (`foreign`), arrays lie in memory that even `setflags(write=True)` cannot
    make writable. Otherwise arrays are only marked read-only and not copied: a copy may have
    another memory order, which changes the last bits of a sum.
    """

    def __init__(self, foreign: bool):
        self.protect = _unwritable if foreign else _read_only
        self.drawn: tuple[Any, ...] | None = None
        self.sample: list[Any] | None = None
        self.reductions: dict[str, list[Any]] = {}

    def reduced(self, problem: Component, cell: Cell) -> list[Any]:
        """Return the sample of a cell, reduced to the notion of the cell, as [p, y]."""
        wanted = cell.problem, cell.rep, cell.n, cell.seed
        if self.drawn != wanted:
            self.drawn, self.sample, self.reductions = wanted, None, {}
        if self.sample is None:
            spec = ProblemSpec.of(problem.object)
            stream = problem_rng(cell.seed, spec, problem.key, cell.rep)
            self.sample = [self.protect(a) for a in problem.object.sample(cell.n, stream)]
        if cell.notion not in self.reductions:
            p, y = reduce(self.sample[0], self.sample[1], cell.notion)
            self.reductions[cell.notion] = [self.protect(p), self.protect(y)]
        return self.reductions[cell.notion]

    def groups(self, problem: Component, cell: Cell) -> Any:
        """Return the groups (n,) of the sample of a cell, or None if the problem has none."""
        spec = ProblemSpec.of(problem.object)
        if spec.groups is None:
            return None
        stream = problem_rng(cell.seed, spec, problem.key, cell.rep)
        return self.protect(spec.groups(cell.n, stream))


def _read_only(values: Any) -> Any:
    array = np.asarray(values)
    array.flags.writeable = False
    return array


def _unwritable(values: Any) -> Any:
    array = np.asarray(values)
    if array.dtype.hasobject:
        return _read_only(array)
    if array.flags.f_contiguous and not array.flags.c_contiguous:
        return _unwritable(array.T).T
    return np.frombuffer(array.tobytes(), dtype=array.dtype).reshape(array.shape)


def _cpu_seconds() -> float:
    """Return the CPU seconds that this process has used.

    On a busy machine, the clock lags behind by about a millisecond until getrusage is called. The
    lag would count as time of the next cell.
    """
    resource.getrusage(resource.RUSAGE_SELF)
    return time.process_time()


def _peak_mb() -> float:
    """Return the peak resident memory of this process so far, in MB."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1024 if sys.platform != "darwin" else peak / 1024**2


def _component(group: str, name: str, task: dict[str, Any]) -> Component:
    """Return the component that the plan calls `name`. Build it if this process does not have it.

    Raises
    ------
    BadInputError
        If its key differs from the planned one, because a data file or source file has changed.
    """
    component_id, config, key = task["components"][group][name]
    component = _components.get((group, name))
    if component is None or component.key != key:
        component = _components[group, name] = build_component(group, component_id, config)
    if component.key != key:
        raise BadInputError(
            f"a file of {group} {name!r} changed during the run; give the same command again."
        )
    return component


def _estimator_stream(problem: Component, estimator: Component, cell: Cell) -> Any:
    """Return the random generator for the estimator of a cell.

    If the estimator has a method `replication_rng`, that method makes it.
    """
    seeded = EstimatorSpec.read(estimator.object, "replication_rng")
    if seeded is not None:
        return seeded(cell.rep)
    if problem.key not in _identities:  # cached, because `identity` may read a file
        _identities[problem.key] = identity(ProblemSpec.of(problem.object), problem.key)
    return estimator_rng(cell.seed, _identities[problem.key], cell.rep, cell.n, estimator.stream)


def _rows(estimates: dict[str, Estimate]) -> list[dict[str, Any]]:
    """Return the estimates {estimand: estimate} of a cell as rows of its record.

    Estimates that are not finite get the status `undefined`.
    """
    if not estimates:
        return [{"status": "undefined", "reason": "the estimator returned no estimate"}]
    rows: list[dict[str, Any]] = []
    for name, e in estimates.items():
        estimands.check_name(name)
        diagnostics = {escape(key): value for key, value in (e.diagnostics or {}).items()}
        fine = is_finite(e)
        rows.append(
            {
                "estimand": name,
                "value": e.value,
                "low": e.low,
                "high": e.high,
                "level": e.level,
                "kind": e.kind,
                "diagnostics": json.dumps(diagnostics) if diagnostics else None,
                "arrays": [(escape(key), a) for key, a in (e.arrays or {}).items()] or None,
                "status": "ok" if fine else "undefined",
                "reason": None if fine else f"the value is {e.value}",
            }
        )
    return rows


def _traceback_tail(error: BaseException) -> str:
    """Return the end of an error's traceback, for its record.

    The last line contains the type, the message, and the place in user code.
    """
    try:
        lines, last = traceback.format_exception(error), error_text(error)
        if last.startswith(f"{type(error).__name__}: {error_message(error)}"):
            lines = lines[:-1]
        return f"{''.join(lines)[-TRACEBACK_CHARACTERS:].rstrip()}\n{last}"
    except BaseException as broken:  # the methods or attributes of the error raise
        name = type(error).__name__
        return f"{name}: its message cannot be read, because that raises {type(broken).__name__}"
