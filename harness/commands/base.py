"""Shared parts of the commands: their classes, the types of arguments, and words as NAME=VALUE."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from harness.commands import completion
from harness.common.escaping import EscapedStream
from harness.configure.options import GROUPS, ids
from harness.errors import BadInputError, guess

WIDTH = 100  # columns of a help text
SETTINGS: dict[str, Any] = {"help_option_names": ["-h", "--help"], "max_content_width": WIDTH}
# Hydra's own flags pass through; they are checked together with the overrides.
HYDRA_SETTINGS = {**SETTINGS, "ignore_unknown_options": True}

Overrides = Annotated[
    list[str] | None,
    typer.Argument(
        help="NAME=VALUE in Hydra's grammar, and Hydra's flags (-m, --cfg job ...).",
        metavar="OVERRIDES",
        show_default=False,
        autocompletion=completion.overrides,
    ),
]
OutFolder = Annotated[
    list[str] | None,
    typer.Argument(metavar="out=DIR", show_default=False, help="The folder of results."),
]


class Command(TyperCommand):
    """A command whose output is escaped.

    Ids, reasons, file names and answers of servers may hold terminal codes. Help texts may not,
    so they are printed as they are.
    """

    def invoke(self, ctx: Any) -> Any:
        """Run the command with escaped output."""
        output: Any = EscapedStream(sys.stdout)
        errors: Any = EscapedStream(sys.stderr)
        with redirect_stdout(output), redirect_stderr(errors):
            return super().invoke(ctx)


class Commands(TyperGroup):
    """The group of all commands. A line that begins with an override or a Hydra flag is a `run`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Insert `run` where the line has no command. Raises BadInputError on an unknown word."""
        flags = {flag for parameter in self.get_params(ctx) for flag in parameter.opts}
        if args and args[0] not in self.commands and args[0] not in flags:
            is_override = "=" in args[0] or args[0].startswith(("-", "+", "~"))
            if not is_override and not ctx.resilient_parsing:
                raise self.unknown_command(args[0])
            args = ["run", *args]
        return super().parse_args(ctx, args)

    def unknown_command(self, word: str) -> BadInputError:
        """Return the error for an unknown word. For an id, it suggests the override."""
        group = next((name for name in GROUPS if word in ids(name)), None)
        hint = f" (did you mean {group}={word}?)" if group else guess(word, list(self.commands))
        return BadInputError(
            f"there is no command {word!r}{hint}; commands are {', '.join(self.commands)}, "
            "and options are NAME=VALUE."
        )

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        """Complete the first word: a command, or an override of a run."""
        run = self.commands["run"]
        with run.make_context("run", [], parent=ctx, resilient_parsing=True) as run_context:
            words = [
                word
                for parameter in run.params
                for word in parameter.shell_complete(run_context, incomplete)
            ]
        return [*super().shell_complete(ctx, incomplete), *words]


def short_path(path: Path) -> str:
    """Return the shorter of the absolute path and the path from the working folder."""
    return min(str(path), os.path.relpath(path), key=len)


def split(text: str | None) -> list[str]:
    """Split at commas: 'a,b' -> ['a', 'b']."""
    return [name for name in (text or "").split(",") if name]


def integers(option: str, text: str | None) -> list[int]:
    """Split at commas: '0,1' -> [0, 1]. Raises BadInputError if a part is no integer."""
    try:
        return [int(number) for number in split(text)]
    except ValueError:
        raise BadInputError(f"{option} is {text!r}; integers are needed, such as 0,1.") from None


def named_values(command: str, words: Sequence[str], allowed: Sequence[str]) -> dict[str, str]:
    """Read words NAME=VALUE.

    Parameters
    ----------
    command : str
        The command that takes the words, for the error message.
    words : sequence of str
        The words of the command line.
    allowed : sequence of str
        Names that the command takes.

    Returns
    -------
    dict
        The texts of the values by name.

    Raises
    ------
    BadInputError
        If a word has no equals sign, or a name is not allowed.

    Examples
    --------
    >>> named_values("status", ["out=a=b"], ["out"])
    {'out': 'a=b'}
    """
    values = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or name not in allowed:
            takes = ", ".join(f"{known}=" for known in allowed)
            raise BadInputError(
                f"{command} has no option {name!r}{guess(name, allowed)}; it takes {takes}."
            )
        values[name] = value
    return values


def results_folder(command: str, words: Sequence[str]) -> Path:
    """Return the folder of results of a command that takes only out=DIR.

    Raises BadInputError if a folder is named and does not exist.
    """
    from harness.configure.compose import out_folder

    given = named_values(command, words, ["out"]).get("out")
    folder = out_folder(given)
    if given and not folder.is_dir():
        raise BadInputError(
            f"out is {str(folder)!r}, where there is no folder; give one that a run wrote to."
        )
    return folder
