"""Classes and argument types that several commands share."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from harness.commands import completion
from harness.common.arguments import named_values
from harness.common.escaping import EscapedStream
from harness.configure.options import GROUPS, ids
from harness.errors import BadInputError, guess

if TYPE_CHECKING:
    from harness.configure.settings import Settings

NAME = "calharness"  # of the program
WIDTH = 100  # characters per line of a help text
SETTINGS: dict[str, Any] = {"help_option_names": ["-h", "--help"], "max_content_width": WIDTH}
# typer lets Hydra's own flags pass. They are checked later, together with the overrides.
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
    """Command whose output is escaped, except for its help text.

    Ids, reasons, file names and answers of servers may contain control characters.
    """

    def invoke(self, ctx: Any) -> Any:
        """Run the command, and escape what it prints."""
        output: Any = EscapedStream(sys.stdout)
        errors: Any = EscapedStream(sys.stderr)
        with redirect_stdout(output), redirect_stderr(errors):
            return super().invoke(ctx)


class Commands(TyperGroup):
    """Group of all commands. The command `run` may be left out before overrides and Hydra flags."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Insert the command `run` if the command line begins with an override or a Hydra flag.

        Raise BadInputError if the first word is unknown.
        """
        flags = {flag for parameter in self.get_params(ctx) for flag in parameter.opts}
        if args and args[0] not in self.commands and args[0] not in flags:
            is_override = "=" in args[0] or args[0].startswith(("-", "+", "~"))
            if not is_override and not ctx.resilient_parsing:
                raise self.unknown_command(args[0])
            args = ["run", *args]
        return super().parse_args(ctx, args)

    def unknown_command(self, word: str) -> BadInputError:
        """Return the error for an unknown first word. If the word is an id, suggest GROUP=ID."""
        if word == "sweep":
            return BadInputError(
                "there is no command 'sweep'; give a run the values of a parameter, such as "
                "'sweep.estimator.binned15.bins=[5,10,20]' (`calharness help run`)."
            )
        group = next((name for name in GROUPS if word in ids(name)), None)
        hint = f" (did you mean {group}={word}?)" if group else guess(word, list(self.commands))
        return BadInputError(
            f"there is no command {word!r}{hint}; commands are {', '.join(self.commands)}, "
            "and options are written NAME=VALUE."
        )

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        """Return completions of the first word: commands, and overrides of a run."""
        run = self.commands["run"]
        with run.make_context("run", [], parent=ctx, resilient_parsing=True) as run_context:
            words = [
                word
                for parameter in run.params
                for word in parameter.shell_complete(run_context, incomplete)
            ]
        return [*super().shell_complete(ctx, incomplete), *words]


def read_run(words: list[str]) -> Settings | list[str]:
    """Return the checked settings of a run, or its words if they have flags of Hydra such as -m.

    The command calls this before it imports what plans and computes. A mistake in the settings is
    then reported within a second.
    """
    from harness.configure import compose as composing

    words = composing.replace_config_dir(words)
    return words if any(word.startswith("-") for word in words) else composing.compose(words)


def results_folder(command: str, words: Sequence[str]) -> Path:
    """Return the folder of results for a command whose only option is out=DIR.

    Raise BadInputError if out= names a folder that does not exist.
    """
    from harness.configure.compose import out_folder

    given = named_values(command, words, ["out"]).get("out")
    folder = out_folder(given)
    if given and not folder.is_dir():
        raise BadInputError(
            f"out is {str(folder)!r}, which does not exist; give the out= folder of a run."
        )
    return folder
