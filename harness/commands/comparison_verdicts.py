"""Write the verdict of a comparison with the arena: sentences, tables, figure and page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from harness.commands.comparison_cells import Comparison
from harness.common.user_code import read_docstring
from harness.common.wording import format_count
from harness.configure.arena import Arena
from harness.contract.check import Finding
from harness.errors import BadInputError
from harness.evaluation import arena
from harness.evaluation import comparison as statistics
from harness.figures import comparison_plot
from harness.pages import comparison as words
from harness.problems.base import ProblemSpec

# An estimator runs on the user's problem if its cells at the largest n take at most so many CPU
# seconds.
CHEAP = 0.25
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
    files : list of Path
        Paths of the written files. The page is the last one.
    broken : list of Finding
        Failed items of the contract test.
    notes : list of str
        Remarks for the reader, such as how many cells are undefined.
    counts : dict
        Numbers of cells (see `run.execute`). `rest` is the number of cells that the request leaves
        out.
    """

    name: str
    settings: pd.DataFrame
    headlines: list[str]
    sentences: list[str]
    files: list[Path]
    broken: list[Finding]
    notes: list[str]
    counts: dict[str, Any] = field(default_factory=dict)


def write(
    comparison: Comparison,
    frame: pd.DataFrame,
    folder: Path,
    findings: list[Finding],
    absent: Mapping[str, str],
) -> Verdict:
    """Evaluate a comparison, write its files into `folder`, and return the verdict.

    Parameters
    ----------
    comparison : Comparison
        The comparison.
    frame : DataFrame
        Its records.
    folder : Path
        Folder of the page, figure and tables.
    findings : list of Finding
        Failed items of the contract test.
    absent : mapping
        {problem: reason} for problems that are left out.
    """
    if comparison.request.group == "estimator":
        return _judge_estimator(comparison, frame, folder, findings, absent)
    return _judge_problem(comparison, frame, folder, findings)


def _judge_estimator(
    comparison: Comparison,
    frame: pd.DataFrame,
    folder: Path,
    findings: list[Finding],
    absent: Mapping[str, str],
) -> Verdict:
    name, baseline = comparison.component.id, comparison.arena
    others = [e for e in frame["estimator"].unique() if e != name and arena.is_published(e)]
    table = arena.settings(frame, baseline.families, baseline.classes, others)
    results = table[table["estimator"].eq(name)]
    judged = results[results["regret"].notna()]
    bounds = results[results["regret"].isna() & results["kind"].isin(NO_REGRET)]
    no_regret = []
    for kind, rows in bounds.groupby("kind"):
        no_regret.append(NO_REGRET[str(kind)].format(", ".join(sorted(set(rows["estimand"])))))
    if not len(judged):
        reason = f": {no_regret[0]}" if no_regret else "; choose another estimand."
        raise BadInputError(f"{name} returned no point estimate whose truth is known{reason}")
    own = frame[frame["estimator"].eq(name)]
    notes = [*no_regret, *words.describe_lost_cells(own)]
    shared = ["problem", "notion", "n", "estimand"]
    table = table.merge(judged[shared], on=shared)
    development = arena.read_development(Arena("arena"))
    logs = statistics.opponents(table, name, development)
    statements = statistics.statements(logs, name, development)
    families = statistics.groups(table, logs, name, ["family"])
    cells = statistics.groups(table, logs, name, ["family", "n", "k"])
    board = arena.leaderboard(table, resamples=0)
    headlines = words.headlines(statements, board, name)
    sentences = words.sentences(table, statements, families, name, int(judged["reps"].max()))
    results = table[table["estimator"].eq(name)].drop(columns=INTERNAL)
    files = words.save(
        folder / name,
        f"{name} in the arena",
        comparison_plot.figure(cells, board, name),
        words.family_table(families, name),
        {"": families, "_verdicts": statements, "_cells": cells, "_settings": results},
        sentences,
        headlines=headlines,
        notes=notes,
        lists=[
            ("Where it is most accurate", words.extremes(families, best=True)),
            ("Where it is least accurate", words.extremes(families, best=False)),
        ],
        rules=words.RULES_OF_GROUPS,
        left_out=words.describe_left_out(absent),
        **_common_values(comparison, findings),
    )
    if absent:
        notes.append(
            f"{format_count(len(absent), 'problem')} of the arena cannot be used on this machine; "
            "the end of the page gives the reasons"
        )
    return Verdict(name, table, headlines, sentences, files, findings, notes)


def _common_values(comparison: Comparison, findings: list[Finding]) -> dict[str, Any]:
    """Return the values for the template that the pages of estimators and problems share."""
    request, value = comparison.request, comparison.component.object
    documented = value.calibrator if request.kind == "calibrator" else value
    return {
        "contract": findings,
        "limits": request.limits,
        "quick": request.quick,
        "doc": read_docstring(documented),
    }


def _judge_problem(
    comparison: Comparison,
    frame: pd.DataFrame,
    folder: Path,
    findings: list[Finding],
) -> Verdict:
    name, request = comparison.component.id, comparison.request
    problems = comparison.plan.problems
    classes = {pid: ProblemSpec.of(problem.object).classes for pid, problem in problems.items()}
    known = set(frame["estimand"])
    estimands = list(request.estimand) or [e for e in arena.MAIN if e in known]
    frame = frame[frame["estimand"].isin(estimands) | frame["estimand"].isna()]
    table = arena.settings(frame, {}, classes)
    judged = statistics.find_best_candidates(table)
    if not len(judged):
        raise BadInputError(
            f"no estimator has an estimate of {', '.join(estimands) or 'l1'} on {name} whose truth "
            "is known; add a method truth(estimand, notion) to the problem."
        )
    notes = [
        "The comparison uses the arena's estimators whose cells take at most "
        f"{CHEAP:g} CPU seconds at the largest n of the arena.",
    ]
    sentences = words.problem_sentences(judged, name, int(judged["reps"].max()))
    files = words.save(
        folder / name,
        f"The arena's estimators on {name}",
        comparison_plot.problem_figure(judged, name),
        words.problem_table(judged, name),
        {"": judged.drop(columns=INTERNAL), "_settings": table.drop(columns=INTERNAL)},
        sentences,
        headlines=[],
        notes=notes,
        lists=[],
        rules=words.RULES_OF_A_PROBLEM,
        left_out=[],
        **_common_values(comparison, findings),
    )
    return Verdict(name, table, [], sentences, files, findings, notes)
