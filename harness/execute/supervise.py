"""Processes in which estimators run, supervised from outside.

    driver, or worker of Dask or Ray    supervises; runs nobody's estimator
      forking process                   has imported our code, and forks (harness.execute.child)
        computing process               runs cells, in a session of its own

An estimator that hangs, grows or dies costs its cell and nothing else. A new computing process is
there in milliseconds, so that a thousand crashes cost seconds. Cells of different owners
(`Plan.owner`) never share one. The computing process notes its cell in a file, which can be read
however the process ends.

The process pools of the standard library, and those on top of them, were no choice: they import
the script of the caller once more, and see nothing where a worker calls `os._exit(0)`.
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
STARTS_WITHIN = 120.0  # seconds for a process to import what it needs, on a busy machine
WRITES_WITHIN = 5.0  # seconds for a process that is interrupted to record what it has
MAX_STARTS = 3  # processes in a row that die before their first cell
READS_WITHIN = 2.0  # seconds for the output of a process that has ended
SHOWN_CHARACTERS = 10_000  # of what a process prints during a chunk
CUT = f"[output beyond {SHOWN_CHARACTERS:,} characters is not shown]"
OURS = "calharness"  # the value of an environment variable that we set, not the user
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
RUN_CHUNK = "harness.execute.chunk:run_chunk"
_NOTE = struct.Struct("qqq")


class WorkerDiedError(Exception):
    """Worker processes cannot start, or a cluster lost them. What they held is recorded as interrupted."""


class TerminatedError(KeyboardInterrupt):
    """SIGTERM, which a scheduler sends: an interruption like Ctrl-C, with the exit status 143."""


def terminated(signum: int, frame: Any) -> None:
    """Handle SIGTERM."""
    raise TerminatedError


class EndedError(Exception):
    """The computing process ended; the message says how, `limit` names the setting that ended it."""

    def __init__(self, reason: str, limit: str | None = None):
        super().__init__(reason)
        self.limit = limit


@dataclass(frozen=True)
class Limits:
    """Limits of a cell: seconds, and megabytes of resident memory of its process."""

    seconds: float
    megabytes: float = float("inf")


class Broken(NamedTuple):
    """A cell, by its position in the chunk, that ended its process, and the setting that was its limit."""

    position: int
    reason: str
    limit: str | None


class Task(NamedTuple):
    """A chunk that is handed to a worker.

    number        identifies it
    payload       the pickled argument of `run_chunk`, which only a computing process opens
    cells         number of its cells
    owner         whose code computes it (`Plan.owner`), None for ours alone
    is_typed      its code was typed at a prompt, and exists in the driver alone
    surroundings  of the driver, as `surroundings` gives them
    """

    number: int
    payload: bytes
    cells: int
    owner: Hashable
    is_typed: bool
    surroundings: tuple[Any, ...]


@dataclass
class Answer:
    """Result of a chunk: number of failed cells, CPU time (`profile.Times`), and the broken cells."""

    failed: int = 0
    times: dict[tuple[str, str], list[float]] = field(default_factory=dict)
    broken: list[Broken] = field(default_factory=list)


_note_file: int | None = None


def note_in(file: int) -> None:
    """Write the notes of this process to an open file."""
    global _note_file
    _note_file = file


def note(position: int, is_computing: bool, recorded: int) -> None:
    """Note the cell that a chunk is at, whether it is computed or prepared, and how many are recorded."""
    if _note_file is not None:
        os.pwrite(_note_file, _NOTE.pack(position, is_computing, recorded), 0)


class Child:
    """A forking process, and the computing process that it holds ready.

    On Linux both end with the thread that made this object.
    """

    def __init__(self) -> None:
        self.pipe, other = Pipe()
        self.notes = tempfile.TemporaryFile(buffering=0)
        reads, writes = os.pipe()
        passed = other.fileno(), self.notes.fileno()
        code = (
            f"import sys; sys.path[:0] = [{str(PACKAGE.parent)!r}]; from harness.execute import child; "
            f"child.main({passed[0]}, {passed[1]}, {os.getpid()})"
        )
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-c", code],  # not from the working folder
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
        self.computing = 0  # process id
        self.owners: set[Hashable] = set()  # owners of the calls that the computing process got
        self.calls = 0

    def call(
        self,
        function: str,
        argument: bytes,
        surroundings: tuple[Any, ...],
        limits: Limits,
        is_stopped: Callable[[], bool],
    ) -> Any:
        """Call "module:function" of ours with a pickled argument in the computing process.

        Raises
        ------
        EndedError
            If the process ended, or was ended as it exceeded a limit. `noted` tells where.
        WorkerDiedError
            If `is_stopped` says so.
        Exception
            What the function raised.
        """
        self.calls += 1
        os.pwrite(self.notes.fileno(), _NOTE.pack(-1, 0, 0), 0)
        self.output.left = SHOWN_CHARACTERS
        try:
            self.pipe.send((self.calls, function, argument, surroundings, limits.megabytes))
        except OSError:
            raise EndedError("closed its pipe") from None
        before, since = (-1, 0, 0), time.monotonic()
        while True:
            message = self.receive(POLL_SECONDS)
            if message is not None and message[1] == self.calls:
                if message[0] == "raised":
                    raise message[2]
                return message[2]
            if is_stopped():
                raise WorkerDiedError("the run was stopped")
            if (now := self.noted()) != before:
                before, since = now, time.monotonic()
            allowed = limits.seconds if now[1] else max(limits.seconds, STARTS_WITHIN)
            if time.monotonic() - since > allowed:
                self.end()
                raise EndedError(
                    f"took longer than {limits.seconds:g} s and was stopped", "cell_timeout"
                )
            if (megabytes := self._megabytes()) > limits.megabytes:
                self.end()
                size = f"{limits.megabytes:,.0f} MB ({megabytes:,.0f} MB)"
                raise EndedError(
                    f"made its process larger than {size} and was stopped", "max_memory"
                )

    def receive(self, seconds: float) -> tuple[Any, ...] | None:
        """Return the next answer, (kind, number of the call, content), None if none came in time.

        Raises EndedError where the computing process ended.
        """
        try:
            message: tuple[Any, ...] | None = self.pipe.recv() if self.pipe.poll(seconds) else None
        except (EOFError, OSError):
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(WRITES_WITHIN)
            raise EndedError(in_words(self.process.poll())) from None
        if message is None or message[0] in ("returned", "raised"):
            return message
        if message[0] == "began":
            self.computing = message[1]
            return None
        self._kill(self.computing)  # what it started and left behind
        self.computing = 0
        self.owners.clear()  # the next process is forked from one that has computed nothing
        raise EndedError(in_words(message[1]))

    def noted(self) -> tuple[int, int, int]:
        """Return the last note: position of the cell (-1: none yet), whether it is computed, recorded cells."""
        position, is_computing, recorded = _NOTE.unpack(
            os.pread(self.notes.fileno(), _NOTE.size, 0)
        )
        return position, is_computing, recorded

    def _megabytes(self) -> float:
        """Resident memory of the computing process, 0 where the system does not say."""
        try:
            pages = int(Path(f"/proc/{self.computing}/statm").read_text().split()[1])
        except (OSError, ValueError, IndexError):
            return 0.0
        return pages * os.sysconf("SC_PAGE_SIZE") / 2**20

    def end(self, gently: bool = False) -> None:
        """End the computing process and all that it started. `gently`: it first records what it has."""
        if gently and self.computing > 0:  # 0 would be our own group
            with contextlib.suppress(OSError):
                os.kill(self.computing, signal.SIGINT)
        else:
            self._kill(self.computing)
        end = time.monotonic() + WRITES_WITHIN
        with contextlib.suppress(EndedError):
            while self.computing and time.monotonic() < end:
                self.receive(POLL_SECONDS)

    def close(self) -> None:
        """End both processes, and all that they started."""
        self.pipe.close()
        self._kill(self.process.pid)
        self.process.wait()
        self._kill(self.computing)
        self.output.thread.join(READS_WITHIN)  # a process that left the session may hold the pipe
        self.notes.close()

    @staticmethod
    def _kill(process: int) -> None:
        """Kill all processes of the session that a process leads."""
        if process > 0:  # 0 would be our own group
            with contextlib.suppress(OSError):
                os.killpg(process, signal.SIGKILL)


class Output:
    """Relay what a process prints, escaped, to standard error.

    An estimator's text must neither steer the terminal nor fill it: of a chunk, at most
    SHOWN_CHARACTERS are shown, then one line says so.
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
                cut = f"\n{CUT}\n" if self.left < 0 else ""
                with contextlib.suppress(OSError, ValueError):  # nobody listens any more
                    print(escape(text[:shown]), end=cut, file=sys.stderr, flush=True)
        os.close(descriptor)


def in_words(code: int | None) -> str:
    """Say how a process ended, by its exit code, which is negative for a signal."""
    if code is None:
        return "closed the pipe of its process"
    if code >= 0:
        return f"ended its process with exit status {code}"
    name = signal.Signals(-code).name if -code in {*signal.Signals} else f"signal {-code}"
    crash = ": a crash in native code"
    why = {"SIGKILL": ": killed from outside, or out of memory", "SIGSEGV": crash, "SIGABRT": crash}
    return f"took its process down ({name}{why.get(name, '')})"


_idle: list[
    Child
] = []  # children that wait for the next chunk, or for the next run of this session


def prepare(children: int) -> None:
    """Start children that are missing. They end with this thread, so that threads of a pool should not start them."""
    _idle.extend(Child() for _ in range(children - len(_idle)))


@contextlib.contextmanager
def _borrowed(owner: Hashable) -> Iterator[Child]:
    """Yield a child whose computing process has had no calls of another owner.

    After an exception it is interrupted and ended.
    """
    child = None
    while child is None:
        child = _idle.pop() if _idle else Child()
        with contextlib.suppress(EndedError):  # it may have ended since
            while child.process.poll() is None and child.pipe.poll():
                child.receive(0)
        if child.owners - {owner}:
            child.end()
        if (
            child.owners - {owner} or child.process.poll() is not None
        ):  # it did not end in time, or all of it did
            child.close()
            child = None
    child.owners.add(owner)
    try:
        yield child
    except BaseException:
        child.end(gently=True)
        child.close()
        raise
    _idle.append(child)


def compute(task: Task, limits: Limits, is_stopped: Callable[[], bool] = lambda: False) -> Answer:
    """Have all cells of a chunk computed and recorded, but for those that end their process.

    Raises
    ------
    WorkerDiedError
        If processes die before they begin with a cell, or the run is stopped. What is finished then is recorded.
    Exception
        What a process raised outside of a cell.
    """
    answer, todo, starts = Answer(), list(range(task.cells)), 0
    while todo:
        if is_stopped():
            raise WorkerDiedError("the run was stopped")
        with _borrowed(task.owner) as child:
            try:
                argument = pickle.dumps((task.payload, todo))
                found = child.call(RUN_CHUNK, argument, task.surroundings, limits, is_stopped)
                answer.failed, answer.times = found
                break
            except EndedError as end:
                at, _, recorded = child.noted()
                starts = starts + 1 if at < 0 else 0
                if starts == MAX_STARTS:
                    remedy = f"; {end.limit} allows more" if end.limit else ""
                    raise WorkerDiedError(
                        f"a worker process could not begin: it {end}{remedy}"
                    ) from None
                if at >= 0:
                    answer.broken.append(Broken(todo[at], str(end), end.limit))
                    todo = [*todo[min(recorded, at) : at], *todo[at + 1 :]]
    answer.failed += len(answer.broken)
    return answer


def call(function: str, argument: Any, limits: Limits) -> Any:
    """Return what "module:function" of ours gives in a computing process that nothing else has used or will use.

    Raises
    ------
    EndedError
        If the process ended, or exceeded a limit.
    Exception
        What the function raised.
    """
    with _borrowed(object()) as child:
        try:
            return child.call(
                function, pickle.dumps(argument), surroundings(), limits, lambda: False
            )
        except EndedError as end:
            ended = end
    raise ended


def surroundings(local: bool = True) -> tuple[Any, ...]:
    """Return the module path of this process and, with `local`, its working folder and environment.

    They may have changed since its children started. Other hosts have a folder and an environment of their own.
    """
    folder = environment = None
    if local:
        environment = {k: v for k, v in os.environ.items() if (k, v) != ("PYTHONSAFEPATH", OURS)}
        with contextlib.suppress(OSError):  # somebody has deleted the folder
            folder = os.getcwd()
    return list(sys.path), folder, environment


@contextlib.contextmanager
def safe_path() -> Iterator[None]:
    """Keep worker processes of others that are started in here from importing from the working folder.

    A file there could take the place of an installed package. Processes that estimators start are
    not told so: `child.main` takes it back.
    """
    if "PYTHONSAFEPATH" in os.environ:
        yield
        return
    os.environ["PYTHONSAFEPATH"] = OURS
    try:
        yield
    finally:
        os.environ.pop("PYTHONSAFEPATH", None)


def unless_forked(pid: int) -> None:
    """End this process at once if it is a copy that an estimator made of process `pid`."""
    if os.getpid() != pid:
        os._exit(0)
