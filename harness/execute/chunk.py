"""Work of a computing process: cells of one chunk on one thread, and the part that records them."""

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
from harness.execute import processes
from harness.math import estimands
from harness.math.notions import reduce
from harness.plan.cells import Cell
from harness.plan.components import Component, build_component, record_columns
from harness.problems.base import ProblemSpec
from harness.records import parts

PEAK_SECONDS = 5e-4  # cells that take less do not make the process larger
FLUSH_SECONDS = 10.0  # age of its first row at which a part is written
TRACEBACK_CHARACTERS = 1500  # of a failure, in its record


class CellFailedError(Exception):
    """The cell that ends a run: the first to fail (on_error=raise) or to end its process (stop).

    `limit` names the setting that ended it, if one did.
    """

    def __init__(self, message: str, limit: str | None = None):
        super().__init__(message)
        self.limit = limit


# components of this process, by group and name in the plan
_components: dict[tuple[str, str], Component] = {}
_identities: dict[str, str] = {}


def run_chunk(argument: tuple[bytes, list[int]]) -> int:
    """Compute cells of a pickled chunk, by their positions, in a computing process."""
    processes.note(0, False, 0)  # unpickling may import modules; that is not the cell's time
    payload, positions = argument
    task = pickle.loads(payload)
    return compute({**task, "cells": [task["cells"][position] for position in positions]})


def compute(task: dict[str, Any]) -> int:
    """Compute the cells of a chunk in this process, on one thread, and write their part.

    Return the number of cells that failed.
    """
    pid = os.getpid()
    part = parts.Part(buckets.local_folder(task["out"]), task["after"])
    samples = _Samples(task["foreign"])
    failed, recorded, peak = 0, 0, _peak_mb()
    try:
        with one_thread():
            for position, cell in enumerate(task["cells"]):
                processes.note(position, False, recorded)
                problem = _component("problem", cell.problem, task)
                estimator = _component("estimator", cell.estimator, task)
                columns = record_columns(problem, estimator, cell, task["run_id"])
                wall, cpu = time.perf_counter(), _cpu_seconds()
                try:
                    p, y = samples.reduced(problem, cell)
                    rng = _estimator_stream(problem, estimator, cell)
                    wall, cpu = time.perf_counter(), _cpu_seconds()
                    processes.note(position, True, recorded)
                    rows = _rows(apply(estimator.object, p, y, cell.notion, rng, problem.object))
                except UndefinedError as reason:
                    rows = [{"status": "undefined", "reason": error_message(reason)}]
                except KeyboardInterrupt:
                    processes.exit_if_forked(pid)
                    part.add(columns, [{"status": "interrupted", "reason": "stopped by the user"}])
                    raise
                except (Exception, SystemExit) as error:
                    remedy = "; max_memory allows more" if isinstance(error, MemoryError) else ""
                    rows = [{"status": "failed", "reason": f"{_traceback_tail(error)}{remedy}"}]
                    failed += 1
                processes.exit_if_forked(pid)
                seconds = time.perf_counter() - wall
                if seconds > PEAK_SECONDS:
                    peak = _peak_mb()
                used = {"seconds": seconds, "cpu_seconds": _cpu_seconds() - cpu, "peak_mb": peak}
                part.add({**columns, **used}, rows)
                if rows[0]["status"] == "failed" and task["on_error"] == "raise":
                    raise CellFailedError(f"{cell.described}: {rows[0]['reason']}")
                if time.monotonic() - part.since > FLUSH_SECONDS:
                    part.write()
                    recorded = position + 1
    finally:
        processes.exit_if_forked(pid)
        part.write()
    return failed


class _Samples:
    """The sample of the current (problem, rep, n, seed) and its reductions, shared by its cells.

    With `foreign`, user code runs in this process: arrays lie in memory that `setflags(write=True)`
    cannot open. Our own arrays are only marked read-only: a copy may have another memory order, and
    that changes the last bits of a sum.
    """

    def __init__(self, foreign: bool):
        self.protect = _unwritable if foreign else _read_only
        self.drawn: tuple[Any, ...] | None = None
        self.sample: list[Any] | None = None
        self.reductions: dict[str, list[Any]] = {}

    def reduced(self, problem: Component, cell: Cell) -> list[Any]:
        """Return p and y as the notion of the cell has them."""
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
    """Return CPU seconds of this process.

    On a busy machine the clock lags by about a millisecond until the usage is read, and the next
    cell would be charged for that.
    """
    resource.getrusage(resource.RUSAGE_SELF)
    return time.process_time()


def _peak_mb() -> float:
    """Return the peak resident memory of this process so far, in MB."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1024 if sys.platform != "darwin" else peak / 1024**2


def _component(group: str, name: str, task: dict[str, Any]) -> Component:
    """Return the component that the plan calls `name`, made anew if its key has changed.

    The key changes with a file of data or a source.
    """
    component_id, config, key = task["components"][group][name]
    component = _components.get((group, name))
    if component is None or component.key != key:
        component = _components[group, name] = build_component(group, component_id, config)
    if component.key != key:
        raise BadInputError(
            f"{group} {name!r} changed on disk while the run was going on; run again."
        )
    return component


def _estimator_stream(problem: Component, estimator: Component, cell: Cell) -> Any:
    """Return the random stream of an estimator's cell, or what the estimator makes itself."""
    seeded = EstimatorSpec.read(estimator.object, "replication_rng")
    if seeded is not None:
        return seeded(cell.rep)
    if problem.key not in _identities:  # reading it may read a file, whose content the key pins
        _identities[problem.key] = identity(ProblemSpec.of(problem.object), problem.key)
    return estimator_rng(cell.seed, _identities[problem.key], cell.rep, cell.n, estimator.stream)


def _rows(estimates: dict[str, Estimate]) -> list[dict[str, Any]]:
    """Return one row per estimate; values that are not finite are undefined."""
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
                "status": "ok" if fine else "undefined",
                "reason": None if fine else f"the value is {e.value}",
            }
        )
    return rows


def _traceback_tail(error: BaseException) -> str:
    """Return the end of the traceback; the last line has type, message, and place in user code."""
    try:
        lines, last = traceback.format_exception(error), error_text(error)
        if last.startswith(f"{type(error).__name__}: {error_message(error)}"):
            lines = lines[:-1]
        return f"{''.join(lines)[-TRACEBACK_CHARACTERS:].rstrip()}\n{last}"
    except (Exception, SystemExit) as broken:  # the methods or attributes of the error raise
        name = type(error).__name__
        return f"{name}: cannot be described, as that raises {type(broken).__name__}"
