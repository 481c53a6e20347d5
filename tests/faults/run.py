"""Inject every fault at twenty random moments, read 100,000 damaged files: `make faults`.

PYTHONPATH=tests python -m faults.run             all
PYTHONPATH=tests python -m faults.run stores      one of stores, processes, reading
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
from pathlib import Path

from faults import common, processes, stores
from faults.common import environment

TITLE = (
    "fault",
    "injected",
    "records lost",
    "doubled",
    "wrong",
    "messages that are no single sentence",
)
PAGE = common.REPOSITORY / "docs" / "reliability.md"
BEGIN, END = "<!-- measured: make faults -->", "<!-- end of what was measured -->"
KINDS = ("stores", "processes", "reading")
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


def main(arguments: list[str]) -> int:
    """Inject and print the table. Return 1 if anything was lost, doubled, wrong or unclear."""
    parser = argparse.ArgumentParser(
        prog="python -m faults.run", description="Inject every fault at random moments."
    )
    parser.add_argument(
        "wanted",
        nargs="*",
        metavar="KIND",
        help="stores, processes or reading; all three if none is named",
    )
    parser.add_argument(
        "--write", action="store_true", help="write the table into docs/reliability.md"
    )
    options = parser.parse_args(arguments)
    if unknown := set(options.wanted) - set(KINDS):
        parser.error(f"unknown kind {sorted(unknown)[0]!r}; there are {', '.join(KINDS)}")
    wanted = options.wanted or KINDS
    began, used = time.monotonic(), _cpu()
    os.environ["MPLBACKEND"] = "Agg"
    rows: list[common.Row] = []
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        with contextlib.redirect_stderr(io.StringIO()):  # progress of the runs in this process
            place = common.Place(Path(folder), REPS)
            for module in (stores, processes):
                if module.__name__.rpartition(".")[2] in wanted:
                    rows += module.every(place)
        os.chdir(common.REPOSITORY)
    lines = [
        "| " + " | ".join(TITLE) + " |",
        "|---" * len(TITLE) + "|",
        *("| " + " | ".join(row.cells()) + " |" for row in rows),
    ]
    fine = not any(row.lost or row.doubled or row.wrong or row.unclear for row in rows)
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
    print(
        "\n".join(
            [*lines, *(f"{row.fault}: {note}" for row in rows for note in row.notes), *read, took]
        )
    )
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
