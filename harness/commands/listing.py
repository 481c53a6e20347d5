"""`calharness list`: print ids, each with one line of description."""

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
            help=f"One of {', '.join(NAMES)}, {PAPERS}; then words or KEY=VALUE as filters.",
            autocompletion=lambda incomplete: [*NAMES, PAPERS],
        ),
    ] = None,
    everything: Annotated[
        bool,
        typer.Option(
            "--all",
            help="Also list variants of papers: ids that end in the id of a paper or in _legacy.",
        ),
    ] = False,
) -> int:
    """Print ids with one line about each, or papers with their items.

    \b
    calharness list                                      number of ids of each kind
    calharness list estimators kernel notion=canonical   ids with this word (in the id or its
                                                         description) and this notion
    calharness list experiments paper=berta2026 --all
    calharness list papers gruber2025 twin               how items were run, verdicts by source,
                                                         what is missing, their pages

    Filters KEY=VALUE are notion= (problems, estimators), estimand= (estimators), problem= and
    estimator= (experiments that use it), and paper=. An id is listed if all filters match.
    In a terminal, lines are cut to its width; --wide prints whole lines.
    """
    from harness.plan import listing

    if not names:
        listing.print_counts(NAMES)
        return 0
    kind, *filters = names
    if kind == PAPERS:
        from harness.evaluation import paper_list  # slow to import

        paper_list.print_papers(filters)
    elif kind in NAMES:
        listing.print_ids(NAMES[kind], filters, everything)
    else:
        allowed = [*NAMES, PAPERS]
        raise BadInputError(
            f"there is no list of {kind!r}{guess(kind, allowed)}; give one of {', '.join(allowed)}."
        )
    return 0
