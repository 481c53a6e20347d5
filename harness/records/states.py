"""Which cells are recorded, and how: of each its key as a number and a state, nine bytes a cell."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
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
    """The states of recorded cells: `keys`, sorted, as numbers, and a state of each."""

    keys: NDArray[np.uint64]
    states: NDArray[np.uint8]

    def __len__(self) -> int:
        return len(self.keys)

    def of(self, cells: list[Cell]) -> list[int]:
        """Return the state of each cell."""
        return self.of_keys([cell.key for cell in cells])

    def of_keys(self, keys: list[str]) -> list[int]:
        """Return the state of each cell, by their keys."""
        wanted = as_numbers(keys)
        if wanted is None or not len(self.keys):
            return [NOTHING] * len(keys)
        place = np.minimum(np.searchsorted(self.keys, wanted), len(self.keys) - 1)
        states: list[int] = np.where(
            self.keys[place] == wanted, self.states[place], NOTHING
        ).tolist()
        return states


def nothing() -> States:
    """Return the states where nothing is recorded."""
    return States(np.empty(0, dtype=np.uint64), np.empty(0, dtype=np.uint8))


def states(out: Path, run_id: str | None = None) -> States:
    """Return the states of all recorded cells; with `run_id` by that run's records alone.

    Keys that no plan can have are left out.
    """
    columns: dict[str, Any] | None = reader.read(
        out, lambda opened: opened.execute(_SQL).fetchnumpy(), reader.of_run(run_id)
    )
    return States(columns["key"], columns["state"]) if columns else nothing()


def as_numbers(keys: Iterable[str]) -> NDArray[np.uint64] | None:
    """Return keys as numbers; None if one is not of 16 hexadecimal digits.

    Examples
    --------
    >>> as_numbers(["00000000000000ff", "000000000000000a"]).tolist()
    [255, 10]
    >>> as_numbers(["z" * 16]) is None, as_numbers([" " * 16]) is None
    (True, True)
    """
    keys = list(keys)
    digits = "".join(keys)
    try:
        content = bytes.fromhex(digits)
    except ValueError:
        return None
    if {*map(len, keys)} - {16} or len(content) != 8 * len(keys) or digits != digits.lower():
        return None  # spaces are passed over by fromhex
    return np.frombuffer(content, dtype=">u8").astype(np.uint64)
