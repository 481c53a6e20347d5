"""Inject every fault at twenty random moments, read 100,000 damaged files: `make faults`.

PYTHONPATH=tests python -m faults.run             all
PYTHONPATH=tests python -m faults.run stores      one kind of faults (see KINDS), or reading
PYTHONPATH=tests python -m faults.run --write     and write the table into docs/reliability.md
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from faults import common, loads, processes, stores, surroundings
from faults.common import environment

PAGE = common.REPOSITORY / "docs" / "reliability.md"
BEGIN, END = "<!-- measured: make faults -->", "<!-- end of what was measured -->"
KINDS: dict[str, Callable[[common.Place], Iterator[common.Row]]] = {
    "stores": stores.every,
    "processes": processes.every,
    "clusters": processes.on_clusters,
    "surroundings": surroundings.every,
    "loads": loads.every,
}
REPS, INPUTS = 250, 100_000


def searched() -> tuple[list[str], bool]:
    """Run `reading` in two processes. Return their lines, and True if there are no findings."""
    halves = [
        subprocess.Popen(
            [sys.executable, "-m", "faults.reading", str(INPUTS // 2), str(seed)],
            stdout=subprocess.PIPE,
            text=True,
            env=environment(),
        )
        for seed in (1, 2)
    ]
    texts = [process.communicate()[0] for process in halves]
    return [line for text in texts for line in text.splitlines()], not any(
        process.returncode for process in halves
    )


def injected(kinds: list[str]) -> list[common.Row]:
    """Inject the faults of these kinds, and print each row as soon as it is measured."""
    rows: list[common.Row] = []
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        with contextlib.redirect_stderr(io.StringIO()):  # progress of the runs in this process
            place, began = common.Place(Path(folder), REPS), time.monotonic()
            for kind in kinds:
                for row in KINDS[kind](place):
                    print(row.line(), f"{time.monotonic() - began:,.0f} s", flush=True)
                    for note in row.notes:
                        print(f"    {note}", flush=True)
                    rows.append(row)
                    began = time.monotonic()
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
    rows = injected([kind for kind in KINDS if kind in wanted])
    lines = [
        "| " + " | ".join(common.TITLE) + " |",
        "|---" * len(common.TITLE) + "|",
        *(row.line() for row in rows),
    ]
    fine = not any(sum(row.counts) for row in rows)
    read: list[str] = []
    if "reading" in wanted:
        read, sound = searched()
        fine &= sound
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
