"""What runs in a worker process: the cells of one chunk, on one thread, and the part that records them."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import sys
import threading
import time
import traceback
from pathlib import Path

import numpy as np

from harness.common.seeds import estimator_rng, identity, problem_rng
from harness.common.strangers import said
from harness.errors import BadInputError, UndefinedError
from harness.estimators.base import EstimatorSpec, apply, is_finite
from harness.math import estimands
from harness.math.notions import reduce
from harness.runs import records
from harness.runs.components import node

FLUSH_SECONDS = 10.0


class CellFailedError(Exception):
    """on_error=raise: the first failing cell, with the tail of its traceback."""


def common_columns(problem, estimator, cell, run_id) -> dict:
    """The columns that all rows of one cell share."""
    return {
        "key": cell.key, "problem": problem.id, "problem_key": problem.key, "problem_parameters": problem.parameters,
        "notion": cell.notion, "n": cell.n, "rep": cell.rep, "estimator": estimator.id, "estimator_key": estimator.key,
        "estimator_parameters": estimator.parameters, "seed": cell.seed, "run_id": run_id,
    }  # fmt: skip


_worker_nodes: dict = {}
_identities: dict[str, str] = {}


def run_chunk(task: dict) -> int:
    """Compute the cells of one chunk in this process, one thread, and write their part. Returns the number that failed."""
    for folder in task["path"]:
        if folder not in sys.path:
            sys.path.append(folder)
    part = records.Part(Path(task["out"]))
    failed = 0
    drawn, sample, reduced = None, None, {}
    try:
        with one_thread():
            for cell in task["cells"]:
                problem, estimator = _node("problem", cell.problem, task), _node("estimator", cell.estimator, task)
                common = common_columns(problem, estimator, cell, task["run_id"])
                if drawn != (cell.problem, cell.rep, cell.n, cell.seed):
                    sample, reduced, drawn = None, {}, (cell.problem, cell.rep, cell.n, cell.seed)
                wall, cpu = time.perf_counter(), time.process_time()
                try:
                    if sample is None:
                        stream = problem_rng(cell.seed, problem.object, problem.key, cell.rep)
                        sample = _frozen(problem.object.sample(cell.n, stream))
                    if cell.notion not in reduced:
                        reduced[cell.notion] = _frozen(reduce(*sample, cell.notion))
                    rng = _estimator_stream(problem, estimator, cell)
                    wall, cpu = time.perf_counter(), time.process_time()
                    rows = _rows(apply(estimator.object, *reduced[cell.notion], cell.notion, rng, problem.object))
                except UndefinedError as reason:
                    rows = [{"status": "undefined", "reason": str(reason)}]
                except KeyboardInterrupt:
                    part.add(common, [{"status": "interrupted", "reason": "stopped by the user"}])
                    raise
                except (Exception, SystemExit) as error:
                    rows = [{"status": "failed", "reason": _tail(error)}]
                    failed += 1
                times = {"seconds": time.perf_counter() - wall, "cpu_seconds": time.process_time() - cpu, "peak_mb": _peak_mb()}
                part.add({**common, **times}, rows)
                if rows[0]["status"] == "failed" and task["on_error"] == "raise":
                    where = f"{cell.estimator} on {cell.problem}, n = {cell.n}, rep {cell.rep}"
                    raise CellFailedError(f"{where}: {rows[0]['reason']}")
                if time.monotonic() - part.since > FLUSH_SECONDS:
                    part.write()
    finally:
        part.write()
    return failed


@contextlib.contextmanager
def interruptible():
    """In a worker process: Ctrl-C stops a chunk, which saves what it has, and is ignored before and after."""
    if threading.current_thread() is not threading.main_thread():  # a Dask worker's thread
        yield
        return
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)


@contextlib.contextmanager
def one_thread():
    """Linear algebra and OpenMP on one thread: libraries that are loaded by a call, and, through the environment that they read
    as they load, those that an estimator imports meanwhile."""
    from threadpoolctl import threadpool_limits

    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    before = {name: os.environ.get(name) for name in names}
    os.environ.update(dict.fromkeys(names, "1"))
    try:
        with threadpool_limits(1):
            yield
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


def _node(group, name, task):
    """The node by the plan's key. Built again when that key is new: a file or a source changed since the last run."""
    own_id, config, key = task["nodes"][group][name]
    held = _worker_nodes.get((group, name))
    if held is None or held.key != key:
        held = _worker_nodes[group, name] = node(group, own_id, config)
    if held.key != key:
        raise BadInputError(f"{group} {name!r} changed on disk while the run was going on; run again.")
    return held


def _frozen(arrays):
    """Read-only arrays: all estimators of a chunk share them."""
    arrays = tuple(np.asarray(a) for a in arrays)
    for array in arrays:
        array.flags.writeable = False
    return arrays


def _estimator_stream(problem, estimator, cell):
    seeded = EstimatorSpec.read(estimator.object, "replication_rng")
    if seeded is not None:
        return seeded(cell.rep)
    if problem.key not in _identities:  # a file is asked once: its key pins its content
        _identities[problem.key] = identity(problem.object, problem.key)
    return estimator_rng(cell.seed, _identities[problem.key], cell.rep, cell.n, estimator.stream)


def _rows(found):
    if not found:
        return [{"status": "undefined", "reason": "the estimator returned no estimate"}]
    rows = []
    for name, e in found.items():
        estimands.check_name(name)
        row = {"estimand": name, "value": e.value, "low": e.low, "high": e.high, "level": e.level, "kind": e.kind}
        row["diagnostics"] = json.dumps(e.diagnostics) if e.diagnostics else None
        fine = is_finite(e)
        rows.append({**row, "status": "ok" if fine else "undefined", "reason": None if fine else f"the value is {e.value}"})
    return rows


def _tail(error):
    """The end of the traceback; its last line says type, message and the place in a stranger's code."""
    lines, last = traceback.format_exception(error), said(error)
    if last.startswith(f"{type(error).__name__}: {error}"):
        lines = lines[:-1]
    return f"{''.join(lines)[-1500:].rstrip()}\n{last}"


def _peak_mb():
    """Largest resident memory of this process so far (a high-water mark, not this cell's alone)."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1024 if sys.platform != "darwin" else peak / 1024**2
