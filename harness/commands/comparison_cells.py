"""Compute the cells of a comparison, run the contract test, and collect the records to compare."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from harness.commands.comparison_request import Request
from harness.common.wording import format_count, last_line
from harness.configure.options import ids
from harness.contract.check import Finding, examine
from harness.errors import BadInputError
from harness.execute import pending, processes, run, supervise, truths
from harness.execute.chunk import CellFailedError
from harness.plan import components
from harness.plan.cells import Cell
from harness.plan.components import Component
from harness.plan.plan import Plan
from harness.records import baseline, reader, stored_columns
from harness.records.baseline import Baseline
from harness.records.truths import read_truths, write_truths

CONTRACT_LIMIT = 20.0  # time limit of the contract test, as a multiple of the limit of a cell
# Items of the contract test that must not fail, because numbers could not be compared otherwise. An
# estimator without a number on some samples can be compared (see `arena.RULE`).
FATAL = ("declared properties", "determinism")
SECONDS_OF_A_PROCESS = 5.0  # CPU seconds in which a process imports the harness and makes problems
FIRST = 5  # smallest number of cells that run before the contract test


@dataclass(frozen=True)
class Comparison:
    """A comparison of a user's object with the baseline, and the cells that it needs.

    Parameters
    ----------
    request : Request
        What the user has asked for.
    component : Component
        The user's estimator or problem.
    plan : Plan
        All cells of the comparison.
    arena : Baseline
        Stored records of the arena.
    out : Path
        Folder of records.
    is_recordable : bool
        False for an object typed at a prompt. Its cells run in this process, without limits.
    evaluation : float
        Expected seconds of the evaluation, which follows the computation of the cells.
    say : callable
        Function that is called with lines about the progress.
    """

    request: Request
    component: Component
    plan: Plan
    arena: Baseline
    out: Path
    is_recordable: bool
    evaluation: float
    say: Callable[[str], None]


def compute(comparison: Comparison) -> tuple[dict[str, Any], list[Finding]]:
    """Compute the cells that have a record neither in the results folder nor in the baseline.

    The contract test and a few cells run before the rest, so that a wrong estimator is reported at
    once.

    Returns
    -------
    counts : dict
        Numbers of cells (see `run.execute`).
    findings : list of Finding
        Failed items of the contract test.

    Raises
    ------
    BadInputError
        If a cell exceeds the limit or ends its process. The error is also raised if the object
        fails an item of the contract test that every comparison needs.
    """
    plan, out = comparison.plan, comparison.out
    for key, known in comparison.arena.truths().items():
        if key in {problem.key for problem in plan.problems.values()}:
            write_truths(out, key, {**known, **read_truths(out, key)})
    stored = comparison.arena.find_cells(plan)
    todo = replace(plan, cells=[cell for cell in plan.cells if cell.key not in stored])
    first = _first_cells(comparison, todo)
    if comparison.is_recordable:
        counts, findings = _compute_supervised(comparison, todo, first)
    else:
        counts = run.execute(todo, quiet=True)
        findings = _check(comparison, first)
    if comparison.request.group == "problem":
        _store_truths(todo, out)
    done = counts["done"] + len(plan.cells) - len(todo.cells)
    return {**counts, "cells": len(plan.cells), "done": done}, findings


def _compute_supervised(
    comparison: Comparison, plan: Plan, first: Sequence[Cell]
) -> tuple[dict[str, Any], list[Finding]]:
    """Compute the cells of a comparison in child processes with a time limit.

    The cells in `first` are computed first. After the contract test, all other cells follow.
    Return the counts and the failed items of the contract test, as `compute` does.
    """
    limit = float(comparison.request.limit)
    settings = replace(
        plan.settings,
        out=str(comparison.out),
        engine="loky",
        cell_timeout=limit,
        on_error="stop",
    )
    plan = replace(plan, settings=settings)
    work = pending.pending(plan, comparison.out)
    todo = {cell.key for cells in work.samples() for cell in cells}
    cells = [cell for cell in first if cell.key in todo]
    try:
        if cells:
            alone = replace(settings, jobs=1)
            run.execute(replace(plan, cells=cells, settings=alone), quiet=True)
        findings = _check(comparison, first)
        # The first cells show how long the others take. A second process costs seconds of CPU.
        if pending.Costs(plan, comparison.out).total(work.tally.kinds) < SECONDS_OF_A_PROCESS:
            plan = replace(plan, settings=replace(settings, jobs=1))
        run.execute(plan, seconds_after=comparison.evaluation)
    except CellFailedError as error:
        remedy = "; raise limit=SECONDS" if error.limit == "cell_timeout" else ""
        raise BadInputError(f"{error}{remedy}.") from None
    return dict(work.tally.counts), findings


def _first_cells(comparison: Comparison, plan: Plan) -> list[Cell]:
    """Return the cells that run first, smallest n first.

    There is one for each combination of notion, number of classes and n, and at least FIRST.
    """
    runnable = [cell for cell in plan.cells if plan.skip(cell) is None]
    cells: dict[tuple[Any, ...], Cell] = {}
    for cell in runnable:
        classes = comparison.arena.classes.get(cell.problem)
        cells.setdefault((cell.n, classes, cell.notion), cell)
    first = list(dict.fromkeys([*cells.values(), *runnable]))[: max(FIRST, len(cells))]
    return sorted(first, key=lambda cell: cell.n)


def _check(comparison: Comparison, first: Sequence[Cell]) -> list[Finding]:
    """Check the records of the first cells, then run the contract test. Return its failed items."""
    if first:
        keys = {cell.key for cell in first}
        frame = reader.load_records(comparison.out, keys, categories=False)
        _check_first(comparison, first, frame)
    return _check_contract(comparison)


def _check_first(comparison: Comparison, first: Sequence[Cell], frame: pd.DataFrame) -> None:
    """Raise BadInputError if none of the first cells has a number.

    `frame` contains the records of these cells. An estimator that fails on some samples is
    compared: its other cells count, and these count with a large error.
    """
    lost = frame[frame["status"].isin(("failed", "undefined"))]
    if frame["status"].eq("ok").any() or not len(lost):
        return
    row = lost.iloc[0]
    is_estimator = comparison.request.group == "estimator"
    name = comparison.component.id if is_estimator else row["estimator"]
    raise BadInputError(
        f"{name} gives no number in its first {format_count(len(first), 'cell')}; on "
        f"{row['problem']} (n = {row['n']}, rep {row['rep']}): "
        f"{last_line(row['reason'])}; correct the {comparison.request.kind}."
    )


def _check_contract(comparison: Comparison) -> list[Finding]:
    """Run the contract test in a child process, and return its failed items.

    Raise BadInputError if one of them makes a comparison impossible.
    """
    request, component, say = comparison.request, comparison.component, comparison.say
    if request.kind != "calibrator" and component.id in ids(request.kind):
        return []  # a component of the harness, which its own tests cover
    config = component.config["calibrator"] if request.kind == "calibrator" else component.config
    name = str(config["_target_"])
    say(f"contract test of {name}")
    argument = (request.kind, name, config)
    try:
        if comparison.is_recordable:
            limits = processes.Limits(CONTRACT_LIMIT * request.limit)
            function = f"{__name__}:examine_configuration"
            findings = supervise.call(function, argument, limits)
        else:
            findings = examine_configuration(argument)
    except processes.EndedError as end:
        if end.limit is None:
            raise BadInputError(f"the contract test of {name} {end}; correct it.") from None
        say(f"the contract test of {name} {end}; the comparison goes on without it")
        return []
    failed = [finding for finding in findings if finding.outcome == "failed"]
    for finding in failed:
        is_fatal = request.kind == "problem" and finding.item != "docstring"
        if is_fatal or (finding.item in FATAL and not finding.raised):
            raise BadInputError(
                f"{name} fails the contract test at {finding.item}: {finding.detail.rstrip('.')}; "
                f"`calharness check {name}` prints all items."
            )
    return failed


def examine_configuration(argument: tuple[str, str, dict[str, Any]]) -> list[Finding]:
    """Build an object from (kind, name, configuration), and return what the contract test finds."""
    group, name, config = argument
    return examine(components.build(group, name, config), name)


def _store_truths(plan: Plan, out: Path) -> None:
    problems = plan.problems.values()
    keys = [
        [component.key for component in group] for group in (problems, plan.estimators.values())
    ]
    estimated = reader.estimated(out, *keys)
    truths.store(
        out,
        (
            (problem, [(notion, name) for key, notion, name in estimated if key == problem.key])
            for problem in problems
        ),
    )


def records(comparison: Comparison) -> pd.DataFrame:
    """Return all records of a comparison, those of the baseline included.

    For an estimator, these are its own records and those of all other estimators on the same
    samples. For a problem, these are the records of all estimators on it. Texts are categories.
    Raise BadInputError if no truth is known.
    """
    plan, request = comparison.plan, comparison.request
    keys = {cell.key for cell in plan.cells}
    # The samples of the plan are all combinations of these values.
    draws = {
        name: {getattr(cell, name) for cell in plan.cells}
        for name in ("problem", "notion", "n", "rep")
    }
    computed = reader.load_records(comparison.out, keys, baseline.COMPARED)
    computed = computed.astype({"key": stored_columns.KEYS})

    # If some cells of the plan were not computed, the baseline already contains them.
    is_complete = computed["key"].nunique() == len(plan.cells)

    def is_compared(rows: pd.DataFrame) -> pd.Series:
        """Return a mask of the rows whose sample and estimand belong to the comparison."""
        # Other estimators are not blamed for what they do not offer.
        mask = _has_truth(rows, request.estimand) & rows["status"].ne("skipped")
        for name, values in draws.items():
            mask &= rows[name].isin(values)
        if not is_complete:
            return mask
        # A failed cell counts for all estimands of its estimator. One row for each estimand must
        # therefore stay, so that the estimands are known.
        repeated = rows[mask].duplicated(["estimator", "notion", "estimand"])
        repeated = repeated.reindex(rows.index, fill_value=False)
        is_shared = rows["estimand"].isin(set(computed["estimand"])) | rows["estimand"].isna()
        return mask & (is_shared | ~repeated)

    known = comparison.arena.records(baseline.COMPARED, is_compared)
    twice = known["key"].isin(set(computed["key"]))
    if twice.any():
        known = known[~twice]
    if request.group == "problem":
        known = known[known["key"].isin(keys)]
    frame = stored_columns.concatenate([computed[_has_truth(computed, request.estimand)], known])
    if not frame["estimand"].notna().any():
        estimands = request.estimand
        names = f" of {', '.join(estimands)}" if estimands else ""
        raise BadInputError(
            f"no truth{names} is known on these problems, so that nothing can be compared; choose "
            "another estimand= or problem."
        )
    return frame


def _has_truth(rows: pd.DataFrame, estimands: Sequence[str]) -> pd.Series:
    """Return a mask of `rows`: True for estimates with a known true value.

    The mask is also True for the row of a cell without an estimate. If `estimands` are given, it is
    False for estimates of other estimands.
    """
    mask = rows["truth"].notna()
    if estimands:
        mask &= rows["estimand"].isin(estimands)
    return mask | rows["estimand"].isna()
