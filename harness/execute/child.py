"""Code that runs inside the two processes of `processes.Child`.

The forking process imports the harness once. It forks a computing process, which runs cells, and
forks the next one when the computing process has ended.

Faults that need this: an estimator crashes, exits, or asks for far too large an array. It leaves
processes behind, such as those of a pool. The driver is killed, and its processes must end.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import importlib
import os
import pickle
import resource
import signal
import sys
import warnings
from multiprocessing.connection import Connection
from typing import Any, NoReturn

import pandas  # noqa: F401  imported here, so that forked processes need not import it again
import pyarrow.parquet  # noqa: F401

from harness.common.escaping import error_message, escape
from harness.common.user_code import is_ours
from harness.execute import chunk, isolation, processes, stops, truths  # noqa: F401

# MB beyond max_memory that a process may reserve. A single array beyond that raises MemoryError at
# once. Slow growth is stopped earlier, because the supervisor watches the resident memory.
HEADROOM_MB = 2048.0
_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of Linux's prctl
# Errors of the operating system that come from limits of this process, which an estimator may have
# lowered. Others come from the store of the records, and concern the whole run.
_OF_LIMITS = {errno.EFBIG, errno.EMFILE, errno.ENOMEM, errno.EAGAIN}


def main(pipe: int, notes: int, parent: int) -> None:
    """Fork computing processes, one after another, and report to the supervisor how each ended.

    Parameters
    ----------
    pipe : int
        Descriptor of the pipe to the supervisor.
    notes : int
        Descriptor of the file in which a computing process notes its progress.
    parent : int
        Id of the supervising process. This process ends when the parent does.
    """
    isolation.adopt_orphans()
    signal.signal(signal.SIGTERM, _end_all)
    end_with(parent, signal.SIGTERM)
    for descriptor in (pipe, notes):  # programs that an estimator starts must not hold them
        os.set_inheritable(descriptor, False)
    if os.environ.get("PYTHONSAFEPATH") == processes.OURS:
        del os.environ["PYTHONSAFEPATH"]
    connection, here = Connection(pipe), os.getpid()
    processes.note_in(notes)
    with contextlib.suppress(OSError):  # the supervisor has closed the pipe
        while True:
            with warnings.catch_warnings():
                # Python warns of forks while threads run. The thread of pyarrow's allocator is
                # harmless.
                warnings.simplefilter("ignore", DeprecationWarning)
                process = os.fork()
            if not process:
                _serve(connection, here)
            ended = 0
            while ended != process:  # adopted orphans end here, too
                ended, status = os.wait()
            isolation.end_children()
            connection.send(("ended", os.waitstatus_to_exitcode(status)))


def _end_all(signum: int, frame: Any) -> NoReturn:
    """Handle the end of the supervisor: end the computing process and all that it has started."""
    isolation.end_children()
    os._exit(1)


def end_with(parent: int, number: int = signal.SIGKILL) -> None:
    """Ask the system to send this process the signal `number` when its parent ends.

    This works on Linux. Elsewhere, the process ends when it next waits for a call.
    """
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None, use_errno=True).prctl(_DEATH_SIGNAL, number)
    if os.getppid() != parent:  # the parent ended before the signal was set
        os._exit(1)


def _serve(pipe: Connection, parent: int) -> NoReturn:
    """Run the calls that the supervisor sends, until the pipe is closed or SIGINT arrives.

    If anything fails between two calls, for example because an alarm of an estimator rings, this
    process sends the error and ends. The next one is forked.
    """
    os.setsid()
    # Workers of Ray block both signals, and child processes inherit this.
    signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGINT, signal.SIGTERM))
    end_with(parent)
    # Shells make background processes ignore SIGINT, and child processes inherit this.
    signal.signal(signal.SIGINT, stops.handle)
    signal.signal(signal.SIGTERM, stops.handle)
    try:
        pipe.send(("began", os.getpid()))
        while True:
            function, argument, surroundings, megabytes = pipe.recv()
            _enter(*surroundings)
            _limit_memory(megabytes)
            pipe.send(_call(function, argument))
    except BaseException as error:
        if stops.received:
            _die_of(stops.received[-1])
        # The pipe is closed if the supervisor has ended, or if an estimator has closed it.
        with contextlib.suppress(BaseException):
            pipe.send(("raised", _portable(error)))
    finally:
        with contextlib.suppress(BaseException):
            sys.stderr.flush()
        os._exit(1)


def _die_of(number: int) -> None:
    """End this process by a signal, so that its supervisor sees the reason."""
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


def _call(function: str, argument: bytes) -> tuple[str, Any]:
    """Call "module:function" with a pickled argument.

    Return ("returned", value), or ("raised", error) if the function raised an error.
    """
    module, _, name = function.partition(":")
    try:
        value = pickle.loads(argument)
        processes.note(0, True, 0)
        return "returned", getattr(importlib.import_module(module), name)(value)
    except BaseException as error:
        if stops.received:
            raise
        return "raised", _portable(error)


def _portable(error: BaseException) -> Exception:
    """Return an error as the supervisor may get it: ours, one of the store, or else its text."""
    if isinstance(error, Exception) and is_ours(type(error).__module__):
        return error
    if isinstance(error, OSError) and error.errno not in _OF_LIMITS:
        if error.errno is None:
            return OSError(error_message(error))
        return OSError(error.errno, error.strerror, error.filename, None, error.filename2)
    return processes.FailedError(f"{escape(type(error).__name__)}: {error_message(error)}")


def _enter(path: list[str], folder: str | None, environment: dict[str, str] | None) -> None:
    """Take over the module path, working folder and environment of the process that runs the plan.

    None for `folder` or `environment` leaves it unchanged.
    """
    sys.path[:] = [*path, *(place for place in sys.path if place not in path)]
    if folder is not None:
        with contextlib.suppress(OSError):
            os.chdir(folder)
    if environment is not None:
        os.environ.clear()
        os.environ.update(environment | processes.ONE_THREAD)


def _limit_memory(megabytes: float) -> None:
    """Limit the memory of this process, so that one allocation far too large raises MemoryError.

    `megabytes` is the limit of resident memory; allocations may exceed it by HEADROOM_MB.
    """
    if megabytes < float("inf"):
        with contextlib.suppress(ValueError, OSError):
            hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
            soft = int((megabytes + HEADROOM_MB) * 2**20)
            soft = soft if hard < 0 else min(soft, hard)
            resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))
