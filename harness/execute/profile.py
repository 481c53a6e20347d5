"""CPU seconds of a run by stage and estimator: the table of `profile=true`.

    start     imports, configuration, and everything that is in no other stage
    plan      planning, and reading which cells are done
    draw      samples of a problem and their reductions
    estimate  the estimators, one by one
    cells     streams, records and the rest of the chunks
    compute   handing out chunks, waiting for them
    read      reading the records
    figures   figures, tables and pages

A chunk sends draw, estimate and cells with its answer. Starting a worker is not counted, nor are
chunks that ended their process.
"""

from __future__ import annotations

import contextlib
import time
from collections import defaultdict
from collections.abc import Iterator

import pandas as pd

STAGES = ("start", "plan", "draw", "estimate", "cells", "compute", "read", "figures")
ROWS = 20  # shown in a terminal
Times = dict[tuple[str, str], list[float]]  # (stage, estimator or problem): [times, CPU seconds]


class Profile:
    """CPU seconds of one run, in this process and in the processes that compute for it."""

    def __init__(self) -> None:
        self.times: Times = defaultdict(lambda: [0, 0.0])
        self.elsewhere = 0.0  # CPU seconds of other processes

    def charge(self, key: tuple[str, str], count: float, cpu: float) -> None:
        """Add to one entry."""
        self.times[key][0] += count
        self.times[key][1] += cpu

    def table(self) -> pd.DataFrame:
        """Return one row per stage and name: stage, of, times, cpu_seconds, share."""
        accounted = sum(cpu for _, cpu in self.times.values()) - self.elsewhere
        times = {**self.times, ("start", ""): [1, time.process_time() - accounted]}
        order = sorted(times, key=lambda key: (STAGES.index(key[0]), -times[key][1]))
        rows = [(*key, int(times[key][0]), round(times[key][1], 3)) for key in order]
        frame = pd.DataFrame(rows, columns=["stage", "of", "times", "cpu_seconds"])
        return frame.assign(share=(frame["cpu_seconds"] / frame["cpu_seconds"].sum()).round(3))


_current: Profile | None = None


@contextlib.contextmanager
def of_run() -> Iterator[Profile]:
    """Profile the block."""
    global _current
    _current = profile = Profile()
    try:
        yield profile
    finally:
        _current = None


@contextlib.contextmanager
def stage(name: str) -> Iterator[None]:
    """Charge the CPU seconds of the block to a stage of the current profile, if there is one."""
    began = time.process_time()
    yield
    if _current is not None:
        _current.charge((name, ""), 1, time.process_time() - began)


def add(times: Times, is_here: bool) -> None:
    """Add the times of a chunk to the current profile, if there is one.

    `is_here`: this process computed the chunk, so that stage compute already has its seconds.
    """
    if _current is None:
        return
    for key, (count, cpu) in times.items():
        _current.charge(key, count, cpu)
        if is_here:
            _current.charge(("compute", ""), 0, -cpu)
        else:
            _current.elsewhere += cpu


def text(table: pd.DataFrame) -> str:
    """Return the most expensive rows of a table, and the sum, for a terminal."""
    shown = table.nlargest(ROWS, "cpu_seconds").to_string(index=False)
    return f"{shown}\nall, the start of workers aside: {table['cpu_seconds'].sum():.2f} CPU seconds"
