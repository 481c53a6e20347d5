"""Which cells are recorded, and how: sixteen digits and a state of each, as numbers, whatever the number of parts."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.plan.cells import Cell
from harness.records import parts, schema

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

NOTHING, FINISHED, SKIPPED, FAILED = range(4)  # nothing, or nothing but interrupted; ok or undefined
_CODES = {"ok": FINISHED, "undefined": FINISHED, "skipped": SKIPPED, "failed": FAILED}


@dataclass(frozen=True)
class States:
    """The states of recorded cells by their best attempt: `keys`, sorted, as numbers, and a state of each."""

    keys: NDArray[np.uint64]
    states: NDArray[np.uint8]

    def __len__(self) -> int:
        return len(self.keys)

    def of(self, cells: list[Cell]) -> list[int]:
        """The state of each cell."""
        return self.of_keys([cell.key for cell in cells])

    def of_keys(self, keys: list[str]) -> list[int]:
        """The state of each cell, by their keys."""
        import numpy as np

        wanted = parts.of_texts(keys)
        if wanted is None or not len(self.keys):
            return [NOTHING] * len(keys)
        place = np.minimum(np.searchsorted(self.keys, wanted), len(self.keys) - 1)
        found: list[int] = np.where(self.keys[place] == wanted, self.states[place], NOTHING).tolist()
        return found


def nothing() -> States:
    """The states where nothing is recorded."""
    import numpy as np

    return States(np.empty(0, dtype=np.uint64), np.empty(0, dtype=np.uint8))


def states(out: Path, run_id: str | None = None) -> States:
    """The states of all recorded cells of a folder of results; with `run_id` of that run's records alone. Ok and undefined go
    before skipped and failed, of which the latest counts, and these before interrupted: as `records.cell_states`."""
    import numpy as np

    found = parts.each(out, lambda path: _of_part(path, run_id))
    if not found:
        return nothing()
    finished = parts.once(np.sort(np.concatenate([keys for keys, *_ in found])))
    keys, codes, written = (np.concatenate([one[at] for one in found]) for at in (1, 2, 3))
    order = np.lexsort((-written, codes == NOTHING, keys))
    keys, first = np.unique(keys[order], return_index=True)
    codes = codes[order][first]
    others = ~np.isin(keys, finished, assume_unique=True)
    keys = np.concatenate([finished, keys[others]])
    codes = np.concatenate([np.full(len(finished), FINISHED, dtype=np.uint8), codes[others]])
    order = np.argsort(keys)
    return States(keys[order], codes[order])


def failed(out: Path, run_id: str, alone: bool) -> int:
    """The number of cells that failed in a run and that no attempt made better, none of that run itself if `alone`."""
    found = schema.query(out, f"select distinct key from r where run_id = '{run_id}' and status = 'failed'")
    if not found:
        return 0
    return states(out, run_id if alone else None).of_keys([key for (key,) in found]).count(FAILED)


def _of_part(path: Path, run_id: str | None) -> tuple[NDArray[Any], ...]:
    """(keys of finished cells; keys, states and times of the others) of a part. Keys that no plan can have are left out."""
    import numpy as np

    finished = [np.empty(0, dtype=np.uint64)]
    others: list[tuple[NDArray[Any], ...]] = [(np.empty(0, dtype=np.uint64), np.empty(0, dtype=np.uint8), np.empty(0))]
    for table in parts.tables(path, ["key", "status", "written", "run_id"]):
        held = parts.numbers(table["key"])
        chosen = np.ones(table.num_rows, dtype=bool)
        if held is None:
            each = [parts.of_texts([key]) if key else None for key in table["key"].to_pylist()]
            chosen = np.array([one is not None for one in each])
            held = np.array([0 if one is None else one[0] for one in each], dtype=np.uint64)
        if run_id is not None:
            codes, runs = parts.coded(table["run_id"])
            chosen &= codes == (runs.index(run_id) if run_id in runs else len(runs))
        codes, statuses = parts.coded(table["status"])
        state = np.array([*(_CODES.get(status, NOTHING) for status in statuses), NOTHING], dtype=np.uint8)[codes]
        fine = state == FINISHED
        finished.append(parts.once(held[chosen & fine]))
        rest = chosen & ~fine
        if rest.any():
            others.append((held[rest], state[rest], table["written"].to_numpy()[rest]))
    return np.concatenate(finished), *(np.concatenate(one) for one in zip(*others))
