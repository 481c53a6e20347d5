"""Plans: the cells of a configuration, (problem, notion, n, rep, estimator), each with its key."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from harness.configure import record_sources, sweeps
from harness.configure.settings import Settings
from harness.errors import BadInputError
from harness.estimators.base import EstimatorSpec
from harness.plan.cells import Block, Cell, Cells, Draws, Kind
from harness.plan.components import Component
from harness.plan.selection import (
    check_drawn,
    check_estimands,
    chosen,
    full_sample,
    notions_of,
    on_one_stream,
    reps_of,
    sizes_of,
    with_intervals,
)
from harness.problems.base import ProblemSpec


@dataclass(frozen=True)
class Plan:
    """All cells of a configuration.

    Parameters
    ----------
    settings : Settings
        The configuration.
    problems, estimators : dict of str to Component
        By their names within the plan.
    cells : collection of Cell
        Made as they are iterated. A list in a sweep, where a cell of two points occurs once.
    reasons : mapping of Kind to str
        Why cells of a kind are skipped.
    swept : dict of str to str
        Swept paths, and the words that name them.
    points : list of dict
        Points of the sweep: values by path.
    values : dict of str to list of dict
        Swept values (by their words) that bear on a cell, by its key; one entry per distinct point.
    all_rows : frozenset of (str, int)
        (problem, n) whose sample is all rows of a file: replications repeat the same rows.
    """

    settings: Settings
    problems: dict[str, Component]
    estimators: dict[str, Component]
    cells: Collection[Cell]
    reasons: Mapping[Kind, str] = field(default_factory=dict)
    swept: dict[str, str] = field(default_factory=dict)
    points: list[dict[str, Any]] = field(default_factory=list)
    values: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    all_rows: frozenset[tuple[str, int]] = frozenset()

    def skip(self, cell: Cell) -> str | None:
        """Return why a cell is skipped, or None."""
        return self.reasons.get(cell.kind) if self.reasons else None

    @cached_property
    def skips(self) -> dict[str, str]:
        """Keys of the skipped cells, with the reason."""
        if not self.reasons:
            return {}
        return {cell.key: reason for cell in self.cells if (reason := self.skip(cell))}

    def owner(self, cell: Cell) -> str | None:
        """Return the owner of the code of a cell: keys of its user components, None for ours.

        Cells of different owners never share a process. A user's problem owns all its cells: its
        code draws the sample in the process of the estimator.
        """
        return self._owner(cell.problem, cell.estimator)

    def _owner(self, problem: str, estimator: str) -> str | None:
        components = self.problems[problem], self.estimators[estimator]
        return "|".join(part.key for part in components if part.foreign) or None

    def is_typed(self, cell: Cell) -> bool:
        """Return True if the cell's code was typed at a prompt, and exists in that process only."""
        components = self.problems[cell.problem], self.estimators[cell.estimator]
        return any("__main__" in part.foreign for part in components)

    def by_owner(self) -> list[Collection[Cell]]:
        """Split the cells by owner, ours first."""
        if not any(part.foreign for part in (*self.problems.values(), *self.estimators.values())):
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
    """Plan a run, with all points of its sweep.

    Raises
    ------
    BadInputError
        If a problem or estimator cannot be made, or the options select no cells.
    """
    if not settings.sweep:
        return _plan(settings)
    return union(settings, sweeps.points(settings))


def union(settings: Settings, points: list[tuple[dict[str, Any], Settings]]) -> Plan:
    """Return one plan of the points of a sweep, pairs (values by path, settings).

    A problem or estimator with a swept value is named with it: 'binned15 (bins=10)'. Cells that
    points have in common are planned once.
    """
    words = sweeps.short_names([path for values, _ in points for path in values])
    problems: dict[str, Component] = {}
    estimators: dict[str, Component] = {}
    cells: dict[str, Cell] = {}
    reasons: dict[Kind, str] = {}
    values_by_key: dict[str, list[dict[str, Any]]] = defaultdict(list)
    all_rows: set[tuple[str, int]] = set()
    runnable: list[tuple[dict[str, Any], int]] = []
    for values, point_settings in points:
        point = _plan(point_settings)
        runnable.append((values, _cells_within_range(point)))
        problem_names = _merge(problems, "problem", point.problems, values, words)
        estimator_names = _merge(estimators, "estimator", point.estimators, values, words)
        all_rows |= {(problem_names[name], n) for name, n in point.all_rows}
        for (problem, notion, estimator, n), reason in point.reasons.items():
            reasons[problem_names[problem], notion, estimator_names[estimator], n] = reason
        bearing = {
            (p, e): sweeps.cell_values(values, problem.origin, estimator.origin)
            for p, problem in point.problems.items()
            for e, estimator in point.estimators.items()
        }
        for cell in point.cells:
            if cell.key not in cells:
                cells[cell.key] = cell._replace(
                    problem=problem_names[cell.problem], estimator=estimator_names[cell.estimator]
                )
            worded = {
                words[path]: value for path, value in bearing[cell.problem, cell.estimator].items()
            }
            if worded not in values_by_key[cell.key]:
                values_by_key[cell.key].append(worded)
    swept = Plan(
        settings,
        problems,
        estimators,
        list(cells.values()),
        reasons,
        words,
        [values for values, _ in points],
        dict(values_by_key),
        frozenset(all_rows),
    )
    for path, word in words.items():
        if not _has_effect(path, runnable):
            skipped = (
                reason
                for key, reason in swept.skips.items()
                if any(word in worded for worded in values_by_key[key])
            )
            why = next((f" ({reason})" for reason in skipped), "")
            raise BadInputError(
                f"{path} is swept, but no cell of this run depends on it{why}; leave it out."
            )
    return swept


def _merge(
    components: dict[str, Component],
    group: str,
    added: dict[str, Component],
    values: dict[str, Any],
    words: dict[str, str],
) -> dict[str, str]:
    """Add the components of a point to a sweep. Return {name in the point: name in the sweep}."""
    names = {}
    for name, part in added.items():
        own_values = sweeps.component_values(values, group, part.origin)
        names[name] = sweeps.add_values(name, own_values, words)
        # a name stands for one component, here and in the workers
        if components.setdefault(names[name], part).key != part.key:
            raise BadInputError(
                f"the sweep makes two {group}s called {names[name]!r}; give values that read "
                "differently."
            )
    return names


def _cells_within_range(plan: Plan) -> int:
    """Return a hash of the cells that are not outside an estimator's range.

    Cells whose component is not available here are within range: elsewhere they can run.
    """
    absent = {
        name for name, part in plan.problems.items() if ProblemSpec.of(part.object).unavailable
    }
    absent |= {
        name for name, part in plan.estimators.items() if EstimatorSpec.of(part.object).unavailable
    }
    return hash(
        frozenset(
            cell.key
            for cell in plan.cells
            if not plan.skip(cell) or {cell.problem, cell.estimator} & absent
        )
    )


def _has_effect(path: str, runnable: list[tuple[dict[str, Any], int]]) -> bool:
    """Return False if all values of a swept parameter give the same cells."""
    by_others: dict[str, dict[str, set[int]]] = defaultdict(lambda: defaultdict(set))
    for values, cells in runnable:
        if path in values:
            others = sorted((name, repr(value)) for name, value in values.items() if name != path)
            by_others[repr(others)][repr(values[path])].add(cells)
    compared = [list(by_value.values()) for by_value in by_others.values() if len(by_value) > 1]
    return not compared or any(cells != by_value[0] for by_value in compared for cells in by_value)


def _plan(settings: Settings) -> Plan:
    """Plan a run without a sweep."""
    if record_sources.without_cells(settings):
        return Plan(settings, {}, {}, [])
    # the components
    problems = chosen("problem", settings.problem)
    plain = chosen("estimator", settings.estimator)
    check_drawn(settings)
    check_estimands("estimand", settings.estimand, plain)
    if settings.ranking:
        problems = on_one_stream(problems, settings.ranking)
    problem_specs = {name: ProblemSpec.of(part.object) for name, part in problems.items()}
    specs: dict[str, EstimatorSpec] = {}
    estimators: dict[str, Component] = {}

    # the cells of each problem
    blocks: list[Block] = []
    reasons: dict[Kind, str] = {}
    all_rows: set[tuple[str, int]] = set()
    for name, problem in problems.items():
        spec = problem_specs[name]
        sizes = sizes_of(name, spec, settings.n)
        draws = Draws(
            reps_of(settings.reps, spec), sizes, full_sample(name, spec, settings.ranking, sizes)
        )
        notions = notions_of(spec, settings.notion)
        all_rows |= {(name, n) for n in sizes if spec.rows_of_a_file and n == spec.n_max}
        used = plain
        if spec.rows_of_a_file and not spec.unavailable:
            per_class = spec.classes if set(notions) & {"classwise", "canonical"} else 1
            size = max(draws.all_sizes()) * per_class
            used = with_intervals(settings, plain, size, estimators)
        estimators |= used
        for estimator in used.keys() - specs.keys():
            specs[estimator] = EstimatorSpec.of(used[estimator].object)
        for notion in notions:
            for n in draws.all_sizes():
                for estimator in used:
                    if reason := skip_reason(spec, specs[estimator], notion, n):
                        reasons[name, notion, estimator, n] = reason
        keys = {estimator: part.key for estimator, part in used.items()}
        blocks.append(Block(name, problem.key, settings.seed, draws, notions, keys))
    if settings.bootstrap and not any(spec.rows_of_a_file for spec in problem_specs.values()):
        raise BadInputError(
            f"bootstrap is {settings.bootstrap}, but no problem of this run is a file whose rows "
            "could be resampled; leave it out: the replications (reps=) of other problems are "
            "samples."
        )
    return Plan(
        settings, problems, estimators, Cells(blocks), reasons, all_rows=frozenset(all_rows)
    )


def skip_reason(problem: ProblemSpec, estimator: EstimatorSpec, notion: str, n: int) -> str | None:
    """Return why a cell is skipped, or None. The reason becomes the record of the cell."""
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
