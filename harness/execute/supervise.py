"""Run estimators in processes that are supervised from outside.

There are three levels of processes:

    supervisor                main process, or worker of Dask or Ray; runs no estimator
      forking process         has imported the harness, and forks (harness.execute.child)
        computing process     runs cells, in a session of its own

An estimator that hangs, crashes or uses too much memory costs its own cell and no other. A new
computing process is forked within milliseconds, so that a thousand crashes cost seconds. Cells with
different owners (see `Plan.owner`) never share a computing process. A computing process notes its
current cell in a file. The supervisor can read this note however the process ends.

One rule holds for whatever an estimator leaves behind in its process, such as a lowered limit, an
alarm or another environment: a computing process that fails outside of a cell is ended and
replaced, and the cell that ran last is named in its record. The main process never gets its error.

Faults that need this: an estimator crashes, exits or hangs, also in C, where no exception can
reach it. It patches a library, which would change the numbers of its neighbours. A process is
killed between two cells. A file in the working folder has the name of an installed package.

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

from harness.common.escaping import error_message
from harness.errors import BadInputError
from harness.execute.pace import Work
from harness.execute.processes import (
    OURS,
    Child,
    EndedError,
    FailedError,
    Limits,
    WorkerDiedError,
)

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

    work    report on the cells; those that ended their process count as failed
    broken  cells that ended their process
    """

    work: Work = field(default_factory=Work)
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
    """Compute a chunk in a child process, and return the report on its cells.

    When a cell ends its process, the remaining cells are computed in a new process. When something
    fails outside of a cell, the process is replaced too, and the cells without a record are halved
    until the one is alone after which it fails. The broken cell is not recorded here.

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
        If several processes fail before their first cell, or if the run is stopped. Records of
        finished cells stay.
    BadInputError
        If a component cannot be built in a new process, because its file has changed.
    CellFailedError
        At the first failed cell if on_error=raise.
    OSError
        If records cannot be written to their store.
    """
    answer, batches, starts = Answer(), [list(range(task.cells))], 0
    while batches:
        todo = batches.pop()
        if not todo:
            continue
        with _borrowed(task.owner) as child:
            error: Exception
            try:
                argument = pickle.dumps((task.payload, todo))
                surroundings = task.surroundings
                answer.work.add(child.call(RUN_CHUNK, argument, surroundings, limits, is_stopped))
                continue
            except EndedError as end:
                error = end
            except (FailedError, BadInputError) as failure:
                error = failure
                child.end()
            position, is_computing, recorded = child.noted()
        # Records that were not yet in a file are lost with the process.
        before, rest = todo[recorded : max(position, 0)], todo[position + 1 :]
        if isinstance(error, EndedError):
            reason, limit = str(error), error.limit
            # A process that is killed from outside between two cells is not the fault of a cell.
            is_culprit = bool(is_computing) or bool(limit) or starts == MAX_STARTS - 1
            is_culprit = is_culprit and position >= 0
            if is_culprit and not is_computing:
                reason = f"did not begin, because drawing its sample {reason}"
        elif before:  # any of them may have left the process so
            unrecorded = [*before, todo[position]]
            half = len(unrecorded) // 2
            batches += [rest, unrecorded[half:], unrecorded[:half]]
            continue
        else:
            is_culprit, limit = bool(is_computing), None
            reason = f"left its process unable to go on ({error_message(error)})"
        if is_culprit:
            starts = 0
            answer.broken.append(Broken(todo[position], reason, limit))
            batches += [rest, before]
            continue
        starts += 1
        batches.append(todo[recorded:])
        if starts == MAX_STARTS:
            if isinstance(error, BadInputError):
                raise error
            remedy = f"; raise {limit}" if limit else ""
            message = f"a worker process ended before its first cell: it {reason}{remedy}"
            raise WorkerDiedError(message) from None
    answer.work.failed += len(answer.broken)
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
        If the process ended, or exceeded a limit and was stopped, or if the function raised an
        error that is not one of the harness or of the operating system.
    """
    with _borrowed(object()) as child:
        try:
            never = lambda: False  # noqa: E731
            return child.call(function, pickle.dumps(argument), surroundings(), limits, never)
        except EndedError as end:
            ended = end
        except FailedError as failure:
            ended = EndedError(f"raised {error_message(failure)}")
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
