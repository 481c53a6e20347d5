"""A configuration -> the cells to run: (problem, notion, n, rep, estimator), each with its key."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from harness.configure import record_sources, sweeps
from harness.configure.ranking import Ranking
from harness.configure.settings import Settings, as_list
from harness.errors import BadInputError
from harness.estimators.base import EstimatorSpec
from harness.plan import requirements
from harness.plan.cells import Block, Cell, Cells, Draws, Limits, Skips
from harness.plan.components import Component, component, configured
from harness.problems.base import ProblemSpec, members_of

DEFAULT_RESAMPLES = 200
CHEAP_SECONDS = 60.0  # of a cell with its resamples


@dataclass(frozen=True)
class Plan:
    """Everything a configuration asks for.

    problems, estimators   by their names within the plan
    cells                  made as they are read, those of a sweep held (a cell of two points is one)
    skips                  the keys of cells outside an estimator's range -> the reason
    swept                  of a sweep: path -> the word that names it
    points                 of a sweep: the values by path
    values                 of a sweep: key of a cell -> the swept values that bear on it, by their words, one for each such point
    all_rows               (problem, n) whose sample is all rows of a file: there, replications are the same rows again
    """

    settings: Settings
    problems: dict[str, Component]
    estimators: dict[str, Component]
    cells: Sequence[Cell]
    skips: Mapping[str, str]
    swept: dict[str, str] = field(default_factory=dict)
    points: list[dict[str, Any]] = field(default_factory=list)
    values: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    all_rows: frozenset[tuple[str, int]] = frozenset()

    def skip(self, cell: Cell) -> str | None:
        """Why a cell is not run, or None."""
        return self.skips.of(cell) if isinstance(self.skips, Skips) else self.skips.get(cell.key)

    def owner(self, cell: Cell) -> str | None:
        """Return whose code computes a cell: None for ours alone, else the keys of what is not.

        Cells of different owners never share a process. A problem that is not ours makes all its
        cells its own, as its code draws the sample in the process of the estimator.
        """
        return self._owner(cell.problem, cell.estimator)

    def _owner(self, problem: str, estimator: str) -> str | None:
        components = self.problems[problem], self.estimators[estimator]
        return "|".join(one.key for one in components if one.foreign) or None

    def is_typed(self, cell: Cell) -> bool:
        """Return whether its code was typed at a prompt, and exists in that process alone."""
        components = self.problems[cell.problem], self.estimators[cell.estimator]
        return any("__main__" in one.foreign for one in components)

    def by_owner(self) -> list[Sequence[Cell]]:
        """Split the cells by their owner, ours first."""
        if not any(one.foreign for one in (*self.problems.values(), *self.estimators.values())):
            return [self.cells]
        if not isinstance(self.cells, Cells):
            lists: dict[str, list[Cell]] = defaultdict(list)
            for cell in self.cells:
                lists[self.owner(cell) or ""].append(cell)
            return [lists[owner] for owner in sorted(lists)]
        blocks: dict[str, list[Block]] = defaultdict(list)
        for block in self.cells.blocks:
            split: dict[str, dict[str, str]] = defaultdict(dict)
            for name, key in block.estimators.items():
                split[self._owner(block.problem, name) or ""][name] = key
            for owner, estimators in split.items():
                blocks[owner].append(replace(block, estimators=estimators))
        return [Cells(blocks[owner]) for owner in sorted(blocks)]


def plan(settings: Settings) -> Plan:
    """The plan of a run, all points of its sweep together. Raises BadInputError on anything that names no cell, or that
    cannot be."""
    if not settings.sweep:
        return _plan(settings)
    return union(settings, sweeps.points(settings))


def union(settings: Settings, points: list[tuple[dict[str, Any], Settings]]) -> Plan:
    """One plan of the points of a sweep, pairs (values by path, settings).

    A problem or estimator that a swept value makes is named with it, 'binned15 (bins=10)'; cells that points have in common are
    planned once.
    """
    words = sweeps.words([path for values, _ in points for path in values])
    found = Plan(settings, {}, {}, [], {}, words, [values for values, _ in points])
    cells: list[Cell] = []
    skips: dict[str, str] = {}
    all_rows: set[tuple[str, int]] = set()
    cells_of: list[tuple[dict[str, Any], int]] = []
    for values, point in points:
        one = _plan(point)
        cells_of.append((values, _cells_within_range(one)))
        names: dict[str, dict[str, str]] = {"problem": {}, "estimator": {}}
        for group, of_point, of_all in (
            ("problem", one.problems, found.problems),
            ("estimator", one.estimators, found.estimators),
        ):
            for name, made in of_point.items():
                own = sweeps.own(values, group, made.origin)
                called = names[group][name] = sweeps.suffixed(name, own, words)
                if (
                    of_all.setdefault(called, made).key != made.key
                ):  # a name stands for one component, here and in the workers
                    raise BadInputError(
                        f"the sweep makes two {group}s called {called!r}; give values that read differently."
                    )
        all_rows |= {(names["problem"][name], n) for name, n in one.all_rows}
        borne = {
            (p, e): {
                words[path]: value
                for path, value in sweeps.bearing(values, problem.origin, estimator.origin).items()
            }
            for p, problem in one.problems.items()
            for e, estimator in one.estimators.items()
        }
        for cell in one.cells:
            bearing = borne[cell.problem, cell.estimator]
            if cell.key not in found.values:
                cells.append(
                    cell._replace(
                        problem=names["problem"][cell.problem],
                        estimator=names["estimator"][cell.estimator],
                    )
                )
                found.values[cell.key] = []
            if bearing not in found.values[cell.key]:
                found.values[cell.key].append(bearing)
        skips.update(one.skips)
    for path in words:
        if not _has_effect(path, cells_of):
            skipped = (
                key for key in skips if any(words[path] in bearing for bearing in found.values[key])
            )
            why = next((f" ({skips[key]})" for key in skipped), "")
            raise BadInputError(
                f"{path} is swept, but no cell of this run depends on it{why}; leave it out."
            )
    return replace(found, cells=cells, skips=skips, all_rows=frozenset(all_rows))


def _cells_within_range(plan: Plan) -> int:
    """Identifies the cells of a plan, without those that are outside the range of an estimator."""
    absent = {name for name, one in plan.problems.items() if ProblemSpec.of(one.object).unavailable}
    absent |= {
        name for name, one in plan.estimators.items() if EstimatorSpec.of(one.object).unavailable
    }
    return hash(
        frozenset(
            c.key for c in plan.cells if not plan.skip(c) or {c.problem, c.estimator} & absent
        )
    )


def _has_effect(path: str, cells_of: list[tuple[dict[str, Any], int]]) -> bool:
    """True unless all values of a swept parameter give the same cells, whatever the values of the others."""
    by_others: dict[str, dict[str, set[int]]] = {}
    for values, cells in cells_of:
        if path in values:
            others = repr(
                sorted((name, repr(value)) for name, value in values.items() if name != path)
            )
            by_others.setdefault(others, {}).setdefault(repr(values[path]), set()).add(cells)
    compared = [list(by_value.values()) for by_value in by_others.values() if len(by_value) > 1]
    return not compared or any(cells != by_value[0] for by_value in compared for cells in by_value)


def _plan(settings: Settings) -> Plan:
    if record_sources.without_cells(settings):
        return Plan(settings, {}, {}, [], {})
    problems = chosen("problem", settings.problem)
    plain = chosen("estimator", settings.estimator)
    _check_drawn(settings)
    check_estimands("estimand", settings.estimand, plain)
    if settings.ranking:
        problems = _on_one_stream(problems, settings.ranking)
    blocks: list[Block] = []
    reasons: Limits = {}
    all_rows: set[tuple[str, int]] = set()
    used: dict[str, Component] = {}
    wrapped: dict[str, Component] = {}
    specs: dict[str, EstimatorSpec] = {}
    for pid, problem in problems.items():
        spec = ProblemSpec.of(problem.object)
        sizes = _sizes(pid, spec, settings.n)
        reps = _reps(settings.reps, spec)
        draws = Draws(reps, sizes, _all_rows(pid, spec, settings.ranking, sizes))
        notions = _notions(spec, settings.notion)
        all_rows |= {(pid, n) for n in sizes if spec.rows_of_a_file and n == spec.n_max}
        estimators = plain
        if spec.rows_of_a_file and not spec.unavailable:
            per_class = spec.classes if set(notions) & {"classwise", "canonical"} else 1
            estimators = _with_intervals(settings, plain, max(draws.of_size()) * per_class, wrapped)
        used |= estimators
        specs |= {
            eid: EstimatorSpec.of(e.object) for eid, e in estimators.items() if eid not in specs
        }
        for notion in notions:
            for n in draws.of_size():
                for eid in estimators:
                    if reason := skip_reason(spec, specs[eid], notion, n):
                        reasons[pid, notion, eid, n] = reason
        blocks.append(
            Block(
                pid,
                problem.key,
                settings.seed,
                draws,
                notions,
                {eid: e.key for eid, e in estimators.items()},
            )
        )
    if settings.bootstrap and not any(
        ProblemSpec.of(p.object).rows_of_a_file for p in problems.values()
    ):
        raise BadInputError(
            f"bootstrap is {settings.bootstrap}, but no problem of this run is a file whose rows could be resampled; leave it "
            f"out: the replications (reps=) of other problems are samples."
        )
    cells = Cells(blocks)
    return Plan(
        settings, problems, used, cells, Skips(cells, reasons), all_rows=frozenset(all_rows)
    )


def _check_drawn(settings: Settings) -> None:
    """Raise BadInputError if the figure is to show an estimator that is not in the run."""
    unknown = [
        str(name) for name in as_list(settings.figure.estimators) if name not in settings.estimator
    ]
    if unknown:
        raise BadInputError(
            f"figure.estimators has {', '.join(unknown)}, which is not in this run; its estimators are "
            f"{', '.join(settings.estimator)}."
        )


def _with_intervals(
    settings: Settings, estimators: dict[str, Component], size: int, made: dict[str, Component]
) -> dict[str, Component]:
    """The estimators for the rows of a file, which are one sample: each with a bootstrap of them where that is asked for. By
    default a run that is no paper's and ranks nothing has the bootstraps that are cheap. `size` is the number of rows, times that
    of the classes where each class is judged; `made` holds the estimators that are wrapped already."""
    resamples = settings.bootstrap
    if resamples is None:
        resamples = 0 if settings.paper or settings.ranking else DEFAULT_RESAMPLES
    if not resamples:
        return estimators
    found: dict[str, Component] = {}
    for name, plain in estimators.items():
        key = f"{name} ({resamples} resamples)"
        if key not in made:
            wrapper = {
                "_target_": "harness.estimators.Bootstrap",
                "estimator": plain.config,
                "resamples": resamples,
            }
            made[key] = configured("estimator", plain.id, wrapper)._replace(origin=plain.origin)
        cheap = made[key].object.seconds * max(1.0, size / 1000) <= CHEAP_SECONDS
        found |= {key: made[key]} if cheap or settings.bootstrap else {name: plain}
    return found


def skip_reason(problem: ProblemSpec, estimator: EstimatorSpec, notion: str, n: int) -> str | None:
    """Why a cell is not run, or None. Nothing is dropped: the reason becomes the record of the cell."""
    if problem.unavailable:
        return problem.unavailable
    if notion not in problem.notions:
        return f"the problem has no {notion} notion (it has {', '.join(problem.notions)})"
    reason = estimator.out_of_range(notion, n, problem.classes)
    if reason:
        return reason
    if estimator.needs_posterior and problem.posterior is None:
        return "the problem's true posterior is not known"
    return estimator.unavailable


def chosen(group: str, given: Any) -> dict[str, Component]:
    """The problems or estimators of a configuration by their ids, families as their members."""
    if not given or not isinstance(given, dict):
        raise BadInputError(
            f"no {group} is selected; give {group}=[ID,...] or experiment=ID (`calharness list {group}s`)."
        )
    found: dict[str, Component] = {}
    for name, config in given.items():
        one = configured(group, name, config)
        members = members_of(one.object) if group == "problem" else None
        for made in (
            [one]
            if members is None
            else [component(group, *m)._replace(origin=name) for m in members.items()]
        ):
            if made.id in found:
                raise BadInputError(
                    f"{group} {made.id!r} comes from two of {', '.join(given)}; select one of them."
                )
            requirements.verify(group, made)
            found[made.id] = made
    return found


def _on_one_stream(problems: dict[str, Component], ranking: Ranking) -> dict[str, Component]:
    """The models of a ranking, all drawing from one random stream, so that in a trial they predict the same rows. A model that
    names no stream of its own is given that of the ranking."""
    ranking.check_models(problems)
    rows = {pid: ProblemSpec.of(one.object).n_max for pid, one in problems.items()}
    if len(set(rows.values())) > 1:
        held = ", ".join(
            f"{pid} ({'generated' if n is None else f'{n:,} rows'})" for pid, n in rows.items()
        )
        raise BadInputError(f"the models of a ranking are {held}; they must predict the same rows.")
    found = {}
    for pid, one in problems.items():
        if ProblemSpec.of(one.object).stream is None:
            wrapped = {
                "_target_": "harness.problems.Paired",
                "problem": one.config,
                "stream": ranking.stream,
            }
            one = configured("problem", pid, wrapped)._replace(origin=one.origin)
        found[pid] = one
    streams = list(dict.fromkeys(one.object.stream for one in found.values()))
    if len(streams) > 1:
        raise BadInputError(
            f"the models of a ranking draw from the streams {', '.join(streams)}; one is needed."
        )
    return found


def _all_rows(
    pid: str, problem: ProblemSpec, ranking: Ranking | None, sizes: list[int]
) -> list[tuple[int, int]]:
    """[(rep, n)] of the draw that orders the models of a ranking with reference `full`: all rows of a file, once."""
    if not ranking or ranking.reference != "full":
        return []
    if problem.n_max is None or max(sizes) >= problem.n_max:
        held = "is a generator" if problem.n_max is None else f"holds {problem.n_max}"
        raise BadInputError(
            f"ranking.reference is full, but problem {pid!r} {held}; files with more rows than n are needed."
        )
    return [(0, problem.n_max)]


def check_estimands(option: str, wanted: Any, estimators: dict[str, Component]) -> None:
    """Refuse an estimand that no estimator of the run declares, before anything is computed."""
    declared = [EstimatorSpec.read(e.object, "estimands") for e in estimators.values()]
    if any(names is None for names in declared):
        return
    have = sorted({name for names in declared for name in names})
    for name in as_list(wanted):
        if name not in have:
            raise BadInputError(
                f"{option} is {name!r}, which no estimator of this run gives; they give {', '.join(have)}."
            )


def _sizes(pid: str, problem: ProblemSpec, given: Any) -> list[int]:
    sizes = as_list(problem.default_n if given is None else given)
    for n in sizes:
        if problem.n_max is not None and n > problem.n_max:
            raise BadInputError(
                f"n is {n}, but problem {pid!r} holds {problem.n_max} samples; n can be at most that."
            )
        if problem.sizes is not None and n not in problem.sizes:
            raise BadInputError(
                f"n is {n}, but problem {pid!r} exists only for n in {', '.join(map(str, problem.sizes))}."
            )
    return list(dict.fromkeys(sizes))


def _reps(given: Any, problem: ProblemSpec) -> Sequence[int]:
    reps = problem.default_reps if given is None else given
    return list(dict.fromkeys(reps)) if isinstance(reps, list) else range(reps)


def _notions(problem: ProblemSpec, given: Any) -> list[str]:
    notions = as_list(problem.default_notions if given is None else given)
    if "all" in notions:
        notions = list(problem.notions)
    if "main" in notions:
        of_classes = ("top_label", "canonical") if problem.classes > 2 else ("binary",)
        notions = [notion for notion in of_classes if notion in problem.notions] or list(
            problem.default_notions
        )
    return list(dict.fromkeys(notions))
