"""Run a plan: cells in parallel by joblib, one Parquet part per chunk, resume by running again."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from collections import defaultdict
from pathlib import Path

from harness import cells as planning
from harness import provenance, records
from harness.config import out_folder
from harness.errors import BadInput
from harness.progress import Progress, clock
from harness.seeds import digest
from harness.worker import CellFailed, common_columns, interruptible, run_chunk

CHUNK_CELLS = 400
CHUNK_SECONDS = 2.0
SAMPLE_SECONDS = 1e-6  # more for every sample of the data: each chunk draws them anew
UNKNOWN_SECONDS = 2e-3  # of a cell that no record tells about, per 1,000 samples


class WorkerDied(Exception):
    """A worker process was killed or crashed; the cells it held are recorded as interrupted."""


class Interrupted(Exception):
    """The run was stopped; everything finished until then is recorded."""


def execute(plan: planning.Plan, quiet: bool = False) -> dict:
    """Compute the cells of the plan that no record holds. Returns counts {cells, done, skipped, todo, failed}."""
    config = plan.config
    out = out_folder(config["out"])
    groups, counts = pending(plan, out)
    if not counts["todo"] and not counts["new_skips"]:
        return {**counts, "failed": 0}
    started = time.monotonic()
    if config["engine"] in ("dask", "ray"):
        _optional({"dask": "distributed", "ray": "ray"}[config["engine"]], config["engine"])
    run_id = provenance.start(out, config, counts)
    state = "failed"
    try:
        _record_skips(plan, groups, out, run_id)
        todo = {k: [c for c in group if c.key not in plan.skips] for k, group in groups.items()}
        _compute_all(plan, [group for group in todo.values() if group], out, run_id, quiet)
        states = _states(plan, out, run_id)
        failed = sum(states.get(c.key) == "failed" for group in todo.values() for c in group)
        state = "finished"
        return {**counts, "failed": failed}
    except KeyboardInterrupt:
        state = "interrupted"
        raise Interrupted("interrupted; what was finished is recorded, the same command goes on from there") from None
    finally:
        provenance.finish(out, run_id, state, time.monotonic() - started)


def _compute_all(plan, groups, out, run_id, quiet):
    """Compute the cells of all groups. If a worker dies, go on with one estimator at a time, so that the one that killed it is
    known and holds up nobody else; raises WorkerDied at the end if one does it again."""
    costs, workers = _costs(plan, out), _workers(plan.config)
    try:
        _compute(plan, _chunks(groups, costs, workers), out, run_id, Progress(sum(map(len, groups)), quiet))
        return
    except WorkerDied as death:
        if not quiet:
            print(f"{death}; going on with one estimator at a time", file=sys.stderr)
    deaths = []
    for name in plan.estimators:
        states = _states(plan, out, run_id)
        mine = [[c for c in group if c.estimator == name and not _finished(states, c)] for group in groups]
        mine = [group for group in mine if group]
        try:
            progress = Progress(sum(map(len, mine)), quiet)
            _compute(plan, _chunks(mine, costs, workers), out, run_id, progress, apart=True)
        except WorkerDied as death:
            deaths.append(str(death))
    if deaths:
        raise WorkerDied("; ".join(deaths))


def _states(plan, out, run_id):
    """The states of the recorded cells; of a refresh those of this run alone, whose cells were recorded before."""
    return records.cell_states(out, run_id if plan.config["refresh"] else None)


def _finished(states, cell):
    """Whether a cell that is to be computed was; a recorded skip is of an earlier run, which had a reason that is gone."""
    return states.get(cell.key) in ("ok", "undefined", "failed")


def pending(plan: planning.Plan, out: Path):
    """({(problem, rep, n): [cells to do or to record as skipped]}, counts) of this shard."""
    config = plan.config
    states = records.cell_states(out)
    if config["refresh"]:
        states = {key: state for key, state in states.items() if key in plan.skips}
    shard, shards = config["shard"], config["shards"]
    groups = defaultdict(list)
    counts = {"cells": 0, "done": 0, "skipped": 0, "new_skips": 0, "todo": 0}
    for cell in plan.cells:
        if shards > 1 and _shard_of(cell, shards) != shard:
            continue
        counts["cells"] += 1
        skipped = cell.key in plan.skips
        counts["skipped"] += skipped
        state = states.get(cell.key)
        if state in ("ok", "undefined") or skipped and state == "skipped":
            counts["done"] += not skipped
            continue
        counts["new_skips" if skipped else "todo"] += 1
        groups[cell.problem, cell.rep, cell.n].append(cell)
    return groups, counts


def _shard_of(cell, shards):
    """By data set, not by cell: all estimators of one sample stay together, whatever is already done."""
    return int(digest(f"{cell.problem}|{cell.rep}|{cell.n}"), 16) % shards


def estimated_seconds(costs: dict, cell, declared: float = UNKNOWN_SECONDS) -> float:
    """CPU seconds of a cell by past records: its own (estimator, notion, n), else scaled from the nearest n, else what the
    estimator declares for n = 1,000, scaled."""
    exact = costs.get((cell.estimator, cell.notion, cell.n))
    if exact is not None:
        return exact
    near = [(abs(n - cell.n), s * max(1.0, cell.n / n)) for (e, notion, n), s in costs.items() if e == cell.estimator]
    return min(near)[1] if near else declared * max(1.0, cell.n / 1000)


def describe_plan(plan: planning.Plan, out: Path) -> str:
    """What a run would do: cells to do, done and skipped by estimator, the reasons of the skips, and the time it would take."""
    groups, counts = pending(plan, out)
    known = records.seconds_per_cell(out)
    costs = _costs(plan, out)
    todo, seconds, skipped = defaultdict(int), defaultdict(float), defaultdict(int)
    guessed = False
    for group in groups.values():
        for cell in group:
            if cell.key not in plan.skips:
                todo[cell.estimator] += 1
                seconds[cell.estimator] += costs[cell.estimator, cell.notion, cell.n]
                guessed |= (cell.estimator, cell.notion, cell.n) not in known
    reasons = defaultdict(int)
    planned = defaultdict(int)
    shards = plan.config["shards"]
    for cell in plan.cells:
        if shards > 1 and _shard_of(cell, shards) != plan.config["shard"]:
            continue
        planned[cell.estimator] += 1
        if cell.key in plan.skips:
            skipped[cell.estimator] += 1
            reasons[cell.estimator, plan.skips[cell.key]] += 1
    width = max(len(name) for name in plan.estimators) + 2
    lines = [f"{'estimator':<{width}}{'to do':>9}{'done':>9}{'skipped':>9}{'CPU time to do':>17}"]
    for name in plan.estimators:
        done = planned[name] - skipped[name] - todo[name]
        lines.append(f"{name:<{width}}{todo[name]:>9,}{done:>9,}{skipped[name]:>9,}{clock(seconds[name]):>17}")
    for (name, reason), count in reasons.items():
        lines.append(f"  skipped {count:,} of {name}: {reason}")
    workers = _workers(plan.config)
    shard = f" (shard {plan.config['shard']} of {shards})" if shards > 1 else ""
    lines.append(
        f"{counts['cells']:,} cells{shard}: {counts['done']:,} done, {counts['skipped']:,} skipped, {counts['todo']:,} to do, "
        f"about {clock(sum(seconds.values()) / workers)} on {workers} worker{'s' if workers > 1 else ''}"
        f"{', partly guessed for want of past records' if guessed else ', by past records' if counts['todo'] else ''}"
    )
    return "\n".join(lines)


def _costs(plan, out):
    known = records.seconds_per_cell(out)
    kinds = {(c.estimator, c.notion, c.n): c for c in plan.cells}
    declared = {name: getattr(e.object, "seconds", UNKNOWN_SECONDS) for name, e in plan.estimators.items()}
    return {kind: estimated_seconds(known, cell, declared[cell.estimator]) for kind, cell in kinds.items()}


def _chunks(groups, costs, workers):
    """Consecutive data groups joined until a chunk holds enough work; at least eight chunks per worker where there are cells."""
    total = sum(len(g) for g in groups)
    most = max(1, min(CHUNK_CELLS, total // (8 * workers)))
    chunks, current, seconds = [], [], 0.0
    for group in groups:
        for cell in group:
            current.append(cell)
            seconds += costs[cell.estimator, cell.notion, cell.n]
            if len(current) >= most or seconds > CHUNK_SECONDS + SAMPLE_SECONDS * cell.n:
                chunks.append(current)
                current, seconds = [], 0.0
    return chunks + ([current] if current else [])


def _workers(config):
    import joblib

    return 1 if config["engine"] == "serial" else joblib.cpu_count() if config["jobs"] < 0 else config["jobs"]


def _record_skips(plan, groups, out, run_id):
    part = records.Part(out)
    for group in groups.values():
        for cell in group:
            if cell.key in plan.skips:
                part.add(
                    common_columns(
                        plan.problems[cell.problem], plan.estimators[cell.estimator], cell, plan.config["seed"], run_id
                    ),
                    [{"status": "skipped", "reason": plan.skips[cell.key]}],
                )
    part.write()


def _compute(plan, chunks, out, run_id, progress, apart=False) -> None:
    """Run the chunks, in this process or in workers; `apart` forbids this process, for cells that may kill theirs."""
    config = plan.config
    task = {
        "out": str(out), "run_id": run_id, "seed": config["seed"], "on_error": config["on_error"], "path": list(sys.path),
    }  # fmt: skip
    nodes = {
        "problem": {k: (v.config, v.key) for k, v in plan.problems.items()},
        "estimator": {k: (v.config, v.key) for k, v in plan.estimators.items()},
    }

    def call(chunk):
        used = {
            "problem": {c.problem: nodes["problem"][c.problem] for c in chunk},
            "estimator": {c.estimator: nodes["estimator"][c.estimator] for c in chunk},
        }
        return {**task, "nodes": used, "cells": chunk}

    failed = 0
    workers = min(_workers(config), len(chunks)) if not apart else 2
    if not chunks:
        return
    if config["engine"] == "serial" or workers <= 1:
        for chunk in chunks:
            failed += run_chunk(call(chunk))
            progress.add(len(chunk), failed)
        progress.close()
        return

    import joblib

    sent: list = []

    with _backend(config, workers):
        options = {} if config["engine"] == "ray" else {"return_as": "generator_unordered"}
        pool = joblib.Parallel(batch_size=1, pre_dispatch="2*n_jobs", **options)
        try:
            size = {c.key: len(chunk) for chunk in chunks for c in chunk[:1]}
            with _born_deaf(config["engine"]):
                results = pool(joblib.delayed(_tagged)(call(c)) for c in _noted(chunks, sent))
            for key, bad in results:
                failed += bad
                progress.add(size[key], failed)
        except CellFailed:
            raise
        except BaseException as error:
            _record_interrupted(plan, sent, out, run_id, error)
            if isinstance(error, KeyboardInterrupt):
                raise
            if type(error).__name__ == "TerminatedWorkerError":
                raise WorkerDied(_obituary(sent, _states(plan, out, run_id))) from error
            raise
    progress.close()


def _obituary(sent, states):
    """The sentence on a worker that was killed or crashed: which cells were at work or waiting then."""
    cells = [c for chunk in sent for c in chunk if not _finished(states, c)]
    first = f"{cells[0].estimator} on {cells[0].problem}, n = {cells[0].n}, rep {cells[0].rep}" if cells else "none"
    return f"a worker process died (out of memory, or a crash in native code) with {len(cells):,} cells handed out, first {first}"


def _noted(chunks, sent):
    for chunk in chunks:
        sent.append(chunk)
        yield chunk


def _tagged(task):
    with interruptible():
        return task["cells"][0].key, run_chunk(task)


@contextlib.contextmanager
def _born_deaf(engine):
    """Local workers that start in here ignore Ctrl-C, which reaches the whole process group, but for their chunks (see
    `worker.interruptible`): importing or waiting, they have nothing to save and would print a traceback each."""
    if engine != "loky" or threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _record_interrupted(plan, sent, out, run_id, error):
    """Cells that had been handed to a worker and left no record: interrupted, with the reason."""
    states = _states(plan, out, run_id)
    part = records.Part(out)
    reason = "stopped by the user" if isinstance(error, KeyboardInterrupt) else f"{type(error).__name__}: {error}"[:500]
    for chunk in sent:
        for cell in chunk:
            if states.get(cell.key) not in ("ok", "undefined"):
                common = common_columns(
                    plan.problems[cell.problem], plan.estimators[cell.estimator], cell, plan.config["seed"], run_id
                )
                part.add(common, [{"status": "interrupted", "reason": reason}])
    part.write()


@contextlib.contextmanager
def _backend(config, workers):
    import joblib

    engine = config["engine"]
    client = None
    if engine == "dask":
        distributed = _optional("distributed", "dask")
        remote = os.environ.get("DASK_SCHEDULER_ADDRESS")
        local = {"n_workers": workers, "threads_per_worker": 1, "dashboard_address": None}
        client = distributed.Client(remote) if remote else distributed.Client(**local)
    elif engine == "ray":
        ray = _optional("ray", "ray")
        from ray.util.joblib import register_ray

        local = {} if os.environ.get("RAY_ADDRESS") else {"num_cpus": workers, "include_dashboard": False}
        ray.init(ignore_reinit_error=True, log_to_driver=False, **local)
        register_ray()
    try:
        with joblib.parallel_config(backend=engine, n_jobs=workers):
            yield
    finally:
        if client is not None:
            client.close()


def _optional(module, extra):
    import importlib

    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise BadInput(f"engine={extra} needs the package {module}; install calharness[{extra}].") from error
