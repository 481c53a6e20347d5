"""Pending cells of a plan: how many no record holds, how long they take, and the chunks of a run.

Cells are made as they are needed, a batch at a time. A plan of any length takes the memory of its
kinds of cells.
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

CHUNK_CELLS = 5000
CHUNK_SECONDS = 2.0
LAST_CHUNKS = 4  # the last chunks are so many times smaller, so that the workers end together
BATCH = 1024  # samples whose cells are looked up in the records at once
# seconds around a cell (streams, record), and for each of its n samples (draw, reduction)
CELL_SECONDS, SAMPLE_SECONDS = 4e-4, 1e-6
UNKNOWN_SECONDS = 2e-3  # of a cell without past records, per 1,000 samples

# states of a cell: nothing, or only interrupted; ok or undefined; skipped; failed
NOTHING, FINISHED, SKIPPED, FAILED = range(4)
_STATES = f"""select ('0x' || key)::ubigint as key, (case status when 'ok' then {FINISHED}
           when 'undefined' then {FINISHED} when 'skipped' then {SKIPPED}
           when 'failed' then {FAILED} else {NOTHING} end)::utinyint as state
           from cells where regexp_full_match(key, '[0-9a-f]{{16}}') order by key"""


@dataclass(frozen=True)
class States:
    """The states of recorded cells, 9 bytes a cell: sorted `keys` as numbers, and their states."""

    keys: NDArray[np.uint64] = field(default_factory=lambda: np.empty(0, dtype=np.uint64))
    states: NDArray[np.uint8] = field(default_factory=lambda: np.empty(0, dtype=np.uint8))

    def __len__(self) -> int:
        return len(self.keys)

    def lookup(self, cells: Sequence[Cell]) -> list[int]:
        """Return the state of each cell."""
        if not len(self.keys):
            return [NOTHING] * len(cells)
        wanted = np.array([int(cell.key, 16) for cell in cells], dtype=np.uint64)
        place = np.minimum(np.searchsorted(self.keys, wanted), len(self.keys) - 1)
        is_recorded = self.keys[place] == wanted
        states: list[int] = np.where(is_recorded, self.states[place], NOTHING).tolist()
        return states


def read_states(out: Path, run_id: str | None = None) -> States:
    """Return the states of all recorded cells. With `run_id`, only records of this run count.

    Keys that no plan can have are left out.
    """
    columns: dict[str, Any] | None = reader.read(
        out,
        lambda connection: connection.execute(_STATES).fetchnumpy(),
        reader.run_condition(run_id),
    )
    return States(columns["key"], columns["state"]) if columns else States()


@dataclass(frozen=True)
class Tally:
    """Numbers of the cells of a plan's shard.

    counts   {cells, done, skipped, new_skips, todo}
    kinds    cells to compute by kind
    planned  all cells by estimator
    reasons  skipped cells by estimator and reason
    """

    counts: dict[str, int]
    kinds: Counter[Kind] = field(default_factory=Counter)
    planned: Counter[str] = field(default_factory=Counter)
    reasons: Counter[tuple[str, str]] = field(default_factory=Counter)


@dataclass(frozen=True)
class Pending:
    """The cells of a plan, and the states of recorded ones."""

    plan: Plan
    states: States

    @cached_property
    def tally(self) -> Tally:
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
        """Yield the cells to compute, sample by sample, ordered by owner (ours first)."""
        for owned in self.plan.by_owner():
            for cells, marks in self._marked(replace(self.plan, cells=owned)):
                if todo := [cell for cell, mark in zip(cells, marks) if mark == "todo"]:
                    yield todo

    def new_skips(self) -> Iterator[Cell]:
        """Yield the cells whose skip is not recorded yet."""
        for cells, marks in self._marked(self.plan):
            yield from (cell for cell, mark in zip(cells, marks) if mark == "new_skips")

    def _marked(self, plan: Plan) -> Iterator[tuple[list[Cell], list[str]]]:
        """Yield the cells of each sample, and for each "todo", "new_skips", "done" or ""."""
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
    """Return the pending cells of this shard. `recorded`: the states, if they are read already."""
    return Pending(plan, read_states(out) if recorded is None else recorded)


def shard_samples(plan: Plan) -> Iterator[list[Cell]]:
    """Yield the cells of this shard, those of one sample together."""
    shard, shards = plan.settings.shard, plan.settings.shards
    if shards <= 1:
        return samples(plan.cells)
    return samples(
        plan.cells,
        lambda problem, rep, n: int(digest(f"{problem}|{rep}|{n}"), 16) % shards == shard,
    )


def worker_count(settings: Settings) -> int:
    """Return the number of worker processes that a configuration asks for."""
    if settings.engine == "serial":
        return 1
    return int(joblib.cpu_count() if settings.jobs < 0 else settings.jobs)


class Costs:
    """CPU seconds of cells, estimated from past records.

    The first of these that is known counts:

    1. the median over the same problem, notion, n and estimator;
    2. the median over the same notion, n and estimator;
    3. the nearest n of this estimator, scaled;
    4. the nearest n of the same id with other parameters, scaled;
    5. the seconds that the estimator declares for n = 1,000, scaled.

    `past`: rows of `reader.seconds_per_cell`, if they are read already.
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
        """Return the seconds of a cell, and True if records of this estimator at this n say so."""
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
        """Return the CPU seconds of so many cells of each kind, with their overhead."""
        return sum(
            cells * (self.seconds(kind)[0] + CELL_SECONDS + SAMPLE_SECONDS * kind[3])
            for kind, cells in kinds.items()
        )


def chunks_of(
    groups: Iterable[list[Cell]], total: int, costs: Costs, workers: int
) -> Iterator[list[Cell]]:
    """Join the cells of consecutive samples until a chunk holds enough work; `total` counts cells.

    There are at least eight chunks per worker, if there are cells enough. The last chunks are
    smaller. The cells of a chunk have one owner (`Plan.owner`).
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
