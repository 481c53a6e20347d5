"""`calharness doctor`: the health of a results folder."""

from __future__ import annotations

from typing import Annotated

import typer

from harness.commands.base import Overrides, results_folder


def command(
    overrides: Overrides = None,
    compact: Annotated[
        bool, typer.Option("--compact", help="Join the readable parts into one.")
    ] = False,
    repair: Annotated[
        bool,
        typer.Option(
            "--repair",
            help="Move what cannot be read into broken/, with a note; its cells are computed again.",
        ),
    ] = False,
) -> int:
    """Print broken parts, duplicates and missing cells of records.

    \b
    calharness doctor
    calharness doctor out=/scratch/results --compact
    calharness doctor experiment=arena    and the cells of this experiment that are missing

    Exit status 1 if there is a problem.
    """
    words = overrides or []
    only_out = all(word.startswith("out=") for word in words)
    from harness.configure.compose import compose, out_folder

    folder = results_folder(words) if only_out else out_folder(compose(words).out)
    from harness.commands.health import examine

    text, problems = examine(folder, None if only_out else words, compact=compact, repair=repair)
    print(text)
    return int(problems > 0)
