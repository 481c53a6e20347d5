"""Run a plan: cells in parallel by joblib, one Parquet part per chunk, resume by running again."""

from __future__ import annotations

import os
import pickle
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from harness.common.progress import Progress, clock
from harness.common.seeds import digest
from harness.estimators.base import EstimatorSpec
from harness.runs import engines, guard, provenance, records, remote
from harness.runs.config import out_folder
from harness.runs.guard import WorkerDiedError
from harness.runs.plan import Cell, Plan
from harness.runs.worker import CellFailedError, common_columns, run_chunk

CHUNK_CELLS = 400
CHUNK_SECONDS = 2.0
Broken = Callable[["Cell", guard.Broke], None]
Groups = dict[tuple[str, int, int, int], list[Cell]]  # the cells of one sample, by (problem, rep, n, seed)
SAMPLE_SECONDS = 1e-6  # more for every sample of the data: each chunk draws them anew
CELL_SECONDS, DRAW_SECONDS = 2e-4, 5e-4  # around a cell and a draw: reduction, streams, record
CELL_TIMEOUT, MEMORY_SHARE = 4 * 3600.0, 0.8  # seconds of a cell; of the machine's memory, for the process of a worker
UNKNOWN_SECONDS = 2e-3  # of a cell that no record tells about, per 1,000 samples


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
    groups, counts = pending(plan, out)
    if not counts["todo"] and not counts["new_skips"]:
        return {**counts, "failed": 0}
    started = time.monotonic()
    run_id = provenance.start(out, config, counts)
    state = "failed"
    try:
        record_skips(plan, groups, out, run_id)
        todo = {k: [c for c in group if c.key not in plan.skips] for k, group in groups.items()}
        with engines.connected(config, min(worker_count(config), counts["todo"])) as joined:
            _compute_all(
                replace(plan, config=joined), [group for group in todo.values() if group], out, run_id, quiet, later, broke
            )
        states = _states(plan, out, run_id)
        failed = sum(states.get(c.key) == "failed" for group in todo.values() for c in group)
        state = "finished"
        return {**counts, "failed": failed, **({"reason": records.first_failure(out, run_id)} if failed else {})}
    except KeyboardInterrupt as stop:
        state = "interrupted"
        said = "interrupted; what was finished is recorded, the same command goes on from there"
        raise RunInterruptedError(said, isinstance(stop, guard.TerminatedError)) from None
    finally:
        provenance.finish(out, run_id, state, time.monotonic() - started)


def _compute_all(
    plan: Plan, groups: list[list[Cell]], out: Path, run_id: str, quiet: bool, later: float = 0.0, broke: Broken | None = None
) -> None:
    """Compute the cells of all groups. A worker that is killed takes the engine's pool with it: a new one does the rest, as long
    as something is finished in between. Raises WorkerDiedError where nothing is."""
    costs, workers = Costs(plan, out), worker_count(plan.config)
    while True:
        try:
            progress = _Progress(groups, costs, workers, quiet, later)
            _compute(plan, chunks_of(groups, costs, workers), out, run_id, progress, broke)
            return
        except WorkerDiedError as death:
            states = _states(plan, out, run_id)
            left = [[cell for cell in group if not _finished(states, cell)] for group in groups]
            left = [group for group in left if group]
            if sum(map(len, left)) in (0, sum(map(len, groups))):
                raise
            if not quiet:
                print(f"{death}; going on with the other cells", file=sys.stderr)
            groups = left


class _Progress:
    """Progress over cells. How long they should take is known from past records, or from what the estimators declare."""

    def __init__(self, groups: list[list[Cell]], costs: Costs, workers: int, quiet: bool, later: float):
        cells = [cell for group in groups for cell in group]
        self.costs, self.workers = costs, workers
        known = all(costs.of(cell)[1] for cell in cells)
        self.progress = Progress(len(cells), quiet, expected=expected_seconds(groups, costs, workers), later=later, known=known)

    def add(self, chunk: list[Cell], failed: int) -> None:
        self.progress.add(len(chunk), failed, expected_seconds([chunk], self.costs, self.workers))

    def close(self) -> None:
        self.progress.close()


def expected_seconds(groups: Iterable[list[Cell]], costs: Costs, workers: int) -> float:
    """Wall seconds that groups of cells should take: those of the estimators, and for every cell and draw what surrounds them."""
    groups = list(groups)
    cpu = sum(costs[cell] + CELL_SECONDS for group in groups for cell in group)
    draws = sum(DRAW_SECONDS + SAMPLE_SECONDS * group[0].n for group in groups if group)
    return (cpu + draws) / workers


def _states(plan: Plan, out: Path, run_id: str) -> dict[str, str]:
    """The states of the recorded cells. Of a refresh only what this run itself recorded counts, as all its cells were recorded
    before."""
    remote.fetch(out)
    return records.cell_states(out, run_id if plan.config["refresh"] else None)


def _finished(states: dict[str, str], cell: Cell) -> bool:
    """Whether a cell that is to be computed has been. A recorded skip does not count: its reason was another run's."""
    return states.get(cell.key) in ("ok", "undefined", "failed")


def pending(plan: Plan, out: Path, states: dict[str, str] | None = None) -> tuple[Groups, dict[str, int]]:
    """({(problem, rep, n, seed): [cells to do or to record as skipped]}, counts) of this shard. `states` are those of
    `records.cell_states`, where they have been read already."""
    config = plan.config
    states = records.cell_states(out) if states is None else states
    if config["refresh"]:
        states = {key: state for key, state in states.items() if key in plan.skips}
    groups: Groups = defaultdict(list)
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


def of_shard(plan: Plan) -> list[Cell]:
    """The cells of the plan that its configuration's shard computes."""
    shard, shards = plan.config["shard"], plan.config["shards"]
    return [cell for cell in plan.cells if _shard_of(cell, shards) == shard] if shards > 1 else plan.cells


def _shard_of(cell: Cell, shards: int) -> int:
    """The shard that computes a cell, decided by its sample: all estimators of one sample stay together, whatever is done."""
    return int(digest(f"{cell.problem}|{cell.rep}|{cell.n}"), 16) % shards


class Costs:
    """CPU seconds of a cell by past records: of the same estimator on the same problem, notion and n; else of the same estimator;
    else of that with the nearest n, scaled; else of the same id with other parameters; else what the estimator declares for
    n = 1,000, scaled. `past` is what `records.seconds_per_cell` gives, where it has been read already."""

    def __init__(self, plan: Plan, out: Path, past: list[tuple[Any, ...]] | None = None):
        self.plan = plan
        self.past: dict[tuple[Any, ...], list[Any]] = defaultdict(list)
        for name, key, problem, notion, n, seconds in records.seconds_per_cell(out) if past is None else past:
            for alike in ((key, problem, notion, n), (key, notion, n)):
                self.past[alike].append(seconds)
            for similar in ((key, notion), (name, notion)):
                self.past[similar].append((n, seconds))
        self.found: dict[tuple[Any, ...], tuple[float, bool]] = {}

    def __getitem__(self, cell: Cell) -> float:
        return self.of(cell)[0]

    def of(self, cell: Cell) -> tuple[float, bool]:
        """(seconds, whether records of this estimator at this n say so)."""
        kind = cell.estimator, cell.problem, cell.notion, cell.n
        if kind not in self.found:
            self.found[kind] = self._of(*kind)
        return self.found[kind]

    def _of(self, name: str, problem: str, notion: str, n: int) -> tuple[float, bool]:
        estimator = self.plan.estimators[name]
        for alike in ((estimator.key, self.plan.problems[problem].key, notion, n), (estimator.key, notion, n)):
            if alike in self.past:
                return statistics.median(self.past[alike]), True
        for similar in ((estimator.key, notion), (estimator.id, notion)):
            near = [(abs(n - past), seconds * max(1.0, n / past)) for past, seconds in self.past.get(similar, ())]
            if near:
                return min(near)[1], False
        declared = EstimatorSpec.read(estimator.object, "seconds")
        return (UNKNOWN_SECONDS if declared is None else declared) * max(1.0, n / 1000), False


def describe_plan(plan: Plan, out: Path) -> str:
    """What a run would do: cells to do, done and skipped by estimator, the reasons of the skips, and the time it would take."""
    groups, counts = pending(plan, out)
    costs = Costs(plan, out)
    todo: dict[str, int] = defaultdict(int)
    seconds: dict[str, float] = defaultdict(float)
    skipped: dict[str, int] = defaultdict(int)
    guessed = False
    for group in groups.values():
        for cell in group:
            if cell.key not in plan.skips:
                todo[cell.estimator] += 1
                cost, known = costs.of(cell)
                seconds[cell.estimator] += cost
                guessed |= not known
    reasons: dict[tuple[str, str], int] = defaultdict(int)
    planned: dict[str, int] = defaultdict(int)
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


def chunks_of(groups: list[list[Cell]], costs: Costs, workers: int) -> list[list[Cell]]:
    """Consecutive data groups joined until a chunk holds enough work; at least eight chunks per worker where there are cells."""
    total = sum(len(g) for g in groups)
    most = max(1, min(CHUNK_CELLS, total // (8 * workers)))
    chunks: list[list[Cell]] = []
    current: list[Cell] = []
    seconds = 0.0
    for group in groups:
        for cell in group:
            current.append(cell)
            seconds += costs[cell]
            if len(current) >= most or seconds > CHUNK_SECONDS + SAMPLE_SECONDS * cell.n:
                chunks.append(current)
                current, seconds = [], 0.0
    return chunks + ([current] if current else [])


def worker_count(config: dict[str, Any]) -> int:
    """Worker processes of a run."""
    import joblib

    if config["engine"] == "serial":
        return 1
    return int(joblib.cpu_count() if config["jobs"] < 0 else config["jobs"])


def record_skips(plan: Plan, groups: Groups, out: Path, run_id: str) -> None:
    part = records.Part(out)
    for group in groups.values():
        for cell in group:
            if cell.key in plan.skips:
                part.add(
                    common_columns(plan.problems[cell.problem], plan.estimators[cell.estimator], cell, run_id),
                    [{"status": "skipped", "reason": plan.skips[cell.key]}],
                )
    part.write()


def _compute(
    plan: Plan, chunks: list[list[Cell]], out: Path, run_id: str, progress: _Progress, broke: Broken | None = None
) -> None:
    """Run the chunks, in this process or in guarded ones of the engine's workers."""
    config = plan.config
    task = {
        "out": remote.named(out), "run_id": run_id, "on_error": config["on_error"], "path": list(sys.path),
    }  # fmt: skip
    components = {
        "problem": {k: (v.id, v.config, v.key) for k, v in plan.problems.items()},
        "estimator": {k: (v.id, v.config, v.key) for k, v in plan.estimators.items()},
    }

    def call(chunk: list[Cell]) -> dict[str, Any]:
        used = {
            "problem": {c.problem: components["problem"][c.problem] for c in chunk},
            "estimator": {c.estimator: components["estimator"][c.estimator] for c in chunk},
        }
        return {**task, "components": used, "cells": chunk}

    failed = 0
    if not chunks:
        return
    limits = limits_of(config)
    workers = min(worker_count(config), len(chunks))
    if config["engine"] == "serial" or workers <= 1 and not is_limited(config):
        for chunk in chunks:
            failed += run_chunk(call(chunk))
            progress.add(chunk, failed)
        progress.close()
        return

    sent: list[list[Cell]] = []
    tasks = ((at, pickle.dumps(call(chunk)), len(chunk)) for at, chunk in enumerate(_noted(chunks, sent)))
    seen = None if remote.store_of(out) else provenance.path_of(out, run_id)
    try:
        with engines.answers(config, workers, tasks, limits, seen) as results:
            for at, broken in results:
                failed += len(broken)
                _record_broken(plan, chunks[at], broken, out, run_id, broke)
                progress.add(chunks[at], failed)
    except CellFailedError:
        raise
    except BaseException as error:
        _record_interrupted(plan, sent, out, run_id, error)
        if engines.is_death(error):
            raise WorkerDiedError(_what_the_dead_worker_held(sent, _states(plan, out, run_id))) from error
        raise
    progress.close()


def limits_of(config: dict[str, Any]) -> guard.Limits:
    """What a cell may take, as the configuration says."""
    megabytes = config["max_memory"] or MEMORY_SHARE * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**20
    return guard.Limits(float(config["cell_timeout"] or CELL_TIMEOUT), float(megabytes))


def is_limited(config: dict[str, Any]) -> bool:
    """Whether limits were asked for, which need a process beside this one."""
    return config["cell_timeout"] is not None or config["max_memory"] is not None


def _record_broken(
    plan: Plan, chunk: list[Cell], broken: list[guard.Broke], out: Path, run_id: str, broke: Broken | None
) -> None:
    """Record the cells that ended their process as failed, with the reason; or call `broke` with the first."""
    part = records.Part(out)
    for one in broken:
        cell = chunk[one.position]
        if broke is not None:
            broke(cell, one)
        common = common_columns(plan.problems[cell.problem], plan.estimators[cell.estimator], cell, run_id)
        remedy = f"; {one.limit} allows more" if one.limit else ""
        part.add(common, [{"status": "failed", "reason": f"the estimator {one.reason}{remedy}"}])
    part.write()
    if broken and plan.config["on_error"] == "raise":
        cell = chunk[broken[0].position]
        raise CellFailedError(f"{cell.estimator} on {cell.problem}, n = {cell.n}, rep {cell.rep} {broken[0].reason}")


def _what_the_dead_worker_held(sent: list[list[Cell]], states: dict[str, str]) -> str:
    """A sentence on a worker that was killed: how many cells were handed out and unfinished then."""
    cells = [c for chunk in sent for c in chunk if not _finished(states, c)]
    return f"a worker process was killed from outside with {len(cells):,} cells handed out"


def _noted(chunks: list[list[Cell]], sent: list[list[Cell]]) -> Iterator[list[Cell]]:
    for chunk in chunks:
        sent.append(chunk)
        yield chunk


def _record_interrupted(plan: Plan, sent: list[list[Cell]], out: Path, run_id: str, error: BaseException) -> None:
    """Record the cells that were handed to a worker and left no record as interrupted, with the reason."""
    states = _states(plan, out, run_id)
    part = records.Part(out)
    reason = "stopped by the user" if isinstance(error, KeyboardInterrupt) else f"{type(error).__name__}: {error}"[:500]
    for chunk in sent:
        for cell in chunk:
            if states.get(cell.key) not in ("ok", "undefined"):
                common = common_columns(plan.problems[cell.problem], plan.estimators[cell.estimator], cell, run_id)
                part.add(common, [{"status": "interrupted", "reason": reason}])
    part.write()
