"""`calharness doctor`: find and repair damaged files in a folder of results."""

from __future__ import annotations

from typing import Annotated

import typer

from harness.commands.base import Overrides, results_folder


def command(
    overrides: Overrides = None,
    compact: Annotated[
        bool, typer.Option("--compact", help="Join all readable files of records into one.")
    ] = False,
    repair: Annotated[
        bool,
        typer.Option(
            "--repair",
            help="Move unreadable files to broken/. The next run computes their cells again.",
        ),
    ] = False,
) -> int:
    """Print which files of records are broken, and which cells are missing or recorded twice.

    \b
    calharness doctor
    calharness doctor out=/scratch/results --compact
    calharness doctor experiment=arena    also print how many cells of this experiment are missing

    Exit status 1 if there is a problem.
    """
    from harness.configure.compose import compose, out_folder
    from harness.workflow.health import examine

    words = overrides or []
    if all(word.startswith("out=") for word in words):
        text, problems = examine(results_folder("doctor", words), None, compact, repair)
    else:
        text, problems = examine(out_folder(compose(words).out), words, compact, repair)
    print(text)
    return int(problems > 0)
