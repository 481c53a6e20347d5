"""A process in which estimators run, watched from outside: one that hangs, eats memory or dies ends its process and nothing else.

Every worker, of whatever engine, holds one such process and hands it chunks of cells. A cell that takes longer than its limit, in
Python or in C, that makes the process larger than its limit, or that takes it down, is named; a new process does the rest. The
process ends with the worker, also where that is killed. What is in here imports next to nothing but Python: workers stay small.

It is forked from one that has imported everything of ours and does nothing else, so that the next is there in milliseconds.
Cells of different owners (`Plan.owner`) never share a process: what an estimator changes in it, others never see.
"""

from __future__ import annotations

import codecs
import contextlib
import ctypes
import mmap
import os
import pickle
import resource
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, NoReturn

from harness.common.escaping import escape

POLL_SECONDS = 0.25
STARTS_WITHIN = 120.0  # seconds for a process to import what it needs, on a busy machine
WRITES_WITHIN = 5.0  # seconds for a process that is interrupted to record what it has
HEADROOM_MB = 2048.0  # beyond max_memory: what a process may reserve, so that one giant array is refused at once
MAX_STARTS = 3  # processes in a row that die before their first cell
READS_WITHIN = 2.0  # seconds for what a process that has ended still had to say
SHOWN_CHARACTERS = 10_000  # of what a process prints during a chunk
CUT = f"[output beyond {SHOWN_CHARACTERS:,} characters is not shown]"
_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of Linux
_LAYOUT = struct.Struct("qqqq")
OURS = "calharness"  # of an environment variable: set by us, not by the user
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


class WorkerDiedError(Exception):
    """A worker process was killed or could not start; the cells it held are recorded as interrupted."""


class TerminatedError(KeyboardInterrupt):
    """SIGTERM, which a scheduler sends: an interruption like Ctrl-C, with the exit status 143."""


def terminated(signum: int, frame: Any) -> None:
    """Handle SIGTERM, in the process that was started and in workers."""
    raise TerminatedError


@dataclass(frozen=True)
class Limits:
    """What a cell may take: seconds, and megabytes of resident memory of the process that it runs in."""

    seconds: float
    megabytes: float

    @property
    def slow(self) -> str:
        return f"took longer than {self.seconds:g} s and was stopped"

    def large(self, megabytes: float) -> str:
        return f"made its process larger than {self.megabytes:,.0f} MB ({megabytes:,.0f} MB) and was stopped"


@dataclass(frozen=True)
class Driver:
    """The process that started a run, so that workers can see whether it is still there. `born` is its start time."""

    host: str
    pid: int
    born: str

    @classmethod
    def here(cls) -> Driver:
        return cls(socket.gethostname(), os.getpid(), _born(os.getpid()))

    @property
    def is_gone(self) -> bool:
        """Whether it ran on this machine and does not any more."""
        return bool(self.born) and self.host == socket.gethostname() and _born(self.pid) != self.born


@dataclass(frozen=True)
class Broke:
    """A cell, by its position, that ended its process: how, and the setting that was its limit, if one was."""

    position: int
    reason: str
    limit: str | None = None


class EndedError(Exception):
    """The process that computes is no more; the message says how it ended, in words."""


class Board:
    """Where a process that computes a chunk notes how far it is, in memory that the watching process reads: the position of the
    cell it is at (-1 before the first), whether what the cell needs is made, how many cells are recorded, and its process id."""

    def __init__(self, memory: Any = None):
        self.memory = bytearray(_LAYOUT.size) if memory is None else memory

    def clear(self) -> None:
        self._write(position=-1, made=0, recorded=0)

    @property
    def at(self) -> tuple[int, int]:
        """(position, whether what the cell needs is made)"""
        return self._read()[:2]

    @property
    def done(self) -> int:
        """How many cells of the chunk are recorded."""
        return self._read()[2]

    @property
    def process(self) -> int:
        return self._read()[3]

    def belongs_to(self, process: int) -> None:
        self._write(process=process)

    def prepares(self, position: int) -> None:
        self._write(position=position, made=0)

    def computes(self) -> None:
        self._write(made=1)

    def recorded(self, cells: int) -> None:
        self._write(recorded=cells)

    def _read(self) -> tuple[int, int, int, int]:
        found: tuple[int, int, int, int] = _LAYOUT.unpack_from(self.memory, 0)
        return found

    def _write(self, **new: int) -> None:
        names = ("position", "made", "recorded", "process")
        _LAYOUT.pack_into(self.memory, 0, *(new.get(name, old) for name, old in zip(names, self._read())))


class Child:
    """A process that serves "module:function", called with its end of a pipe and a Board, and the one that it is forked from. It
    and all that it starts are a session of their own, and it ends when the thread that made this object does."""

    def __init__(self, serves: str):
        from harness.common.paths import PACKAGE

        self.pipe, other = Pipe()
        descriptor = _shared_file()
        self.board = Board(mmap.mmap(descriptor, mmap.PAGESIZE))
        module, _, function = serves.partition(":")
        code = (
            f"import sys; sys.path[:0] = [{str(PACKAGE.parent)!r}]; from harness.execute import supervise; "
            f"supervise.begin({module!r}, {function!r}, {other.fileno()}, {descriptor}, {os.getpid()})"
        )
        reads, writes = os.pipe()
        self.source = subprocess.Popen(
            [sys.executable, "-P", "-c", code],  # not from the working folder
            pass_fds=[other.fileno(), descriptor],
            stdin=subprocess.DEVNULL,
            stdout=writes,
            stderr=writes,
            start_new_session=True,
            env={**os.environ, **ONE_THREAD},
        )
        other.close()
        os.close(descriptor)
        os.close(writes)
        self.output = Output(reads)
        self.owners: set[str | None] = set()  # whose cells the process that computes has been given

    def told(self) -> Any:
        """What it sent, None if nothing yet. Raises EndedError where it is no more."""
        try:
            told = self.pipe.recv() if self.pipe.poll() else None
        except (EOFError, OSError):
            self.ends_within(WRITES_WITHIN)
            raise EndedError(in_words(self.source.poll())) from None
        if isinstance(told, tuple) and told[0] == "ended":
            self.owners.clear()  # the next process is forked from one that has computed nothing
            raise EndedError(in_words(told[1]))
        if told is None and self.source.poll() is not None:
            raise EndedError(in_words(self.source.returncode))
        return told

    @property
    def megabytes(self) -> float:
        """Resident memory of its process, 0 where the system does not say."""
        try:
            pages = int(Path(f"/proc/{self.board.process}/statm").read_text().split()[1])
        except (OSError, ValueError, IndexError):
            return 0.0
        return pages * mmap.PAGESIZE / 2**20

    def stop(self) -> None:
        """End the process that computes, and all that it started; the next one is forked."""
        _kill_session(self.board.process)
        end = time.monotonic() + WRITES_WITHIN
        with contextlib.suppress(EndedError):
            while time.monotonic() < end:
                wait([self.pipe], POLL_SECONDS)
                self.told()

    def interrupt(self) -> None:
        """Ask it to record what it has and to end."""
        if self.board.process <= 0:  # it is not there yet; 0 would be all processes of this worker's group
            return
        with contextlib.suppress(OSError):
            os.kill(self.board.process, signal.SIGINT)
        end = time.monotonic() + WRITES_WITHIN
        with contextlib.suppress(EndedError):
            while time.monotonic() < end:
                wait([self.pipe], POLL_SECONDS)
                self.told()

    def ends_within(self, seconds: float) -> None:
        """Wait for the process that it is forked from."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.source.wait(seconds)

    def kill(self) -> None:
        """End it and all that it started."""
        self.pipe.close()
        _kill_session(self.source.pid)
        self.source.wait()
        _kill_session(self.board.process)
        self.output.finish()


class Output:
    """Relays what a process prints, escaped, to standard error.

    An estimator's text must neither steer the terminal nor fill it: of a chunk, at most
    SHOWN_CHARACTERS are shown, then one line says so.
    """

    def __init__(self, descriptor: int):
        self.left = SHOWN_CHARACTERS
        self.thread = threading.Thread(target=self._relay, args=(descriptor,), daemon=True)
        self.thread.start()

    def begin(self) -> None:
        """Show text again: a chunk begins."""
        self.left = SHOWN_CHARACTERS

    def finish(self) -> None:
        """Wait a moment for the rest; a process that outlives its session may still hold the pipe."""
        self.thread.join(READS_WITHIN)

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


def _kill_session(process: int) -> None:
    if process > 0:
        with contextlib.suppress(OSError):
            os.killpg(process, signal.SIGKILL)


def in_words(code: int | None) -> str:
    """How a process came to its end, by its exit code, which is negative for a signal."""
    if code is None:
        return "closed the pipe of its process"
    if code >= 0:
        return f"ended its process with exit status {code}"
    name = signal.Signals(-code).name if -code in {*signal.Signals} else f"signal {-code}"
    why = {
        "SIGKILL": ": killed from outside, or out of memory",
        "SIGSEGV": ": a crash in native code",
        "SIGABRT": ": a crash in native code",
    }
    return f"took its process down ({name}{why.get(name, '')})"


def begin(module: str, function: str, pipe: int, board: int, parent: int) -> None:
    """In the process of a Child: import what serves, and fork one process after the other that does. Ends with its parent."""
    import importlib

    end_with(parent)
    if os.environ.get("PYTHONSAFEPATH") == OURS:
        del os.environ["PYTHONSAFEPATH"]
    connection, shared = Connection(pipe), Board(mmap.mmap(board, mmap.PAGESIZE))
    serve = getattr(importlib.import_module(module), function)
    source = os.getpid()
    while True:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of a thread of pyarrow's allocator, which minds forks
            process = os.fork()
        if not process:
            _serve(serve, connection, shared, source)
        shared.belongs_to(process)
        code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        try:
            connection.send(("ended", code))
        except OSError:
            return


def _serve(serve: Callable[[Connection, Board], None], pipe: Connection, board: Board, source: int) -> NoReturn:
    """In the process that is forked."""
    import traceback

    os.setsid()
    signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGINT, signal.SIGTERM))  # blocked in workers of Ray, and so inherited
    end_with(source)
    board.belongs_to(os.getpid())
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where tests run in the background
    signal.signal(signal.SIGTERM, terminated)
    code = 1
    try:
        serve(pipe, board)
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def end_with(parent: int) -> None:
    """This process ends when its parent does (on Linux)."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None, use_errno=True).prctl(_DEATH_SIGNAL, signal.SIGKILL)
    if os.getppid() != parent:  # it went before this was asked for
        os._exit(1)


class _Held(threading.local):
    """The process of this thread, none or one: a Dask worker may have several threads."""

    def __init__(self) -> None:
        self.children: list[Child] = []
        self.run = ""


_held = _Held()


def compute(
    payload: bytes,
    cells: int,
    owner: str | None,
    limits: Limits,
    driver: Driver,
    stopped: Callable[[], bool] = lambda: False,
) -> list[Broke]:
    """Have all cells of a chunk computed and recorded, in a process of their own.

    Parameters
    ----------
    payload : bytes
        The pickled chunk, which this process does not open.
    cells : int
        How many it has.
    owner : str or None
        Whose code computes them, None for ours. A process that has had cells of another owner is ended before, and a new one is
        forked.
    limits : Limits
        What each may take.
    driver : Driver
        Where that has gone, this process ends, and with it all.
    stopped : function
        Asked now and then; once it says so, what is finished is recorded and WorkerDiedError raised.

    Returns
    -------
    list of Broke
        The cells that ended their process; all others are recorded.

    Raises
    ------
    WorkerDiedError
        If processes die before they begin with a cell.
    Exception
        What the process raised outside of a cell.
    """
    broken: list[Broke] = []
    todo, starts = list(range(cells)), 0
    while todo:
        child = _child_of(owner)
        child.board.clear()
        child.output.begin()
        try:
            child.pipe.send((payload, todo, limits.megabytes))
            ended = _ended(child, limits, driver, stopped)
        except BrokenPipeError:
            end_children()
            ended = "closed its pipe", None
        except KeyboardInterrupt:
            child.interrupt()
            end_children()
            raise
        if ended is None:
            return broken
        at, recorded = child.board.at[0], child.board.done
        if at < 0:
            starts += 1
            if starts >= MAX_STARTS:
                end_children()
                raise WorkerDiedError(f"a worker process could not begin: it {ended[0]}")
            continue
        starts = 0
        broken.append(Broke(todo[at], *ended))
        todo = [*todo[min(recorded, at) : at], *todo[at + 1 :]]
    return broken


def begin_run(run: str) -> None:
    """End the process that computed for another run, as it may hold a user's code of before an edit; the next one is forked."""
    for child in _held.children:
        if run != _held.run and child.board.process > 0:
            child.stop()
    _held.run = run


def ends_with(driver: Driver) -> None:
    """From now on this worker ends within seconds of the driver, also while it has nothing to do: loky's own would wait for
    minutes. (Workers of a cluster are not ours to end.)"""
    if driver in _watching:
        return
    _watching.add(driver)

    def watch() -> None:
        while not driver.is_gone:
            time.sleep(1.0)
        end_children()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


_watching: set[Driver] = set()


def _child() -> Child:
    """The process of this worker, a new one where there is none."""
    held = _held.children
    if held and held[0].source.poll() is not None:
        end_children()
    if not held:
        held.append(Child("harness.execute.child:cells"))
    return held[0]


def _child_of(owner: str | None) -> Child:
    """The process of this worker, which has computed nothing of another owner."""
    child = _child()
    with contextlib.suppress(EndedError):
        child.told()  # a process that ended between two chunks has said so
    if child.owners - {owner}:
        child.stop()
    if child.owners - {owner} or child.source.poll() is not None:  # it did not end in time, or all of it did
        end_children()
        child = _child()
    child.owners.add(owner)
    return child


def end_children() -> None:
    """End the process that this thread holds, if any."""
    while _held.children:
        _held.children.pop().kill()


def _ended(child: Child, limits: Limits, driver: Driver, stopped: Callable[[], bool]) -> tuple[str, str | None] | None:
    """None when all cells are recorded; else how the cell that it is at ended its process, and the setting that was its limit."""
    at, since = child.board.at, time.monotonic()
    while True:
        wait([child.pipe], POLL_SECONDS)
        try:
            told = child.told()
        except EndedError as how:
            return str(how), None
        if isinstance(told, BaseException):
            raise told
        if told is not None:
            return None
        if driver.is_gone:
            end_children()
            raise WorkerDiedError("the process that started this run is gone")
        if stopped():
            child.interrupt()
            end_children()
            raise WorkerDiedError("the run was stopped")
        now = child.board.at
        if now != at:
            at, since = now, time.monotonic()
        allowed = limits.seconds if at[1] else max(limits.seconds, STARTS_WITHIN)
        if time.monotonic() - since > allowed:
            child.stop()
            return limits.slow, "cell_timeout"
        if (megabytes := child.megabytes) > limits.megabytes:
            child.stop()
            return limits.large(megabytes), "max_memory"


@contextlib.contextmanager
def safe_path() -> Iterator[None]:
    """Worker processes that are started in here do not import from the working folder what is meant to be Python's own or
    installed, as `python -m` would. What estimators start is not told so: `begin` takes it back."""
    if "PYTHONSAFEPATH" in os.environ:
        yield
        return
    os.environ["PYTHONSAFEPATH"] = OURS
    try:
        yield
    finally:
        os.environ.pop("PYTHONSAFEPATH", None)


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """In a worker process: Ctrl-C, or a scheduler's SIGTERM, stops a chunk, which saves what it has; Ctrl-C is ignored before and
    after."""
    if threading.current_thread() is not threading.main_thread():  # a Dask worker's thread
        yield
        return
    signal.signal(signal.SIGINT, signal.default_int_handler)
    before = signal.signal(signal.SIGTERM, terminated)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, before)


def limit_memory(megabytes: float) -> None:
    """In the process that computes: refuse what would make it much larger than `megabytes` in one step (a MemoryError)."""
    with contextlib.suppress(ValueError, OSError):
        hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
        wanted = int((megabytes + HEADROOM_MB) * 2**20)
        resource.setrlimit(resource.RLIMIT_DATA, (wanted if hard < 0 else min(wanted, hard), hard))


def unless_forked(pid: int) -> None:
    """End this process at once where it is a copy that an estimator made of process `pid` and came back from."""
    if os.getpid() != pid:
        os._exit(0)


def surroundings() -> tuple[str | None, dict[str, str]]:
    """Return working folder and environment of this process."""
    with contextlib.suppress(OSError):  # somebody has deleted the folder
        return os.getcwd(), dict(os.environ)
    return None, dict(os.environ)


def take_over(folder: str | None, environment: dict[str, str]) -> None:
    """Change to a working folder and an environment: a session may have changed its own since this process began."""
    with contextlib.suppress(OSError):
        os.chdir(folder or ".")
    set_by_us = {"PYTHONSAFEPATH"} if environment.get("PYTHONSAFEPATH") == OURS else set()
    os.environ.clear()
    os.environ.update({name: value for name, value in environment.items() if name not in set_by_us} | ONE_THREAD)


def loads(payload: bytes) -> Any:
    return pickle.loads(payload)


def _born(pid: int) -> str:
    """The start time of a process as the system counts it; empty where it is gone, or the system does not say."""
    try:
        state, *rest = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if state == "Z" else rest[18]


def _shared_file() -> int:
    """The descriptor of a file without a name, as large as a page."""
    create: Callable[[str], int] | None = getattr(os, "memfd_create", None)
    if create is not None:
        descriptor = create("calharness")
        os.set_inheritable(descriptor, True)
    else:
        with tempfile.TemporaryFile() as file:
            descriptor = os.dup(file.fileno())
    os.ftruncate(descriptor, mmap.PAGESIZE)
    return descriptor
