"""Undo what a user's estimator did to the process that computed it, and to the system.

An estimator can start processes that leave its session, lower the limits of its process, or delete
the working folder. Each is undone after the cell, so that it costs no other cell.
"""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import os
import resource
import signal
from pathlib import Path
from typing import NamedTuple

_ADOPT_ORPHANS = 36  # PR_SET_CHILD_SUBREAPER of Linux's prctl
_LIMITS = (resource.RLIMIT_FSIZE, resource.RLIMIT_NOFILE)  # limits that writing a record needs


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


def end_detached() -> None:
    """Kill processes that an estimator has detached from the computing process, which calls this.

    These are children in a session of their own, and orphans, which the forking process has
    adopted. Other children, such as the workers of a pool, may serve the next cell.
    """
    here, parent = os.getpid(), os.getppid()
    orphans = [child for child in _children(parent) if child != here]
    for process in [*orphans, *filter(_has_left_session, _children(here))]:
        # The process alone would leave orphans, which are adopted some time later.
        for each in with_descendants(process):
            with contextlib.suppress(OSError):
                os.kill(each, signal.SIGKILL)


def with_descendants(process: int) -> list[int]:
    """Return the ids of a process and of all its descendants (only its own id except on Linux)."""
    family = [with_descendants(child) for child in _children(process)]
    return [process, *itertools.chain.from_iterable(family)]


def _children(process: int) -> list[int]:
    children: list[int] = []
    with contextlib.suppress(OSError):
        for thread in os.listdir(tasks := f"/proc/{process}/task"):
            with contextlib.suppress(OSError):  # the thread has ended
                children += map(int, Path(f"{tasks}/{thread}/children").read_text().split())
    return children


def _has_left_session(process: int) -> bool:
    with contextlib.suppress(OSError):
        return os.getsid(process) != os.getsid(0)
    return False


class Footing(NamedTuple):
    """Properties of a process without which it cannot write records.

    folder  working folder, or None if it is gone
    mask    permissions that new files do not get (umask)
    limits  pairs (soft, hard) of the resource limits in _LIMITS
    """

    folder: str | None
    mask: int
    limits: tuple[tuple[int, int], ...]

    @classmethod
    def read(cls) -> Footing:
        """Return the properties of this process."""
        folder = None
        with contextlib.suppress(OSError):
            folder = os.getcwd()
        os.umask(mask := os.umask(0o077))
        return cls(folder, mask, tuple(map(resource.getrlimit, _LIMITS)))

    def restore(self) -> str | None:
        """Restore the properties. Return the reason in words if a limit cannot be restored."""
        os.umask(self.mask)
        if self.folder is not None:
            with contextlib.suppress(OSError):  # the folder was deleted
                os.chdir(self.folder)
        for which, limits in zip(_LIMITS, self.limits):
            if resource.getrlimit(which) != limits:
                try:
                    resource.setrlimit(which, limits)
                except (OSError, ValueError):  # only root may raise a hard limit
                    return "lowered a limit of its process, which can then write no more records"
        return None
