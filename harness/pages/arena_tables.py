"""Tables of the arena's page: leaderboards, recommendations, problems, intervals, pairs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from harness.common.names import NOTIONS, estimand_name
from harness.common.wording import (
    DASH,
    format_factor,
    format_interval,
    format_number,
    format_rank,
    format_seconds,
    format_signed,
    format_whole_percent,
)
from harness.evaluation import arena, arena_memory, arena_own, intervals
from harness.evaluation.arena_content import APART, RESAMPLES, Content, near
from harness.pages.sources import describe_problem

Row = Mapping[str, Any]
Families = Mapping[str, Sequence[str]]

# Questions of the short table: (notion, number of classes k or None for all k, n, estimand).
QUESTIONS = (
    ("binary", 2, 200, "l1"), ("binary", 2, 5000, "l1"), ("binary", 2, 1000, "l2_squared"),
    ("top_label", None, 200, "l1"), ("top_label", None, 5000, "l1"),
    ("top_label", None, 1000, "l2_squared"), ("canonical", 3, 1000, "l1"),
    ("canonical", 10, 1000, "l1"), ("canonical", 10, 5000, "l2_squared"),
    ("canonical", 100, 5000, "l2_squared"),
)  # fmt: skip
ANSWER_COLUMNS = (
    "if you ask for", "use", "off by (RMSE)", "true values", "CPU time", "runner-up",
)  # fmt: skip
HEADS = (  # headings of a leaderboard
    "Estimator", "Rank", "Mean regret", "Worst regret", "RMSE", "Bias", "Over", "Coverage",
    "CPU time", "Settings",
)  # fmt: skip
RUNNER_UP = {
    "better": "worse by {:.0%}",
    "undecided": "not significantly worse (by {:.0%} here)",
    "worse": "better by {:.0%} on paired replications",
}
RUNNER_UP_EQUAL = "not significantly worse (by less than 1 % here)"
WORSE = {"better": "yes", "worse": "no, better", "undecided": "not significantly"}


def _names(notion: str, estimand: str) -> dict[str, str]:
    return {"notion": NOTIONS[notion], "estimand": estimand_name(estimand)}


def _describe_runner_up(verdict: str, by: float) -> str:
    """Compare the runner-up with the best estimator; `by` is the relative difference in RMSE."""
    is_equal = verdict == "undecided" and by < 0.005
    return RUNNER_UP_EQUAL if is_equal else RUNNER_UP[verdict].format(by)


# Leaderboards


def leaderboard_row(row: Row) -> list[str]:
    """Format a row of `arena.leaderboard` as texts in the order of HEADS.

    leaderboard.js formats rows in the same way.
    """
    lost = [name for name in ("failed", "undefined", "skipped") if row[name]]
    settings = f"{int(row['settings']):,} ({format_whole_percent(row['share'])})"
    return [
        row["estimator"], format_rank(row["rank"], row["rank_low"], row["rank_high"]),
        format_interval(row["regret"], row["low"], row["high"]), worst_regret(row),
        format_number(row["rmse"]), format_signed(row["bias"]), format_whole_percent(row["over"]),
        format_whole_percent(row["coverage"]), format_seconds(row["cpu_seconds"]),
        ", ".join([settings, *(f"{int(row[name]):,} {name}" for name in lost)]),
    ]  # fmt: skip


def worst_regret(row: Row) -> str:
    """Format the worst regret in a row of `arena.leaderboard`, and its family."""
    return f"{format_factor(row['worst'])} at {row['worst_at']}"


def boards(content: Content, measured: pd.DataFrame) -> list[dict[str, Any]]:
    """Return one leaderboard per notion and estimand, formatted, with the measured peak memory."""
    tables = []
    for (notion, estimand), part in content.board.groupby(["notion", "estimand"], sort=False):
        over = content.over.get((notion, estimand))
        verdicts: Mapping[str, Any] = {} if over is None else over["verdict"]
        first = part.loc[part["rank"].eq(1.0), "estimator"]
        peaks = arena_memory.format_peaks(measured, notion, part["estimator"].tolist())
        rows = [
            {
                "cells": leaderboard_row(row), "anchor": arena.is_anchor(row["estimator"]),
                    "worse": WORSE.get(str(verdicts.get(row["estimator"])), DASH),
                "width": format_number(row["width"], 2), "memory": memory,
            }
            for row, memory in zip(part.to_dict("records"), peaks.to_numpy().tolist())
        ]  # fmt: skip
        most = part[["settings", "reps"]].max()
        tables.append({
            **_names(notion, estimand), "id": f"board-{notion}-{estimand}", "rows": rows,
            "first": first.iloc[0] if len(first) else None, "sizes": list(peaks.columns),
            "counted": f"At most {most['settings']:,} settings and {most['reps']:,} estimates per "
            "estimator",
        })  # fmt: skip
    return tables


# Answers


def answers(content: Content) -> list[dict[str, Any]]:
    """Return the recommended estimators for the questions in QUESTIONS.

    Questions that the records do not answer are left out.
    """
    lines = []
    for notion, k, n, estimand in QUESTIONS:
        rows = content.by_n if k is None else content.by_n_k[content.by_n_k["k"].eq(k)]
        rows = rows[rows["notion"].eq(notion) & rows["n"].eq(n) & rows["estimand"].eq(estimand)]
        if len(rows):
            lines.append(_answer(rows.iloc[0], content, "3 or more" if k is None else f"{k:,}"))
    return lines


def answers_table(content: Content) -> pd.DataFrame:
    """Return the result of `answers` as a table of texts, for the first page of the site."""
    rows = []
    for line in answers(content):
        question = "{estimand}, {notion}, k = {classes}, n = {n}".format(**line)
        other = f"{line['runner_up']}, {line['beside']}" if line["runner_up"] else DASH
        used = (line[name] for name in ("estimator", "off", "truth", "seconds"))
        rows.append([question, *used, other])
    return pd.DataFrame(rows, columns=list(ANSWER_COLUMNS))


def all_answers(content: Content) -> list[dict[str, Any]]:
    """Return the recommended estimators for every notion, estimand, n and number of classes."""
    return [_answer(row, content, f"{row['k']:,}") for _, row in content.by_n_k.iterrows()]


def _answer(row: pd.Series, content: Content, classes: str) -> dict[str, Any]:
    part = content.settings
    part = part[(part[["notion", "n", "estimand"]] == row[["notion", "n", "estimand"]]).all(axis=1)]
    if "k" in row.index:
        part = part[near(part["k"]) == row["k"]]
    truth = part.drop_duplicates("problem")["truth"]
    mine = part[part["estimator"].eq(row["estimator"])]
    worst = mine.loc[mine["regret"].idxmax()]
    other = row["runner_up"] if isinstance(row["runner_up"], str) else None  # one rank only
    by = abs(1.0 / row["ratio"] - 1.0) if other else 0.0
    return {
        **_names(row["notion"], row["estimand"]), "estimator": row["estimator"],
        "classes": classes, "n": f"{int(row['n']):,}",
        "off": format_number(float(row["rmse"]), 2),
        "truth": f"{format_number(truth.min(), 2)} to {format_number(truth.max(), 2)}",
        "regret": format_interval(row["regret"], row["low"], row["high"]),
        "worst": f"{worst['regret']:.1f} ({worst['problem']})",
        "seconds": format_seconds(row["cpu_seconds"]), "runner_up": other,
        "beside": _describe_runner_up(row["verdict"], by) if other else "",
        "sure": row["verdict"] == "better", "problems": int(row["problems"]),
    }  # fmt: skip


# Estimands without a rank, intervals and tests


def unranked(content: Content) -> list[tuple[str, str, str]]:
    """Return (estimand or kind of bound, estimators, reason) for estimators that have no regret."""
    groups = []
    others = content.every[~content.every["estimand"].isin(arena.MAIN)]
    for estimand, part in others.groupby("estimand", sort=True):
        reason = "its true value is unknown, so only the order of models is judged"
        if part["truth"].notna().any():
            reason = "its true values are known; the table of settings has the errors"
        elif estimand == "p_value":
            reason = "a p-value; see the tables on tests"
        groups.append((estimand, part, reason))
    kinds = {"interval": "certified intervals", "lower": "lower bounds", "upper": "upper bounds"}
    for kind, name in kinds.items():
        part = content.settings[content.settings["kind"].eq(kind)]
        if len(part):
            groups.append((name, part, "bounds are not ranked among point estimates"))
    return [
        (name, ", ".join(sorted(part["estimator"].unique())), reason)
        for name, part, reason in groups
    ]


def interval_tables(
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


def own_tables(
    content: Content,
    frame: pd.DataFrame,
    families: Families,
    development: Sequence[str],
    resamples: int = RESAMPLES,
) -> dict[str, Any] | None:
    """Return the tables on this project's own estimators, or None if none was run."""
    if not content.settings["estimator"].map(arena_own.is_own).any():
        return None
    halves = arena_own.halves(content.settings, development, resamples=resamples)
    coverage = arena_own.coverage(frame, families, development)
    return {
        "halves": [{**row, **_names(row["notion"], row["estimand"]),
                    "interval": format_interval(row["regret"], row["low"], row["high"])}
                   for row in halves.to_dict("records")],
        "coverage": [{**row, **_names(row["notion"], row["estimand"])}
                     for row in coverage.to_dict("records")],
        "fail": int((~coverage["passes"].astype(bool)).sum()),
    }  # fmt: skip


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
