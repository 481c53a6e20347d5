"""`calharness compare`: an own estimator, problem or calibrator against the stored baseline of the arena."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from harness.commands import completion
from harness.commands.base import short_path
from harness.common.tables import text_table
from harness.errors import BadInputError, guess

LIMIT = 60.0  # seconds that a cell may take unless limit= says otherwise
OPTIONS = ("problem", "calibrator", "n", "reps", "family", "notion", "estimand", "out", "jobs", "limit", "baseline")


@dataclass(frozen=True)
class Asked:
    """What is compared, and what of it. kind: estimator | problem | calibrator; target: module.Name, an id, or an object."""

    kind: str
    target: Any
    n: tuple[int, ...] = ()
    reps: int | None = None
    family: tuple[str, ...] = ()
    notion: tuple[str, ...] = ()
    estimand: tuple[str, ...] = ()
    out: Any = None
    jobs: int = -1
    limit: float = LIMIT
    baseline: Any = None

    @property
    def limits(self) -> str:
        """In words, to what the comparison was restricted."""
        given = {name: getattr(self, name) for name in ("n", "reps", "family", "notion", "estimand")}
        lists = {name: value if isinstance(value, tuple) else (value,) for name, value in given.items() if value}
        return ", ".join(f"{name} = {', '.join(map(str, values))}" for name, values in lists.items())


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
        typer.Option("--rebuild", help="Compute the baseline anew, cheapest first (hours), and store it."),
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
    rows = [(what, short_path(next(f for f in found.files if f.name.endswith(end)))) for what, end in ends.items()]
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
                raise BadInputError(f"{text!r} cannot be read; give NAME=VALUE, a list as NAME=A,B.") from error
            given[name] = read
    refuse_unknown(given)
    kinds = {kind: given.pop(kind)[0] for kind in ("problem", "calibrator") if given.get(kind)}
    if len(words) + len(kinds) != 1:
        what = " ".join([*words, *(f"{kind}={target}" for kind, target in kinds.items())]) or "nothing"
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


def refuse_unknown(given: dict[str, Any]) -> None:
    """Raise BadInputError if a name is no option of a comparison."""
    for name in given:
        if name not in OPTIONS:
            raise BadInputError(f"compare has no option {name!r}{guess(name, OPTIONS)}; it takes {', '.join(OPTIONS)}.")


def checked(asked: Asked) -> Asked:
    """The same, if its values are allowed. Raises BadInputError otherwise."""
    from harness.math.notions import NOTIONS

    def whole(value: Any) -> bool:
        return isinstance(value, int) and not isinstance(value, bool)

    if asked.reps is not None and not (whole(asked.reps) and asked.reps >= 2):
        raise BadInputError(f"reps is {asked.reps!r}; at least 2 replications are needed.")
    if not whole(asked.jobs) or asked.jobs == 0:
        raise BadInputError(f"jobs is {asked.jobs!r}; a positive number of processes, or -1 for one per core, is needed.")
    if isinstance(asked.limit, bool) or not isinstance(asked.limit, (int, float)) or not asked.limit > 0:
        raise BadInputError(f"limit is {asked.limit!r}; a positive number of seconds that a cell may take is needed.")
    for name in asked.notion:
        if name not in NOTIONS:
            raise BadInputError(f"notion is {name!r}; allowed are {', '.join(NOTIONS)}.")
    return asked


def _rebuild(arguments: list[str]) -> int:
    """Compute what the arena's experiments lack, cheapest first, and store the baseline."""
    from harness.commands.experiment import Experiment
    from harness.records import baseline

    allowed = ("out", "jobs", "engine", "baseline")
    wrong = next((text for text in arguments if text.partition("=")[0] not in allowed or "=" not in text), None)
    if wrong:
        raise BadInputError(f"compare --rebuild has no option {wrong!r}; it takes {', '.join(f'{name}=' for name in allowed)}.")
    folder = next((text.partition("=")[2] for text in arguments if text.startswith("baseline=")), None)
    given = [text for text in arguments if not text.startswith("baseline=")]
    started = time.monotonic()
    planned = [Experiment.of([*words, *given]) for words in baseline.experiments().values()]
    costs = [one.expected_seconds() for one in planned]
    for position, one in sorted(enumerate(planned), key=lambda pair: costs[pair[0]]):
        print(f"{one.name}: {len(one.plan.cells):,} cells", file=sys.stderr)
        counts = one.compute(later=sum(cost for cost in costs if cost > costs[position]))
        print(f"{one.name}: {counts['todo']:,} computed, {counts['failed']:,} failed, {time.monotonic() - started:.0f} s")
    for path in baseline.store(planned[0].out, folder):
        print(f"  {short_path(path)}, {path.stat().st_size / 1e6:.2f} MB")
    return 0
