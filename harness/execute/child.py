"""What runs in the processes of `guard.Child`: cells of a chunk, or one call of a function of ours."""

from __future__ import annotations

import contextlib
import importlib
import sys
from multiprocessing.connection import Connection
from typing import Any

import pandas  # noqa: F401  pyarrow imports it with the first array; here, once for all that are forked
import pyarrow.parquet  # noqa: F401

from harness.common.escaping import message_of
from harness.common.threads import one_thread
from harness.common.user_code import ours
from harness.errors import BadInputError
from harness.execute import chunk, supervise, truths


def cells(pipe: Connection, board: supervise.Board) -> None:
    """Compute the chunks that come through the pipe, (pickled task, positions of the cells to do, megabytes), until it is closed
    or the process interrupted. Of each "done" is sent, or the exception. A task may also be of truths (`truths.store`)."""
    with contextlib.suppress(KeyboardInterrupt, EOFError, ConnectionError):
        while True:
            payload, positions, megabytes = pipe.recv()
            task = supervise.loads(payload)
            as_there(task["path"])
            if task["surroundings"]:
                supervise.take_over(*task["surroundings"])
            supervise.limit_memory(megabytes)
            told: Any = "done"
            try:
                if "truths" in task:
                    truths.compute(task, board)
                else:
                    chunk.run_chunk({**task, "cells": [task["cells"][at] for at in positions]}, board)
            except Exception as error:
                told = _sendable(error)
            pipe.send(told)


def _sendable(error: Exception) -> Exception:
    """Return an error that can be unpickled without importing anybody's code."""
    module = type(error).__module__
    if ours(module) or module in sys.stdlib_module_names:
        return error
    return RuntimeError(f"{type(error).__name__}: {message_of(error)}")


def call(pipe: Connection, board: supervise.Board) -> None:
    """Call the function that comes through the pipe, and send back what it returns, to whoever still listens."""
    try:
        path, function, argument = pipe.recv()
    except (EOFError, ConnectionError):
        return
    as_there(path)
    module, _, name = function.partition(":")
    told: tuple[str, Any]
    try:
        with one_thread():
            told = "returned", getattr(importlib.import_module(module), name)(argument)
    except BadInputError as error:
        told = "refused", str(error)
    with contextlib.suppress(ConnectionError):
        pipe.send(told)


def as_there(path: list[str]) -> None:
    """Modules are found here where the process that watches finds them, in the same order."""
    sys.path[:] = [*path, *(folder for folder in sys.path if folder not in path)]
