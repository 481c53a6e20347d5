"""Measure the share of two workers' time that goes into cells, by engine.

    python benchmarks/engines.py [ENGINE ...]      default: all installed engines

A cell uses a processor for 10 ms or 100 ms in a worker process of this machine. The columns come
from the records of a run:

    busy         sum over cells of their wall seconds
                 / (workers x (end of the last cell - begin of the first cell))
    efficiency   busy, divided by busy of engine=serial
    start        seconds from the call to the first cell, for example to start a cluster

`busy` is 1 if no worker waits, draws samples or writes records. engine=serial also draws samples
and writes records, so the efficiency leaves this work out. The wall seconds of a cell include time
that other programs of a busy machine took; this affects both sums.
"""

import importlib.util
import os
import sys
import tempfile
import time
from pathlib import Path

os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")

import harness  # noqa: E402
from harness.configure.addresses import ENGINES  # noqa: E402
from harness.execute import engines  # noqa: E402
from harness.workflow.experiment import Experiment  # noqa: E402

WORKERS = 2
CELLS = {0.01: 1500, 0.1: 150}  # {seconds of a cell: number of cells}
BUSY = """
import time
def busy(p, y):
    end = time.process_time() + {}
    while time.process_time() < end:
        pass
    return 0.5
"""


def measure(engine: str, seconds: float, folder: Path) -> dict[str, float]:
    """Run cells of `seconds` each on one engine, and return the columns of the table."""
    name = f"busy_{engine}_{round(seconds * 1000)}"
    (folder / f"{name}.py").write_text(BUSY.format(seconds))
    overrides = [
        "problem=beta_wavy",
        "n=20",
        f"reps={CELLS[seconds]}",
        "estimator=[]",
        f"+estimator.busy._target_={name}.busy",
    ]
    run = Experiment.of([*overrides, f"engine={engine}", f"jobs={WORKERS}", f"out={folder / name}"])
    workers = 1 if engine == "serial" else WORKERS
    called = time.time()
    run.compute(quiet=True)
    ended = time.time()
    frame = harness.load_records(folder / name).query("status == 'ok'")
    assert len(frame) == CELLS[seconds]
    begin, end = (frame["written"] - frame["seconds"]).min(), frame["written"].max()
    return {
        "busy": frame["seconds"].sum() / (workers * (end - begin)),
        "start": begin - called,
        "cells": end - begin,
        "whole": ended - called,
    }


def main(chosen: list[str]) -> None:
    installed = [
        e
        for e in ENGINES
        if e not in engines.PACKAGES or importlib.util.find_spec(engines.PACKAGES[e])
    ]
    with tempfile.TemporaryDirectory() as folder:
        sys.path.insert(0, folder)
        print(
            f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors, "
            f"{WORKERS} workers; wall seconds"
        )
        print(
            f"{'engine':<8}{'cell':>8}{'cells':>7}{'busy':>8}{'efficiency':>12}"
            f"{'start':>8}{'in cells':>10}{'whole':>8}"
        )
        alone: dict[float, float] = {}
        for engine in ["serial", *(e for e in chosen or installed if e != "serial")]:
            for seconds, cells in CELLS.items():
                times = measure(engine, seconds, Path(folder))
                efficiency = times["busy"] / alone.setdefault(seconds, times["busy"])
                print(
                    f"{engine:<8}{seconds * 1000:>5.0f} ms{cells:>7,}{times['busy']:>8.3f}"
                    f"{efficiency:>12.3f}{times['start']:>8.1f}{times['cells']:>10.1f}"
                    f"{times['whole']:>8.1f}",
                    flush=True,
                )


if __name__ == "__main__":
    main(sys.argv[1:])
