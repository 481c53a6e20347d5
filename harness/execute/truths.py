"""Truths of problems, computed once and stored. No user code can have changed the process."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from harness.common.escaping import escape
from harness.common.user_code import have_run
from harness.configure.settings import Settings
from harness.errors import BadInputError
from harness.execute import processes, supervise
from harness.execute.run import limits_of
from harness.plan.components import Component, build_component
from harness.problems.base import find_truth
from harness.records.truths import add_truths, unknown_truths

Pairs = list[tuple[str, str]]  # (notion, estimand)


def store(out: Path, wanted: Iterable[tuple[Component, Pairs]]) -> None:
    """Compute and store the missing truths of problems with their (notion, estimand) pairs.

    They are computed in this process, unless user code has run or would run in it. Then a child
    process computes them; problems with user code get a child each.
    """
    groups: dict[str, list[tuple[Component, Pairs]]] = defaultdict(list)
    for problem, pairs in wanted:
        if missing := unknown_truths(out, problem, pairs):
            groups[problem.key if problem.foreign else ""].append((problem, missing))
    for owner, group in groups.items():
        # code typed at a prompt exists in this process only
        is_typed = any("__main__" in problem.foreign for problem, _ in group)
        if is_typed or not (owner or have_run()):
            for problem, missing in group:
                _store(out, problem, missing)
            continue
        task = [(str(out), problem.id, problem.config, missing) for problem, missing in group]
        try:
            limits = limits_of(Settings.from_dict({}))
            supervise.call("harness.execute.truths:compute", task, limits)
        except processes.EndedError as end:
            ids = ", ".join(problem.id for problem, _ in group)
            raise BadInputError(f"the truth of {ids} {end}.") from None


def compute(task: list[tuple[str, str, dict[str, Any], Pairs]]) -> None:
    """Compute and store truths in a child process: (folder, id, configuration, pairs) each."""
    for out, name, config, pairs in task:
        _store(Path(out), build_component("problem", name, config), pairs)


def _store(out: Path, problem: Component, pairs: Pairs) -> None:
    truths: dict[str, Any] = {}
    for notion, estimand in pairs:
        truth = find_truth(problem.object, estimand, notion)
        values = [truth.value, truth.error, escape(truth.method)] if truth else None
        truths[f"{notion}|{estimand}"] = values
    add_truths(out, problem.key, truths)
