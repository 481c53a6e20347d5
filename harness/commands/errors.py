"""Exit status and message for each kind of error of a command."""

from __future__ import annotations

from typing import Any

import typer

from harness.commands.base import NAME
from harness.errors import BadInputError, system_sentence
from harness.execute import processes, stops

UsageError: Any = typer.BadParameter.__base__  # typer has no public name for it
EXPECTED = BadInputError, UsageError, OSError  # errors of wrong input


def exit_status(error: BaseException) -> int | None:
    """Return the exit status for an expected error, or None for a defect of this package."""
    # Common mistakes are handled before the imports below, which take long.
    if isinstance(error, EXPECTED):
        return 2
    if isinstance(error, KeyboardInterrupt):
        return 143 if isinstance(error, stops.TerminatedError) else 130
    if isinstance(error, stops.RunInterruptedError):
        return 143 if error.terminated else 130
    from harness.execute.chunk import CellFailedError

    return 1 if isinstance(error, (CellFailedError, processes.WorkerDiedError)) else None


def sentence(error: Any) -> str:
    """Return the message of an error on one line, with a remedy."""
    if isinstance(error, UsageError):
        message = " ".join(error.format_message().split()).rstrip(".")
        path = error.ctx.command_path if error.ctx is not None else NAME
        name = path.removeprefix(NAME).strip()
        return f"{name}: {message}; `{path} --help` shows its usage." if name else f"{message}."
    if isinstance(error, OSError):
        return system_sentence(error)
    return str(error) or "interrupted"
