"""Interruptions of a run by SIGINT (Ctrl-C) and SIGTERM (schedulers): handlers and errors.

Faults that need this: a run is interrupted while Python imports a module or builds a class, or
while it starts the processes of a cluster, or in a destructor, where Python ignores errors. An
estimator raises KeyboardInterrupt itself.
"""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
from collections.abc import Iterator
from typing import Any, NoReturn

# Signals that the handlers below have received in this process, in their order. An interruption may
# arrive as another error: Python turns one that comes while a class is built into a RuntimeError.
received: list[int] = []


class StoppedError(KeyboardInterrupt):
    """Interruption by SIGINT: Ctrl-C, or the supervisor of a computing process stops it."""


class TerminatedError(KeyboardInterrupt):
    """Interruption by SIGTERM, for example from a job scheduler.

    It is handled like Ctrl-C, but the exit status is 143.
    """


class RunInterruptedError(Exception):
    """Error for a run that was stopped by Ctrl-C or, if `terminated` is True, by SIGTERM.

    Finished cells are recorded.
    """

    def __init__(self, message: str, terminated: bool = False):
        super().__init__(message)
        self.terminated = terminated


def handle(signum: int, frame: Any) -> NoReturn:
    """Handle SIGINT or SIGTERM by raising the interruption of this signal."""
    received.append(signum)
    raise interruption(None)


def interruption(error: BaseException | None) -> BaseException:
    """Return the interruption that `error` stands for: itself, or the one of the last signal."""
    if isinstance(error, (KeyboardInterrupt, RunInterruptedError)):
        return error
    return TerminatedError() if received[-1] == signal.SIGTERM else StoppedError()


def show_ignored(error: sys.UnraisableHookArgs) -> None:
    """Print an error that Python ignores, as in a destructor, unless it is an interruption.

    A run looks at `received` after every answer, so such an interruption is not lost.
    """
    if not isinstance(error.exc_value, KeyboardInterrupt):
        sys.__unraisablehook__(error)


@contextlib.contextmanager
def ignored_interrupts() -> Iterator[None]:
    """Ignore SIGINT inside the block, and in processes that the block starts.

    This has an effect in the main thread only.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handler = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
