"""`calharness compare`: an own estimator, problem or calibrator against the stored baseline of the arena."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from harness.commands import completion
from harness.commands.base import short_path
from harness.commands.comparison_options import Asked, checked, refuse_unknown
from harness.common.tables import text_table
from harness.errors import BadInputError


def command(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="TARGET|NAME=VALUE",
            show_default=False,
            help="module.Name or an id of an estimator, or calibrator=module.Name, or problem=module.Name.",
            autocompletion=completion.estimator,
        ),
    ] = None,
    rebuild: Annotated[
        bool,
        typer.Option(
            "--rebuild", help="Compute the baseline anew, cheapest first (hours), and store it."
        ),
    ] = False,
) -> int:
    """Compare an own estimator with all of the arena, on one page.

    \b
    calharness compare my_module.mine                      an estimator: module.Name or an id
    calharness compare calibrator=my_module.MyCalibrator   in the variational estimator
    calharness compare problem=my_module.MyProblem         the arena's cheap estimators on a problem
    calharness compare my_module.mine n=200,1000 reps=10 family=rare notion=binary estimand=l1
    calharness compare --rebuild out=DIR jobs=N

    A few cells and the contract test come first. Then only the new cells are computed, with the
    arena's problems, sample sizes, replications and seed. After an interruption the same command
    goes on. results/compare/NAME/ has page, figure, LaTeX table, and sentences to be quoted.

    \b
    n= reps= family= notion= estimand=    a part of the arena
    limit=60        seconds that one estimate may take; a slower estimator is stopped and named
    jobs=-1         processes; -1 = one per core
    out=DIR         the folder of records and results; else CALHARNESS_OUT, else results/
    baseline=DIR    the stored records of the arena; else those that came with the package

    Exit status 2 if it cannot be compared. The baseline is only read.
    """
    if rebuild:
        return _rebuild(words or [])
    started = time.monotonic()
    asked = _asked(words or [])
    from harness.commands import comparison
    from harness.pages import own_results

    found = comparison.verdict(asked, say=lambda text: print(text, file=sys.stderr))
    counts = found.counts
    print(
        f"{found.name}: {counts['cells']:,} cells, {counts['done']:,} done before, {counts['todo']:,} computed, "
        f"{counts['skipped']:,} skipped, {time.monotonic() - started:.1f} s"
    )
    for one in found.broken:
        print(f"  the contract test says of {one.item}: {one.detail}")
    for note in found.notes:
        print(f"  {note}")
    for sentence in found.sentences:
        print(f"\n{sentence}")
    ends = {"figure": ".png", "table": ".tex", "settings": "_settings.csv", "page": ".html"}
    rows = [
        (what, short_path(next(f for f in found.files if f.name.endswith(end))))
        for what, end in ends.items()
    ]
    rows.append(("your runs", short_path(own_results.save(found.files[-1].parent.parent.parent))))
    print(f"\n{text_table(rows)}")
    return 0


def _asked(arguments: Sequence[str]) -> Asked:
    """What the words of the command line ask for."""
    import yaml

    words = [text for text in arguments if "=" not in text]
    given: dict[str, Any] = {}
    for text in arguments:
        name, equals, value = text.partition("=")
        if equals:
            try:
                read = yaml.safe_load(value if value.startswith("[") else f"[{value}]")
            except yaml.YAMLError as error:
                raise BadInputError(
                    f"{text!r} cannot be read; give NAME=VALUE, a list as NAME=A,B."
                ) from error
            given[name] = read
    refuse_unknown(given)
    kinds = {kind: given.pop(kind)[0] for kind in ("problem", "calibrator") if given.get(kind)}
    if len(words) + len(kinds) != 1:
        what = (
            " ".join([*words, *(f"{kind}={target}" for kind, target in kinds.items())]) or "nothing"
        )
        raise BadInputError(
            f"compare takes one estimator (module.Name or an id), problem=module.Name, or calibrator=module.Name; found {what}."
        )
    kind, target = next(iter(kinds.items())) if kinds else ("estimator", words[0])
    single: dict[str, Any] = {
        name: given.pop(name)[0] if given.get(name) else None
        for name in ("reps", "out", "jobs", "limit", "baseline")
        if name in given
    }
    lists: dict[str, Any] = {name: tuple(values or ()) for name, values in given.items()}
    return checked(Asked(kind, str(target), **lists, **single))


def _rebuild(arguments: list[str]) -> int:
    """Compute what the arena's experiments lack, cheapest first, and store the baseline."""
    from harness.commands.experiment import Experiment
    from harness.records import baseline

    allowed = ("out", "jobs", "engine", "baseline")
    wrong = next(
        (text for text in arguments if text.partition("=")[0] not in allowed or "=" not in text),
        None,
    )
    if wrong:
        raise BadInputError(
            f"compare --rebuild has no option {wrong!r}; it takes {', '.join(f'{name}=' for name in allowed)}."
        )
    folder = next(
        (text.partition("=")[2] for text in arguments if text.startswith("baseline=")), None
    )
    given = [text for text in arguments if not text.startswith("baseline=")]
    started = time.monotonic()
    planned = [Experiment.of([f"experiment={name}", *given]) for name in baseline.experiments()]
    costs = [one.expected_seconds() for one in planned]
    for position, one in sorted(enumerate(planned), key=lambda pair: costs[pair[0]]):
        print(f"{one.name}: {len(one.plan.cells):,} cells", file=sys.stderr)
        counts = one.compute(later=sum(cost for cost in costs if cost > costs[position]))
        print(
            f"{one.name}: {counts['todo']:,} computed, {counts['failed']:,} failed, {time.monotonic() - started:.0f} s"
        )
    for path in baseline.store(planned[0].out, folder):
        print(f"  {short_path(path)}, {path.stat().st_size / 1e6:.2f} MB")
    return 0
