"""Truths of problems: computed once, where nobody else's code can change them, and stored."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from harness.common.escaping import escape
from harness.common.user_code import have_run
from harness.configure.settings import Settings
from harness.errors import BadInputError
from harness.execute import supervise
from harness.execute.run import limits_of
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
        is_typed = any(
            "__main__" in problem.foreign for problem, _ in group
        )  # it exists here alone
        if is_typed or not (owner or have_run()):
            for problem, asked in group:
                _store(out, problem, asked)
            continue
        task = [(str(out), problem.id, problem.config, asked) for problem, asked in group]
        try:
            supervise.call(
                "harness.execute.truths:compute", task, limits_of(Settings.from_dict({}))
            )
        except supervise.EndedError as end:
            ids = ", ".join(problem.id for problem, _ in group)
            raise BadInputError(f"the truth of {ids} {end}.") from None


def compute(task: list[tuple[str, str, dict[str, Any], Asked]]) -> None:
    """Compute and store truths in a child process: (folder of results, id, configuration, pairs) of problems."""
    for out, name, config, asked in task:
        _store(Path(out), configured("problem", name, config), asked)


def _store(out: Path, problem: Component, asked: Asked) -> None:
    new: dict[str, Any] = {}
    for notion, estimand in asked:
        truth = truth_of(problem.object, estimand, notion)
        found = [truth.value, truth.error, escape(truth.method)] if truth else None
        new[f"{notion}|{estimand}"] = found
    add_truths(out, problem.key, new)
