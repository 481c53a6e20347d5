"""`calharness status`: print which cells a folder of results contains, and which are to do."""

from __future__ import annotations

import sys
import time
from typing import Annotated

import typer

from harness.commands.base import OutFolder, results_folder

CLEAR = "\033[H\033[2J\033[3J"  # control codes that clear a terminal


def command(
    words: OutFolder = None,
    watched: Annotated[
        bool,
        typer.Option(
            "--watch",
            help="Print them again when they change, until nothing is to do. An empty folder waits "
            "for its first run.",
        ),
    ] = False,
) -> int:
    """Print the numbers of cells by estimator, problem and state, and the latest runs.

    \b
    calharness status
    calharness status out=/scratch/results --watch

    Cells are to do if the latest run of an experiment has planned and not recorded them. The folder
    is out=DIR, else CALHARNESS_OUT, else results/. Ctrl-C ends --watch, and no run.
    """
    from harness.workflow.status import status_text, watch

    out = results_folder("status", words or [])
    if not watched:
        print(status_text(out))
        return 0
    try:
        watch(out, _show)
        print("\nnothing is to do, so --watch ends")
    except KeyboardInterrupt:
        print("no longer watching; the runs go on")
    return 0


def _show(text: str) -> None:
    """Print a text and the time, on a terminal in place of the text before."""
    if sys.__stdout__ is not None and sys.stdout.isatty():
        sys.__stdout__.write(CLEAR)
        sys.__stdout__.flush()
    print(f"\n{time.strftime('%H:%M:%S')}  {text}", flush=True)
