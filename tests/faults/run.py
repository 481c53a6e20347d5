"""Inject every fault at twenty random moments, read 100,000 damaged files: `make faults`.

All kinds of faults are injected at the same time, because most of them wait for long.

PYTHONPATH=tests python -m faults.run             all
PYTHONPATH=tests python -m faults.run stores      one kind of faults (see KINDS), or reading
PYTHONPATH=tests python -m faults.run --write     and write the table into docs/reliability.md
"""

from __future__ import annotations

import argparse
import contextlib
import io
import multiprocessing
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

from faults import common, loads, processes, stores, surroundings
from faults.common import environment

PAGE = common.REPOSITORY / "docs" / "reliability.md"
BEGIN, END = "<!-- measured: make faults -->", "<!-- end of what was measured -->"
KINDS: dict[str, Callable[[common.Place], Iterator[common.Row]]] = {
    "stores": stores.every,
    "processes": processes.every,
    "dask": partial(processes.on_cluster, engine="dask"),
    "ray": partial(processes.on_cluster, engine="ray"),
    "surroundings": surroundings.every,
    "loads": loads.every,
}
REPS, INPUTS = 250, 100_000


def start_reading() -> list[subprocess.Popen]:
    """Start `reading` in two processes."""
    return [
        subprocess.Popen(
            [sys.executable, "-m", "faults.reading", str(INPUTS // 2), str(seed)],
            stdout=subprocess.PIPE,
            text=True,
            env=environment(),
        )
        for seed in (1, 2)
    ]


def injected(kind: str) -> list[common.Row]:
    """Inject the faults of a kind, and print each row as soon as it is measured."""
    rows: list[common.Row] = []
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        with contextlib.redirect_stderr(io.StringIO()):  # progress of the runs in this process
            place, began, used = common.Place(Path(folder), REPS), time.monotonic(), _cpu()
            for row in KINDS[kind](place):
                took = f"{time.monotonic() - began:,.0f} s, {_cpu() - used:,.0f} s of CPU"
                print("\n    ".join([f"{row.line()} {took}", *row.notes]), flush=True)
                rows.append(row)
                began, used = time.monotonic(), _cpu()
        os.chdir(common.REPOSITORY)
    return rows


def main(arguments: list[str]) -> int:
    """Inject and print the table. Return 1 if there is any defect."""
    parser = argparse.ArgumentParser(
        prog="python -m faults.run", description="Inject every fault at random moments."
    )
    names = [*KINDS, "reading"]
    parser.add_argument(
        "wanted", nargs="*", metavar="KIND", help=f"{', '.join(names)}; all if none is named"
    )
    parser.add_argument(
        "--write", action="store_true", help="write the table into docs/reliability.md"
    )
    options = parser.parse_args(arguments)
    if unknown := set(options.wanted) - set(names):
        parser.error(f"unknown kind {sorted(unknown)[0]!r}; there are {', '.join(names)}")
    wanted = options.wanted or names
    began, used = time.monotonic(), _cpu()
    os.environ["MPLBACKEND"] = "Agg"
    reading = start_reading() if "reading" in wanted else []
    with ProcessPoolExecutor(len(KINDS), multiprocessing.get_context("spawn")) as pool:
        of_kinds = list(pool.map(injected, [kind for kind in KINDS if kind in wanted]))
    rows = [row for rows in of_kinds for row in rows]
    lines = [
        "| " + " | ".join(common.TITLE) + " |",
        "|---" * len(common.TITLE) + "|",
        *(row.line() for row in rows),
    ]
    read = [line for each in reading for line in each.communicate()[0].splitlines()]
    fine = not any(sum(row.counts) for row in rows) and not any(each.wait() for each in reading)
    took = (
        f"Measured on {time.strftime('%Y-%m-%d')} by `make faults`, "
        f"Python {platform.python_version()}, {os.cpu_count()} cores, "
        f"load {os.getloadavg()[1]:.1f}: {_cpu() - used:,.0f} s of CPU, "
        f"{time.monotonic() - began:,.0f} s in all."
    )
    print("\n".join([*lines, *read, took]))
    if options.write:
        text = PAGE.read_text()
        head, tail = text.partition(BEGIN)[0], text.partition(END)[2]
        parts = [
            BEGIN,
            "",
            *lines,
            "",
            took,
            *(["", "```text", *read, "```"] if read else []),
            "",
            END,
        ]
        PAGE.write_text(head + "\n".join(parts) + tail)
    return int(not fine)


def _cpu() -> float:
    both = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in both)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
