"""`calharness results`: draw, compute or store the results of all papers."""

from __future__ import annotations

from typing import Annotated

import typer

from harness.commands import completion
from harness.commands.base import named_values
from harness.errors import BadInputError


def command(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="EXPERIMENT|NAME=VALUE",
            help="Ids of experiments, or patterns such as 'berta2026_*'. Default: all of papers.",
            show_default=False,
            autocompletion=completion.experiment_of_paper,
        ),
    ] = None,
    compute: Annotated[
        bool,
        typer.Option("--compute", help="First compute missing cells, cheapest experiment first."),
    ] = False,
    store: Annotated[
        bool,
        typer.Option(
            "--store",
            help="Write the records to results/records_of/EXPERIMENT.parquet, and draw nothing.",
        ),
    ] = False,
) -> int:
    """Draw the results of all papers from stored records.

    \b
    calharness results                       every experiment that has stored records
    calharness results 'berta2026_*'         all experiments of one paper
    calharness results --compute             first compute missing cells; the same command
                                             resumes an interrupted run
    calharness results --store 'ciosek*'     write the records of these experiments to files

    The folder is out=DIR, else CALHARNESS_OUT, else results/. Experiments without any number are
    not drawn. If an experiment cannot be computed or drawn, the others still are, and the exit
    status is 1.
    """
    from harness.commands import all_results
    from harness.configure.compose import out_folder

    if compute and store:
        raise BadInputError("results takes --compute or --store, but not both; leave one out.")
    overrides = [word for word in words or [] if "=" in word]
    values = named_values("results", overrides, ("out", "jobs", "engine"))
    names = all_results.select([word for word in words or [] if "=" not in word])
    out = out_folder(values.get("out"))
    if store:
        return all_results.store(names, overrides, out)
    if compute:
        return all_results.compute(names, overrides, out)
    return all_results.redraw(names, out)
