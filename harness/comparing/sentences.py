"""Sentences of a comparison with the arena: verdicts, sentences to quote, and remarks."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from harness.common.names import NOTIONS, axis_name
from harness.common.wording import (
    format_count,
    format_factor,
    format_number,
    format_ratio,
    format_seconds,
    join_numbers,
    last_line,
)
from harness.evaluation.arena.better_or_worse import RATE
from harness.evaluation.arena.opponents import CONSTANT, OWN, geometric_mean

OF_CONSTANT = "the median true value of the arena's problems"


def headlines(statements: pd.DataFrame, board: pd.DataFrame, own: str) -> list[str]:
    """Return the verdicts on an estimator, one sentence for each notion and estimand.

    `statements` is the result of `opponents.statements`, `board` that of `arena.leaderboard`.
    """
    texts = []
    for (notion, estimand), part in statements.groupby(["notion", "estimand"], sort=True):
        ranks = board[board["notion"].eq(notion) & board["estimand"].eq(estimand)]
        rank = ranks.loc[ranks["estimator"].eq(own), "rank"]
        known = len(rank) and math.isfinite(rank.iloc[0])
        place = f" Its rank is {rank.iloc[0]:.0f} of {_ranked(ranks)}." if known else ""
        verdicts = " ".join(describe_statement(row, own) for row in part.itertuples(index=False))
        texts.append(
            f"{NOTIONS[str(notion)].capitalize()} {axis_name(str(estimand))}: {verdicts}{place}"
        )
    return texts


def describe_statement(row: Any, own: str) -> str:
    """Return the verdict of one statement as a sentence."""
    rival = describe_rivals(row)
    ratio = f"its RMSE is {format_ratio(row.ratio)} times as large"
    families = _count_families(row.families)
    if row.about == "these families":
        return f"{own} is not judged against {rival} from {families} alone; {ratio}."
    verdict = {
        "better": f"is more accurate than {rival}",
        "worse": f"is less accurate than {rival}",
        "undecided": f"cannot be told apart from {rival}",
    }[row.verdict]
    corrected = f", corrected for {row.tests} comparisons" if row.tests > 1 else ""
    interval = f"95 % interval{corrected}: {_range(row)}"
    return f"{own} {verdict}: over {families}, {ratio} ({interval})."


def describe_rivals(row: Any) -> str:
    """Name the opponent of a row of `opponents.statements`, with its n if it differs by n."""
    names = [row.rivals[n] for n in sorted(row.rivals)]
    if row.opponent == OWN:
        return OWN
    if row.opponent == CONSTANT:
        return f"{names[0]} ({OF_CONSTANT})"
    if len(set(names)) == 1:
        return f"{names[0]} (the published estimator with the smallest mean regret)"
    by_n = ", ".join(f"{row.rivals[n]} at n = {n:,}" for n in sorted(row.rivals))
    return f"the published estimators with the smallest mean regret ({by_n})"


def describe_constant_values(constant: pd.DataFrame, own: str) -> list[str]:
    """Return a sentence for each row of `constant.constant_values`."""
    texts = []
    for row in constant.itertuples(index=False):
        name = f"the {NOTIONS[row.notion]} {axis_name(row.estimand)}"
        values = f"{format_number(row.low)} in all"
        if format_number(row.low) != format_number(row.high):
            values = (
                f"values from {format_number(row.low)} to {format_number(row.high)} that depend "
                "only on n and the number of classes, in all"
            )
        texts.append(
            f"{own} ignores the data, as far as these samples show: it returned {values} "
            f"{row.samples:,} estimates of {name}"
        )
    return texts


def _count_families(count: int) -> str:
    return f"{count:,} {'family' if count == 1 else 'families'}"


def _ranked(board: pd.DataFrame) -> int:
    return int(board["rank"].notna().sum())


def describe_lost_cells(records: pd.DataFrame) -> list[str]:
    """Return one sentence each on the failed and on the undefined cells of an estimator.

    `records` are the records of the estimator.
    """
    cells = records.loc[records["status"].ne("skipped"), "key"].nunique()
    texts = []
    for status in ("failed", "undefined"):
        lost = records[records["status"].eq(status)].drop_duplicates("key")
        if not len(lost):
            continue
        reasons = lost["reason"].astype(object).map(last_line).value_counts()
        more = f"; {format_count(len(reasons) - 1, 'other reason')}" if len(reasons) > 1 else ""
        row = lost.iloc[0]
        texts.append(
            f"{status} in {len(lost):,} of {cells:,} cells, the first {row['problem']} "
            f"(n = {row['n']:,}, rep {row['rep']}): {reasons.index[0]}{more}. Such a cell counts "
            "with a large error, as the rules say"
        )
    return texts


def describe_left_out(absent: Mapping[str, str]) -> list[str]:
    """Return one text for each reason for which problems are left out.

    `absent` is {problem: reason}.
    """
    problems: dict[str, list[str]] = {}
    for name, reason in absent.items():
        problems.setdefault(reason.rstrip("."), []).append(name)
    return [f"{', '.join(names)}: {reason}." for reason, names in problems.items()]


def sentences(
    settings: pd.DataFrame, statements: pd.DataFrame, families: pd.DataFrame, own: str, reps: int
) -> list[str]:
    """Summarise an estimator's results in the arena, in one sentence per notion and estimand.

    Parameters
    ----------
    settings, statements : DataFrame
        Results of `arena.settings` and `opponents.statements`.
    families : DataFrame
        The result of `opponents.by_family`.
    own, reps : str, int
        Id of the estimator, and number of replications.
    """
    texts = []
    settings = settings[settings["estimator"].eq(own) & settings["regret"].notna()]
    for (notion, estimand), part in families.groupby(["notion", "estimand"], sort=True):
        mine = settings[settings["notion"].eq(notion) & settings["estimand"].eq(estimand)]
        worst = part.loc[part["regret"].idxmax()]
        regret = math.exp(np.log(part["regret"]).mean())
        of_board = statements["notion"].eq(notion) & statements["estimand"].eq(estimand)
        compared = _compared(statements[of_board])
        texts.append(
            f"For the {NOTIONS[str(notion)]} {axis_name(str(estimand))} on "
            f"{format_count(mine['problem'].nunique(), 'problem')} of calharness's arena "
            f"(n = {join_numbers(sorted(mine['n'].unique()))}; {reps} replications), the RMSE of "
            f"{own} is {format_factor(regret)} times that of the best published estimator of each "
            "setting, which nobody knows in advance (a geometric mean over "
            f"{_count_families(len(part))}). The worst family is "
            f"{worst['family']}, with a factor of {format_factor(worst['regret'])}.{compared} An "
            f"estimate takes {_describe_time(mine)}."
        )
    return texts


def _compared(statements: pd.DataFrame) -> str:
    """Return a sentence on the opponents of a board, which do not depend on the problem."""
    if statements.empty:
        return ""
    clauses = []
    for row in statements.itertuples(index=False):
        details = ", ".join(filter(None, (_range(row), _count_families(row.families))))
        clauses.append(
            f"{format_ratio(row.ratio)} times ({details}) that of {describe_rivals(row)}"
        )
    intervals = ""
    if statements["low"].notna().any():
        tests = statements["tests"].iloc[0]
        corrected = f", corrected for {tests} comparisons" if tests > 1 else ""
        intervals = f" Ranges are 95 % intervals{corrected}."
    listed = f"{', '.join(clauses[:-1])} and {clauses[-1]}" if clauses[1:] else clauses[0]
    return (
        f" Against opponents that are the same for all problems, its RMSE is {listed}.{intervals}"
    )


def _describe_time(settings: pd.DataFrame) -> str:
    """Say how long an estimate takes, by the clock and of the processor."""
    wall, cpu = (format_seconds(geometric_mean(settings[c])) for c in ("seconds", "cpu_seconds"))
    return f"{wall} ({cpu} of CPU time)"


def problem_sentences(
    judged: pd.DataFrame, constants: Mapping[tuple[str, str], float], name: str, reps: int
) -> list[str]:
    """Return the sentences to quote for each notion and estimand, on a user's problem.

    `judged` is the result of `candidates.find_best_candidates`, `constants` that of
    `constant.median_truths`.
    """
    texts = []
    for (notion, estimand), part in judged.groupby(["notion", "estimand"], sort=True):
        clauses = []
        for n, rows in part.groupby("n", sort=True):
            first, others = rows.iloc[0], int(rows["may_be_best"].sum()) - 1
            more = f", not distinguished from {others} more" if others > 0 else ""
            clauses.append(f"at n = {n:,} {first['estimator']} (RMSE {first['rmse']:.2g}{more})")
        constant = constants.get((str(notion), str(estimand)))
        reference = ""
        if constant is not None:
            error = abs(constant - part["truth"].iloc[0])
            reference = (
                f" The constant {format_number(constant)} ({OF_CONSTANT}), which ignores the data, "
                f"has an RMSE of {error:.2g}."
            )
        texts.append(
            f"On {name} (k = {part['k'].iloc[0]}, true {NOTIONS[notion]} {axis_name(estimand)} "
            f"{part['truth'].iloc[0]:.3g}; {reps} replications) the most accurate of "
            f"{part['estimator'].nunique()} published estimators is {'; '.join(clauses)}. At each "
            "n, the probability that the truly best one is not among those named or counted is at "
            f"most {RATE:.0%}.{reference}"
        )
    return texts


def _range(row: Any) -> str:
    """Return the interval of a statement, or "" if it has none."""
    if math.isnan(row.low):
        return ""
    return f"{format_ratio(row.low)}–{format_ratio(row.high)}"
