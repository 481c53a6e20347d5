"""What runs in the processes of `supervise.Child`: one that forks, and the computing processes that it forks."""

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

import pandas  # noqa: F401  pyarrow imports it with the first array; here, once for all that are forked
import pyarrow.parquet  # noqa: F401

from harness.common.escaping import message_of
from harness.common.user_code import ours
from harness.execute import chunk, supervise, truths  # noqa: F401  imported once for all that are forked

HEADROOM_MB = 2048.0  # beyond max_memory: what a process may reserve, so that one giant array is refused at once
_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of Linux


def main(pipe: int, notes: int, parent: int) -> None:
    """Fork one computing process after another, and report how each ended."""
    end_with(parent)
    if os.environ.get("PYTHONSAFEPATH") == supervise.OURS:
        del os.environ["PYTHONSAFEPATH"]
    connection, here = Connection(pipe), os.getpid()
    supervise.note_in(notes)
    with contextlib.suppress(OSError):  # nobody listens any more
        while True:
            with warnings.catch_warnings():
                warnings.simplefilter(
                    "ignore", DeprecationWarning
                )  # of a thread of pyarrow's allocator, which minds forks
                process = os.fork()
            if not process:
                _serve(connection, here)
            connection.send(("ended", os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])))


def end_with(parent: int) -> None:
    """End this process when its parent ends (on Linux; elsewhere it ends when it next looks for work)."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None, use_errno=True).prctl(_DEATH_SIGNAL, signal.SIGKILL)
    if os.getppid() != parent:  # it went before this was asked for
        os._exit(1)


def _serve(pipe: Connection, parent: int) -> NoReturn:
    """Answer calls until the pipe is closed or this process is interrupted."""
    os.setsid()
    signal.pthread_sigmask(
        signal.SIG_UNBLOCK, (signal.SIGINT, signal.SIGTERM)
    )  # blocked in workers of Ray, and so inherited
    end_with(parent)
    signal.signal(
        signal.SIGINT, signal.default_int_handler
    )  # ignored where tests run in the background
    signal.signal(signal.SIGTERM, supervise.terminated)
    code = 1
    try:
        pipe.send(("began", os.getpid()))
        while True:
            number, function, argument, surroundings, megabytes = pipe.recv()
            _enter(*surroundings)
            _limit_memory(megabytes)
            kind, content = _call(function, argument)
            pipe.send((kind, number, content))
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
        given = pickle.loads(argument)
        supervise.note(0, True, 0)
        return "returned", getattr(importlib.import_module(module), name)(given)
    except Exception as error:
        kind = type(error).__module__
        if ours(kind) or kind in sys.stdlib_module_names:
            return "raised", error
        return "raised", RuntimeError(
            f"{type(error).__name__}: {message_of(error)}"
        )  # it can be unpickled anywhere


def _enter(path: list[str], folder: str | None, environment: dict[str, str] | None) -> None:
    """Change to the module path, the working folder and the environment of the driver."""
    sys.path[:] = [*path, *(place for place in sys.path if place not in path)]
    if folder is not None:
        with contextlib.suppress(OSError):
            os.chdir(folder)
    if environment is not None:
        os.environ.clear()
        os.environ.update(environment | supervise.ONE_THREAD)


def _limit_memory(megabytes: float) -> None:
    """Refuse what would make this process much larger than `megabytes` in one step (a MemoryError)."""
    if megabytes < float("inf"):
        with contextlib.suppress(ValueError, OSError):
            hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
            wanted = int((megabytes + HEADROOM_MB) * 2**20)
            resource.setrlimit(
                resource.RLIMIT_DATA, (wanted if hard < 0 else min(wanted, hard), hard)
            )
