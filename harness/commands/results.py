"""`calharness results`: draw the results of papers and the arena, or compute or store them."""

from __future__ import annotations

from typing import Annotated

import typer

from harness.common.arguments import named_values
from harness.configure import catalogue
from harness.errors import BadInputError


def command(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="EXPERIMENT|NAME=VALUE",
            help="Ids of experiments of papers, patterns such as '*_fig1', arena_index for the "
            "page of the arena, or PAPER_propositions. Default: all.",
            show_default=False,
            autocompletion=catalogue.experiment_of_paper,
        ),
    ] = None,
    compute: Annotated[
        bool,
        typer.Option("--compute", help="First compute missing cells, smallest experiment first."),
    ] = False,
    store: Annotated[
        bool,
        typer.Option(
            "--store",
            help="Write the records to results/records_of/EXPERIMENT.parquet, and draw nothing.",
        ),
    ] = False,
) -> int:
    """Draw the results of all papers, and the page of the arena, from stored records.

    \b
    calharness results                       every experiment that has stored records
    calharness results 'berta2026_*'         all experiments of one paper
    calharness results '*_propositions'      what the papers state, computed (a minute of CPU time)
    calharness results arena_index           the page of the arena, with its leaderboards
    calharness results --compute             first compute missing cells of papers; the same
                                             command resumes an interrupted run
    calharness results --store 'ciosek*'     write the records of these experiments to files

    The folder is out=DIR, else CALHARNESS_OUT, else results/. Experiments without any number are
    not drawn. If an experiment cannot be computed or drawn, the others still are, and the exit
    status is 1.
    """
    from harness.configure.compose import out_folder
    from harness.workflow import all_results

    if compute and store:
        raise BadInputError("results takes --compute or --store, but not both; leave one out.")
    overrides = [word for word in words or [] if "=" in word]
    values = named_values("results", overrides, ("out", "jobs", "engine"))
    patterns = [word for word in words or [] if "=" not in word]
    names = all_results.select(patterns, with_others=not (compute or store))
    out = out_folder(values.get("out"))
    if store:
        return all_results.store(names, overrides, out)
    if compute:
        return all_results.compute(names, overrides, out)
    return all_results.redraw(names, out)
