"""Compute the cells of a comparison, run the contract test, and collect the records to compare."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from harness.common.wording import format_count, last_line
from harness.comparing.request import Request
from harness.configure.options import ids
from harness.contract.check import Finding, examine
from harness.errors import BadInputError
from harness.execute import pending, processes, run, supervise
from harness.execute.chunk import CellFailedError
from harness.plan import components
from harness.plan.cells import Cell
from harness.plan.components import Component
from harness.plan.plan import Plan
from harness.records import baseline, reader, tables
from harness.records.baseline import Baseline
from harness.records.truths import read_truths, write_truths
from harness.workflow.experiment import Experiment

CONTRACT_LIMIT = 20.0  # time limit of the contract test, as a multiple of the limit of a cell
# Items of the contract test that must not fail, because numbers could not be compared otherwise. An
# estimator without a number on some samples can be compared (see `arena.RULE`).
FATAL = ("declared properties", "determinism")
COLUMNS = (*baseline.COMPARED, "seconds")  # columns of records that a comparison reads
SECONDS_OF_A_PROCESS = 5.0  # CPU seconds in which a process imports the harness and makes problems
FIRST = 5  # smallest number of cells that run before the contract test


@dataclass(frozen=True)
class Comparison:
    """A comparison of a user's object with the baseline.

    Parameters
    ----------
    request : Request
        What the user has asked for.
    component : Component
        The user's estimator or problem.
    arena : Baseline
        Stored records of the arena.
    experiment : Experiment
        All cells of the comparison.
    absent : dict
        {problem: reason} for problems of the arena that are left out.
    is_recordable : bool
        False for an object typed at a prompt. Its cells run in this process, without limits.
    say : callable
        Function that is called with lines about the progress.
    """

    request: Request
    component: Component
    arena: Baseline
    experiment: Experiment
    absent: dict[str, str]
    is_recordable: bool
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
    whole, out = comparison.experiment.plan, comparison.experiment.records.out
    planned = {problem.key for problem in whole.problems.values()}
    for key, known in comparison.arena.truths().items():
        if key in planned:
            write_truths(out, key, {**known, **read_truths(out, key)})
    stored = comparison.arena.find_cells(whole)
    plan = _with(whole, [cell for cell in whole.cells if cell.key not in stored])
    counts = dict(pending.pending(plan, out).tally.counts)
    first = _first_cells(comparison.arena, plan)
    try:
        run.execute(_with(plan, first, jobs=1), quiet=True)
        _check_first(comparison, first)
        findings = _check_contract(comparison)
        # The first cells show how long the others take. A second process costs seconds of CPU.
        alone = _with(plan, plan.cells, jobs=1)
        left = pending.read_pace(pending.pending(alone, out), out).left(workers=1)
        if not left.untimed and left.high < SECONDS_OF_A_PROCESS:
            plan = alone
        run.execute(plan, not comparison.is_recordable)
    except CellFailedError as error:
        remedy = "; raise limit=SECONDS" if error.limit == "cell_timeout" else ""
        raise BadInputError(f"{error}{remedy}.") from None
    if comparison.request.kind == "problem":
        comparison.experiment.store_truths()
    done = counts["done"] + len(whole.cells) - len(plan.cells)
    return {**counts, "cells": len(whole.cells), "done": done}, findings


def _with(plan: Plan, cells: Collection[Cell], **operation: Any) -> Plan:
    """Return a plan with other cells, and with changed options of the run."""
    return replace(plan, cells=cells, settings=replace(plan.settings, **operation))


def _first_cells(arena: Baseline, plan: Plan) -> list[Cell]:
    """Return the cells that run first, smallest n first.

    There is one for each combination of notion, number of classes and n, and at least FIRST.
    """
    runnable = [cell for cell in plan.cells if plan.skip(cell) is None]
    cells: dict[tuple[Any, ...], Cell] = {}
    for cell in runnable:
        cells.setdefault((cell.n, arena.classes.get(cell.problem), cell.notion), cell)
    first = list(dict.fromkeys([*cells.values(), *runnable]))[: max(FIRST, len(cells))]
    return sorted(first, key=lambda cell: cell.n)


def _check_first(comparison: Comparison, first: Sequence[Cell]) -> None:
    """Raise BadInputError if none of the first cells has a number.

    An estimator that fails on some samples is compared: its other cells count, and these count with
    a large error.
    """
    if not first:
        return
    keys, out = {cell.key for cell in first}, comparison.experiment.records.out
    frame = reader.load_records(out, keys, categories=False)
    lost = frame[frame["status"].isin(("failed", "undefined"))]
    if frame["status"].eq("ok").any() or not len(lost):
        return
    row = lost.iloc[0]
    kind = comparison.request.kind
    name = row["estimator"] if kind == "problem" else comparison.component.id
    raise BadInputError(
        f"{name} gives no number in its first {format_count(len(first), 'cell')}; on "
        f"{row['problem']} (n = {row['n']}, rep {row['rep']}): "
        f"{last_line(row['reason'])}; correct the {kind}."
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
            findings = supervise.call(f"{__name__}:examine_configuration", argument, limits)
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


def read_records(comparison: Comparison) -> pd.DataFrame:
    """Return all records of a comparison, those of the baseline included.

    For an estimator, these are its own records and those of all other estimators on the same
    samples. For a problem, these are the records of all estimators on it. Texts are categories.
    Raise BadInputError if no truth is known.
    """
    plan, estimands = comparison.experiment.plan, comparison.request.estimand
    keys = {cell.key for cell in plan.cells}
    # The samples of the plan are all combinations of these values.
    draws = {
        name: {getattr(cell, name) for cell in plan.cells}
        for name in ("problem", "notion", "n", "rep")
    }
    computed = reader.load_records(comparison.experiment.records.out, keys, COLUMNS)
    computed = computed.astype({"key": tables.KEYS})

    # If some cells of the plan were not computed, the baseline already contains them.
    is_complete = computed["key"].nunique() == len(plan.cells)

    def is_compared(rows: pd.DataFrame) -> pd.Series:
        """Return a mask of the rows whose sample and estimand belong to the comparison."""
        # Other estimators are not blamed for what they do not offer.
        mask = _has_truth(rows, estimands) & rows["status"].ne("skipped")
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

    known = comparison.arena.records(COLUMNS, is_compared)
    twice = known["key"].isin(set(computed["key"]))
    if twice.any():
        known = known[~twice]
    if comparison.request.kind == "problem":
        known = known[known["key"].isin(keys)]
    frame = baseline.concatenate([computed[_has_truth(computed, estimands)], known])
    if not frame["estimand"].notna().any():
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
