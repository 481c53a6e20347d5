"""End the processes that an estimator has started, and spare the next cell what it left behind.

Faults that need this: an estimator uses a pool of processes that it never closes, sets an alarm as
its own time limit and does not cancel it, or changes the working folder.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
from pathlib import Path

_ADOPT_ORPHANS = 36  # PR_SET_CHILD_SUBREAPER of Linux's prctl


def adopt_orphans() -> None:
    """Become the parent of all descendants whose own parent ends (on Linux)."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_ADOPT_ORPHANS, 1)


def end_children() -> None:
    """Kill all children of this process, and their children, which it adopts as they die."""
    while children := _children(os.getpid()):
        for child in children:
            with contextlib.suppress(OSError):
                os.kill(child, signal.SIGKILL)
        for child in children:
            with contextlib.suppress(OSError):
                os.waitpid(child, 0)


def _children(process: int) -> list[int]:
    children: list[int] = []
    with contextlib.suppress(OSError):
        for thread in os.listdir(tasks := f"/proc/{process}/task"):
            with contextlib.suppress(OSError):  # the thread has ended
                children += map(int, Path(f"{tasks}/{thread}/children").read_text().split())
    return children


def working_folder() -> str | None:
    """Return the working folder of this process, or None if it was deleted."""
    with contextlib.suppress(OSError):
        return os.getcwd()
    return None


def tidy(folder: str | None) -> None:
    """Spare the next cell two things that an estimator may leave behind: an alarm, and a folder.

    This is a convenience. A process that goes wrong in spite of it is replaced
    (`supervise.compute`).
    """
    signal.setitimer(signal.ITIMER_REAL, 0.0)
    if folder is not None:
        with contextlib.suppress(OSError):  # the folder was deleted
            os.chdir(folder)
