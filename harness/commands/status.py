"""`calharness status`: the contents of a results folder."""

from __future__ import annotations

from typing import Annotated

import typer

from harness.commands.base import results_folder


def command(
    overrides: Annotated[
        list[str] | None,
        typer.Argument(metavar="out=DIR", show_default=False, help="The folder of results."),
    ] = None,
) -> int:
    """Print what the records of a results folder hold.

    \b
    calharness status
    calharness status out=/scratch/results

    The folder is out=DIR, else CALHARNESS_OUT, else results/.
    """
    folder = results_folder(overrides or [])
    from harness.commands.health import status_text

    print(status_text(folder))
    return 0
