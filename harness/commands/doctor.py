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
            help="Move unreadable files into broken/, with a note. Their cells are computed again.",
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
    from harness.commands.health import examine
    from harness.configure.compose import compose, out_folder

    words = overrides or []
    if all(word.startswith("out=") for word in words):
        text, problems = examine(results_folder("doctor", words), None, compact, repair)
    else:
        text, problems = examine(out_folder(compose(words).out), words, compact, repair)
    print(text)
    return int(problems > 0)
