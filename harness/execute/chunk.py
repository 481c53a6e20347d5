"""What a computing process does: the cells of one chunk, on one thread, and the part that records them."""

from __future__ import annotations

import json
import os
import pickle
import resource
import sys
import time
import traceback
from collections import defaultdict
from typing import Any

import numpy as np

from harness.common import buckets
from harness.common.escaping import escape, message_of
from harness.common.seeds import estimator_rng, identity, problem_rng
from harness.common.threads import one_thread
from harness.common.user_code import said
from harness.errors import BadInputError, UndefinedError
from harness.estimators.base import Estimate, EstimatorSpec, apply, is_finite
from harness.execute import supervise
from harness.math import estimands
from harness.math.notions import reduce
from harness.plan.cells import Cell
from harness.plan.components import Component, configured, record_columns
from harness.problems.base import ProblemSpec
from harness.records import parts

PEAK_SECONDS = 5e-4  # cells that take less cannot have made the process larger
FLUSH_SECONDS = 10.0  # a part that has gathered rows for so long is written
Times = dict[tuple[str, str], list[float]]  # of harness.execute.profile


class CellFailedError(Exception):
    """on_error=raise: the first failing cell, with the tail of its traceback, or how it ended its process.

    `limit` names the setting that ended it, if one did.
    """

    def __init__(self, message: str, limit: str | None = None):
        super().__init__(message)
        self.limit = limit


_components: dict[tuple[str, str], Component] = {}  # of this process, by group and name in the plan
_identities: dict[str, str] = {}


def run_chunk(given: tuple[bytes, list[int]]) -> tuple[int, Times]:
    """Compute the cells of a pickled chunk at these positions: `compute`, in a computing process."""
    supervise.note(0, False, 0)  # unpickling may import much, which is no cell's time
    payload, positions = given
    task = pickle.loads(payload)
    return compute({**task, "cells": [task["cells"][at] for at in positions]})


def compute(task: dict[str, Any]) -> tuple[int, Times]:
    """Compute the cells of a chunk in this process, on one thread, and write their part.

    Returns
    -------
    tuple
        The number of cells that failed, and CPU time by stage (see `harness.execute.profile`).
    """
    pid, began = os.getpid(), time.process_time()
    part = parts.Part(buckets.here(task["out"]), task["after"])
    frozen = _unwritable if task["foreign"] else _read_only
    failed, recorded, cpu, peak = 0, 0, _cpu_seconds(), _peak_mb()
    times: Times = defaultdict(lambda: [0, 0.0])
    drawn: tuple[Any, ...] | None = None
    sample: Any = None
    reduced: dict[str, Any] = {}
    try:
        with one_thread():
            for position, cell in enumerate(task["cells"]):
                supervise.note(position, False, recorded)
                problem = component_of("problem", cell.problem, task)
                estimator = component_of("estimator", cell.estimator, task)
                common = record_columns(problem, estimator, cell, task["run_id"])
                if drawn != (cell.problem, cell.rep, cell.n, cell.seed):
                    drawn, sample, reduced = (cell.problem, cell.rep, cell.n, cell.seed), None, {}
                wall, is_new = time.perf_counter(), sample is None
                try:
                    if is_new:
                        spec = ProblemSpec.of(problem.object)
                        stream = problem_rng(cell.seed, spec, problem.key, cell.rep)
                        sample = frozen(problem.object.sample(cell.n, stream))
                    if cell.notion not in reduced:
                        reduced[cell.notion] = frozen(reduce(sample[0], sample[1], cell.notion))
                    p, y = reduced[cell.notion]
                    rng = _estimator_stream(problem, estimator, cell)
                    wall, before, cpu = time.perf_counter(), cpu, _cpu_seconds()
                    if is_new:
                        _charge(times, "draw", problem.id, cpu - before)
                    supervise.note(position, True, recorded)
                    rows = _rows(apply(estimator.object, p, y, cell.notion, rng, problem.object))
                except UndefinedError as reason:
                    rows = [{"status": "undefined", "reason": message_of(reason)}]
                except KeyboardInterrupt:
                    supervise.unless_forked(pid)
                    part.add(common, [{"status": "interrupted", "reason": "stopped by the user"}])
                    raise
                except (Exception, SystemExit) as error:
                    remedy = "; max_memory allows more" if isinstance(error, MemoryError) else ""
                    rows = [{"status": "failed", "reason": f"{_tail(error)}{remedy}"}]
                    failed += 1
                supervise.unless_forked(pid)
                before, cpu = (
                    cpu,
                    _cpu_seconds(),
                )  # where a draw failed, from the end of the last cell
                seconds = time.perf_counter() - wall
                _charge(times, "estimate", estimator.id, cpu - before)
                if seconds > PEAK_SECONDS:
                    peak = _peak_mb()
                used = {"seconds": seconds, "cpu_seconds": cpu - before, "peak_mb": peak}
                part.add({**common, **used}, rows)
                if rows[0]["status"] == "failed" and task["on_error"] == "raise":
                    raise CellFailedError(f"{cell.described}: {rows[0]['reason']}")
                if time.monotonic() - part.since > FLUSH_SECONDS:
                    part.write()
                    recorded = position + 1
    finally:
        supervise.unless_forked(pid)
        part.write()
    accounted = sum(cpu for _, cpu in times.values())
    _charge(times, "cells", "", time.process_time() - began - accounted)
    return failed, dict(times)


def _charge(times: Times, stage: str, name: str, cpu: float) -> None:
    account = times[stage, name]
    account[0] += 1
    account[1] += cpu


def _cpu_seconds() -> float:
    """CPU seconds of this process. On a busy machine the clock alone lags by about a millisecond until
    the usage is asked for, and the next cell would be charged for that."""
    resource.getrusage(resource.RUSAGE_SELF)
    return time.process_time()


def component_of(group: str, name: str, task: dict[str, Any]) -> Component:
    """Return the component that the plan calls `name`. It is made again when its key is new: a file or a source has changed."""
    own_id, config, key = task["components"][group][name]
    held = _components.get((group, name))
    if held is None or held.key != key:
        held = _components[group, name] = configured(group, own_id, config)
    if held.key != key:
        raise BadInputError(
            f"{group} {name!r} changed on disk while the run was going on; run again."
        )
    return held


def _read_only(arrays: Any) -> Any:
    """Make arrays read-only, as all our estimators of a chunk share them."""
    arrays = tuple(np.asarray(a) for a in arrays)
    for array in arrays:
        array.flags.writeable = False
    return arrays


def _unwritable(arrays: Any) -> Any:
    """Copy arrays into memory that `setflags(write=True)` cannot open.

    Ours are spared that: a copy may lie in memory in another order, which changes the last bits
    of a sum.
    """
    return tuple(_unwritable_array(np.asarray(array)) for array in arrays)


def _unwritable_array(array: Any) -> Any:
    if array.dtype.hasobject:
        return _read_only([array])[0]
    if array.flags.f_contiguous and not array.flags.c_contiguous:
        return _unwritable_array(array.T).T
    return np.frombuffer(array.tobytes(), dtype=array.dtype).reshape(array.shape)


def _estimator_stream(problem: Component, estimator: Component, cell: Cell) -> Any:
    seeded = EstimatorSpec.read(estimator.object, "replication_rng")
    if seeded is not None:
        return seeded(cell.rep)
    if (
        problem.key not in _identities
    ):  # read once, as a file is read for it: the key pins the content
        _identities[problem.key] = identity(ProblemSpec.of(problem.object), problem.key)
    return estimator_rng(cell.seed, _identities[problem.key], cell.rep, cell.n, estimator.stream)


def _rows(found: dict[str, Estimate]) -> list[dict[str, Any]]:
    if not found:
        return [{"status": "undefined", "reason": "the estimator returned no estimate"}]
    rows: list[dict[str, Any]] = []
    for name, e in found.items():
        estimands.check_name(name)
        row: dict[str, Any] = {
            "estimand": name,
            "value": e.value,
            "low": e.low,
            "high": e.high,
            "level": e.level,
            "kind": e.kind,
        }
        diagnostics = {escape(key): value for key, value in (e.diagnostics or {}).items()}
        row["diagnostics"] = json.dumps(diagnostics) if diagnostics else None
        fine = is_finite(e)
        rows.append(
            {
                **row,
                "status": "ok" if fine else "undefined",
                "reason": None if fine else f"the value is {e.value}",
            }
        )
    return rows


def _tail(error: BaseException) -> str:
    """The end of the traceback; its last line says type and message, and the place if it is in code that is not ours."""
    try:
        lines, last = traceback.format_exception(error), said(error)
        if last.startswith(f"{type(error).__name__}: {message_of(error)}"):
            lines = lines[:-1]
        return f"{''.join(lines)[-1500:].rstrip()}\n{last}"
    except (Exception, SystemExit) as broken:  # an error whose own methods or attributes raise
        return (
            f"{type(error).__name__}: cannot be described, as that raises {type(broken).__name__}"
        )


def _peak_mb() -> float:
    """Largest resident memory of this process so far (a high-water mark, not this cell's alone)."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1024 if sys.platform != "darwin" else peak / 1024**2
