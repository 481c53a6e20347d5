"""Run estimators in processes that are supervised from outside.

There are three levels of processes:

    supervisor                main process, or worker of Dask or Ray; runs no estimator
      forking process         has imported the harness, and forks (harness.execute.child)
        computing process     runs cells, in a session of its own

An estimator that hangs, crashes or uses too much memory costs its own cell and no other. A new
computing process is forked within milliseconds, so that a thousand crashes cost seconds. Cells with
different owners (see `Plan.owner`) never share a computing process. A computing process notes its
current cell in a file. The supervisor can read this note however the process ends.

The process pools of the standard library and of joblib are not used, for two reasons. They import
the script of the caller again, and they do not notice a worker that calls `os._exit(0)`.
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

MAX_STARTS = 3  # number of processes that may end before their first cell, one after another
RUN_CHUNK = "harness.execute.chunk:run_chunk"


class Broken(NamedTuple):
    """A cell that ended its process.

    position  position of the cell in the chunk
    reason    how the process ended, in words
    limit     setting that the cell exceeded, such as cell_timeout, or None
    """

    position: int
    reason: str
    limit: str | None


class Task(NamedTuple):
    """A chunk as it is sent to a worker.

    number        number that identifies the chunk
    payload       pickled chunk, which only a computing process unpickles
    cells         number of cells in the chunk
    owner         owner of the code of the cells (see `Plan.owner`), None without user code
    is_typed      True if the code was typed at a prompt, so that only the main process has it
    surroundings  module path, working folder and environment of the main process
    """

    number: int
    payload: bytes
    cells: int
    owner: Hashable
    is_typed: bool
    surroundings: tuple[Any, ...]


@dataclass
class Answer:
    """Result of a chunk.

    failed  number of failed cells, including those that ended their process
    broken  cells that ended their process
    """

    failed: int = 0
    broken: list[Broken] = field(default_factory=list)


_idle: list[Child] = []  # child processes that wait for the next chunk, or for the next run


def prepare(children: int) -> None:
    """Start child processes until `children` of them are idle.

    Call this in the main thread: a child process ends with the thread that has started it.
    """
    _idle.extend(Child() for _ in range(children - len(_idle)))


@contextlib.contextmanager
def _borrowed(owner: Hashable) -> Iterator[Child]:
    """Yield an idle or new child whose computing process has run no code of another owner.

    After the block, the child is idle again. After an exception, its computing process is
    interrupted and the child is closed.
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
    """Compute a chunk in a child process, and return the number of failed and broken cells.

    When a cell ends its process, the remaining cells are computed in a new process. The broken cell
    is not recorded here.

    Parameters
    ----------
    task : Task
        The chunk.
    limits : Limits
        Limits of each cell.
    is_stopped : callable
        Function that returns True as soon as the run must stop.

    Raises
    ------
    WorkerDiedError
        If several processes end before their first cell, or if the run is stopped. Records of
        finished cells stay.
    Exception
        Any error that the process raised outside of a cell.
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
                    # Records that were not yet in a file are lost with the process.
                    todo = [*todo[min(recorded, position) : position], *todo[position + 1 :]]
                    continue
                starts += 1
                if starts == MAX_STARTS:
                    remedy = f"; raise {end.limit}" if end.limit else ""
                    message = f"a worker process ended before its first cell: it {end}{remedy}"
                    raise WorkerDiedError(message) from None
    answer.failed += len(answer.broken)
    return answer


def call(function: str, argument: Any, limits: Limits) -> Any:
    """Call a function of the harness in a computing process of its own, and return its value.

    Parameters
    ----------
    function : str
        The function, as "module:function".
    argument : object
        Its only argument, which can be pickled.
    limits : Limits
        Limits of the call.

    Raises
    ------
    EndedError
        If the process ended, or exceeded a limit and was stopped.
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
    """Return (module path, working folder, environment) of this process, for child processes.

    All three may have changed since the child processes started. Without `local`, the working
    folder and the environment are None, because processes on other hosts must keep theirs.
    """
    folder = environment = None
    if local:
        environment = {k: v for k, v in os.environ.items() if (k, v) != ("PYTHONSAFEPATH", OURS)}
        with contextlib.suppress(OSError):  # the folder was deleted
            folder = os.getcwd()
    return list(sys.path), folder, environment


@contextlib.contextmanager
def safe_path() -> Iterator[None]:
    """Set PYTHONSAFEPATH in this block, so that workers import no module of the working folder.

    A file there could otherwise replace an installed package. `child.main` removes the variable
    again, so that processes started by estimators do not inherit it.
    """
    if "PYTHONSAFEPATH" in os.environ:
        yield
        return
    os.environ["PYTHONSAFEPATH"] = OURS
    try:
        yield
    finally:
        os.environ.pop("PYTHONSAFEPATH", None)
