"""The verdict of a comparison: sentences, tables, figure and page."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from harness.commands.comparison_options import Asked
from harness.contract.check import Finding
from harness.errors import BadInputError
from harness.evaluation import arena, comparison
from harness.figures import comparison_plot
from harness.pages import comparison as words
from harness.plan.plan import Plan
from harness.problems.base import ProblemSpec
from harness.records.baseline import Baseline

CHEAP = 0.25  # CPU seconds of a cell at the largest n, up to which an estimator is run on an own problem
NO_REGRET = {  # by the kind of the estimates: what a comparison says of those that have no regret
    "interval": "of {} it gives intervals without a point (kind='interval'), which have no RMSE and no regret; "
    "if the value is an estimate, return kind='point' with low and high",
    "lower": "of {} it gives lower bounds, which have no RMSE and no regret",
    "upper": "of {} it gives upper bounds, which have no RMSE and no regret",
}


@dataclass(frozen=True)
class Verdict:
    """What came of it: the rows of `harness.evaluation.arena.settings`, sentences, files (the page last), counts of cells, and
    findings of the contract test that are no success."""

    name: str
    settings: pd.DataFrame
    sentences: list[str]
    files: list[Path]
    counts: dict[str, Any]
    broken: list[Finding] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def by_reason(absent: dict[str, str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, reason in absent.items():
        found.setdefault(reason, []).append(name)
    return found


def of_estimator(
    name: str,
    frame: pd.DataFrame,
    held: Baseline,
    asked: Asked,
    folder: Path,
    plan: Plan,
    broken: list[Finding],
    notes: list[str],
) -> Verdict:
    """The verdict on an estimator."""

    others = [one for one in frame["estimator"].unique() if one != name and arena.is_published(one)]
    table = arena.settings(frame, held.families, held.classes, others)
    mine = table[table["estimator"].eq(name) & table["regret"].notna()]
    without = table[
        table["estimator"].eq(name)
        & table["regret"].isna()
        & table["kind"].isin(["interval", "lower", "upper"])
    ]
    no_regret = [
        NO_REGRET[kind].format(listed) for kind, listed in _estimands_by_kind(without).items()
    ]
    if not len(mine):
        why = f": {no_regret[0]}" if no_regret else "."
        raise BadInputError(f"{name} gave no point estimate whose truth is known{why}")
    shared = ["problem", "notion", "n", "estimand"]
    table = table.merge(mine[shared], on=shared)
    cells, families = comparison.groups(table, name), comparison.groups(table, name, ["family"])
    reps = int(mine["reps"].max())
    said = words.sentences(table, cells, name, reps)
    board = arena.leaderboard(table, resamples=200)
    counted = {word: int(mine[word].sum()) for word in ("failed", "undefined")}
    notes = [
        *notes,
        *no_regret,
        *(
            f"{count:,} of its cells are {word} and count by the rule below"
            for word, count in counted.items()
            if count
        ),
    ]
    lists = [
        ("Where it wins", words.extremes(cells, "wins")),
        ("Where it loses", words.extremes(cells, "loses")),
    ]
    own = table[table["estimator"].eq(name)].drop(columns=["errors", "lost"])
    frames = {"": families, "_cells": cells, "_settings": own}
    files = words.save(
        folder / name, f"{name} in the arena", comparison_plot.figure(cells, board, name),
        words.family_table(families, cells, name),
        frames, said, notes=notes, lists=lists, rules=words.RULES_OF_GROUPS, contract=broken, limits=asked.limits,
    )  # fmt: skip
    return Verdict(name, table, said, files, {}, broken, notes)


def _estimands_by_kind(settings: pd.DataFrame) -> dict[str, str]:
    return {
        kind: ", ".join(sorted(set(part["estimand"]))) for kind, part in settings.groupby("kind")
    }


def of_problem(
    name: str,
    frame: pd.DataFrame,
    held: Baseline,
    asked: Asked,
    folder: Path,
    plan: Plan,
    broken: list[Finding],
    notes: list[str],
) -> Verdict:
    """The verdict on a problem: which estimators are right there."""

    classes = {pid: ProblemSpec.of(one.object).classes for pid, one in plan.problems.items()}
    wanted = list(asked.estimand) or [one for one in arena.MAIN if one in set(frame["estimand"])]
    table = arena.settings(
        frame[frame["estimand"].isin(wanted) | frame["estimand"].isna()], {}, classes
    )
    judged = comparison.best_of(table)
    if not len(judged):
        raise BadInputError(
            f"no estimator gave a number of {', '.join(wanted) or 'l1'} on {name} whose truth is known."
        )
    said = words.problem_sentences(judged, name, int(judged["reps"].max()))
    frames = {
        "": judged.drop(columns=["errors", "lost"]),
        "_settings": table.drop(columns=["errors", "lost"]),
    }
    notes = [
        *notes,
        f"The estimators are those of the arena whose cells take at most {CHEAP:g} CPU seconds at its largest n.",
    ]
    files = words.save(
        folder / name, f"The arena's estimators on {name}", comparison_plot.problem_figure(judged, name),
        words.problem_table(judged, name),
        frames, said, notes=notes, lists=[], rules=words.RULES_OF_A_PROBLEM, contract=broken, limits=asked.limits,
    )  # fmt: skip
    return Verdict(name, table, said, files, {}, broken, notes)
