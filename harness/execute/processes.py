"""A process that computes cells, and the process that forks it, seen from outside.

The computing process notes its cell in a file, which can be read however the process ends. What it
prints is relayed, escaped and cut.
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

POLL_SECONDS = 0.25
STARTS_WITHIN = 120.0  # seconds for imports, which take about 2 s on a quiet machine
WRITES_WITHIN = 5.0  # seconds for an interrupted process to record what it has
READS_WITHIN = 2.0  # seconds for the output of a process that has ended
SHOWN_CHARACTERS = 10_000  # printed by a process during one chunk
CUT = f"[output beyond {SHOWN_CHARACTERS:,} characters is not shown]"
OURS = "calharness"  # value of PYTHONSAFEPATH if we set it, not the user
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
FRESH = object()  # owner of a computing process that has answered no call yet
_NOTE = struct.Struct("qqq")


class WorkerDiedError(Exception):
    """Worker processes cannot start, or a cluster lost them. Their cells count as interrupted."""


class TerminatedError(KeyboardInterrupt):
    """SIGTERM from a scheduler: an interruption like Ctrl-C, with the exit status 143."""


def terminated(signum: int, frame: Any) -> None:
    """Handle SIGTERM."""
    raise TerminatedError


class EndedError(Exception):
    """The computing process ended, as the message says. `limit`: the setting that ended it."""

    def __init__(self, reason: str, limit: str | None = None):
        super().__init__(reason)
        self.limit = limit


@dataclass(frozen=True)
class Limits:
    """Limits of a cell: seconds, and megabytes of resident memory of its process."""

    seconds: float
    megabytes: float = float("inf")


class Note(NamedTuple):
    """Progress of a computing process.

    position      of the cell in the chunk, -1 before the first
    is_computing  True while the estimator runs, False while the cell is prepared
    recorded      number of cells that are already in a written part
    """

    position: int = -1
    is_computing: int = False
    recorded: int = 0


_note_file: int | None = None


def note_in(file: int) -> None:
    """Write the notes of this process to an open file."""
    global _note_file
    _note_file = file


def note(position: int, is_computing: bool, recorded: int) -> None:
    """Replace the note of this process."""
    if _note_file is not None:
        os.pwrite(_note_file, _NOTE.pack(position, is_computing, recorded), 0)


class Child:
    """A forking process and its current computing process.

    On Linux both end with the thread that made this object.
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
        self.computing = 0  # id of the computing process, 0 between two of them
        self.owner: Hashable = FRESH  # of the calls that the computing process got

    def prepare_for(self, owner: Hashable) -> bool:
        """Replace the computing process if it has run code of another owner.

        Return False if the child has ended and cannot be used.
        """
        with contextlib.suppress(EndedError):
            while self.pipe.poll():  # a computing process may have ended since the last call
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
        """Call our "module:function" with a pickled argument in the computing process.

        Raises
        ------
        EndedError
            If the process ended, or exceeded a limit and was ended. `noted` tells at which cell.
        WorkerDiedError
            If `is_stopped` returns True.
        Exception
            Any error that the function raised.
        """
        os.pwrite(self.notes.fileno(), _NOTE.pack(*Note()), 0)
        self.output.left = SHOWN_CHARACTERS
        try:
            self.pipe.send((function, argument, surroundings, limits.megabytes))
        except OSError:
            raise EndedError("closed its pipe") from None
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
        """Return the next answer as (kind, content), or None if none came within `seconds`.

        Raises EndedError if the computing process ended.
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
        _kill_session(self.computing)  # processes that it started and left behind
        # the next process is forked from one that has computed nothing
        self.computing, self.owner = 0, FRESH
        raise EndedError(describe_exit(number))

    def noted(self) -> Note:
        """Return the last note of the computing process."""
        return Note(*_NOTE.unpack(os.pread(self.notes.fileno(), _NOTE.size, 0)))

    def _check_memory(self, allowed: float) -> None:
        """End the computing process if it has more than `allowed` MB resident (on Linux)."""
        try:
            pages = int(Path(f"/proc/{self.computing}/statm").read_text().split()[1])
        except (OSError, ValueError, IndexError):
            return
        megabytes = pages * os.sysconf("SC_PAGE_SIZE") / 2**20
        if megabytes > allowed:
            self.end()
            size = f"{allowed:,.0f} MB ({megabytes:,.0f} MB)"
            raise EndedError(f"made its process larger than {size} and was stopped", "max_memory")

    def end(self, gently: bool = False) -> None:
        """End the computing process and all that it started. With `gently`, let it record first."""
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
        """End both processes and all that they started."""
        self.pipe.close()
        _kill_session(self.process.pid)
        self.process.wait()
        _kill_session(self.computing)
        self.output.thread.join(READS_WITHIN)  # a process that left the session may hold the pipe
        self.notes.close()


def _kill_session(process: int) -> None:
    """Kill all processes of the session that `process` leads."""
    if process > 0:  # 0 would be our own group
        with contextlib.suppress(OSError):
            os.killpg(process, signal.SIGKILL)


class Output:
    """Relay the output of a process, escaped, to standard error.

    An estimator's text must neither steer the terminal nor fill it. At most SHOWN_CHARACTERS of a
    chunk are shown; then one line says so.
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
    """Describe how a process ended, by its exit code (negative for a signal)."""
    if code is None:
        return "closed the pipe of its process"
    if code >= 0:
        return f"ended its process with exit status {code}"
    name = signal.Signals(-code).name if -code in {*signal.Signals} else f"signal {-code}"
    crash = ": a crash in native code"
    why = {"SIGKILL": ": killed from outside, or out of memory", "SIGSEGV": crash, "SIGABRT": crash}
    return f"took its process down ({name}{why.get(name, '')})"


def exit_if_forked(pid: int) -> None:
    """End this process at once if it is a copy that an estimator made of process `pid`."""
    if os.getpid() != pid:
        os._exit(0)
