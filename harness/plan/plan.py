"""Make the plan of a run: all its cells (problem, notion, n, rep, estimator), each with a key."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
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
    add_bootstrap,
    build_selected,
    check_estimands,
    check_figure_estimators,
    choose_notions,
    choose_reps,
    choose_sizes,
    reference_sample,
    share_stream,
)
from harness.problems.base import ProblemSpec


@dataclass(frozen=True)
class Plan:
    """All cells of a run, and the components that compute them.

    Parameters
    ----------
    settings : Settings
        Settings of the run.
    problems, estimators : dict of str to Component
        {name in the plan: component}. In a sweep, the name contains the swept values.
    cells : collection of Cell
        Cells of the run, created on iteration. For a sweep it is a list, in which a cell that
        several points share occurs once.
    reasons : mapping of Kind to str
        {kind of cells: reason why they are skipped}.
    swept : dict of str to str
        {swept path: its short name}.
    points : list of dict
        Points of the sweep, each {path: value}.
    values : dict of str to list of dict
        {key of a cell: swept values that the cell depends on}. There is one dictionary
        {short name: value} for each distinct combination.
    all_rows : frozenset of (str, int)
        Pairs (problem, n) whose samples are all rows of a file, so that replications repeat them.
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
        """Return the reason why a cell is skipped, or None if it is not."""
        return self.reasons.get(cell.kind) if self.reasons else None

    @cached_property
    def skips(self) -> dict[str, str]:
        """{key: reason} of the skipped cells."""
        if not self.reasons:
            return {}
        return {cell.key: reason for cell in self.cells if (reason := self.skip(cell))}

    def owner(self, cell: Cell) -> str | None:
        """Return a text that identifies the user code in a cell, or None if there is none.

        It consists of the keys of those components of the cell that contain user code. Cells with
        different owners never share a process. The problem counts, because its code draws the
        sample in the process of the estimator.
        """
        return self._owner(cell.problem, cell.estimator)

    def _owner(self, problem: str, estimator: str) -> str | None:
        components = self.problems[problem], self.estimators[estimator]
        return "|".join(part.key for part in components if part.foreign) or None

    def is_typed(self, cell: Cell) -> bool:
        """Return True if code of the cell was typed at a prompt, so that no other process has it.

        Such code belongs to the module __main__.
        """
        components = self.problems[cell.problem], self.estimators[cell.estimator]
        return any("__main__" in part.foreign for part in components)

    def by_owner(self) -> list[Collection[Cell]]:
        """Return the cells split by their owner (see `owner`), cells without user code first."""
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


def problems_by_id(plans: Iterable[Plan]) -> dict[str, Component]:
    """Return {id: problem} for all problems of the plans."""
    return {problem.id: problem for plan in plans for problem in plan.problems.values()}


def plan(settings: Settings) -> Plan:
    """Return the plan of a run. For a sweep, it contains the cells of all points.

    Raises
    ------
    BadInputError
        If a problem or estimator cannot be built, or if none is selected.
    """
    if not settings.sweep:
        return _plan(settings)
    return union(settings, sweeps.points(settings))


def union(settings: Settings, points: list[tuple[dict[str, Any], Settings]]) -> Plan:
    """Return one plan with the cells of all points of a sweep.

    Each of `points` is a pair ({path: value}, settings of the point). A problem or estimator with
    swept values has them in its name, such as 'binned15 (bins=10)'. A cell that several points
    share is planned once.

    Raises
    ------
    BadInputError
        If a swept parameter changes no cell, or if two components get the same name.
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
                f"{path} is swept, but it changes no cell of this run{why}; leave it out."
            )
    return swept


def _merge(
    components: dict[str, Component],
    group: str,
    added: dict[str, Component],
    values: dict[str, Any],
    words: dict[str, str],
) -> dict[str, str]:
    """Add the components of a point to those of the sweep, under names with the swept values.

    Parameters
    ----------
    components : dict
        {name in the sweep: component}, to which the point's components are added.
    group : str
        "problem" or "estimator".
    added : dict
        {name in the point: component}.
    values, words : dict
        {path: value} of the point, and {path: short name}.

    Returns
    -------
    dict
        {name in the point: name in the sweep}.
    """
    names = {}
    for name, part in added.items():
        own_values = sweeps.component_values(values, group, part.origin)
        names[name] = sweeps.add_values(name, own_values, words)
        # Workers find a component by its name, so one name must not stand for two components.
        if components.setdefault(names[name], part).key != part.key:
            raise BadInputError(
                f"two {group}s of the sweep would both be called {names[name]!r}; give values "
                "whose texts differ."
            )
    return names


def _cells_within_range(plan: Plan) -> int:
    """Return a hash of the keys of all cells that could run on some machine.

    Cells outside an estimator's range, such as above its `max_n`, are left out. Cells that are
    skipped only because a file or package is missing on this machine are included.
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
    """Return False if the cells are the same for all values of a swept parameter.

    `runnable` contains ({path: value}, hash of the cells) for each point. Points are compared if
    they differ only in `path`.
    """
    by_others: dict[str, dict[str, set[int]]] = defaultdict(lambda: defaultdict(set))
    for values, cells in runnable:
        if path in values:
            others = sorted((name, repr(value)) for name, value in values.items() if name != path)
            by_others[repr(others)][repr(values[path])].add(cells)
    compared = [list(by_value.values()) for by_value in by_others.values() if len(by_value) > 1]
    return not compared or any(cells != by_value[0] for by_value in compared for cells in by_value)


def _plan(settings: Settings) -> Plan:
    """Return the plan of a run that is not a sweep."""
    if record_sources.without_cells(settings):
        return Plan(settings, {}, {}, [])
    check_figure_estimators(settings)
    # Build the components.
    problems = build_selected("problem", settings.problem)
    plain = build_selected("estimator", settings.estimator)
    check_estimands("estimand", settings.estimand, plain)
    if settings.ranking:
        problems = share_stream(problems, settings.ranking)
    problem_specs = {name: ProblemSpec.of(part.object) for name, part in problems.items()}
    specs: dict[str, EstimatorSpec] = {}
    estimators: dict[str, Component] = {}

    # List the cells of each problem, and the reasons to skip some of them.
    blocks: list[Block] = []
    reasons: dict[Kind, str] = {}
    all_rows: set[tuple[str, int]] = set()
    for name, problem in problems.items():
        spec = problem_specs[name]
        sizes = choose_sizes(name, spec, settings.n)
        draws = Draws(
            choose_reps(settings.reps, spec),
            sizes,
            reference_sample(name, spec, settings.ranking, sizes),
        )
        notions = choose_notions(spec, settings.notion)
        all_rows |= {(name, n) for n in sizes if spec.shares_rows and n == spec.n_max}
        used = plain
        if spec.rows_of_a_file and not spec.unavailable:
            per_class = spec.classes if set(notions) & {"classwise", "canonical"} else 1
            size = max(draws.all_sizes()) * per_class
            used = add_bootstrap(settings, plain, size, estimators)
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
            "could be resampled; leave it out, and use reps= for several samples of other "
            "problems."
        )
    return Plan(
        settings, problems, estimators, Cells(blocks), reasons, all_rows=frozenset(all_rows)
    )


def skip_reason(problem: ProblemSpec, estimator: EstimatorSpec, notion: str, n: int) -> str | None:
    """Return the reason why a cell is skipped, or None if it can run.

    The record of a skipped cell stores this reason.
    """
    if problem.unavailable:
        return problem.unavailable
    if notion not in problem.notions:
        return f"the problem has no notion {notion} (it has {', '.join(problem.notions)})"
    reason = estimator.out_of_range(notion, n, problem.classes)
    if reason:
        return reason
    if estimator.needs_posterior and problem.posterior is None:
        return "the problem's true posterior is not known"
    return estimator.unavailable
