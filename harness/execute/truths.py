"""Compute the truths of problems once, and store them.

A truth is the true value of an estimand under a notion, for one problem. Truths are computed in a
process whose state no user code can have changed.
"""

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
from harness.execute.run import cell_limits
from harness.plan.components import Component, build_component
from harness.problems.base import find_truth
from harness.records.truths import add_truths, unknown_truths

Pairs = list[tuple[str, str]]  # (notion, estimand)


def store(out: Path, wanted: Iterable[tuple[Component, Pairs]]) -> None:
    """Compute and store those truths that are not stored yet.

    This process computes them if it runs no user code. Otherwise a child process does, and each
    problem with user code gets a child process of its own.

    Parameters
    ----------
    out : Path
        Folder of records and truths.
    wanted : iterable of (Component, list)
        Problems, each with the pairs (notion, estimand) whose truths are needed.

    Raises
    ------
    BadInputError
        If the child process ends, for example because it exceeds a limit.
    """
    groups: dict[str, list[tuple[Component, Pairs]]] = defaultdict(list)
    for problem, pairs in wanted:
        if missing := unknown_truths(out, problem, pairs):
            groups[problem.key if problem.foreign else ""].append((problem, missing))
    for owner, group in groups.items():
        # Code typed at a prompt exists in this process only.
        is_typed = any("__main__" in problem.foreign for problem, _ in group)
        if is_typed or not (owner or have_run()):
            for problem, missing in group:
                _store(out, problem, missing)
            continue
        task = [(str(out), problem.id, problem.config, missing) for problem, missing in group]
        try:
            limits = cell_limits(Settings.from_dict({}))
            supervise.call("harness.execute.truths:compute", task, limits)
        except processes.EndedError as end:
            ids = ", ".join(problem.id for problem, _ in group)
            remedy = "run the same command again"
            if owner:
                remedy += ", and if this comes again, correct the method truth of the problem"
            raise BadInputError(f"computing the truth of {ids} {end}; {remedy}.") from None


def compute(task: list[tuple[str, str, dict[str, Any], Pairs]]) -> None:
    """Compute and store truths. `store` calls this function in a child process.

    Each element of `task` is (folder, id of a problem, its configuration, pairs), where the pairs
    are (notion, estimand).
    """
    for out, name, config, pairs in task:
        _store(Path(out), build_component("problem", name, config), pairs)


def _store(out: Path, problem: Component, pairs: Pairs) -> None:
    truths: dict[str, Any] = {}
    for notion, estimand in pairs:
        truth = find_truth(problem.object, estimand, notion)
        values = [truth.value, truth.error, escape(truth.method)] if truth else None
        truths[f"{notion}|{estimand}"] = values
    add_truths(out, problem.key, truths)
