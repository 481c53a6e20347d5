"""Tables of the arena's page: peak memory, intervals and tests, problems, pairs of models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from harness.common.names import NOTIONS, estimand_name, notion_name
from harness.common.wording import (
    DASH,
    format_interval,
    format_number,
)
from harness.evaluation import arena, intervals
from harness.evaluation.arena import blocks as arena_blocks
from harness.evaluation.arena import memory as arena_memory
from harness.evaluation.arena import own as arena_own
from harness.evaluation.arena import sensitivity as arena_sensitivity
from harness.evaluation.arena.content import APART, BOARDS, Content
from harness.pages.arena.leaderboard import worst_regret
from harness.pages.sources import describe_problem

Row = Mapping[str, Any]
Families = Mapping[str, Sequence[str]]


def _names(notion: str, estimand: str) -> dict[str, str]:
    return {"notion": NOTIONS[notion], "estimand": estimand_name(estimand)}


# Peak memory


def memory_sections(content: Content, measured: pd.DataFrame) -> list[dict[str, Any]]:
    """Return a table of the measured peak memory for each notion of the leaderboards."""
    sections = []
    for notion, words in NOTIONS.items():
        of_notion = content.board.loc[content.board["notion"].eq(notion), "estimator"]
        peaks = arena_memory.format_peaks(measured, notion, sorted(of_notion.unique()))
        if peaks.size:
            heads = ["Estimator", *(f"Peak MB, {size}" for size in peaks.columns)]
            rows = [[name, *texts] for name, texts in zip(peaks.index, peaks.to_numpy().tolist())]
            sections.append({"name": words, "heads": heads, "rows": rows})
    return sections


# Blocks that were not run, and verdicts under other rules


def absent_rows(absent: pd.DataFrame) -> list[dict[str, str]]:
    """Return one row per notion and estimator that was not run at some n.

    `absent` is the result of `blocks.states`. `cost` and `yet` are the n of each state; the n of
    `cost` have their CPU minutes.
    """
    rows = []
    for notion in NOTIONS:
        of_notion = absent[absent["notion"].eq(notion)]
        for name, part in of_notion.groupby("estimator", sort=True):
            of_state = {state: part[part["state"].eq(state)] for state in part["state"].unique()}
            texts = {
                key: ", ".join(map(_block, of_state.get(state, part[:0]).itertuples()))
                for key, state in (("cost", arena_blocks.COST), ("yet", arena_blocks.YET))
            }
            rows.append({"notion": NOTIONS[notion], "estimator": str(name), **texts})
    return rows


def _block(block: Any) -> str:
    """Format the n of a block, with its CPU minutes if they are known."""
    if np.isnan(block.minutes):
        return f"{block.n:,}"
    return f"{block.n:,} ({arena_blocks.format_minutes(block.minutes)})"


RULES = {
    arena_sensitivity.AS_SHOWN: "as above: rivals of the development families, corrected by table",
    arena_sensitivity.ON_TEST: "rivals of the test families themselves",
    arena_sensitivity.ONE_CORRECTION: "one correction for all lines of these notions",
}


def sensitivity_rows(table: pd.DataFrame | None) -> list[dict[str, str]]:
    """Return the result of `sensitivity` as texts, empty if there is none."""
    if table is None:
        return []
    return [
        {
            "notions": ", ".join(notion_name(name) for name in row["notions"].split()),
            "rule": RULES[row["rule"]],
            "better": f"{row['better']} of {row['lines']}", "worse": str(row["worse"]),
            "ratios": f"{row['smallest']:.2f} to {row['largest']:.2f}",
        }
        for row in table.to_dict("records")
    ]  # fmt: skip


# Estimands without a rank, intervals and tests


def unranked(content: Content) -> list[tuple[str, str, str]]:
    """Return (estimand, estimators, reason) for the estimands without a leaderboard."""
    groups = []
    others = content.every[~content.every["estimand"].isin(BOARDS)]
    for estimand, part in others.groupby("estimand", sort=True):
        reason = "its true value is unknown, so only the order of models is judged"
        if part["truth"].notna().any():
            reason = "its true values are known; the table of settings has the errors"
        elif estimand == "p_value":
            reason = "a p-value; see the tables on tests"
        groups.append((estimand, part, reason))
    return [
        (name, ", ".join(sorted(part["estimator"].unique())), reason)
        for name, part, reason in groups
    ]


def method_tables(
    frame: pd.DataFrame, families: Families, settings: Any
) -> list[tuple[str, dict[str, Any]]]:
    """Return (title, {columns, rows}) of the tables on intervals and tests; empty if not run."""
    apart = apart_records(frame)
    if not len(apart):
        return []
    tables = {
        "Coverage and width of intervals": intervals.coverage_table(apart, families),
        "How often tests reject": intervals.power_table(apart, families),
    }
    return [(title, _plain_table(table)) for title, table in tables.items()]


def apart_records(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the records of the experiments on intervals and tests, which are not ranked."""
    if "experiment" not in frame:
        return frame.iloc[:0]
    return frame[frame["experiment"].isin(APART)]


def _plain_table(frame: pd.DataFrame) -> dict[str, Any]:
    if frame.index.names != [None]:
        frame = frame.reset_index()
    rows = [
        [format_number(v) if isinstance(v, float) else str(v) for v in row]
        for row in frame.itertuples(index=False)
    ]
    return {"columns": [str(column) for column in frame.columns], "rows": rows}


# Problems, and estimators of this project


def problem_rows(
    content: Content, families: Families, cards: Mapping[str, str]
) -> list[dict[str, Any]]:
    """Return one row per problem: family, classes, description, true values and picture.

    `cards` is {problem: link to its picture}.
    """
    family_by_problem = arena.map_families(families)
    order = [*families, arena.OTHER]
    settings = content.settings.drop_duplicates(["problem", "notion", "estimand"])
    known = settings.dropna(subset=["truth"]).set_index(["problem", "estimand", "notion"])["truth"]
    rows = []
    for name, k in dict(zip(settings["problem"], settings["k"])).items():
        texts = {
            estimand: "; ".join(
                f"{words} {format_number(known[name, estimand, notion])}"
                for notion, words in NOTIONS.items()
                if (name, estimand, notion) in known.index
            )
            for estimand in arena.MAIN
        }
        rows.append({
            "problem": name, "family": family_by_problem.get(name, arena.OTHER), "k": int(k),
            "about": describe_problem(name), "card": cards.get(name),
            **{estimand: text or DASH for estimand, text in texts.items()},
        })  # fmt: skip
    return sorted(rows, key=lambda row: (order.index(row["family"]), row["k"], row["problem"]))


def own_rows(content: Content, development: Sequence[str]) -> list[dict[str, Any]]:
    """Return the table on this project's own estimators; it is empty if none was run."""
    if not content.settings["estimator"].map(arena_own.is_own).any():
        return []
    halves = arena_own.halves(content.settings, development)
    return [
        {
            **row, **_names(row["notion"], row["estimand"]), "worst": worst_regret(row),
            "interval": format_interval(row["regret"], row["low"], row["high"]),
        }
        for row in halves.to_dict("records")
    ]  # fmt: skip


# Pairs of models


def pairs_section(models: pd.DataFrame | None, cards: Mapping[str, str]) -> dict[str, Any] | None:
    """Return the table of the pairs of models, or None if no pair was run.

    Parameters
    ----------
    models : DataFrame or None
        The result of `arena_pairs.trials`.
    cards : mapping
        {problem: link to its picture}.

    Returns
    -------
    dict
        `pairs` lists every pair, with the difference of the true errors and links to both
        pictures. `reps` is the number of replications.
    """
    if models is None or not len(models):
        return None
    by = ["notion", "k", "better", "worse"]
    pairs = models[models["by"].eq(arena.MAIN[0])].drop_duplicates(by)
    return {
        "pairs": [
            {"notion": NOTIONS[row.notion], "k": row.k, "margin": row.margin, "half": row.half,
             "models": [(name, cards.get(name)) for name in (row.better, row.worse)]}
            for row in pairs.sort_values(["notion", "k", "margin"]).itertuples()
        ],
        "reps": max(int((~np.isnan(values)).sum()) for values in models["of_rep"]),
    }  # fmt: skip
