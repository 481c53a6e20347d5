"""States of the recorded cells, nine bytes a cell: sorted keys as numbers, and a state of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.plan.cells import Cell
from harness.records import reader

NOTHING, FINISHED, SKIPPED, FAILED = range(4)  # nothing, or only interrupted; ok or undefined
_SQL = f"""select ('0x' || key)::ubigint as key, (case status when 'ok' then {FINISHED}
           when 'undefined' then {FINISHED} when 'skipped' then {SKIPPED}
           when 'failed' then {FAILED} else {NOTHING} end)::utinyint as state
           from cells where regexp_full_match(key, '[0-9a-f]{{16}}') order by key"""


@dataclass(frozen=True)
class States:
    """The states of recorded cells: sorted `keys` as numbers, and the state of each."""

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


def states(out: Path, run_id: str | None = None) -> States:
    """Return the states of all recorded cells. With `run_id`, only records of this run count.

    Keys that no plan can have are left out.
    """
    columns: dict[str, Any] | None = reader.read(
        out, lambda connection: connection.execute(_SQL).fetchnumpy(), reader.run_condition(run_id)
    )
    return States(columns["key"], columns["state"]) if columns else States()
