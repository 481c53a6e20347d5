"""Where the time of a run goes: `profile=true`. CPU seconds by stage and estimator.

    start     imports, and the configuration               draw      samples of the problems (workers)
    plan      which cells there are, which are done        estimate  the estimators, one by one (workers)
    compute   handing out chunks, waiting for them         record    writing their records (workers)
    read      reading the records                          cells     streams, reductions and the rest of a chunk (workers)
    figures   figures, tables and pages

A stage counts by itself: what is entered within it counts there. Every process keeps its own account; that of a worker goes to a
file of a folder beside the records, which the driver reads and removes. A worker that is ended from outside leaves none, and what
it takes to start one is on no account.
"""

from __future__ import annotations

import contextlib
import csv
import json
import os
import resource
import shutil
import time
import uuid
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

STAGES = ("start", "plan", "draw", "estimate", "record", "cells", "compute", "read", "figures")
_nothing = contextlib.nullcontext()


def cpu_seconds() -> float:
    """CPU seconds of this process. On a busy machine the clock alone lags by about a millisecond until the usage is asked for,
    and what comes next would be charged for that."""
    resource.getrusage(resource.RUSAGE_SELF)
    return time.process_time()


class Profile:
    """The account of one process.

    times: {(stage, estimator or problem): [count, CPU seconds, wall seconds]}."""

    def __init__(self, folder: Path, first: str):
        self.folder, self.pid = folder, os.getpid()
        self.times: dict[tuple[str, str], list[float]] = defaultdict(lambda: [0, 0.0, 0.0])
        self.stages = [(first, "")]
        self.mark = cpu_seconds(), time.perf_counter()

    def charge(self) -> None:
        """Put what has passed since the last mark on the account of the stage that is on."""
        now = cpu_seconds(), time.perf_counter()
        account = self.times[self.stages[-1]]
        account[1] += now[0] - self.mark[0]
        account[2] += now[1] - self.mark[1]
        self.mark = now

    @contextlib.contextmanager
    def entered(self, stage: str, of: str) -> Iterator[None]:
        """The stage is on within the block."""
        self.charge()
        self.stages.append((stage, of))
        self.times[stage, of][0] += 1
        try:
            yield
        finally:
            self.charge()
            self.stages.pop()

    def add(self, other: dict[str, Any]) -> None:
        """Add the account of another process, as `save` wrote it."""
        for stage, of, *numbers in other["times"]:
            account = self.times[stage, of]
            account[:] = [mine + more for mine, more in zip(account, numbers)]

    def save(self) -> None:
        """Write the account into the folder, whole or not at all."""
        self.folder.mkdir(parents=True, exist_ok=True)
        times = [[*key, *numbers] for key, numbers in self.times.items()]
        path = self.folder / f"{uuid.uuid4().hex}.json"
        path.with_suffix(".part").write_text(json.dumps({"times": times}))
        path.with_suffix(".part").replace(path)

    def rows(self) -> list[dict[str, Any]]:
        """A row per stage and what it was of, in the order of the stages and then by CPU seconds."""
        whole = sum(cpu for _, cpu, _ in self.times.values()) or 1.0
        order = sorted(self.times.items(), key=lambda one: (STAGES.index(one[0][0]), -one[1][1]))
        return [
            {"stage": stage, "of": of, "times": int(count), "cpu_seconds": cpu, "seconds": wall, "share": cpu / whole}
            for (stage, of), (count, cpu, wall) in order
        ]


_current: Profile | None = None


def stage(name: str, of: str = "") -> contextlib.AbstractContextManager[None]:
    """The block belongs to a stage (one of STAGES), and to an estimator or a problem; nothing is done where there is no
    profile."""
    here = _current
    return here.entered(name, of) if here is not None and here.pid == os.getpid() else _nothing


def folder() -> str | None:
    """Where workers leave their accounts; None where there is no profile."""
    return str(_current.folder) if _current is not None else None


@contextlib.contextmanager
def of_run(out: Path) -> Iterator[Profile]:
    """Profile what is run in the block, in this process and in workers that are told of `folder()`. What this process did before
    counts as its start. When the block ends, the account is that of all of them."""
    made = Profile(Path(out) / "profiles" / uuid.uuid4().hex, "start")
    made.mark = 0.0, made.mark[1] - cpu_seconds()
    try:
        with _current_profile(made):
            yield made
        made.charge()
        for path in made.folder.glob("*.json"):
            made.add(json.loads(path.read_text()))
    finally:
        shutil.rmtree(made.folder, ignore_errors=True)
        with contextlib.suppress(OSError):
            made.folder.parent.rmdir()


@contextlib.contextmanager
def of_worker(folder: str | None) -> Iterator[None]:
    """Profile a chunk of cells, for a driver that asks for it in another process."""
    if folder is None or _current is not None and _current.pid == os.getpid():
        with stage("cells"):
            yield
        return
    made = Profile(Path(folder), "cells")
    with _current_profile(made):
        yield
    made.charge()
    with contextlib.suppress(OSError):  # its cells are recorded; that a disk is full is no reason to compute them again
        made.save()


@contextlib.contextmanager
def _current_profile(made: Profile) -> Iterator[None]:
    """Make `made` the profile of this process within the block."""
    global _current
    before, _current = _current, made
    try:
        yield
    finally:
        _current = before


def write(rows: list[dict[str, Any]], path: Path) -> Path:
    """The table as CSV, seconds to the millisecond."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(rows[0])
        writer.writerows([f"{x:.3f}" if isinstance(x, float) else x for x in row.values()] for row in rows)
    return path


def text(rows: list[dict[str, Any]], most: int = 20) -> str:
    """The table for a terminal, the dearest rows of it."""
    chosen = sorted(rows, key=lambda row: -row["cpu_seconds"])[:most]
    shown = [row for row in rows if row in chosen]
    names = [f"{row['stage']} {row['of']}".strip() for row in shown]
    width = max(map(len, [*names, "all, the start of workers aside"])) + 2
    lines = [f"{'stage':<{width}}{'times':>9}{'CPU s':>10}{'share':>8}"]
    lines += [
        f"{name:<{width}}{row['times']:>9,}{row['cpu_seconds']:>10.2f}{row['share']:>8.1%}" for name, row in zip(names, shown)
    ]
    rest = [row for row in rows if row not in chosen]
    if rest:
        seconds, share = (sum(row[name] for row in rest) for name in ("cpu_seconds", "share"))
        lines.append(f"{f'{len(rest)} others':<{width}}{'':>9}{seconds:>10.2f}{share:>8.1%}")
    whole = sum(row["cpu_seconds"] for row in rows)
    return "\n".join([*lines, f"{'all, the start of workers aside':<{width}}{'':>9}{whole:>10.2f}"])
