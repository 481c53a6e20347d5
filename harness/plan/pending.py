"""What of a plan is to do: the cells that no record holds, sample by sample, how many they are, and the time that they take.

Cells are made as they are needed, a batch at a time, so that a plan of any length takes the memory of its kinds of cells.
"""

from __future__ import annotations

import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from operator import attrgetter
from pathlib import Path
from typing import Any

from harness.common.progress import clock
from harness.common.seeds import digest
from harness.estimators.base import EstimatorSpec
from harness.execute.engines import worker_count
from harness.plan.cells import Cell, Cells, Kind, Skips, samples
from harness.plan.plan import Plan
from harness.records import reader
from harness.records.states import FAILED, FINISHED, SKIPPED, States, states

CHUNK_CELLS = 5000
CHUNK_SECONDS = 2.0
LAST_CHUNKS = 4  # that one is divided into towards the end
BATCH = 4096  # cells that are looked for in the records at once
SAMPLE_SECONDS = 1e-6  # more for every sample of the data: each chunk draws them anew
CELL_SECONDS, DRAW_SECONDS = 2e-4, 5e-4  # around a cell and a draw: reduction, streams, record
UNKNOWN_SECONDS = 2e-3  # of a cell that no record tells about, per 1,000 samples


@dataclass(frozen=True)
class Tally:
    """What a plan's cells, of one shard, are: how many, those to compute by their kind, the samples with such cells by n, all
    cells by estimator, and skipped ones by estimator and reason."""

    counts: dict[str, int]
    kinds: dict[Kind, int]
    draws: dict[int, int]
    planned: dict[str, int]
    reasons: dict[tuple[str, str], int]


@dataclass(frozen=True)
class Work:
    """The cells of a plan that are to do.

    states   of the recorded cells
    since    of those that this run has recorded meanwhile: what it has finished or failed is not to do again
    without  keys of cells that are somebody else's
    """

    plan: Plan
    states: States
    since: States | None = None
    without: Set[str] = frozenset()

    @cached_property
    def tally(self) -> Tally:
        return _tally_of_nothing(self) or _tally(self)

    @property
    def counts(self) -> dict[str, int]:
        """{cells, done, skipped, new_skips, todo}, of the shard"""
        return self.tally.counts

    def samples(self) -> Iterator[list[Cell]]:
        """Yield the cells to compute: by owner, ours first, those of one sample together."""
        for cells in self.plan.by_owner():
            part = replace(self, plan=replace(self.plan, cells=cells))
            for groups, _, marks in part.marked():
                at = 0
                for group in groups:
                    own = marks[at : at + len(group)]
                    at += len(group)
                    if todo := [cell for cell, mark in zip(group, own) if mark == "todo"]:
                        yield todo

    def new_skips(self) -> Iterator[Cell]:
        """The cells whose skip is to be recorded."""
        if self.counts["new_skips"]:
            for _, cells, marks in self.marked():
                yield from (cell for cell, mark in zip(cells, marks) if mark == "new_skips")

    def after(self, since: States) -> Work:
        """What is left when this is recorded."""
        return replace(self, since=since)

    def marked(self) -> Iterator[tuple[list[list[Cell]], list[Cell], list[str]]]:
        """Batches of cells: the cells of each sample, all of them, and of each whether it is "todo", "new_skips", "done", or ""
        for nothing to do."""
        batch: list[list[Cell]] = []
        size = 0
        for group in shard_samples(self.plan):
            batch.append(group)
            size += len(group)
            if size >= BATCH:
                cells = list(chain.from_iterable(batch))
                yield batch, cells, self._marks(cells)
                batch, size = [], 0
        cells = list(chain.from_iterable(batch))
        yield batch, cells, self._marks(cells)

    def _marks(self, cells: list[Cell]) -> list[str]:
        plan = self.plan
        marks = ["todo"] * len(cells)
        if len(self.states) and not plan.config["refresh"]:
            marks = ["done" if state == FINISHED else "todo" for state in self.states.of(cells)]
        if plan.skips:
            found = self.states.of(cells)
            for at, cell in enumerate(cells):
                if plan.skip(cell) is not None:
                    marks[at] = "" if found[at] in (FINISHED, SKIPPED) else "new_skips"
        if self.since is not None:
            for at, state in enumerate(self.since.of(cells)):
                if state in (FINISHED, FAILED) and marks[at] == "todo":
                    marks[at] = ""
        if self.without:
            marks = ["" if cell.key in self.without else mark for cell, mark in zip(cells, marks)]
        return marks


def pending(plan: Plan, out: Path, recorded: States | None = None, without: Set[str] = frozenset()) -> Work:
    """The work of this shard. `recorded` is what `recorded.states` gives, where it has been read already."""
    return Work(plan, states(out) if recorded is None else recorded, None, without)


def shard_samples(plan: Plan) -> Iterator[list[Cell]]:
    """The cells of the plan that its configuration's shard computes, those of one sample together. The shard is decided by the
    sample, so that all its estimators stay together, whatever is done."""
    shard, shards = plan.config["shard"], plan.config["shards"]
    return samples(
        plan.cells, None if shards <= 1 else lambda problem, rep, n: int(digest(f"{problem}|{rep}|{n}"), 16) % shards == shard
    )


def of_shard(plan: Plan) -> Iterator[Cell]:
    """The cells of `shard_samples`."""
    for group in shard_samples(plan):
        yield from group


def _tally(work: Work) -> Tally:
    counts = {"cells": 0, "done": 0, "skipped": 0, "new_skips": 0, "todo": 0}
    found = Tally(counts, defaultdict(int), defaultdict(int), defaultdict(int), defaultdict(int))
    for groups, cells, marks in work.marked():
        counts["cells"] += len(cells)
        for name, planned in Counter(map(attrgetter("estimator"), cells)).items():
            found.planned[name] += planned
        of_batch = Counter(marks)
        for mark in ("todo", "new_skips", "done"):
            counts[mark] += of_batch[mark]
        for cell, mark in zip(cells, marks) if of_batch["done"] < len(cells) else ():
            if mark == "todo":
                found.kinds[cell.problem, cell.notion, cell.estimator, cell.n] += 1
            elif mark != "done" and (reason := work.plan.skip(cell)) is not None:
                counts["skipped"] += 1
                found.reasons[cell.estimator, reason] += 1
        at = 0
        for group in groups if of_batch["todo"] else ():
            found.draws[group[0].n] += "todo" in marks[at : at + len(group)]
            at += len(group)
    for n in [n for n, draws in found.draws.items() if not draws]:
        del found.draws[n]
    return found


def _tally_of_nothing(work: Work) -> Tally | None:
    """The tally where nothing is recorded, without a look at the cells; None where they must be looked at."""
    plan = work.plan
    if not isinstance(plan.cells, Cells) or not isinstance(plan.skips, Skips) or plan.config["shards"] > 1:
        return None
    if len(work.states) or work.since is not None or work.without:
        return None
    counts = {"cells": 0, "done": 0, "skipped": 0, "new_skips": 0, "todo": 0}
    found = Tally(counts, defaultdict(int), defaultdict(int), defaultdict(int), defaultdict(int))
    for kind, cells in plan.cells.kinds().items():
        reason = plan.skips.limits.get(kind)
        counts["cells"] += cells
        found.planned[kind[2]] += cells
        if reason is None:
            counts["todo"] += cells
            found.kinds[kind] += cells
        else:
            counts["skipped"] += cells
            counts["new_skips"] += cells
            found.reasons[kind[2], reason] += cells
    for block in plan.cells.blocks:
        sizes = {n for problem, _, _, n in found.kinds if problem == block.problem}
        for n, draws in block.draws.of_size().items():
            if n in sizes:
                found.draws[n] += draws
    return found


class Costs:
    """CPU seconds of a cell by past records: of the same estimator on the same problem, notion and n; else of the same estimator;
    else of that with the nearest n, scaled; else of the same id with other parameters; else what the estimator declares for
    n = 1,000, scaled. `past` is what `records.seconds_per_cell` gives, where it has been read already."""

    def __init__(self, plan: Plan, out: Path, past: list[tuple[Any, ...]] | None = None):
        self.plan = plan
        self.past: dict[tuple[Any, ...], list[Any]] = defaultdict(list)
        for name, key, problem, notion, n, seconds in reader.seconds_per_cell(out) if past is None else past:
            for alike in ((key, problem, notion, n), (key, notion, n)):
                self.past[alike].append(seconds)
            for similar in ((key, notion), (name, notion)):
                self.past[similar].append((n, seconds))
        self.found: dict[tuple[Any, ...], tuple[float, bool]] = {}

    def __getitem__(self, cell: Cell) -> float:
        return self.of(cell)[0]

    def of(self, cell: Cell) -> tuple[float, bool]:
        """(seconds, whether records of this estimator at this n say so)."""
        return self.of_kind((cell.problem, cell.notion, cell.estimator, cell.n))

    def of_kind(self, kind: Kind) -> tuple[float, bool]:
        """As `of`, of all cells of a kind."""
        if kind not in self.found:
            self.found[kind] = self._of(*kind)
        return self.found[kind]

    def _of(self, problem: str, notion: str, name: str, n: int) -> tuple[float, bool]:
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


def expected_seconds(kinds: Mapping[Kind, int], draws: Mapping[int, int], costs: Costs, workers: int) -> float:
    """Wall seconds that so many cells of each kind, on so many samples of each n, should take: those of the estimators, and for
    every cell and draw what surrounds them."""
    cpu = sum(cells * (costs.of_kind(kind)[0] + CELL_SECONDS) for kind, cells in kinds.items())
    return (cpu + sum(count * (DRAW_SECONDS + SAMPLE_SECONDS * n) for n, count in draws.items())) / workers


def of_chunk(chunk: list[Cell]) -> tuple[dict[Kind, int], dict[int, int]]:
    """(cells by kind, samples by n) of a chunk."""
    kinds = Counter((cell.problem, cell.notion, cell.estimator, cell.n) for cell in chunk)
    return kinds, Counter(n for _, _, n in {(cell.problem, cell.rep, cell.n) for cell in chunk})


def chunks_of(groups: Iterable[list[Cell]], total: int, costs: Costs, workers: int) -> Iterator[list[Cell]]:
    """The cells of consecutive samples, `total` of them, joined until a chunk holds enough work; at least eight chunks per worker
    where there are cells. The last are smaller, so that no worker has much to do when the others are done. A chunk is of one
    owner (`Plan.owner`)."""
    whole = most = max(1, min(CHUNK_CELLS, total // (8 * workers)))
    current: list[Cell] = []
    seconds, left = 0.0, total
    owner = costs.plan.owner
    for group in groups:
        if current and owner(group[0]) != owner(current[0]):
            yield current
            left -= len(current)
            current, seconds = [], 0.0
        for cell in group:
            current.append(cell)
            seconds += costs[cell] + CELL_SECONDS
            if len(current) >= most or seconds > CHUNK_SECONDS + SAMPLE_SECONDS * cell.n:
                yield current
                left -= len(current)
                most = whole if left > workers * whole else max(1, whole // LAST_CHUNKS)
                current, seconds = [], 0.0
    if current:
        yield current


def describe_plan(plan: Plan, out: Path) -> str:
    """What a run would do: cells to do, done and skipped by estimator, the reasons of the skips, and the time it would take."""
    work, costs = pending(plan, out), Costs(plan, out)
    tally, counts = work.tally, work.counts
    todo, seconds, skipped = Counter[str](), Counter[str](), Counter[str]()
    guessed = False
    for kind, cells in tally.kinds.items():
        cost, known = costs.of_kind(kind)
        todo[kind[2]] += cells
        seconds[kind[2]] += cells * cost  # type: ignore[assignment]
        guessed |= not known
    for (name, _), cells in tally.reasons.items():
        skipped[name] += cells
    shards, planned = plan.config["shards"], tally.planned
    width = max(len(name) for name in plan.estimators) + 2
    lines = [f"{'estimator':<{width}}{'to do':>9}{'done':>9}{'skipped':>9}{'CPU time to do':>17}"]
    for name in plan.estimators:
        done = planned.get(name, 0) - skipped[name] - todo[name]
        lines.append(f"{name:<{width}}{todo[name]:>9,}{done:>9,}{skipped[name]:>9,}{clock(seconds[name]):>17}")
    for (name, reason), count in tally.reasons.items():
        lines.append(f"  skipped {count:,} of {name}: {reason}")
    workers = worker_count(plan.config)
    left = expected_seconds(tally.kinds, tally.draws, costs, workers)
    shard = f" (shard {plan.config['shard']} of {shards})" if shards > 1 else ""
    lines.append(
        f"{counts['cells']:,} cells{shard}: {counts['done']:,} done, {counts['skipped']:,} skipped, {counts['todo']:,} to do, "
        f"about {clock(left)} on {workers} worker{'s' if workers > 1 else ''}"
        f"{', partly guessed for want of past records' if guessed else ', by past records' if counts['todo'] else ''}"
    )
    return "\n".join(lines)
