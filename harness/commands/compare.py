"""`calharness compare`: compare the user's object with the stored records of the arena.

The object is an estimator, a calibrator or a problem. The arena runs all estimators of the harness
on all problems with known truth.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer
import yaml

from harness.commands import completion
from harness.commands.base import named_values, short_path
from harness.common.tables import text_table
from harness.common.wording import format_count
from harness.errors import BadInputError

if TYPE_CHECKING:
    from harness.commands.comparison_request import Request
    from harness.contract.check import Finding

KINDS = ("problem", "calibrator")  # targets other than an estimator
LISTS = ("n", "family", "notion", "estimand")
SINGLE = ("reps", "out", "jobs", "limit", "baseline")
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
            help="Compute missing cells of the baseline and store it (in all 3 CPU hours).",
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
    calharness compare --rebuild out=DIR jobs=N            compute missing stored records

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
    request = _read_request(words or [], quick)
    from harness.commands import comparison
    from harness.pages import own_results

    verdict = comparison.decide(request, say=lambda text: print(text, file=sys.stderr))
    counts = verdict.counts
    print(
        f"{verdict.name}: {counts['cells']:,} cells, {counts['done']:,} done before, "
        f"{counts['todo']:,} computed, {counts['skipped']:,} skipped, "
        f"{time.monotonic() - started:.1f} s"
    )
    for line in _describe_findings(verdict.broken):
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


def _describe_findings(findings: Sequence[Finding]) -> list[str]:
    """Return one line for each failed item of the contract test, and one for all raised errors."""
    item = "failed item of the contract test"
    lines = [f"{item}, {one.item}: {one.detail}" for one in findings if not one.raised]
    raised = [one for one in findings if one.raised]
    if raised:
        names = ", ".join(one.item for one in raised)
        count = format_count(len(raised), "item")
        lines.append(
            f"{count} of the contract test failed because of an error ({names}): {raised[0].detail}"
        )
    return lines


def _read_request(words: Sequence[str], quick: bool | None) -> Request:
    """Return the request for a comparison that the words of the command line describe."""
    from harness.commands.comparison_request import Request, complete

    targets = [("estimator", word) for word in words if "=" not in word]
    given = [word for word in words if "=" in word]
    values: dict[str, Any] = {}
    for name, text in named_values("compare", given, (*KINDS, *LISTS, *SINGLE)).items():
        if name in KINDS:
            targets.append((name, text))
            continue
        try:
            items = yaml.safe_load(text if text.startswith("[") else f"[{text}]")
        except yaml.YAMLError as error:
            raise BadInputError(
                f"{name}={text} cannot be read; write a value as NAME=VALUE and a list as NAME=A,B."
            ) from error
        if name in LISTS:
            values[name] = tuple(items)
        elif items:
            values[name] = items[0]
    if len(targets) != 1:
        raise BadInputError(
            f"compare was given {' '.join(name for _, name in targets) or 'nothing to compare'}; "
            "give one estimator (module.Name or an id), problem=module.Name, or "
            "calibrator=module.Name."
        )
    return complete(Request(*targets[0], quick=quick, **values))


def _rebuild(words: list[str]) -> int:
    """Compute missing cells of the arena, cheapest experiment first, and write the baseline.

    Return the exit status.
    """
    from harness.commands.experiment import Experiment
    from harness.records import baseline

    values = named_values("compare --rebuild", words, ("out", "jobs", "engine", "baseline"))
    overrides = [f"{name}={value}" for name, value in values.items() if name != "baseline"]
    started = time.monotonic()
    planned = [Experiment.of([f"experiment={name}", *overrides]) for name in baseline.experiments()]
    for experiment in sorted(planned, key=Experiment.expected_seconds):
        print(f"{experiment.name}: {len(experiment.plan.cells):,} cells", file=sys.stderr)
        counts = experiment.compute()
        print(
            f"{experiment.name}: {counts['todo']:,} computed, {counts['failed']:,} failed, "
            f"{time.monotonic() - started:.0f} s"
        )
    for path in baseline.store(planned[0].out, values.get("baseline")):
        print(f"  {short_path(path)}, {path.stat().st_size / 1e6:.2f} MB")
    return 0
