"""What the commands share: their class, the group that they are in, and the types of arguments."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from harness.commands import completion
from harness.common.escaping import EscapedStream
from harness.errors import BadInputError, guess

WIDTH = 100  # columns of a help text
SETTINGS: dict[str, Any] = {"help_option_names": ["-h", "--help"], "max_content_width": WIDTH}
HYDRAS = {
    **SETTINGS,
    "ignore_unknown_options": True,
}  # flags of Hydra are checked with the overrides

Overrides = Annotated[
    list[str] | None,
    typer.Argument(
        help="NAME=VALUE in Hydra's grammar, and Hydra's flags (-m, --cfg job ...).",
        metavar="OVERRIDES",
        show_default=False,
        autocompletion=completion.overrides,
    ),
]


class Command(TyperCommand):
    """A command whose output is escaped: ids, reasons, names of files and answers of servers may
    hold codes of a terminal. Its help is not escaped."""

    def invoke(self, ctx: Any) -> Any:
        with _escaped_output():
            return super().invoke(ctx)


class Commands(TyperGroup):
    """All commands. A line that begins with an override or with a flag of Hydra is a `run`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands:
            own = {flag for parameter in self.get_params(ctx) for flag in parameter.opts}
            if ctx.resilient_parsing or "=" in args[0] or args[0].startswith(("-", "+", "~")):
                args = args if args[0] in own else ["run", *args]
            else:
                raise self.no_command(args[0])
        return super().parse_args(ctx, args)

    def no_command(self, word: str) -> BadInputError:
        """The error of a word that is no command; an id gets the override that selects it."""
        from harness.configure.options import GROUPS, ids

        group = next((g for g in GROUPS if word in ids(g)), None)
        hint = f" (did you mean {group}={word}?)" if group else guess(word, list(self.commands))
        return BadInputError(
            f"there is no command {word!r}{hint}; commands are {', '.join(self.commands)}, and options are NAME=VALUE."
        )

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        """Complete the first word: a command, or an override of a run."""
        run = self.commands["run"]
        with run.make_context("run", [], parent=ctx, resilient_parsing=True) as of_run:
            words = [one for p in run.params for one in p.shell_complete(of_run, incomplete)]
        return [*super().shell_complete(ctx, incomplete), *words]


@contextlib.contextmanager
def _escaped_output() -> Iterator[None]:
    streams = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = map(EscapedStream, streams)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = streams


def short_path(path: Path) -> str:
    """The path relative to the working folder where that is shorter."""
    relative = os.path.relpath(path)
    return relative if len(relative) < len(str(path)) else str(path)


def results_folder(overrides: list[str]) -> Path:
    """The folder of results of a command that takes out=DIR alone. It must exist if it is given."""
    from harness.configure.compose import compose, out_folder

    wrong = [text for text in overrides if not text.startswith("out=")]
    if wrong:
        raise BadInputError(f"{wrong[0]!r} is no option here; only out=DIR is.")
    folder = out_folder(compose(overrides).out if overrides else None)
    if overrides and not folder.is_dir():
        raise BadInputError(
            f"out is {str(folder)!r}, where there is no folder; give one that a run wrote to."
        )
    return folder
