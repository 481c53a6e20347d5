"""Processes in which estimators run, supervised from outside.

    driver, or worker of Dask or Ray    supervises; runs no estimator
      forking process                   has imported our code, and forks (harness.execute.child)
        computing process               runs cells, in a session of its own

An estimator that hangs, grows or dies costs its own cell. A new computing process is forked within
milliseconds, so that a thousand crashes cost seconds. Cells of different owners (`Plan.owner`) never
share a computing process. The computing process notes its cell in a file, which can be read however
the process ends.

Process pools of the standard library (and joblib's) were rejected: they import the script of the
caller again, and they do not notice a worker that calls `os._exit(0)`.
"""

from __future__ import annotations

import codecs
import contextlib
import os
import pickle
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from multiprocessing import Pipe
from pathlib import Path
from typing import Any, NamedTuple

from harness.common.escaping import escape
from harness.common.paths import PACKAGE

POLL_SECONDS = 0.25
STARTS_WITHIN = 120.0  # seconds for imports, which take about 2 s on a quiet machine
WRITES_WITHIN = 5.0  # seconds for an interrupted process to record what it has
READS_WITHIN = 2.0  # seconds for the output of a process that has ended
MAX_STARTS = 3  # processes in a row that may end before their first cell
SHOWN_CHARACTERS = 10_000  # printed by a process during one chunk
CUT = f"[output beyond {SHOWN_CHARACTERS:,} characters is not shown]"
OURS = "calharness"  # value of PYTHONSAFEPATH if we set it, not the user
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
RUN_CHUNK = "harness.execute.chunk:run_chunk"
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
    """The computing process ended. The message says how; `limit` names the setting that ended it."""

    def __init__(self, reason: str, limit: str | None = None):
        super().__init__(reason)
        self.limit = limit


@dataclass(frozen=True)
class Limits:
    """Limits of a cell: seconds, and megabytes of resident memory of its process."""

    seconds: float
    megabytes: float = float("inf")


class Broken(NamedTuple):
    """A cell (position in the chunk) that ended its process, and the setting that was its limit."""

    position: int
    reason: str
    limit: str | None


class Task(NamedTuple):
    """A chunk that is handed to a worker.

    number        identifies the chunk
    payload       pickled argument of `run_chunk`, which only a computing process opens
    cells         number of its cells
    owner         owner of the code that computes it (`Plan.owner`), None for ours
    is_typed      the code was typed at a prompt, and exists in the driver only
    surroundings  of the driver, see `surroundings`
    """

    number: int
    payload: bytes
    cells: int
    owner: Hashable
    is_typed: bool
    surroundings: tuple[Any, ...]


@dataclass
class Answer:
    """Result of a chunk: number of failed cells, and the broken cells."""

    failed: int = 0
    broken: list[Broken] = field(default_factory=list)


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
        """End the computing process if its resident memory exceeds `allowed` megabytes (on Linux)."""
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


_idle: list[Child] = []  # children that wait for the next chunk, or for the next run


def prepare(children: int) -> None:
    """Start missing children.

    Children end with the thread that starts them. Call this in the main thread, not in a pool's.
    """
    _idle.extend(Child() for _ in range(children - len(_idle)))


@contextlib.contextmanager
def _borrowed(owner: Hashable) -> Iterator[Child]:
    """Yield a child whose computing process has run no code of another owner.

    After an exception its computing process is interrupted, and the child is closed.
    """
    child = _idle.pop() if _idle else Child()
    while not child.prepare_for(owner):
        child.close()
        child = _idle.pop() if _idle else Child()
    try:
        yield child
    except BaseException:
        child.end(gently=True)
        child.close()
        raise
    _idle.append(child)


def compute(task: Task, limits: Limits, is_stopped: Callable[[], bool] = lambda: False) -> Answer:
    """Compute and record all cells of a chunk, except those that end their process.

    Raises
    ------
    WorkerDiedError
        If processes end before their first cell, or the run is stopped. Finished cells are recorded.
    Exception
        Any error that a process raised outside of a cell.
    """
    answer, todo, starts = Answer(), list(range(task.cells)), 0
    while todo:
        with _borrowed(task.owner) as child:
            try:
                argument = pickle.dumps((task.payload, todo))
                surroundings = task.surroundings
                answer.failed = child.call(RUN_CHUNK, argument, surroundings, limits, is_stopped)
                break
            except EndedError as end:
                position, _, recorded = child.noted()
                if position >= 0:
                    starts = 0
                    answer.broken.append(Broken(todo[position], str(end), end.limit))
                    # cells after the last written part are lost with the process
                    todo = [*todo[min(recorded, position) : position], *todo[position + 1 :]]
                    continue
                starts += 1
                if starts == MAX_STARTS:
                    remedy = f"; {end.limit} allows more" if end.limit else ""
                    message = f"a worker process could not begin: it {end}{remedy}"
                    raise WorkerDiedError(message) from None
    answer.failed += len(answer.broken)
    return answer


def call(function: str, argument: Any, limits: Limits) -> Any:
    """Call our "module:function" in a computing process that nothing else has used or will use.

    Raises
    ------
    EndedError
        If the process ended, or exceeded a limit.
    Exception
        Any error that the function raised.
    """
    with _borrowed(object()) as child:
        try:
            never = lambda: False  # noqa: E731
            return child.call(function, pickle.dumps(argument), surroundings(), limits, never)
        except EndedError as end:
            ended = end
    raise ended


def surroundings(local: bool = True) -> tuple[Any, ...]:
    """Return the module path of this process and, with `local`, its working folder and environment.

    They may have changed since the children started. Other hosts keep their own.
    """
    folder = environment = None
    if local:
        environment = {k: v for k, v in os.environ.items() if (k, v) != ("PYTHONSAFEPATH", OURS)}
        with contextlib.suppress(OSError):  # the folder was deleted
            folder = os.getcwd()
    return list(sys.path), folder, environment


@contextlib.contextmanager
def safe_path() -> Iterator[None]:
    """Keep worker processes that are started in this block from importing from the working folder.

    A file there could take the place of an installed package. `child.main` removes the variable, so
    that processes started by estimators do not inherit it.
    """
    if "PYTHONSAFEPATH" in os.environ:
        yield
        return
    os.environ["PYTHONSAFEPATH"] = OURS
    try:
        yield
    finally:
        os.environ.pop("PYTHONSAFEPATH", None)


def exit_if_forked(pid: int) -> None:
    """End this process at once if it is a copy that an estimator made of process `pid`."""
    if os.getpid() != pid:
        os._exit(0)
