"""The cells of a comparison: the contract test, the first cells, all others, and their records."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from harness.commands.comparison_options import Asked
from harness.configure.options import ids
from harness.contract.check import Finding, examine
from harness.errors import BadInputError
from harness.execute import run, supervise, truths
from harness.execute.chunk import CellFailedError
from harness.plan import components, pending
from harness.plan.cells import Cell
from harness.plan.components import Component
from harness.plan.plan import Plan
from harness.records import baseline, reader
from harness.records.truths import read_truths, write_truths

OF_THE_CHECK = 20.0  # times the limit: what the whole contract test may take
FATAL = (
    "declared properties",
    "determinism",
    "returns numbers",
)  # items without which no number can be compared


def findings_of(given: tuple[str, str, dict[str, Any]]) -> list[Finding]:
    """The findings of the contract test on what (group, name, configuration) describes."""
    group, name, config = given
    return examine(components.build(group, name, config), name)


def findings(
    asked: Asked, own: Component, say: Callable[[str], None], apart: bool
) -> list[Finding]:
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
            limits = supervise.Limits(OF_THE_CHECK * asked.limit)
            found = supervise.call("harness.commands.comparison_cells:findings_of", given, limits)
        else:
            found = findings_of(given)
    except supervise.EndedError as end:
        if end.limit is None:
            raise BadInputError(f"the contract test of {name} {end}.") from None
        say(f"the contract test of {name} {end}; the comparison goes on")
        return []
    broken = [one for one in found if one.outcome == "failed"]
    fatal = [
        one
        for one in broken
        if one.item in FATAL or asked.kind == "problem" and one.item != "docstring"
    ]
    if fatal:
        detail = fatal[0].detail.rstrip(".")
        raise BadInputError(
            f"{name} does not keep the contract: {fatal[0].item}: {detail}; `calharness check {name}` tells more."
        )
    return broken


def computed(
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
        counts = _supervised(todo, tried, out, float(asked.limit), judge)
    else:
        counts = run.execute(todo, quiet=True)
        judge()
    if group == "problem":
        _store_truths(todo, out)
    return {
        **counts,
        "cells": len(plan.cells),
        "done": counts["done"] + len(plan.cells) - len(todo.cells),
    }


def _supervised(
    plan: Plan, tried: Sequence[Cell], out: Path, limit: float, judge: Callable[[], None]
) -> dict[str, Any]:
    """Compute pending cells in supervised processes, those that are `tried` first; then call `judge`.

    Raises
    ------
    BadInputError
        If a cell takes longer than `limit` seconds, or its process dies. It names the cell.
    """
    own = {"out": str(out), "engine": "loky", "cell_timeout": limit, "on_error": "stop"}
    plan = replace(plan, settings=replace(plan.settings, **own))
    work = pending.pending(plan, out)
    todo = {cell.key for cells in work.samples() for cell in cells}
    first = [cell for cell in tried if cell.key in todo]
    try:
        if first:
            run.execute(
                replace(plan, cells=first, settings=replace(plan.settings, jobs=1)), quiet=True
            )
        judge()
        run.execute(plan)
    except CellFailedError as error:
        remedy = "; limit=SECONDS allows more" if error.limit == "cell_timeout" else ""
        raise BadInputError(f"{error}{remedy}.") from None
    return dict(work.tally.counts)


def _store_truths(plan: Plan, out: Path) -> None:
    given = reader.estimated(
        out,
        [one.key for one in plan.problems.values()],
        [one.key for one in plan.estimators.values()],
    )
    pairs = {
        one.key: [(notion, estimand) for key, notion, estimand in given if key == one.key]
        for one in plan.problems.values()
    }
    truths.store(out, ((one, pairs[one.key]) for one in plan.problems.values()))


def _first(plan: Plan, held: baseline.Baseline) -> list[Cell]:
    """The cells that are tried before all others: of every notion, k and n the first."""
    found: dict[tuple[Any, ...], Cell] = {}
    for cell in plan.cells:
        if cell.key not in plan.skips:
            found.setdefault((cell.n, held.classes.get(cell.problem), cell.notion), cell)
    return sorted(found.values(), key=lambda cell: cell.n)


def _judge(
    name: str, tried: Sequence[Cell], frame: pd.DataFrame, group: str, held: baseline.Baseline
) -> None:
    """Raise BadInputError where the first cells failed, are no numbers, or are of nothing that the baseline knows."""
    for cell in tried:
        where = (
            f"{name} on {cell.problem}, n = {cell.n}, rep {cell.rep},"
            if group == "estimator"
            else (f"{cell.estimator} on {cell.problem}, n = {cell.n}, rep {cell.rep},")
        )
        for row in frame[frame["key"].eq(cell.key)].itertuples(index=False):
            if row.status == "failed":
                raise BadInputError(
                    f"{where} fails: {str(row.reason).strip().splitlines()[-1].rstrip('.')}."
                )
            if group == "estimator" and row.status == "undefined" and isinstance(row.estimand, str):
                raise BadInputError(
                    f"{where} returned {row.value} as {row.estimand}; raise harness.UndefinedError where a sample has no value."
                )
    if group == "estimator":
        if not frame["status"].eq("ok").any():
            raise BadInputError(
                f"{name} has no value in any of the first {len(tried)} cells: {frame['reason'].iloc[0]}."
            )
        given = set(frame["estimand"].dropna())
        known = set(held.records.loc[held.records["truth"].notna(), "estimand"])
        if not given & known:
            raise BadInputError(
                f"{name} returns {', '.join(sorted(given))}; the baseline has truths of {', '.join(sorted(known))} alone."
            )


def records(
    plan: Plan, out: Path, held: baseline.Baseline, asked: Asked, group: str
) -> pd.DataFrame:
    """The records of the plan's cells and, of an estimator, those of all others on the same draws."""
    keys = {cell.key for cell in plan.cells}
    own = reader.load_records(out, keys, categories=False)
    known = held.records
    parts = [own, known[known["key"].isin(keys - set(own["key"]))]]
    if group == "estimator":
        draws = pd.MultiIndex.from_tuples(
            {(cell.problem, cell.notion, cell.n, cell.rep) for cell in plan.cells}
        )
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
