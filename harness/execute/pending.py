"""Find the cells of a plan that are still to compute, and form chunks.

Cells are created in batches, when they are needed. The memory therefore depends on the number of
kinds of cells (problem, notion, estimator, n), and not on the number of replications.

Faults that need this: a run was stopped or killed, and the same command must compute the remaining
cells alone. A worker is killed, which costs one small chunk.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, islice
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from numpy.typing import NDArray

from harness.common.seeds import digest
from harness.configure.settings import Settings
from harness.execute.pace import Pace
from harness.plan.cells import Cell, Kind, samples
from harness.plan.plan import Plan
from harness.records import reader

CHUNK_CELLS = 5000  # largest number of cells of a chunk
CHUNK_SECONDS = 2.0  # a chunk is complete after so many expected seconds
LAST_CHUNKS = 4  # divisor of the size of the last chunks, so that all workers end together
BATCH = 1024  # number of samples whose cells are looked up in the records together
# A chunk may take so many more seconds for each of the n rows of a sample, because the next chunk
# draws the sample again.
SAMPLE_SECONDS = 1e-6
UNTIMED_SECONDS = CHUNK_SECONDS / 8  # assumed for a cell of which nothing is known

# State of a cell in the records. NOTHING: no record, or only an interrupted attempt. FINISHED: a
# record with status ok or undefined.
NOTHING, FINISHED, SKIPPED, FAILED = range(4)
_STATES = f"""select ('0x' || key)::ubigint as key, (case status when 'ok' then {FINISHED}
           when 'undefined' then {FINISHED} when 'skipped' then {SKIPPED}
           when 'failed' then {FAILED} else {NOTHING} end)::utinyint as state
           from cells where regexp_full_match(key, '[0-9a-f]{{16}}') order by key"""


@dataclass(frozen=True)
class States:
    """States of all recorded cells, in 9 bytes per cell.

    `keys` contains the cells' keys as numbers, sorted. `states` contains their states in the same
    order: NOTHING, FINISHED, SKIPPED or FAILED.
    """

    keys: NDArray[np.uint64] = field(default_factory=lambda: np.empty(0, dtype=np.uint64))
    states: NDArray[np.uint8] = field(default_factory=lambda: np.empty(0, dtype=np.uint8))

    def __len__(self) -> int:
        return len(self.keys)

    def lookup(self, cells: Sequence[Cell]) -> list[int]:
        """Return the state of each of the given cells; NOTHING for a cell without a record."""
        if not len(self.keys):
            return [NOTHING] * len(cells)
        wanted = np.array([int(cell.key, 16) for cell in cells], dtype=np.uint64)
        place = np.minimum(np.searchsorted(self.keys, wanted), len(self.keys) - 1)
        is_recorded = self.keys[place] == wanted
        states: list[int] = np.where(is_recorded, self.states[place], NOTHING).tolist()
        return states


def read_states(out: Path, run_id: str | None = None) -> States:
    """Read the states of all recorded cells from the folder `out`.

    With `run_id`, only records of that run count. Keys that are not 16 hexadecimal digits are
    ignored.
    """
    columns: dict[str, Any] | None = reader.read(
        out,
        lambda connection: connection.execute(_STATES).fetchnumpy(),
        reader.run_condition(run_id),
    )
    return States(columns["key"], columns["state"]) if columns else States()


@dataclass(frozen=True)
class Tally:
    """Numbers of cells in one shard of a plan.

    counts   {"cells": all, "done": finished, "skipped": skipped, "new_skips": skipped without a
             record of it, "todo": to compute}
    kinds    number of cells to compute, by kind
    planned  number of all cells, by estimator
    reasons  number of skipped cells, by estimator and reason
    """

    counts: dict[str, int]
    kinds: Counter[Kind] = field(default_factory=Counter)
    planned: Counter[str] = field(default_factory=Counter)
    reasons: Counter[tuple[str, str]] = field(default_factory=Counter)

    @property
    def rows(self) -> int:
        """Number of rows of all samples of the cells to compute, a rough measure of their work."""
        return sum(cells * n for (_, _, _, n), cells in self.kinds.items())


@dataclass(frozen=True)
class Pending:
    """Cells of a plan, sorted by what is still to do for them according to the records."""

    plan: Plan
    states: States

    @cached_property
    def tally(self) -> Tally:
        """Numbers of finished, skipped and remaining cells."""
        tally = Tally(dict.fromkeys(("cells", "done", "skipped", "new_skips", "todo"), 0))
        for cells, marks in self._marked(self.plan):
            tally.counts["cells"] += len(cells)
            for cell, mark in zip(cells, marks):
                tally.planned[cell.estimator] += 1
                if mark:
                    tally.counts[mark] += 1
                if mark == "todo":
                    tally.kinds[cell.kind] += 1
                elif mark != "done" and (reason := self.plan.skip(cell)) is not None:
                    tally.counts["skipped"] += 1
                    tally.reasons[cell.estimator, reason] += 1
        return tally

    def todo_by_component(self) -> dict[str, dict[str, int]]:
        """Return the numbers of cells to compute by id: {"estimator": {id: n}, "problem": ...}."""
        todo = {"estimator": Counter[str](), "problem": Counter[str]()}
        for (problem, _, estimator, _), cells in self.tally.kinds.items():
            todo["estimator"][self.plan.estimators[estimator].id] += cells
            todo["problem"][self.plan.problems[problem].id] += cells
        return {group: dict(counts) for group, counts in todo.items()}

    def samples(self) -> Iterator[list[Cell]]:
        """Yield the cells to compute, one list for each sample.

        Cells are ordered by owner, cells without user code first (see `Plan.owner`).
        """
        for owned in self.plan.by_owner():
            for cells, marks in self._marked(replace(self.plan, cells=owned)):
                if todo := [cell for cell, mark in zip(cells, marks) if mark == "todo"]:
                    yield todo

    def new_skips(self) -> Iterator[Cell]:
        """Yield the skipped cells that have no record yet."""
        for cells, marks in self._marked(self.plan):
            yield from (cell for cell, mark in zip(cells, marks) if mark == "new_skips")

    def _marked(self, plan: Plan) -> Iterator[tuple[list[Cell], list[str]]]:
        """Yield two lists for each sample: its cells, and a mark for each of these cells.

        The mark is "todo", "new_skips", "done", or "" for a skipped cell with a record.
        """
        groups = shard_samples(plan)
        while batch := list(islice(groups, BATCH)):
            cells = list(chain.from_iterable(batch))
            marks = map(self._mark, cells, self.states.lookup(cells))
            for group in batch:
                yield group, list(islice(marks, len(group)))

    def _mark(self, cell: Cell, state: int) -> str:
        if self.plan.skip(cell) is not None:
            return "" if state in (FINISHED, SKIPPED) else "new_skips"
        return "done" if state == FINISHED and not self.plan.settings.refresh else "todo"


def pending(plan: Plan, out: Path, recorded: States | None = None) -> Pending:
    """Return the pending cells of this shard of a plan.

    `recorded` are the states of recorded cells. By default, they are read from the folder `out`.
    """
    return Pending(plan, read_states(out) if recorded is None else recorded)


def shard_samples(plan: Plan) -> Iterator[list[Cell]]:
    """Yield the cells that this shard of a plan computes, one list for each sample."""
    shard, shards = plan.settings.shard, plan.settings.shards
    if shards <= 1:
        return samples(plan.cells)
    return samples(
        plan.cells,
        lambda problem, rep, n: int(digest(f"{problem}|{rep}|{n}"), 16) % shards == shard,
    )


def worker_count(settings: Settings) -> int:
    """Return the number of worker processes that the settings `jobs` and `engine` ask for."""
    if settings.engine == "serial":
        return 1
    return int(joblib.cpu_count() if settings.jobs < 0 else settings.jobs)


def read_pace(work: Pending, out: Path) -> Pace:
    """Return the pace of the cells to compute, with the times of the records in `out`."""
    return Pace(work.plan, work.tally.kinds, reader.seconds_per_cell(out))


def make_chunks(
    groups: Iterable[list[Cell]], total: int, pace: Pace, workers: int
) -> Iterator[list[Cell]]:
    """Join consecutive cells to chunks of about equal time, and yield the chunks.

    A chunk is formed when a worker is free, with the times that are known by then. There are at
    least eight chunks per worker if there are enough cells. The last chunks are smaller, so that
    all workers end at about the same time. The cells of a chunk have the same owner (see
    `Plan.owner`).

    Parameters
    ----------
    groups : iterable of lists of Cell
        Cells to compute, one list for each sample.
    total : int
        Number of all cells in `groups`.
    pace : Pace
        Measured seconds of cells.
    workers : int
        Number of worker processes.
    """
    whole = most = max(1, min(CHUNK_CELLS, total // (8 * workers)))
    chunk: list[Cell] = []
    seconds, left, owner = 0.0, total, None
    for cells in groups:
        if chunk and pace.plan.owner(cells[0]) != owner:
            yield chunk
            left, chunk, seconds = left - len(chunk), [], 0.0
        owner = pace.plan.owner(cells[0])
        for cell in cells:
            chunk.append(cell)
            seconds += pace.mean(cell.kind) or UNTIMED_SECONDS
            if len(chunk) >= most or seconds > CHUNK_SECONDS + SAMPLE_SECONDS * cell.n:
                yield chunk
                left, chunk, seconds = left - len(chunk), [], 0.0
                most = whole if left > workers * whole else max(1, whole // LAST_CHUNKS)
    if chunk:
        yield chunk
