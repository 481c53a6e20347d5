"""Find the cells of a plan that are still to compute, estimate their time, and form chunks.

Cells are created in batches, when they are needed. The memory therefore depends on the number of
kinds of cells (problem, notion, estimator, n), and not on the number of replications.
"""

from __future__ import annotations

import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
from harness.estimators.base import EstimatorSpec
from harness.plan.cells import Cell, Kind, samples
from harness.plan.plan import Plan
from harness.records import reader

CHUNK_CELLS = 5000  # largest number of cells of a chunk
CHUNK_SECONDS = 2.0  # a chunk is complete after so many expected seconds
LAST_CHUNKS = 4  # divisor of the size of the last chunks, so that all workers end together
BATCH = 1024  # number of samples whose cells are looked up in the records together
# Overhead of a cell for its random generators and its record, in seconds.
CELL_SECONDS = 4e-4
# Overhead for drawing and reducing a sample, in seconds for each of its n rows.
SAMPLE_SECONDS = 1e-6
# Seconds per 1,000 rows that a cell is expected to take if nothing is known about its estimator.
UNKNOWN_SECONDS = 2e-3

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


class Costs:
    """Expected CPU seconds of the cells of a plan.

    The expectation for a cell is the first of these values that is known:

    1. the median of earlier records with the same problem, notion, n and estimator;
    2. the median of earlier records with the same notion, n and estimator;
    3. the time in the record with the same notion and estimator whose n is nearest;
    4. the same for records of this estimator's id with other parameters;
    5. the time that the estimator declares for n = 1,000;
    6. UNKNOWN_SECONDS, a default for n = 1,000.

    If the cell has a larger n than the value is for, values 3 to 6 are multiplied by the ratio of
    the two n.

    `past` are the rows of `reader.seconds_per_cell`. By default, they are read from `out`.
    """

    def __init__(self, plan: Plan, out: Path, past: list[tuple[Any, ...]] | None = None):
        self.plan = plan
        self.past: dict[tuple[Any, ...], list[Any]] = defaultdict(list)
        rows = reader.seconds_per_cell(out) if past is None else past
        for name, key, problem, notion, n, seconds in rows:
            for same in ((key, problem, notion, n), (key, notion, n)):
                self.past[same].append(seconds)
            for similar in ((key, notion), (name, notion)):
                self.past[similar].append((n, seconds))
        self._known: dict[Kind, tuple[float, bool]] = {}

    def seconds(self, kind: Kind) -> tuple[float, bool]:
        """Return the expected CPU seconds of a cell of this kind, and whether they are measured.

        They are measured if earlier records of the same estimator, notion and n exist.
        """
        if kind not in self._known:
            self._known[kind] = self._estimate(*kind)
        return self._known[kind]

    def _estimate(self, problem: str, notion: str, name: str, n: int) -> tuple[float, bool]:
        estimator = self.plan.estimators[name]
        problem_key = self.plan.problems[problem].key
        for same in ((estimator.key, problem_key, notion, n), (estimator.key, notion, n)):
            if same in self.past:
                return statistics.median(self.past[same]), True
        for similar in ((estimator.key, notion), (estimator.id, notion)):
            if similar in self.past:
                _, size, seconds = min(
                    (abs(n - n_past), n_past, s) for n_past, s in self.past[similar]
                )
                return seconds * max(1.0, n / size), False
        declared = EstimatorSpec.read(estimator.object, "seconds")
        return (UNKNOWN_SECONDS if declared is None else declared) * max(1.0, n / 1000), False

    def total(self, kinds: Mapping[Kind, int]) -> float:
        """Return the expected CPU seconds of all cells in {kind: number of cells}.

        The overhead for drawing samples and writing records is included.
        """
        return sum(
            cells * (self.seconds(kind)[0] + CELL_SECONDS + SAMPLE_SECONDS * kind[3])
            for kind, cells in kinds.items()
        )


def make_chunks(
    groups: Iterable[list[Cell]], total: int, costs: Costs, workers: int
) -> Iterator[list[Cell]]:
    """Join consecutive cells to chunks of about equal time, and yield the chunks.

    There are at least eight chunks per worker if there are enough cells. The last chunks are
    smaller, so that all workers end at about the same time. The cells of a chunk have the same
    owner (see `Plan.owner`).

    Parameters
    ----------
    groups : iterable of lists of Cell
        Cells to compute, one list for each sample.
    total : int
        Number of all cells in `groups`.
    costs : Costs
        Expected seconds of the cells.
    workers : int
        Number of worker processes.
    """
    whole = most = max(1, min(CHUNK_CELLS, total // (8 * workers)))
    chunk: list[Cell] = []
    seconds, left, owner = 0.0, total, None
    for cells in groups:
        if chunk and costs.plan.owner(cells[0]) != owner:
            yield chunk
            left, chunk, seconds = left - len(chunk), [], 0.0
        owner = costs.plan.owner(cells[0])
        for cell in cells:
            chunk.append(cell)
            seconds += costs.seconds(cell.kind)[0] + CELL_SECONDS
            if len(chunk) >= most or seconds > CHUNK_SECONDS + SAMPLE_SECONDS * cell.n:
                yield chunk
                left, chunk, seconds = left - len(chunk), [], 0.0
                most = whole if left > workers * whole else max(1, whole // LAST_CHUNKS)
    if chunk:
        yield chunk
