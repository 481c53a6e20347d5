"""Processes of `processes.Child`: the one that forks, and the computing processes that it forks."""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import os
import pickle
import resource
import signal
import sys
import traceback
import warnings
from multiprocessing.connection import Connection
from typing import Any, NoReturn

import pandas  # noqa: F401  imported once, for all processes that are forked
import pyarrow.parquet  # noqa: F401

from harness.common.escaping import error_message
from harness.common.user_code import is_ours
from harness.execute import chunk, processes, truths  # noqa: F401

# MB beyond max_memory that a process may reserve: one giant array is refused at once, while slow
# growth is stopped by the resident memory
HEADROOM_MB = 2048.0
_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of Linux


def main(pipe: int, notes: int, parent: int) -> None:
    """Fork one computing process after another, and report how each ended."""
    end_with(parent)
    if os.environ.get("PYTHONSAFEPATH") == processes.OURS:
        del os.environ["PYTHONSAFEPATH"]
    connection, here = Connection(pipe), os.getpid()
    processes.note_in(notes)
    with contextlib.suppress(OSError):  # the supervisor has closed the pipe
        while True:
            with warnings.catch_warnings():
                # Python warns of forks with threads; that of pyarrow's allocator is harmless
                warnings.simplefilter("ignore", DeprecationWarning)
                process = os.fork()
            if not process:
                _serve(connection, here)
            connection.send(("ended", os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])))


def end_with(parent: int) -> None:
    """End this process with its parent (on Linux; elsewhere when it next waits for a call)."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None, use_errno=True).prctl(_DEATH_SIGNAL, signal.SIGKILL)
    if os.getppid() != parent:  # the parent ended before the signal was set
        os._exit(1)


def _serve(pipe: Connection, parent: int) -> NoReturn:
    """Answer calls until the pipe is closed or this process is interrupted."""
    os.setsid()
    # workers of Ray block both signals, and children inherit that
    signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGINT, signal.SIGTERM))
    end_with(parent)
    # shells ignore SIGINT for background processes, and children inherit that
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, processes.terminated)
    code = 1
    try:
        pipe.send(("began", os.getpid()))
        while True:
            function, argument, surroundings, megabytes = pipe.recv()
            _enter(*surroundings)
            _limit_memory(megabytes)
            pipe.send(_call(function, argument))
    except (KeyboardInterrupt, EOFError, ConnectionError):
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def _call(function: str, argument: bytes) -> tuple[str, Any]:
    """Return ("returned", value) or ("raised", error)."""
    module, _, name = function.partition(":")
    try:
        value = pickle.loads(argument)
        processes.note(0, True, 0)
        return "returned", getattr(importlib.import_module(module), name)(value)
    except Exception as error:
        kind = type(error).__module__
        if is_ours(kind) or kind in sys.stdlib_module_names:
            return "raised", error
        # the class of the error may not exist in the supervisor
        return "raised", RuntimeError(f"{type(error).__name__}: {error_message(error)}")


def _enter(path: list[str], folder: str | None, environment: dict[str, str] | None) -> None:
    """Change to the module path, the working folder and the environment of the driver."""
    sys.path[:] = [*path, *(place for place in sys.path if place not in path)]
    if folder is not None:
        with contextlib.suppress(OSError):
            os.chdir(folder)
    if environment is not None:
        os.environ.clear()
        os.environ.update(environment | processes.ONE_THREAD)


def _limit_memory(megabytes: float) -> None:
    """Raise MemoryError in this process for one allocation far beyond `megabytes`."""
    if megabytes < float("inf"):
        with contextlib.suppress(ValueError, OSError):
            hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
            soft = int((megabytes + HEADROOM_MB) * 2**20)
            soft = soft if hard < 0 else min(soft, hard)
            resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))
