"""`calharness list`: ids with a line of description each."""

from __future__ import annotations

from typing import Annotated

import typer

from harness.configure.options import GROUPS
from harness.errors import BadInputError, guess

NAMES = {f"{group}s": group for group in (*GROUPS, "calibrator")}
PAPERS = "papers"


def command(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAMES|WORD|KEY=VALUE",
            show_default=False,
            help=f"One of {', '.join(NAMES)}, {PAPERS}; then words and properties as filters.",
            autocompletion=lambda incomplete: [*NAMES, PAPERS],
        ),
    ] = None,
    everything: Annotated[
        bool,
        typer.Option(
            "--all",
            help="Also variants of papers (their ids end in the paper's) and legacy streams.",
        ),
    ] = False,
) -> int:
    """Print ids, a line on each, or the papers with their items.

    \b
    calharness list                                      counts of each kind
    calharness list estimators kernel notion=canonical   with the word in id or description, and
                                                         with this notion
    calharness list experiments paper=berta2026 --all
    calharness list papers gruber2025 twin               how items were run, verdicts by source,
                                                         what is missing, their pages

    A listed id matches all words and properties: notion= (problems, estimators), estimand=
    (estimators), problem= and estimator= (experiments that use it), paper=.
    """
    from harness.commands import listing_ids, listing_papers

    if not names:
        listing_ids.print_counts(NAMES)
        return 0
    kind, *filters = names
    if kind == PAPERS:
        listing_papers.print_papers(filters)
    elif kind in NAMES:
        listing_ids.print_ids(NAMES[kind], filters, everything)
    else:
        allowed = [*NAMES, PAPERS]
        raise BadInputError(
            f"list is given {kind!r}{guess(kind, allowed)}; it takes one of {', '.join(allowed)}."
        )
    return 0
