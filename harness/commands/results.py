"""`calharness results`: the results of all papers."""

from __future__ import annotations

from typing import Annotated

import typer

from harness.commands import completion
from harness.errors import BadInputError


def command(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="EXPERIMENT|NAME=VALUE",
            help="Experiments of papers, also by a pattern; all if none is named.",
            show_default=False,
            autocompletion=completion.experiment_of_paper,
        ),
    ] = None,
    compute: Annotated[
        bool,
        typer.Option("--compute", help="Compute what no record holds, cheapest first, then draw."),
    ] = False,
    store: Annotated[
        bool,
        typer.Option(
            "--store", help="Write results/records_of/EXPERIMENT.parquet from the records."
        ),
    ] = False,
) -> int:
    """Draw the results of all papers from stored records.

    \b
    calharness results                       every experiment that has stored records
    calharness results 'berta2026_*'         those of one paper
    calharness results --compute             interrupted? The same command goes on
    calharness results --store 'ciosek*'

    The folder is out=DIR, else CALHARNESS_OUT, else results/. Experiments without any number are
    not drawn. Exit status 1 if one could not be drawn or computed; it stops no other.
    """
    from harness.configure.compose import out_folder

    overrides = [word for word in words or [] if "=" in word]
    other = next(
        (w for w in overrides if w.partition("=")[0] not in ("out", "jobs", "engine")), None
    )
    if other or compute and store:
        raise BadInputError(
            f"results has no option {other or '--compute --store'!r}; it takes --compute or --store, "
            "names of experiments, and out=DIR."
        )
    from harness.commands import all_results

    chosen = all_results.chosen([word for word in words or [] if "=" not in word])
    given = next((text.partition("=")[2] for text in overrides if text.startswith("out=")), None)
    out = out_folder(given)
    if store:
        return all_results.store(chosen, overrides, out)
    return (
        all_results.compute(chosen, overrides, out) if compute else all_results.redraw(chosen, out)
    )
