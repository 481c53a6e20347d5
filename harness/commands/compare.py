"""`calharness compare`: compare the user's object with the stored records of the arena.

The object is an estimator, a calibrator or a problem. The arena runs all estimators of the harness
on all problems with known truth.
"""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Annotated

import typer

from harness.commands import completion
from harness.common.arguments import named_values
from harness.common.paths import short_path
from harness.common.tables import text_table

if TYPE_CHECKING:
    pass

FILES = {"figure": ".png", "table": ".tex", "settings": "_settings.csv", "page": ".html"}


def command(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="TARGET|NAME=VALUE",
            show_default=False,
            help="module.Name or an id of an estimator, calibrator=module.Name, or "
            "problem=module.Name.",
            autocompletion=completion.estimator,
        ),
    ] = None,
    rebuild: Annotated[
        bool,
        typer.Option(
            "--rebuild",
            help="Compute the cells that are not in the baseline (all take 4.3 CPU hours) and "
            "store it, or only those of the given estimators, which may be new.",
        ),
    ] = False,
    quick: Annotated[
        bool | None,
        typer.Option(
            "--quick/--full",
            help="Use the first 5 replications of each sample size, or all. Without an option that "
            "selects a part of the arena, the comparison is quick.",
            show_default=False,
        ),
    ] = None,
) -> int:
    """Compare your estimator with all estimators of the arena, and write one page about it.

    \b
    calharness compare my_module.mine                      a first verdict, on 5 of 40 replications
    calharness compare my_module.mine --full               on the whole arena
    calharness compare calibrator=my_module.MyCalibrator   in the variational estimator
    calharness compare problem=my_module.MyProblem         the arena's cheap estimators on a problem
    calharness compare my_module.mine n=200,1000 reps=10 family=rare notion=binary estimand=l1
    calharness compare --rebuild ks kuiper out=DIR         compute stored records of two estimators
    calharness compare --rebuild out=DIR jobs=N            compute all missing stored records

    A few cells and the contract test come first. Then the other cells of your estimator are
    computed, with the arena's problems, sample sizes, replications and seed. The same command
    resumes an interrupted comparison. results/compare/NAME/ receives the page, a figure, a LaTeX
    table, and sentences to quote.

    \b
    n= reps= family= notion= estimand=    compare on a part of the arena only
    limit=60        seconds that one estimate may take; a slower estimator ends the comparison
    jobs=-1         number of processes; -1 = one per core
    out=DIR         folder of records and results; else CALHARNESS_OUT, else results/
    baseline=DIR    folder of the arena's stored records; else those that came with the package

    Exit status 2 if the object cannot be compared. The baseline is not changed.
    """
    if rebuild:
        return _rebuild(words or [])
    started = time.monotonic()
    from harness.comparing.request import read_request

    request = read_request(words or [], quick)
    from harness.comparing import comparison
    from harness.contract.check import failure_lines
    from harness.pages import own_results

    verdict = comparison.decide(request, say=lambda text: print(text, file=sys.stderr))
    counts = verdict.counts
    print(
        f"{verdict.name}: {counts['cells']:,} cells, {counts['done']:,} done before, "
        f"{counts['todo']:,} computed, {counts['skipped']:,} skipped, "
        f"{time.monotonic() - started:.1f} s"
    )
    for line in failure_lines(verdict.broken):
        print(f"  {line}")
    for note in verdict.notes:
        print(f"  {note}")
    if request.quick and counts["rest"]:
        print(
            f"\nFirst verdict, on a part of the arena ({request.limits}). The same command with "
            f"--full computes the other {counts['rest']:,} cells:"
        )
    for headline in verdict.headlines:
        print(f"\n{headline}")
    if verdict.headlines:
        print("\nIn words to quote:")
    for sentence in verdict.sentences:
        print(f"\n{sentence}")
    rows = []
    for kind, ending in FILES.items():
        path = next(path for path in verdict.files if path.name.endswith(ending))
        rows.append((kind, short_path(path)))
    results = verdict.files[-1].parents[2]
    rows.append(("your runs", short_path(own_results.save(results))))
    print(f"\n{text_table(rows)}")
    return 0


def _rebuild(words: list[str]) -> int:
    """Compute stored records of the arena again, all or those of the given estimators.

    Return the exit status.
    """
    from harness.workflow.rebuild_baseline import rebuild

    estimators = [word for word in words if "=" not in word]
    options = [word for word in words if "=" in word]
    values = named_values("compare --rebuild", options, ("out", "jobs", "engine", "baseline"))
    folder = values.pop("baseline", None)
    for path in rebuild(estimators, [f"{name}={value}" for name, value in values.items()], folder):
        print(f"  {short_path(path)}, {path.stat().st_size / 1e6:.2f} MB")
    return 0
