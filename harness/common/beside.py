"""A second processor for what does not depend on the next step: a copy of this process computes it."""

from __future__ import annotations

import contextlib
import os
import pickle
import select
import signal
import sys
import threading
import time
import weakref
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
WITHIN = 60.0  # seconds for a copy, which may have been made while a lock was held that nobody opens there


def beside(function: Callable[[], T]) -> Callable[[], T]:
    """Begin with `function` in a copy of this process; what is returned waits for its result, which can be pickled.

    Nothing but the result comes back: a file that the function writes stays, other changes are the copy's alone. Where there is
    no second processor, or the copy gives no result, also as it raises something, the function is called here.
    """
    if not _can():
        return function
    reads, writes = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    parent = os.getpid()
    process = os.fork()
    if not process:
        _copy(function, reads, writes, parent)
    os.close(writes)

    def result() -> T:
        try:
            content = _read(reads)
        finally:
            end()
        try:
            found: T = pickle.loads(content)
            return found
        except (EOFError, pickle.UnpicklingError):
            return function()

    end = weakref.finalize(result, _end, reads, process, parent)  # also where nobody asks, as something else went wrong
    return result


def _end(reads: int, process: int, parent: int) -> None:
    """Leave nothing of a copy behind."""
    if os.getpid() != parent:  # in another copy
        return
    os.close(reads)
    with contextlib.suppress(OSError):
        os.kill(process, signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):  # where SIGCHLD is ignored, as some that start programs do
        os.waitpid(process, 0)


def _can() -> bool:
    in_main = threading.current_thread() is threading.main_thread()
    return sys.platform == "linux" and in_main and len(os.sched_getaffinity(0)) > 1


def _copy(function: Callable[[], object], reads: int, writes: int, parent: int) -> None:
    """In the copy: send the result, or nothing."""
    from harness.runs import guard

    code = 1
    try:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        guard.end_with(parent)
        os.close(reads)
        content = pickle.dumps(function())
        with open(writes, "wb") as file:
            file.write(content)
        code = 0
    finally:
        os._exit(code)


def _read(pipe: int) -> bytes:
    """All that comes through a pipe until it is closed, nothing where that takes too long."""
    end = time.monotonic() + WITHIN
    found: list[bytes] = []
    while (left := end - time.monotonic()) > 0:
        if select.select([pipe], [], [], left)[0]:
            content = os.read(pipe, 2**20)
            if not content:
                return b"".join(found)
            found.append(content)
    return b""
