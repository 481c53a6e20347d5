"""Truths of problems: computed once, where nobody else's code can change them, and stored."""

from __future__ import annotations

import pickle
import sys
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from harness.common.escaping import escape
from harness.common.user_code import have_run
from harness.errors import BadInputError
from harness.execute import supervise
from harness.plan.components import Component, configured
from harness.problems.base import truth_of
from harness.records.truths import add_truths, unknown_truths

Asked = list[tuple[str, str]]  # pairs (notion, estimand)


def store(out: Path, wanted: Iterable[tuple[Component, Asked]]) -> None:
    """Compute and store the truths that are missing, of problems with the pairs that are wanted.

    They are computed in this process, unless code that is not ours has run in it or would run.
    Then a child process computes them, as it does cells: ours apart from each other problem's.
    """
    groups: dict[str, list[tuple[Component, Asked]]] = defaultdict(list)
    for problem, pairs in wanted:
        if asked := unknown_truths(out, problem, pairs):
            groups[problem.key if problem.foreign else ""].append((problem, asked))
    for owner, group in groups.items():
        typed = any("__main__" in problem.foreign for problem, _ in group)  # it exists here alone
        if typed or not (owner or have_run()):
            for problem, asked in group:
                _store(out, problem, asked)
        else:
            _store_in_a_child(out, owner or None, group)


def compute(task: dict[str, Any], board: supervise.Board) -> None:
    """In a child process: compute and store the truths of a task."""
    board.prepares(0)
    board.computes()
    for name, config, asked in task["truths"]:
        _store(Path(task["out"]), configured("problem", name, config), asked)


def _store_in_a_child(out: Path, owner: str | None, group: list[tuple[Component, Asked]]) -> None:
    from harness.execute.run import limits_of

    given = [(problem.id, problem.config, asked) for problem, asked in group]
    task = {"truths": given, "out": str(out), "path": list(sys.path), "surroundings": supervise.surroundings()}
    limits = limits_of({"max_memory": None, "cell_timeout": None})
    broken = supervise.compute(pickle.dumps(task), 1, owner, limits, supervise.Driver.here())
    if broken:
        ids = ", ".join(problem.id for problem, _ in group)
        raise BadInputError(f"the truth of {ids} {broken[0].reason}.")


def _store(out: Path, problem: Component, asked: Asked) -> None:
    new: dict[str, Any] = {}
    for notion, estimand in asked:
        truth = truth_of(problem.object, estimand, notion)
        new[f"{notion}|{estimand}"] = [truth.value, truth.error, escape(truth.method)] if truth else None
    add_truths(out, problem.key, new)
