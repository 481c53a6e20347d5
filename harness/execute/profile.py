"""CPU seconds of a run by stage and estimator: the table of `profile=true`.

    start     imports, configuration and whatever is below no other stage
    plan      which cells there are, which are done        draw      samples of a problem and their reductions
    compute   handing out chunks, waiting for them         estimate  the estimators, one by one
    read      reading the records                          cells     streams, records and the rest of the chunks
    figures   figures, tables and pages

A chunk sends draw, estimate and cells with its answer. What it takes to start a worker is on no account, nor are chunks that
ended their process.
"""

from __future__ import annotations

import contextlib
import csv
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

STAGES = ("start", "plan", "draw", "estimate", "cells", "compute", "read", "figures")
Times = dict[tuple[str, str], list[float]]  # (stage, estimator or problem): [times, CPU seconds]
ALL = "all, the start of workers aside"


class Profile:
    """CPU seconds of one run, in this process and in those that compute for it."""

    def __init__(self) -> None:
        self.times: Times = defaultdict(lambda: [0, 0.0])
        self.elsewhere = 0.0  # CPU seconds of other processes

    def add(self, times: Times, is_here: bool) -> None:
        """Add the times of a chunk, which this process (`is_here`, in stage compute) or another one computed."""
        for key, (count, cpu) in times.items():
            self.times[key][0] += count
            self.times[key][1] += cpu
            if is_here:
                self.times["compute", ""][1] -= cpu
            else:
                self.elsewhere += cpu

    def rows(self) -> list[dict[str, Any]]:
        """Return a row per stage and what it was of, in the order of the stages and then by CPU seconds."""
        accounted = sum(cpu for _, cpu in self.times.values()) - self.elsewhere
        times = {**self.times, ("start", ""): [1, time.process_time() - accounted]}
        whole = sum(cpu for _, cpu in times.values()) or 1.0
        order = sorted(times.items(), key=lambda item: (STAGES.index(item[0][0]), -item[1][1]))
        return [
            {"stage": stage, "of": of, "times": int(count), "cpu_seconds": cpu, "share": cpu / whole}
            for (stage, of), (count, cpu) in order
        ]


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
        account = _current.times[name, ""]
        account[0] += 1
        account[1] += time.process_time() - began


def add(times: Times, is_here: bool) -> None:
    """Add the times of a chunk to the run that is profiled, if any: `Profile.add`."""
    if _current is not None:
        _current.add(times, is_here)


def write(rows: list[dict[str, Any]], path: Path) -> Path:
    """Write the table as CSV, seconds to the millisecond."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(rows[0])
        writer.writerows([f"{x:.3f}" if isinstance(x, float) else x for x in row.values()] for row in rows)
    return path


def text(rows: list[dict[str, Any]], most: int = 20) -> str:
    """Return the table for a terminal: the most expensive rows, and the sum."""
    shown = sorted(rows, key=lambda row: -row["cpu_seconds"])[:most]
    names = [f"{row['stage']} {row['of']}".strip() for row in shown]
    width = max(map(len, [*names, ALL])) + 2
    lines = [f"{'stage':<{width}}{'times':>9}{'CPU s':>10}{'share':>8}"]
    for name, row in zip(names, shown):
        numbers = f"{row['times']:>9,}{row['cpu_seconds']:>10.2f}{row['share']:>8.1%}"
        lines.append(f"{name:<{width}}{numbers}")
    whole = sum(row["cpu_seconds"] for row in rows)
    return "\n".join([*lines, f"{ALL:<{width}}{'':>9}{whole:>10.2f}"])
