"""Processes in which estimators run, supervised from outside.

    driver, or worker of Dask or Ray    supervises; runs no estimator
      forking process                   has imported our code, and forks (harness.execute.child)
        computing process               runs cells, in a session of its own

An estimator that hangs, grows or dies costs its own cell. A new computing process is forked within
milliseconds, so that a thousand crashes cost seconds. Cells of different owners (`Plan.owner`)
never share a computing process. The computing process notes its cell in a file, which can be read
however the process ends.

Process pools of the standard library (and joblib's) were rejected: they import the script of the
caller again, and they do not notice a worker that calls `os._exit(0)`.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import sys
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from harness.execute.processes import OURS, Child, EndedError, Limits, WorkerDiedError

MAX_STARTS = 3  # processes in a row that may end before their first cell
RUN_CHUNK = "harness.execute.chunk:run_chunk"


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
        If processes end before their first cell, or the run is stopped. Finished cells stay.
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
