"""Control the processes that compute cells, from the supervising process.

A computing process notes its current cell in a file. The supervisor can read this note however the
process ends. Output of the process is shown on standard error, escaped and cut after some length.

Faults that need this: an estimator hangs, eats memory, prints without end, or prints codes that
change the terminal. It forks, and the copy would go on with the same cells.
"""

from __future__ import annotations

import codecs
import contextlib
import os
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from multiprocessing import Pipe
from pathlib import Path
from typing import Any, NamedTuple

from harness.common.escaping import escape
from harness.common.paths import PACKAGE
from harness.execute import stops

POLL_SECONDS = 0.25  # time between two looks at a computing process
STARTS_WITHIN = 120.0  # seconds allowed for imports, which take about 2 s on a quiet machine
WRITES_WITHIN = 5.0  # seconds allowed for an interrupted process to write its records
READS_WITHIN = 2.0  # seconds allowed for reading the output of a process that has ended
SHOWN_CHARACTERS = 10_000  # output that is shown of a process during one chunk
CUT = f"[output beyond {SHOWN_CHARACTERS:,} characters is not shown]"
OURS = "calharness"  # value of PYTHONSAFEPATH that marks it as set by the harness, not by the user
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
FRESH = object()  # owner of a computing process that has not run any code yet
_NOTE = struct.Struct("qqq")


class WorkerDiedError(Exception):
    """Error for worker processes that cannot start, were stopped, or were lost by a cluster.

    Their unfinished cells count as interrupted.
    """


class EndedError(Exception):
    """Error for a computing process that has ended.

    The message says how it ended. `limit` is the setting that it exceeded, such as cell_timeout, or
    None.
    """

    def __init__(self, reason: str, limit: str | None = None):
        super().__init__(reason)
        self.limit = limit


class FailedError(Exception):
    """Error for a computing process in which something failed outside of any cell.

    The message has the type and the message of that error, whose class may not exist here.
    """


@dataclass(frozen=True)
class Limits:
    """Limits of a cell: its wall-clock seconds, and the resident MB of its process."""

    seconds: float
    megabytes: float = float("inf")


class Note(NamedTuple):
    """Progress of a computing process.

    position      position of the current cell in the chunk, -1 before the first cell
    is_computing  True while the estimator runs, False while its sample is drawn
    recorded      number of cells whose records are already in a file
    """

    position: int = -1
    is_computing: int = False
    recorded: int = 0


_note_file: int | None = None


def note_in(file: int) -> None:
    """Make `note` write the progress of this process to an open file (a descriptor)."""
    global _note_file
    _note_file = file


def note(position: int, is_computing: bool, recorded: int) -> None:
    """Write the progress of this process (see `Note`), replacing the previous note."""
    if _note_file is not None:
        os.pwrite(_note_file, _NOTE.pack(position, is_computing, recorded), 0)


def is_stop(error: BaseException) -> bool:
    """Return True if an error during a cell comes from a signal, not from the estimator.

    In a computing process, an estimator's own KeyboardInterrupt stops no run.
    """
    is_interruption = isinstance(error, KeyboardInterrupt) and not is_supervised()
    return is_interruption or bool(stops.received)


def is_supervised() -> bool:
    """Return True in a computing process."""
    return _note_file is not None


class Child:
    """Handle of a forking process and of the computing process that it has forked last.

    On Linux, both processes end with the thread that created this object.
    """

    def __init__(self) -> None:
        self.pipe, other = Pipe()
        self.notes = tempfile.TemporaryFile(buffering=0)
        reads, writes = os.pipe()
        passed = other.fileno(), self.notes.fileno()
        code = (
            f"import sys; sys.path[:0] = [{str(PACKAGE.parent)!r}]; "
            "from harness.execute import child; "
            f"child.main({passed[0]}, {passed[1]}, {os.getpid()})"
        )
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-c", code],  # -P: never import from the working folder
            pass_fds=passed,
            stdin=subprocess.DEVNULL,
            stdout=writes,
            stderr=writes,
            start_new_session=True,
            env={**os.environ, **ONE_THREAD},
        )
        other.close()
        os.close(writes)
        self.output = Output(reads)
        self.computing = 0  # id of the computing process, or 0 while there is none
        self.owner: Hashable = FRESH  # owner of the code that the computing process has run

    def prepare_for(self, owner: Hashable) -> bool:
        """Make sure that the computing process has run no code of another owner.

        If it has, it is ended, and a new one is forked. Return False if the forking process has
        ended, so that this child cannot be used.
        """
        with contextlib.suppress(EndedError):
            while self.pipe.poll():  # the computing process may have ended since the last call
                self.receive(0)
        if self.owner not in (FRESH, owner):
            self.end()
        if self.owner not in (FRESH, owner) or self.process.poll() is not None:
            return False
        self.owner = owner
        return True

    def call(
        self,
        function: str,
        argument: bytes,
        surroundings: tuple[Any, ...],
        limits: Limits,
        is_stopped: Callable[[], bool],
    ) -> Any:
        """Call a function of the harness in the computing process, and return its value.

        Parameters
        ----------
        function : str
            The function, as "module:function".
        argument : bytes
            Its only argument, pickled.
        surroundings : tuple
            Module path, working folder and environment for the call (see
            `supervise.surroundings`).
        limits : Limits
            Limits of each cell.
        is_stopped : callable
            Function that returns True as soon as the call must be given up.

        Raises
        ------
        EndedError
            If the process ended, or exceeded a limit and was stopped. The method `noted` then tells
            which cell was running.
        WorkerDiedError
            If `is_stopped` returns True.
        FailedError
            If the function raised an error, except one of the harness, or of the operating system.
        """
        os.pwrite(self.notes.fileno(), _NOTE.pack(*Note()), 0)
        self.output.left = SHOWN_CHARACTERS
        try:
            self.pipe.send((function, argument, surroundings, limits.megabytes))
        except OSError:
            raise EndedError("closed the connection of its process to the harness") from None
        before, since = Note(), time.monotonic()
        while True:
            message = self.receive(POLL_SECONDS)
            if message is not None:
                kind, content = message
                if kind == "raised":
                    raise content
                return content
            if is_stopped():
                raise WorkerDiedError("the run was stopped")
            self._check_memory(limits.megabytes)
            if (now := self.noted()) != before:
                before, since = now, time.monotonic()
            allowed = limits.seconds if now.is_computing else max(limits.seconds, STARTS_WITHIN)
            if time.monotonic() - since > allowed:
                self.end()
                reason = f"took longer than {limits.seconds:g} s and was stopped"
                raise EndedError(reason, "cell_timeout")

    def receive(self, seconds: float) -> tuple[str, Any] | None:
        """Return the next answer as (kind, content), or None if no answer comes in `seconds`.

        Raises
        ------
        EndedError
            If the computing process has ended.
        """
        try:
            message: tuple[str, Any] | None = self.pipe.recv() if self.pipe.poll(seconds) else None
        except (EOFError, OSError):
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(WRITES_WITHIN)
            raise EndedError(describe_exit(self.process.poll())) from None
        if message is None or message[0] in ("returned", "raised"):
            return message
        kind, number = message
        if kind == "began":
            self.computing = number
            return None
        _kill_session(self.computing)  # kills processes that the computing process has started
        # The forking process runs no user code, so its next computing process is fresh.
        self.computing, self.owner = 0, FRESH
        raise EndedError(describe_exit(number))

    def noted(self) -> Note:
        """Return the progress that the computing process has noted last."""
        return Note(*_NOTE.unpack(os.pread(self.notes.fileno(), _NOTE.size, 0)))

    def _check_memory(self, allowed: float) -> None:
        """End the computing process if its resident memory exceeds `allowed` MB (on Linux only)."""
        try:
            pages = int(Path(f"/proc/{self.computing}/statm").read_text().split()[1])
        except (OSError, ValueError, IndexError):
            return
        megabytes = pages * os.sysconf("SC_PAGE_SIZE") / 2**20
        if megabytes > allowed:
            self.end()
            size = f"{allowed:,.0f} MB of memory ({megabytes:,.0f} MB)"
            raise EndedError(f"used more than {size} and was stopped", "max_memory")

    def end(self, gently: bool = False) -> None:
        """End the computing process and all processes that it has started.

        With `gently`, it may first write the records of finished cells.
        """
        if gently and self.computing > 0:  # 0 would be our own group
            with contextlib.suppress(OSError):
                os.kill(self.computing, signal.SIGINT)
        else:
            _kill_session(self.computing)
        deadline = time.monotonic() + WRITES_WITHIN
        with contextlib.suppress(EndedError):
            while self.computing and time.monotonic() < deadline:
                self.receive(POLL_SECONDS)

    def close(self) -> None:
        """End the forking and the computing process, and all processes that they have started."""
        self.end()
        self.pipe.close()
        _kill_session(self.process.pid)
        self.process.wait()
        _kill_session(self.computing)
        # A process that has left the session may keep the pipe open, so wait for a limited time.
        self.output.thread.join(READS_WITHIN)
        self.notes.close()


def _kill_session(process: int) -> None:
    """Kill all processes of the session whose leader has the id `process`."""
    if process > 0:  # 0 would be our own group
        with contextlib.suppress(OSError):
            os.killpg(process, signal.SIGKILL)


class Output:
    """Thread that shows the output of a computing process on standard error.

    The text is escaped, so that it cannot change the terminal's state. After SHOWN_CHARACTERS
    characters in one chunk, the rest is replaced by one line that says so.
    """

    def __init__(self, descriptor: int):
        self.left = SHOWN_CHARACTERS
        self.thread = threading.Thread(target=self._relay, args=(descriptor,), daemon=True)
        self.thread.start()

    def _relay(self, descriptor: int) -> None:
        decoder = codecs.getincrementaldecoder("utf-8")("backslashreplace")
        while content := os.read(descriptor, 65536):
            text = decoder.decode(content)
            shown = self.left
            self.left -= len(text)
            if shown >= 0 and text:
                end = f"\n{CUT}\n" if self.left < 0 else ""
                with contextlib.suppress(OSError, ValueError):  # standard error is closed
                    print(escape(text[:shown]), end=end, file=sys.stderr, flush=True)
        os.close(descriptor)


def describe_exit(code: int | None) -> str:
    """Return words for the end of a process with this exit code, negative for a signal.

    They complete a sentence that begins with "the estimator".
    """
    if code is None:
        return "closed the connection of its process to the harness"
    if code >= 0:
        return f"ended its process with exit status {code}"
    name = signal.Signals(-code).name if -code in {*signal.Signals} else f"signal {-code}"
    if name in ("SIGINT", "SIGTERM"):
        return f"was interrupted ({name})"
    crash = ": a crash in native code"
    why = {"SIGKILL": ": killed from outside, or out of memory", "SIGSEGV": crash, "SIGABRT": crash}
    return f"crashed its process ({name}{why.get(name, '')})"


def exit_if_forked(pid: int) -> None:
    """End this process at once if an estimator has forked it from the process with the id `pid`.

    Otherwise the copy would go on computing the same cells.
    """
    if os.getpid() != pid:
        os._exit(0)
