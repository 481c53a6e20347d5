"""Verdict of a comparison with the arena: tables, sentences and notes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from harness.comparing import sentences
from harness.comparing.cells import Comparison
from harness.comparing.experiment import CHEAP
from harness.configure.arena import Arena
from harness.contract.check import Finding
from harness.errors import BadInputError
from harness.evaluation import arena
from harness.evaluation.arena import candidates, constant, opponents
from harness.evaluation.arena.content import Content, summarise
from harness.problems.base import ProblemSpec

INTERNAL = ["values", "errors", "lost"]  # columns with arrays
NO_REGRET = {  # {kind of estimates without regret: note about them}
    "interval": "for {} it returns intervals without a point (kind='interval'), which have no RMSE "
    "and no regret; if the value is an estimate, return kind='point' with low and high",
    "lower": "for {} it returns lower bounds, which have no RMSE and no regret",
    "upper": "for {} it returns upper bounds, which have no RMSE and no regret",
}


@dataclass(frozen=True)
class Verdict:
    """Result of a comparison with the arena.

    Parameters
    ----------
    name : str
        Id of the user's estimator or problem.
    settings : DataFrame
        Table of `harness.evaluation.arena.settings`.
    headlines : list of str
        The verdict, one sentence for each notion and estimand.
    sentences : list of str
        Sentences about the result that may be quoted.
    broken : list of Finding
        Failed items of the contract test.
    notes : list of str
        Remarks for the reader, such as how many cells are undefined.
    content : Content
        Leaderboards, bounds and intervals of the compared settings, for the page.
    tables : dict
        {end of the file name: table}, for CSV files. The table of the end "" is also on the page.
    development : sequence of str
        Families on which published rivals are chosen.
    files : list of Path
        Paths of the written files. The page is the last one.
    counts : dict
        Numbers of cells (see `run.execute`). `rest` is the number of cells that the request leaves
        out.
    """

    name: str
    settings: pd.DataFrame
    headlines: list[str]
    sentences: list[str]
    broken: list[Finding]
    notes: list[str]
    content: Content
    tables: dict[str, pd.DataFrame]
    development: Sequence[str] = ()
    files: list[Path] = field(default_factory=list)
    counts: dict[str, Any] = field(default_factory=dict)


def judge(comparison: Comparison, frame: pd.DataFrame, findings: list[Finding]) -> Verdict:
    """Evaluate the records `frame` of a comparison, and return the verdict.

    `findings` are the failed items of the contract test. Raise BadInputError if the records have
    no point estimate whose truth is known.
    """
    evaluate = _judge_problem if comparison.request.kind == "problem" else _judge_estimator
    return evaluate(comparison, frame, findings)


def _judge_estimator(
    comparison: Comparison, frame: pd.DataFrame, findings: list[Finding]
) -> Verdict:
    name, baseline = comparison.component.id, comparison.arena
    others = [e for e in frame["estimator"].unique() if e != name and arena.is_published(e)]
    constants = constant.median_truths(baseline.truths().values())
    table = arena.settings(
        constant.add_constant(frame, constants), baseline.families, baseline.classes, others
    )
    table = opponents.add_seconds(table, frame)
    judged, no_regret = _judged_settings(table, name)
    own = frame[frame["estimator"].eq(name)]
    unvaried = constant.constant_values(own[own["truth"].notna()], baseline.classes)
    notes = [
        *sentences.describe_constant_values(unvaried, name),
        *no_regret,
        *sentences.describe_lost_cells(own),
    ]
    table = table.merge(judged[["problem", "notion", "n", "estimand"]])
    development = arena.read_development(Arena("arena"))
    logs = opponents.opponents(table, name, development)
    statements = opponents.statements(logs, name, development)
    families = opponents.by_family(table, logs, name)
    content = summarise(table, development, own=name)
    reps = int(judged["reps"].max())
    return Verdict(
        name,
        table,
        sentences.headlines(statements, arena.leaderboard(table, resamples=0), name),
        sentences.sentences(table, statements, families, name, reps),
        findings,
        notes,
        content,
        {
            "": families,
            "_verdicts": statements,
            "_settings": table[table["estimator"].eq(name)].drop(columns=INTERNAL),
        },
        development,
    )


def _judged_settings(table: pd.DataFrame, name: str) -> tuple[pd.DataFrame, list[str]]:
    """Return the settings in which an estimator has a regret, and notes about other estimates.

    Raise BadInputError if there is no such setting.
    """
    results = table[table["estimator"].eq(name)]
    judged = results[results["regret"].notna()]
    bounds = results[results["regret"].isna() & results["kind"].isin(NO_REGRET)]
    notes = []
    for kind, rows in bounds.groupby("kind"):
        notes.append(NO_REGRET[str(kind)].format(", ".join(sorted(set(rows["estimand"])))))
    if not len(judged):
        reason = f": {notes[0]}" if notes else "; choose another estimand."
        raise BadInputError(f"{name} returned no point estimate whose truth is known{reason}")
    return judged, notes


def _judge_problem(comparison: Comparison, frame: pd.DataFrame, findings: list[Finding]) -> Verdict:
    name, request = comparison.component.id, comparison.request
    problems = comparison.experiment.plan.problems
    classes = {pid: ProblemSpec.of(problem.object).classes for pid, problem in problems.items()}
    known = set(frame["estimand"])
    estimands = list(request.estimand) or [e for e in arena.MAIN if e in known]
    frame = frame[frame["estimand"].isin(estimands) | frame["estimand"].isna()]
    table = arena.settings(frame, {}, classes)
    judged = candidates.find_best_candidates(table)
    if not len(judged):
        raise BadInputError(
            f"no estimator has an estimate of {', '.join(estimands) or 'l1'} on {name} whose truth "
            "is known; add a method truth(estimand, notion) to the problem."
        )
    constants = constant.median_truths(comparison.arena.truths().values())
    notes = [
        "The comparison uses the arena's estimators whose cells take at most "
        f"{CHEAP:g} CPU seconds at the largest n of the arena.",
    ]
    quotes = sentences.problem_sentences(judged, constants, name, int(judged["reps"].max()))
    tables = {"": judged.drop(columns=INTERNAL), "_settings": table.drop(columns=INTERNAL)}
    return Verdict(name, table, [], quotes, findings, notes, summarise(table), tables)
