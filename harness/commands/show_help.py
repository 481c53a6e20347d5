"""`calharness help`: print the help of a command."""

from __future__ import annotations

from typing import Annotated

import typer

from harness.commands.base import NAME


def _commands(ctx: typer.Context, incomplete: str) -> list[str]:
    return list(ctx.find_root().command.commands)  # type: ignore[attr-defined]


def command(
    ctx: typer.Context,
    command: Annotated[str | None, typer.Argument(autocompletion=_commands)] = None,
) -> int:
    """Print the help of a command. `calharness COMMAND --help` prints the same."""
    words = [command, "--help"] if command else ["--help"]
    ctx.find_root().command.main(words, prog_name=NAME, standalone_mode=False)
    return 0
