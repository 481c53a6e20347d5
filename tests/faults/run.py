"""Inject all faults at random moments: `make faults`.

The groups of faults run at the same time, because most of them wait for long.

PYTHONPATH=tests python -m faults.run             all
PYTHONPATH=tests python -m faults.run stores      one group of faults (see GROUPS)
PYTHONPATH=tests python -m faults.run --write     and write the table into docs/reliability.md
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import multiprocessing
import os
import platform
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

from faults import estimators, injections
from faults.common import REPOSITORY, Place, Row, table
from faults.injections import Fault

from harness.execute.engines import PACKAGES
from harness.records.provenance import git_state

PAGE = REPOSITORY / "docs" / "reliability.md"
BEGIN, END = "<!-- measured: make faults -->", "<!-- end of what was measured -->"
TIMES, ON_CLUSTERS = 20, 3  # injections of each fault: on this machine's processes, on Dask and Ray
REPS = 100  # replications of the disturbed run, which has four cells for each


def _inject_each(
    faults: Iterable[Fault], place: Place, times: int = TIMES, engine: str = "loky"
) -> Iterator[Row]:
    for fault in faults:
        yield injections.inject(place, fault, times, engine)


def _on_cluster(place: Place, engine: str) -> Iterator[Row]:
    for fault in injections.RUNS:
        yield injections.inject(place, fault, ON_CLUSTERS, engine)
    yield from estimators.run_estimators(place, ON_CLUSTERS, engine)


def _many_cells(place: Place) -> Iterator[Row]:
    yield estimators.compute_many_cells(place)


GROUPS: dict[str, Callable[[Place], Iterable[Row]]] = {
    "runs": partial(_inject_each, injections.RUNS),
    "estimators": partial(estimators.run_estimators, times=TIMES),
    "stores": partial(_inject_each, injections.STORES),
    "dask": partial(_on_cluster, engine="dask"),
    "ray": partial(_on_cluster, engine="ray"),
    "hosts": partial(_inject_each, injections.HOSTS, times=ON_CLUSTERS, engine="dask"),
    "cells": _many_cells,
}
NEEDS = {"dask": PACKAGES["dask"], "ray": PACKAGES["ray"], "hosts": PACKAGES["dask"]}


def inject_group(name: str) -> list[Row]:
    """Inject the faults of a group, and print each row as soon as it is measured."""
    if name in NEEDS and importlib.util.find_spec(NEEDS[name]) is None:
        print(f"{name}: not injected, because {NEEDS[name]} is not installed", flush=True)
        return []
    rows: list[Row] = []
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        place, began = Place(Path(folder), REPS), time.monotonic()
        for row in GROUPS[name](place):
            took = f"{row.injected} injected, {time.monotonic() - began:,.0f} s"
            text = f"{row.fault} on {row.engine}: {took}, defects {row.defects}"
            print("\n    ".join([text, *row.notes]), flush=True)
            rows.append(row)
            began = time.monotonic()
    return rows


def main(arguments: list[str]) -> int:
    """Inject and print the table. Return 1 if there is any defect."""
    parser = argparse.ArgumentParser(prog="python -m faults.run", description=__doc__)
    parser.add_argument("groups", nargs="*", metavar="GROUP", help=", ".join(GROUPS))
    parser.add_argument("--write", action="store_true", help=f"write the table into {PAGE.name}")
    options = parser.parse_args(arguments)
    if unknown := set(options.groups) - set(GROUPS):
        parser.error(f"unknown group {sorted(unknown)[0]!r}; there are {', '.join(GROUPS)}")
    began = time.monotonic()
    groups = [name for name in GROUPS if name in (options.groups or GROUPS)]
    with ProcessPoolExecutor(len(groups), multiprocessing.get_context("spawn")) as pool:
        rows = [row for rows in pool.map(inject_group, groups) for row in rows]
    usage = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    took = (
        f"Measured on `{git_state().get('commit', '')[:8]}` ({time.strftime('%Y-%m-%d')}) by "
        f"`make faults`, Python {platform.python_version()}, {os.cpu_count()} cores, "
        f"load {os.getloadavg()[2]:.1f}: "
        f"{sum(each.ru_utime + each.ru_stime for each in usage):,.0f} s of CPU, "
        f"{(time.monotonic() - began) / 60:,.0f} minutes."
    )
    lines = [*table(rows), "", took]
    print("\n".join(lines))
    if options.write:
        text = PAGE.read_text()
        head, tail = text.partition(BEGIN)[0], text.partition(END)[2]
        PAGE.write_text("\n".join([head + BEGIN, "", *lines, "", END + tail]))
    return int(any(sum(row.defects) for row in rows))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
