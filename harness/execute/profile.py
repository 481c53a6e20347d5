"""CPU seconds of a run by stage and estimator: the table of `profile=true`.

    start     imports, configuration and whatever is in no other stage
    plan      which cells there are, which are done        draw      samples of a problem and their reductions
    compute   handing out chunks, waiting for them         estimate  the estimators, one by one
    read      reading the records                          cells     streams, records and the rest of the chunks
    figures   figures, tables and pages

A chunk sends draw, estimate and cells with its answer. What it takes to start a worker is on no account, nor are chunks that
ended their process.
"""

from __future__ import annotations

import contextlib
import time
from collections import defaultdict
from collections.abc import Iterator

import pandas as pd

STAGES = ("start", "plan", "draw", "estimate", "cells", "compute", "read", "figures")
ROWS = 20  # that a terminal shows
Times = dict[tuple[str, str], list[float]]  # (stage, estimator or problem): [times, CPU seconds]


class Profile:
    """CPU seconds of one run, in this process and in those that compute for it."""

    def __init__(self) -> None:
        self.times: Times = defaultdict(lambda: [0, 0.0])
        self.elsewhere = 0.0  # CPU seconds of other processes

    def add(self, times: Times, is_here: bool) -> None:
        """Add the times of a chunk, which this process (`is_here`, in stage compute) or another one computed."""
        for key, (count, cpu) in times.items():
            self.charge(key, count, cpu)
            if is_here:
                self.charge(("compute", ""), 0, -cpu)
            else:
                self.elsewhere += cpu

    def charge(self, key: tuple[str, str], count: float, cpu: float) -> None:
        """Add to one entry."""
        self.times[key][0] += count
        self.times[key][1] += cpu

    def table(self) -> pd.DataFrame:
        """Return a row per stage and what it was of: stage, of, times, cpu_seconds, share."""
        accounted = sum(cpu for _, cpu in self.times.values()) - self.elsewhere
        times = {**self.times, ("start", ""): [1, time.process_time() - accounted]}
        order = sorted(times, key=lambda key: (STAGES.index(key[0]), -times[key][1]))
        rows = [(*key, int(times[key][0]), round(times[key][1], 3)) for key in order]
        frame = pd.DataFrame(rows, columns=["stage", "of", "times", "cpu_seconds"])
        return frame.assign(share=(frame["cpu_seconds"] / frame["cpu_seconds"].sum()).round(3))


_current: Profile | None = None


@contextlib.contextmanager
def of_run() -> Iterator[Profile]:
    """Profile what is run in the block."""
    global _current
    _current = profile = Profile()
    try:
        yield profile
    finally:
        _current = None


@contextlib.contextmanager
def stage(name: str) -> Iterator[None]:
    """Charge the CPU seconds of the block to a stage. Nothing happens where no run is profiled."""
    began = time.process_time()
    yield
    if _current is not None:
        _current.charge((name, ""), 1, time.process_time() - began)


def add(times: Times, is_here: bool) -> None:
    """Add the times of a chunk to the run that is profiled, if any: `Profile.add`."""
    if _current is not None:
        _current.add(times, is_here)


def text(table: pd.DataFrame) -> str:
    """Return the most expensive rows of a table for a terminal, and the sum."""
    shown = table.nlargest(ROWS, "cpu_seconds").to_string(index=False)
    return f"{shown}\nall, the start of workers aside: {table['cpu_seconds'].sum():.2f} CPU seconds"
