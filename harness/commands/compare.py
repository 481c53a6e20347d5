"""`calharness compare`: an own estimator, problem or calibrator against the arena's stored baseline, and a verdict of one page.

Only what is new is computed: the own estimator on the arena's problems, replications and base seed, or the arena's cheap
estimators on the own problem. Its cells run in processes that are watched (harness.execute.user_estimators), the first ones
before all others. The baseline is only read.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.configure.compose import out_folder
from harness.configure.options import ids, option
from harness.configure.settings import as_list
from harness.contract import requirements
from harness.errors import BadInputError, guess
from harness.execute import run, truths, user_estimators
from harness.math import estimands
from harness.math.notions import NOTIONS
from harness.plan import components
from harness.plan.cells import Cell
from harness.plan.components import Component
from harness.plan.plan import Plan
from harness.records import baseline, reader
from harness.records.truths import read_truths, write_truths

if TYPE_CHECKING:
    import pandas as pd

    from harness.commands.check import Finding

LIMIT = 60.0  # seconds that a cell may take unless limit= says otherwise
OF_THE_CHECK = 20.0  # times the limit: what the whole contract test may take
CHEAP = 0.25  # CPU seconds of a cell at the largest n, up to which an estimator is run on an own problem
FATAL = ("declared properties", "determinism", "returns numbers")  # items without which no number can be compared
OPTIONS = ("problem", "calibrator", "n", "reps", "family", "notion", "estimand", "out", "jobs", "limit", "baseline")
FOLDER = "compare"
NO_REGRET = {  # by the kind of the estimates: what a comparison says of those that have no regret
    "interval": "of {} it gives intervals without a point (kind='interval'), which have no RMSE and no regret; "
    "if the value is an estimate, return kind='point' with low and high",
    "lower": "of {} it gives lower bounds, which have no RMSE and no regret",
    "upper": "of {} it gives upper bounds, which have no RMSE and no regret",
}


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
        given = {name: as_list(getattr(self, name)) for name in ("n", "reps", "family", "notion", "estimand")}
        return ", ".join(f"{name} = {', '.join(map(str, values))}" for name, values in given.items() if values)


@dataclass(frozen=True)
class Verdict:
    """What came of it: the rows of `harness.evaluate.arena.settings`, sentences, files (the page last), counts of cells, and
    findings of the contract test that are no success."""

    name: str
    settings: pd.DataFrame
    sentences: list[str]
    files: list[Path]
    counts: dict[str, Any]
    broken: list[Finding] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def command(arguments: list[str]) -> int:
    """`calharness compare TARGET [NAME=VALUE ...]`, or `--rebuild`."""
    if "--rebuild" in arguments:
        return _rebuild([text for text in arguments if text != "--rebuild"])
    started = time.monotonic()
    asked = _asked(arguments)
    found = verdict(asked, say=lambda text: print(text, file=sys.stderr))
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
    print()
    from harness.commands.run import _short

    for what, end in (("figure", ".png"), ("table", ".tex"), ("settings", "_settings.csv"), ("page", ".html")):
        print(f"  {what:<14}{_short(next(path for path in found.files if path.name.endswith(end)))}")
    from harness.pages import own_results

    print(f"  {'your runs':<14}{_short(own_results.save(found.files[-1].parent.parent.parent))}")
    return 0


def compare(target: Any, kind: str = "estimator", **options: Any) -> pd.DataFrame:
    """The rows of `harness.compare` (see there)."""
    _known(options)
    given = {name: tuple(as_list(options.pop(name, None))) for name in ("n", "family", "notion", "estimand")}
    found = verdict(_checked(Asked(kind, target, **given, **options)), say=lambda text: None)
    table = found.settings
    best = table["estimator"].eq(table["best"])
    chosen = table if kind == "problem" else table[table["estimator"].eq(found.name) | best]
    return chosen.drop(columns=["errors", "lost"], errors="ignore").reset_index(drop=True)


def _asked(arguments: Sequence[str]) -> Asked:
    import yaml

    words = [text for text in arguments if "=" not in text]
    wrong = next((text for text in words if text.startswith("-")), None)
    if wrong:
        raise BadInputError(f"compare has no option {wrong!r}; `calharness compare --help` shows what it takes.")
    given: dict[str, Any] = {}
    for text in arguments:
        name, equals, value = text.partition("=")
        if equals:
            try:
                read = yaml.safe_load(value if value.startswith("[") else f"[{value}]")
            except yaml.YAMLError as error:
                raise BadInputError(f"{text!r} cannot be read; give NAME=VALUE, a list as NAME=A,B.") from error
            given[name] = read
    _known(given)
    kinds = {kind: given.pop(kind)[0] for kind in ("problem", "calibrator") if given.get(kind)}
    if len(words) + len(kinds) != 1:
        what = " ".join([*words, *(f"{kind}={target}" for kind, target in kinds.items())]) or "nothing"
        raise BadInputError(
            f"compare takes one estimator (module.Name or an id), problem=module.Name, or calibrator=module.Name; found {what}."
        )
    kind, target = next(iter(kinds.items())) if kinds else ("estimator", words[0])
    single = {
        name: given.pop(name)[0] if given.get(name) else None
        for name in ("reps", "out", "jobs", "limit", "baseline")
        if name in given
    }
    lists = {name: tuple(values or ()) for name, values in given.items()}
    return _checked(Asked(kind, str(target), **lists, **single))


def _known(given: dict[str, Any]) -> None:
    for name in given:
        if name not in OPTIONS:
            raise BadInputError(f"compare has no option {name!r}{guess(name, OPTIONS)}; it takes {', '.join(OPTIONS)}.")


def _checked(asked: Asked) -> Asked:
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


def verdict(asked: Asked, say: Callable[[str], None]) -> Verdict:
    """Compare, and write the verdict; `say` is told what goes on.

    Raises
    ------
    BadInputError
        If what is to be compared cannot be, or there is no baseline.
    """
    name, config, recordable = _own(asked)
    out = out_folder(asked.out)
    with tempfile.TemporaryDirectory() as scratch:
        store = out if recordable else Path(scratch)  # typed at a prompt: its key does not change when it does
        group = "problem" if asked.kind == "problem" else "estimator"
        own = components.configured(group, name, config)
        requirements.verify(group, own)
        for estimand in asked.estimand:
            estimands.check_name(str(estimand))
        held = baseline.read(asked.baseline)
        settings = {"out": str(store), "jobs": asked.jobs, "engine": "loky" if recordable else "serial", "seed": 0}
        if group == "estimator":
            plan, absent = baseline.estimator_plan(held, own, settings)
        else:
            plan, absent = baseline.problem_plan(held, own.id, config, CHEAP, settings), {}
        plan = _restricted(plan, asked, held)
        findings: list[Finding] = []
        say(f"{len(plan.cells) - len(plan.skips):,} cells on the arena's draws; the first ones, then the contract test, then all")
        counts = _computed(
            plan, own, group, store, asked, held, recordable, lambda: findings.extend(_findings(asked, own, say, recordable))
        )
        frame = _records(plan, store, held, asked, group)
        notes = [f"{len(names)} of the arena's problems are left out: {reason}" for reason, names in _by_reason(absent).items()]
        write = _against_all if group == "estimator" else _on_a_problem
        found = write(own.id, frame, held, asked, out / FOLDER / name, plan, findings, notes)
    return replace(found, counts=counts)


def _own(asked: Asked) -> tuple[str, dict[str, Any], bool]:
    """(id, configuration, whether it lies in a file, so that its records can be kept)."""
    target, kind = asked.target, asked.kind
    group = "problem" if kind == "problem" else "estimator"
    if isinstance(target, str) and "." not in target and kind != "calibrator":
        if target not in ids(group):
            raise BadInputError(
                f"there is no {group} {target!r}{guess(target, ids(group))}; one's own is module.Name, and `calharness list` "
                "shows all others."
            )
        from omegaconf import OmegaConf

        config: Any = OmegaConf.to_container(OmegaConf.create(option(group, target).config), resolve=True)
        return target, config, True
    if isinstance(target, str):
        if "." not in target:
            raise BadInputError(f"calibrator is {target!r}; it must be module.Name.")
        name, config = target.rpartition(".")[2], {"_target_": target}
    elif dataclasses.is_dataclass(target) and not isinstance(target, type):
        name, config = type(target).__name__, components.configuration(target)
    elif inspect.isfunction(target) or isinstance(target, type):
        name, config = target.__qualname__, {"_target_": f"{target.__module__}.{target.__qualname__}"}
    else:
        raise BadInputError(
            f"{kind} is {target!r}; an id, 'module.Name', a function, a class, or an instance of a dataclass is needed."
        )
    if not isinstance(target, str):
        made, of = config["_target_"], target if inspect.isfunction(target) or isinstance(target, type) else type(target)
        if "<" in made or components.imported(made, kind) is not of:
            raise BadInputError(f"{kind} {name} cannot be found again as {made}; define it at the top of a module.")
    if kind == "calibrator":
        name, config = f"variational_{name}", {"_target_": "harness.estimators.Variational", "calibrator": config}
    name = re.sub(r"\W", "_", name)
    return f"own_{name}" if name in ids(group) else name, config, "__main__." not in str(config)


def _restricted(plan: Plan, asked: Asked, held: baseline.Baseline) -> Plan:
    """The plan with the cells that are asked for. Raises BadInputError where that is nothing, or nothing the baseline has."""
    have = {
        "n": sorted({cell.n for cell in plan.cells}),
        "family": sorted(held.families),
        "notion": sorted({c.notion for c in plan.cells}),
    }
    if asked.kind == "problem" and asked.family:
        raise BadInputError("family= is of the arena's problems; with problem= there is but one.")
    for name, known in have.items():
        unknown = [value for value in getattr(asked, name) if value not in known]
        if unknown:
            raise BadInputError(
                f"{name} is {unknown[0]!r}, which the baseline does not have; it has {', '.join(map(str, known))}."
            )
    most = 1 + max((cell.rep for cell in plan.cells), default=-1)
    if asked.reps is not None and asked.reps > most:
        raise BadInputError(f"reps is {asked.reps}; the baseline has {most} replications.")
    cells = [
        cell
        for cell in plan.cells
        if (not asked.n or cell.n in asked.n)
        and (asked.reps is None or cell.rep < asked.reps)
        and (not asked.family or held.family_of(cell.problem) in asked.family)
        and (not asked.notion or cell.notion in asked.notion)
    ]
    keys = {cell.key for cell in cells}
    skips = {key: reason for key, reason in plan.skips.items() if key in keys}
    if not set(keys) - set(skips):
        why = next(iter(skips.values()), "no cell is left")
        raise BadInputError(f"nothing can be compared: {why}.")
    return replace(plan, cells=cells, skips=skips)


def findings_of(given: tuple[str, str, dict[str, Any]]) -> list[Finding]:
    """The findings of the contract test on what (group, name, configuration) describes."""
    from harness.commands.check import examine

    group, name, config = given
    return examine(components.build(group, name, config), name)


def _findings(asked: Asked, own: Component, say: Callable[[str], None], apart: bool) -> list[Finding]:
    """The contract test, in a process of its own; those of its findings that are no success. Raises BadInputError where nothing
    could be compared."""
    if asked.kind in ("estimator", "problem") and own.id in ids(asked.kind):
        return []  # ours; the tests examine them
    config = own.config["calibrator"] if asked.kind == "calibrator" else own.config
    name = str(config["_target_"])
    say(f"contract test of {name}")
    given = (asked.kind, name, config)
    try:
        if apart:
            found = user_estimators.call(
                "harness.commands.compare:findings_of", given, OF_THE_CHECK * asked.limit, f"the contract test of {name}"
            )
        else:
            found = findings_of(given)
    except user_estimators.TooSlowError as slow:
        say(f"{slow}; the comparison goes on")
        return []
    broken = [one for one in found if one.outcome == "failed"]
    fatal = [one for one in broken if one.item in FATAL or asked.kind == "problem" and one.item != "docstring"]
    if fatal:
        detail = fatal[0].detail.rstrip(".")
        raise BadInputError(
            f"{name} does not keep the contract: {fatal[0].item}: {detail}; `calharness check {name}` tells more."
        )
    return broken


def _computed(
    plan: Plan,
    own: Component,
    group: str,
    out: Path,
    asked: Asked,
    held: baseline.Baseline,
    apart: bool,
    examine: Callable[[], None],
) -> dict[str, Any]:
    """Compute what neither a record nor the baseline holds; `examine` is called when the first cells are sound."""
    for key, known in held.truths().items():
        if key in {one.key for one in plan.problems.values()}:
            stored = read_truths(out, key)
            if not known.keys() <= stored.keys():
                write_truths(out, key, {**known, **stored})
    have = set(held.records["key"])
    todo = replace(plan, cells=[cell for cell in plan.cells if cell.key not in have])
    tried = _first(todo, held)
    keys = {cell.key for cell in tried}

    def judge() -> None:
        if tried:
            _judge(own.id, tried, reader.load_records(out, keys, categories=False), group, held)
        examine()

    if apart:
        counts = user_estimators.execute(
            todo, out, float(asked.limit), lambda cells: [cell for cell in tried if cell.key in {c.key for c in cells}], judge
        )
    else:
        counts = run.execute(todo, quiet=True)
        judge()
    if group == "problem":
        _store_truths(todo, out)
    return {**counts, "cells": len(plan.cells), "done": counts["done"] + len(plan.cells) - len(todo.cells)}


def _store_truths(plan: Plan, out: Path) -> None:
    given = reader.estimated(out, [one.key for one in plan.problems.values()], [one.key for one in plan.estimators.values()])
    pairs = {one.key: [(notion, estimand) for key, notion, estimand in given if key == one.key] for one in plan.problems.values()}
    truths.store(out, ((one, pairs[one.key]) for one in plan.problems.values()))


def _first(plan: Plan, held: baseline.Baseline) -> list[Cell]:
    """The cells that are tried before all others: of every notion, k and n the first."""
    found: dict[tuple[Any, ...], Cell] = {}
    for cell in plan.cells:
        if cell.key not in plan.skips:
            found.setdefault((cell.n, held.classes.get(cell.problem), cell.notion), cell)
    return sorted(found.values(), key=lambda cell: cell.n)


def _judge(name: str, tried: Sequence[Cell], frame: pd.DataFrame, group: str, held: baseline.Baseline) -> None:
    """Raise BadInputError where the first cells failed, are no numbers, or are of nothing that the baseline knows."""
    for cell in tried:
        where = (
            f"{name} on {cell.problem}, n = {cell.n}, rep {cell.rep},"
            if group == "estimator"
            else (f"{cell.estimator} on {cell.problem}, n = {cell.n}, rep {cell.rep},")
        )
        for row in frame[frame["key"].eq(cell.key)].itertuples(index=False):
            if row.status == "failed":
                raise BadInputError(f"{where} fails: {str(row.reason).strip().splitlines()[-1].rstrip('.')}.")
            if group == "estimator" and row.status == "undefined" and isinstance(row.estimand, str):
                raise BadInputError(
                    f"{where} returned {row.value} as {row.estimand}; raise harness.UndefinedError where a sample has no value."
                )
    if group == "estimator":
        if not frame["status"].eq("ok").any():
            raise BadInputError(f"{name} has no value in any of the first {len(tried)} cells: {frame['reason'].iloc[0]}.")
        given = set(frame["estimand"].dropna())
        known = set(held.records.loc[held.records["truth"].notna(), "estimand"])
        if not given & known:
            raise BadInputError(
                f"{name} returns {', '.join(sorted(given))}; the baseline has truths of {', '.join(sorted(known))} alone."
            )


def _records(plan: Plan, out: Path, held: baseline.Baseline, asked: Asked, group: str) -> pd.DataFrame:
    """The records of the plan's cells and, of an estimator, those of all others on the same draws."""
    import pandas as pd

    keys = {cell.key for cell in plan.cells}
    own = reader.load_records(out, keys, categories=False)
    known = held.records
    parts = [own, known[known["key"].isin(keys - set(own["key"]))]]
    if group == "estimator":
        draws = pd.MultiIndex.from_tuples({(cell.problem, cell.notion, cell.n, cell.rep) for cell in plan.cells})
        here = pd.MultiIndex.from_frame(known[["problem", "notion", "n", "rep"]]).isin(draws)
        parts.append(known[here & ~known["key"].isin(keys)])
    frame = pd.concat([part for part in parts if len(part)], ignore_index=True)
    frame = frame[frame["truth"].notna() | frame["estimand"].isna()]
    if asked.estimand:
        frame = frame[frame["estimand"].isin(asked.estimand) | frame["estimand"].isna()]
    if not frame["estimand"].notna().any():
        what = f" of {', '.join(asked.estimand)}" if asked.estimand else ""
        raise BadInputError(f"no truth{what} is known here, so that nothing can be compared.")
    return frame


def _by_reason(absent: dict[str, str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, reason in absent.items():
        found.setdefault(reason, []).append(name)
    return found


def _against_all(name, frame, held, asked, folder, plan, broken, notes) -> Verdict:
    """The verdict on an estimator."""
    from harness.evaluate import arena
    from harness.pages import verdict as words

    others = [one for one in frame["estimator"].unique() if one != name and arena.is_published(one)]
    table = arena.settings(frame, held.families, held.classes, others)
    mine = table[table["estimator"].eq(name) & table["regret"].notna()]
    without = table[table["estimator"].eq(name) & table["regret"].isna() & table["kind"].isin(["interval", "lower", "upper"])]
    no_regret = [NO_REGRET[kind].format(listed) for kind, listed in _estimands_by_kind(without).items()]
    if not len(mine):
        why = f": {no_regret[0]}" if no_regret else "."
        raise BadInputError(f"{name} gave no point estimate whose truth is known{why}")
    shared = ["problem", "notion", "n", "estimand"]
    table = table.merge(mine[shared], on=shared)
    cells, families = words.groups(table, name), words.groups(table, name, ["family"])
    reps = int(mine["reps"].max())
    said = words.sentences(table, cells, name, reps)
    board = arena.leaderboard(table, resamples=200)
    counted = {word: int(mine[word].sum()) for word in ("failed", "undefined")}
    notes = [
        *notes,
        *no_regret,
        *(f"{count:,} of its cells are {word} and count by the rule below" for word, count in counted.items() if count),
    ]
    lists = [("Where it wins", words.extremes(cells, "wins")), ("Where it loses", words.extremes(cells, "loses"))]
    own = table[table["estimator"].eq(name)].drop(columns=["errors", "lost"])
    frames = {"": families, "_cells": cells, "_settings": own}
    files = words.save(
        folder / name, f"{name} in the arena", words.figure(cells, board, name), words.family_table(families, cells, name),
        frames, said, notes=notes, lists=lists, rules=words.RULES_OF_GROUPS, contract=broken, limits=asked.limits,
    )  # fmt: skip
    return Verdict(name, table, said, files, {}, broken, notes)


def _estimands_by_kind(settings: pd.DataFrame) -> dict[str, str]:
    return {kind: ", ".join(sorted(set(part["estimand"]))) for kind, part in settings.groupby("kind")}


def _on_a_problem(name, frame, held, asked, folder, plan, broken, notes) -> Verdict:
    """The verdict on a problem: which estimators are right there."""
    from harness.evaluate import arena
    from harness.pages import verdict as words
    from harness.problems.base import ProblemSpec

    classes = {pid: ProblemSpec.of(one.object).classes for pid, one in plan.problems.items()}
    wanted = list(asked.estimand) or [one for one in arena.MAIN if one in set(frame["estimand"])]
    table = arena.settings(frame[frame["estimand"].isin(wanted) | frame["estimand"].isna()], {}, classes)
    judged = words.best_of(table)
    if not len(judged):
        raise BadInputError(f"no estimator gave a number of {', '.join(wanted) or 'l1'} on {name} whose truth is known.")
    said = words.problem_sentences(judged, name, int(judged["reps"].max()))
    frames = {"": judged.drop(columns=["errors", "lost"]), "_settings": table.drop(columns=["errors", "lost"])}
    notes = [*notes, f"The estimators are those of the arena whose cells take at most {CHEAP:g} CPU seconds at its largest n."]
    files = words.save(
        folder / name, f"The arena's estimators on {name}", words.problem_figure(judged, name), words.problem_table(judged, name),
        frames, said, notes=notes, lists=[], rules=words.RULES_OF_A_PROBLEM, contract=broken, limits=asked.limits,
    )  # fmt: skip
    return Verdict(name, table, said, files, {}, broken, notes)


def _rebuild(arguments: list[str]) -> int:
    """Compute what the arena's experiments lack, cheapest first, and store the baseline."""
    from harness.commands.experiment import Experiment
    from harness.commands.run import _short

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
        print(f"  {_short(path)}, {path.stat().st_size / 1e6:.2f} MB")
    return 0
