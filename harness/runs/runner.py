"""Run a plan: cells in parallel by joblib, one Parquet part per chunk, resume by running again."""

from __future__ import annotations

import contextlib
import os
import signal
import statistics
import sys
import threading
import time
from collections import defaultdict
from pathlib import Path

from harness.common.progress import Progress, clock
from harness.common.seeds import digest
from harness.errors import BadInputError
from harness.runs import plan as planning
from harness.runs import provenance, records
from harness.runs.config import out_folder
from harness.runs.worker import CellFailedError, common_columns, interruptible, run_chunk

CHUNK_CELLS = 400
CHUNK_SECONDS = 2.0
SAMPLE_SECONDS = 1e-6  # more for every sample of the data: each chunk draws them anew
CELL_SECONDS, DRAW_SECONDS = 2e-4, 5e-4  # around a cell and a draw: reduction, streams, record
UNKNOWN_SECONDS = 2e-3  # of a cell that no record tells about, per 1,000 samples


class WorkerDiedError(Exception):
    """A worker process was killed or crashed; the cells it held are recorded as interrupted."""


class RunInterruptedError(Exception):
    """The run was stopped; everything finished until then is recorded."""


def execute(plan: planning.Plan, quiet: bool = False, later: float = 0.0) -> dict:
    """Compute the cells of the plan that no record holds. Returns counts {cells, done, skipped, todo, failed} and, where cells
    failed, the `reason` of the first. `later` are the expected seconds of what runs after this, for the estimate of the time
    left."""
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
        _compute_all(plan, [group for group in todo.values() if group], out, run_id, quiet, later)
        states = _states(plan, out, run_id)
        failed = sum(states.get(c.key) == "failed" for group in todo.values() for c in group)
        state = "finished"
        return {**counts, "failed": failed, **({"reason": records.first_failure(out, run_id)} if failed else {})}
    except KeyboardInterrupt:
        state = "interrupted"
        raise RunInterruptedError("interrupted; what was finished is recorded, the same command goes on from there") from None
    finally:
        provenance.finish(out, run_id, state, time.monotonic() - started)


def _compute_all(plan, groups, out, run_id, quiet, later=0.0):
    """Compute the cells of all groups. If a worker dies, go on with one estimator at a time, so that the one that killed it is
    known and holds up nobody else; raises WorkerDiedError at the end if one does it again."""
    costs, workers = Costs(plan, out), worker_count(plan.config)
    try:
        _compute(plan, _chunks(groups, costs, workers), out, run_id, _Progress(groups, costs, workers, quiet, later))
        return
    except WorkerDiedError as death:
        if not quiet:
            print(f"{death}; going on with one estimator at a time", file=sys.stderr)
    deaths = []
    for name in plan.estimators:
        states = _states(plan, out, run_id)
        mine = [[c for c in group if c.estimator == name and not _finished(states, c)] for group in groups]
        mine = [group for group in mine if group]
        try:
            progress = _Progress(mine, costs, 2, quiet, later)
            _compute(plan, _chunks(mine, costs, workers), out, run_id, progress, apart=True)
        except WorkerDiedError as death:
            deaths.append(str(death))
    if deaths:
        raise WorkerDiedError("; ".join(deaths))


class _Progress:
    """Progress over cells, expected to take what records or declarations say of them."""

    def __init__(self, groups, costs, workers, quiet, later):
        cells = [cell for group in groups for cell in group]
        self.costs, self.workers = costs, workers
        known = all(costs.of(cell)[1] for cell in cells)
        self.progress = Progress(len(cells), quiet, expected=expected_seconds(groups, costs, workers), later=later, known=known)

    def add(self, chunk, failed):
        self.progress.add(len(chunk), failed, expected_seconds([chunk], self.costs, self.workers))

    def close(self):
        self.progress.close()


def expected_seconds(groups, costs, workers) -> float:
    """Wall seconds that groups of cells should take: those of the estimators, and for every cell and draw what surrounds them."""
    cpu = sum(costs[cell] + CELL_SECONDS for group in groups for cell in group)
    draws = sum(DRAW_SECONDS + SAMPLE_SECONDS * group[0].n for group in groups if group)
    return (cpu + draws) / workers


def _states(plan, out, run_id):
    """The states of the recorded cells; of a refresh those of this run alone, whose cells were recorded before."""
    return records.cell_states(out, run_id if plan.config["refresh"] else None)


def _finished(states, cell):
    """Whether a cell that is to be computed was; a recorded skip is of an earlier run, which had a reason that is gone."""
    return states.get(cell.key) in ("ok", "undefined", "failed")


def pending(plan: planning.Plan, out: Path):
    """({(problem, rep, n, seed): [cells to do or to record as skipped]}, counts) of this shard."""
    config = plan.config
    states = records.cell_states(out)
    if config["refresh"]:
        states = {key: state for key, state in states.items() if key in plan.skips}
    groups = defaultdict(list)
    counts = {"cells": 0, "done": 0, "skipped": 0, "new_skips": 0, "todo": 0}
    for cell in of_shard(plan):
        counts["cells"] += 1
        skipped = cell.key in plan.skips
        counts["skipped"] += skipped
        state = states.get(cell.key)
        if state in ("ok", "undefined") or skipped and state == "skipped":
            counts["done"] += not skipped
            continue
        counts["new_skips" if skipped else "todo"] += 1
        groups[cell.problem, cell.rep, cell.n, cell.seed].append(cell)
    return groups, counts


def of_shard(plan: planning.Plan) -> list:
    """The cells of the plan that its configuration's shard computes."""
    shard, shards = plan.config["shard"], plan.config["shards"]
    return [cell for cell in plan.cells if _shard_of(cell, shards) == shard] if shards > 1 else plan.cells


def _shard_of(cell, shards):
    """By data set, not by cell: all estimators of one sample stay together, whatever is already done."""
    return int(digest(f"{cell.problem}|{cell.rep}|{cell.n}"), 16) % shards


class Costs:
    """CPU seconds of a cell by past records: of the same estimator on the same problem, notion and n; else of the same estimator;
    else of that with the nearest n, scaled; else of the same id with other parameters; else what the estimator declares for
    n = 1,000, scaled."""

    def __init__(self, plan, out):
        self.plan = plan
        self.past = defaultdict(list)
        for name, key, problem, notion, n, seconds in records.seconds_per_cell(out):
            for what in ((key, problem, notion, n), (key, notion, n)):
                self.past[what].append(seconds)
            for what in ((key, notion), (name, notion)):
                self.past[what].append((n, seconds))
        self.found: dict[tuple, tuple[float, bool]] = {}

    def __getitem__(self, cell) -> float:
        return self.of(cell)[0]

    def of(self, cell) -> tuple[float, bool]:
        """(seconds, whether records of this estimator at this n say so)."""
        kind = cell.estimator, cell.problem, cell.notion, cell.n
        if kind not in self.found:
            self.found[kind] = self._of(*kind)
        return self.found[kind]

    def _of(self, name, problem, notion, n):
        estimator = self.plan.estimators[name]
        for what in ((estimator.key, self.plan.problems[problem].key, notion, n), (estimator.key, notion, n)):
            if what in self.past:
                return statistics.median(self.past[what]), True
        for what in ((estimator.key, notion), (estimator.id, notion)):
            near = [(abs(n - past), seconds * max(1.0, n / past)) for past, seconds in self.past.get(what, ())]
            if near:
                return min(near)[1], False
        declared = getattr(estimator.object, "seconds", None)
        return (UNKNOWN_SECONDS if declared is None else declared) * max(1.0, n / 1000), False


def describe_plan(plan: planning.Plan, out: Path) -> str:
    """What a run would do: cells to do, done and skipped by estimator, the reasons of the skips, and the time it would take."""
    groups, counts = pending(plan, out)
    costs = Costs(plan, out)
    todo, seconds, skipped = defaultdict(int), defaultdict(float), defaultdict(int)
    guessed = False
    for group in groups.values():
        for cell in group:
            if cell.key not in plan.skips:
                todo[cell.estimator] += 1
                cost, known = costs.of(cell)
                seconds[cell.estimator] += cost
                guessed |= not known
    reasons = defaultdict(int)
    planned = defaultdict(int)
    shards = plan.config["shards"]
    for cell in of_shard(plan):
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
    workers = worker_count(plan.config)
    left = expected_seconds([[c for c in g if c.key not in plan.skips] for g in groups.values()], costs, workers)
    shard = f" (shard {plan.config['shard']} of {shards})" if shards > 1 else ""
    lines.append(
        f"{counts['cells']:,} cells{shard}: {counts['done']:,} done, {counts['skipped']:,} skipped, {counts['todo']:,} to do, "
        f"about {clock(left)} on {workers} worker{'s' if workers > 1 else ''}"
        f"{', partly guessed for want of past records' if guessed else ', by past records' if counts['todo'] else ''}"
    )
    return "\n".join(lines)


def _chunks(groups, costs, workers):
    """Consecutive data groups joined until a chunk holds enough work; at least eight chunks per worker where there are cells."""
    total = sum(len(g) for g in groups)
    most = max(1, min(CHUNK_CELLS, total // (8 * workers)))
    chunks, current, seconds = [], [], 0.0
    for group in groups:
        for cell in group:
            current.append(cell)
            seconds += costs[cell]
            if len(current) >= most or seconds > CHUNK_SECONDS + SAMPLE_SECONDS * cell.n:
                chunks.append(current)
                current, seconds = [], 0.0
    return chunks + ([current] if current else [])


def worker_count(config) -> int:
    """Worker processes of a run."""
    import joblib

    return 1 if config["engine"] == "serial" else joblib.cpu_count() if config["jobs"] < 0 else config["jobs"]


def _record_skips(plan, groups, out, run_id):
    part = records.Part(out)
    for group in groups.values():
        for cell in group:
            if cell.key in plan.skips:
                part.add(
                    common_columns(plan.problems[cell.problem], plan.estimators[cell.estimator], cell, run_id),
                    [{"status": "skipped", "reason": plan.skips[cell.key]}],
                )
    part.write()


def _compute(plan, chunks, out, run_id, progress, apart=False) -> None:
    """Run the chunks, in this process or in workers; `apart` forbids this process, for cells that may kill theirs."""
    config = plan.config
    task = {
        "out": str(out), "run_id": run_id, "on_error": config["on_error"], "path": list(sys.path),
    }  # fmt: skip
    nodes = {
        "problem": {k: (v.id, v.config, v.key) for k, v in plan.problems.items()},
        "estimator": {k: (v.id, v.config, v.key) for k, v in plan.estimators.items()},
    }

    def call(chunk):
        used = {
            "problem": {c.problem: nodes["problem"][c.problem] for c in chunk},
            "estimator": {c.estimator: nodes["estimator"][c.estimator] for c in chunk},
        }
        return {**task, "nodes": used, "cells": chunk}

    failed = 0
    workers = min(worker_count(config), len(chunks)) if not apart else 2
    if not chunks:
        return
    if config["engine"] == "serial" or workers <= 1:
        for chunk in chunks:
            failed += run_chunk(call(chunk))
            progress.add(chunk, failed)
        progress.close()
        return

    import joblib

    sent: list = []

    with _backend(config, workers):
        options = {} if config["engine"] == "ray" else {"return_as": "generator_unordered"}
        pool = joblib.Parallel(batch_size=1, pre_dispatch="2*n_jobs", **options)
        try:
            begins = {chunk[0].key: chunk for chunk in chunks}
            with _born_deaf(config["engine"]):
                results = pool(joblib.delayed(_tagged)(call(c)) for c in _noted(chunks, sent))
            for key, bad in results:
                failed += bad
                progress.add(begins[key], failed)
        except CellFailedError:
            raise
        except BaseException as error:
            _record_interrupted(plan, sent, out, run_id, error)
            if isinstance(error, KeyboardInterrupt):
                raise
            if type(error).__name__ == "TerminatedWorkerError":
                raise WorkerDiedError(_obituary(sent, _states(plan, out, run_id))) from error
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
                common = common_columns(plan.problems[cell.problem], plan.estimators[cell.estimator], cell, run_id)
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
        raise BadInputError(f"engine={extra} needs the package {module}; install calharness[{extra}].") from error
