"""What the tables of the arena's page say: answers, leaderboards, families, problems, our own estimators, intervals and tests."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pandas as pd

from harness.common.wording import (
    DASH,
    NOTIONS,
    estimand_name,
    format_factor,
    format_interval,
    format_number,
    format_seconds,
)
from harness.evaluation import arena, arena_memory, arena_own, intervals
from harness.evaluation.arena_content import APART, RESAMPLES, Content, near, ranked_rows
from harness.pages import leaderboard_rows, problem_cards
from harness.records import truths

# (notion, k or None for all, n, estimand) of the ten lines
QUESTIONS = (
    ("binary", 2, 200, "l1"), ("binary", 2, 5000, "l1"), ("binary", 2, 1000, "l2_squared"),
    ("top_label", None, 200, "l1"), ("top_label", None, 5000, "l1"), ("top_label", None, 1000, "l2_squared"),
    ("canonical", 3, 1000, "l1"), ("canonical", 10, 1000, "l1"), ("canonical", 10, 5000, "l2_squared"),
    ("canonical", 100, 5000, "l2_squared"),
)  # fmt: skip
ANSWER_COLUMNS = (
    "if you ask for",
    "use",
    "off by (RMSE)",
    "true values",
    "CPU time",
    "runner-up",
)  # of `answers_table`
# words in the ids of estimators that fit the same kind of map as the one from which the labels of a fitted problem were drawn
RESEMBLING = {
    "temperature": ("temperature", "sms", "qs", "vector", "matrix", "dirichlet", "platt", "beta"),
    "vector": ("sms", "qs", "vector", "matrix", "dirichlet", "platt", "beta"),
    "matrix": ("sms", "qs", "matrix", "dirichlet", "beta"),
    "isotonic": ("isotonic", "corp", "temperature"),
    "curves": ("nadaraya_watson", "spline", "kde"),
    "curves_of_vector": ("nadaraya_watson", "spline", "kde", "vector"),
}
FITTED = "fitted"  # the beginning of families whose truth is a map fitted to real predictions
PROVES = (
    "The predictions of these problems are real, and so are their ties, their saturation and their shape over the simplex. The "
    "truth is a calibration map that was fitted to them (the best of several kinds on rows held out), declared true, and the "
    "labels are drawn from it. What this proves: how an estimator does on real predictions with a plausible error. What not: "
    "that these models have this error, nor that the errors of real models are as smooth as a fitted map. An estimator that fits "
    "a map of the same kind has an advantage here; the ranks without it stand beside."
)


def answers(found: Content) -> list[dict]:
    """The ten lines, those of them that the records answer."""
    lines = []
    for notion, k, n, estimand in QUESTIONS:
        of = found.by_n if k is None else found.by_n_k
        rows = of[of["notion"].eq(notion) & of["n"].eq(n) & of["estimand"].eq(estimand)]
        rows = rows if k is None else rows[rows["k"].eq(k)]
        if len(rows):
            lines.append(_answer(rows.iloc[0], found, "3 or more" if k is None else f"{k:,}"))
    return lines


def answers_table(found: Content) -> pd.DataFrame:
    """The ten lines as a table of texts, for the first page of the site."""
    rows = [
        {
            "if you ask for": f"{line['estimand']}, {line['notion']}, k = {line['classes']}, n = {line['n']}",
            "use": line["estimator"],
            "off by (RMSE)": line["off"],
            "true values": line["truth"],
            "CPU time": line["seconds"],
            "runner-up": f"{line['runner_up']}, {line['beside']}" if line["runner_up"] else "–",
        }
        for line in answers(found)
    ]
    return pd.DataFrame(rows, columns=list(ANSWER_COLUMNS))


def all_answers(found: Content) -> list[dict]:
    """The same for every notion, estimand, n and k."""
    return [_answer(row, found, f"{row['k']:,}") for _, row in found.by_n_k.iterrows()]


def _answer(row, found, classes):
    of = found.settings
    of = of[
        of["notion"].eq(row["notion"]) & of["n"].eq(row["n"]) & of["estimand"].eq(row["estimand"])
    ]
    of = of[near(of["k"]) == row["k"]] if "k" in row.index else of
    truth = of.drop_duplicates("problem")["truth"]
    own = of[of["estimator"].eq(row["estimator"])]
    worst = own.loc[own["regret"].idxmax()]
    other = (
        row["runner_up"] if isinstance(row["runner_up"], str) else None
    )  # nobody else has a rank
    told = {
        "better": "which is worse by {:.0%}", "undecided": "which is not established to be worse (by {:.0%} here)",
        "worse": "which is better by {:.0%} on paired reps",
    }  # fmt: skip
    by = 1.0 / row["ratio"] - 1.0 if other else 0.0
    return {
        "notion": NOTIONS[row["notion"]],
        "classes": classes,
        "n": f"{int(row['n']):,}",
        "estimand": estimand_name(row["estimand"]),
        "estimator": row["estimator"],
        "off": format_number(float(row["rmse"]), 2),
        "truth": f"{format_number(float(truth.min()), 2)} to {format_number(float(truth.max()), 2)}",
        "regret": format_interval(row["regret"], row["low"], row["high"]),
        "worst": f"{worst['regret']:.1f} ({worst['problem']})",
        "seconds": format_seconds(row["cpu_seconds"]),
        "runner_up": other,
        "beside": told[row["verdict"]].format(abs(by)) if other else "",
        "sure": row["verdict"] == "better",
        "problems": int(row["problems"]),
    }


def boards(found: Content, measured: pd.DataFrame) -> list[dict]:
    """One leaderboard per notion and estimand, with the peak memory that was measured."""
    made = []
    for (notion, estimand), part in found.board.groupby(["notion", "estimand"], sort=False):
        over = found.over.get((notion, estimand))
        first = part.loc[part["rank"].eq(1.0), "estimator"]
        rows = []
        for row in part.to_dict("records"):
            said = over["verdict"].get(row["estimator"]) if over is not None else None
            rows.append({
                "cells": leaderboard_rows.cells(row), "anchor": arena.is_anchor(row["estimator"]),
                "split": format_factor(row["regret_split"]),
                "worse": {"better": "yes", "worse": "no: better", "undecided": "not established"}.get(said, DASH),
                "width": format_number(row["width"], 2), "memory": arena_memory.cells(measured, notion, row["estimator"]),
            })  # fmt: skip
        counted = f"{part['settings'].max():,} settings, {part['reps'].max():,} estimates of an estimator at most"
        made.append({
            "notion": NOTIONS[notion], "estimand": estimand_name(estimand),
            "id": f"board-{notion}-{estimand}", "rows": rows, "first": first.iloc[0] if len(first) else None, "counted": counted,
            "sizes": [f"n = {n:,}, k = {k}" for n, k in arena_memory.sizes(measured, notion)],
            "no_memory": arena_memory.reasons(measured, notion, part["estimator"].tolist()),
        })  # fmt: skip
    return made


def families_table(found: Content) -> list[dict]:
    """By notion, estimand and family: the three with the least mean regret, and how many problems."""
    ranked = found.by_family[found.by_family["rank"].le(3)]
    problems = found.settings.groupby(["notion", "estimand", "family"])["problem"].nunique()
    rows = []
    for key, part in ranked.groupby(["notion", "estimand", "family"], sort=True):
        named = [f"{row['estimator']} {row['regret']:.2f}" for _, row in part.iterrows()]
        what = estimand_name(key[1])
        rows.append(
            {
                "notion": NOTIONS[key[0]],
                "estimand": what,
                "family": key[2],
                "problems": problems[key],
                "best": named,
            }
        )
    return rows


def unranked(found: Content) -> list[tuple[str, str, str]]:
    """[(estimand, estimators, why)] of what is measured and has no regret."""
    of = found.every[~found.every["estimand"].isin(arena.MAIN)]
    told = []
    for estimand, part in of.groupby("estimand", sort=True):
        why = "a quantity of its own, without a truth here: only the order of models"
        if part["truth"].notna().any():
            why = "its truths are known; the table of settings has its errors"
        elif estimand == "p_value":
            why = "a p-value: see the tests"
        told.append((estimand, ", ".join(sorted(part["estimator"].unique())), why))
    bounds = found.settings[found.settings["kind"].isin(["lower", "upper", "interval"])]
    for kind, part in bounds.groupby("kind", sort=True):
        told.append(
            (
                "certified intervals" if kind == "interval" else f"{kind} bounds",
                ", ".join(sorted(part["estimator"].unique())),
                "bounds are never ranked among points",
            )
        )
    return told


def interval_tables(frame, families, settings) -> list[tuple[str, Any]]:
    """[(title, columns and rows)] of the intervals and the tests, where they were run."""
    apart = frame[frame["experiment"].isin(APART)] if "experiment" in frame else frame.iloc[:0]
    if not len(apart):
        return []
    tables = (
        ("Coverage and width of intervals", intervals.coverage_table),
        ("How often tests reject", intervals.power_table),
    )
    return [(title, _plain_table(make(apart, families))) for title, make in tables]


def _plain_table(frame):
    index = [name for name in frame.index.names if name is not None]
    frame = frame.reset_index() if index else frame
    rows = [
        [format_number(v, 3) if isinstance(v, float) else str(v) for v in row]
        for row in frame.itertuples(index=False)
    ]
    return {"columns": [str(c) for c in frame.columns], "rows": rows}


# The fitted problems


def fitted_maps(out: Path, keys: dict[str, str], families: dict) -> dict[str, str]:
    """{problem: the kind of map that its labels are drawn from}, as the stored truths say, of the families of fitted problems."""
    found = {}
    for name in (
        p for family, ids in families.items() if family.startswith(FITTED) for p in ids if p in keys
    ):
        methods = [truth[2] for truth in truths.read_truths(out, keys[name]).values() if truth]
        said = next((m for text in methods if (m := re.search(r"map (\w+)", str(text)))), None)
        if said:
            found[name] = said[1]
    return found


def resembles(estimator: str, kind: str) -> bool:
    """Whether an estimator fits the same kind of map.

    Examples
    --------
    >>> resembles("variational_temperature", "temperature"), resembles("binned15", "temperature")
    (True, False)
    """
    words = RESEMBLING.get(kind, (kind,))
    return any(re.search(f"(^|_){word}(_|$)", estimator) for word in words)


def fitted_tables(frame, families, classes, maps, resamples: int = 200) -> list[dict]:
    """By notion and estimand, mean regret and rank on the fitted problems: of all, and where every estimator that resembles the
    map of a problem is left out of that problem."""
    rows = ranked_rows(frame)
    rows = rows[rows["problem"].isin(maps)]
    pairs = rows[["problem", "estimator"]].drop_duplicates()
    alike = {(p, e) for p, e in pairs.itertuples(index=False) if resembles(e, maps[p])}
    kept = rows[[pair not in alike for pair in zip(rows["problem"], rows["estimator"])]]
    boards = []
    for part in (rows, kept):
        found = arena.settings(part, families, classes)
        boards.append(
            arena.leaderboard(found[found["estimand"].isin(arena.MAIN)], resamples=resamples)
        )
    keys = ["notion", "estimand", "estimator"]
    both = boards[0].merge(boards[1], on=keys, how="left", suffixes=("", "_without"))
    made = []
    for (notion, estimand), part in both.groupby(["notion", "estimand"], sort=False):
        lines = [
            {"estimator": r["estimator"], "rank": format_number(r["rank"]), "regret": format_number(r["regret"], 3),
             "rank_without": format_number(r["rank_without"]), "regret_without": format_number(r["regret_without"], 3),
             "left_out": sum((p, r["estimator"]) in alike for p in maps)}
            for r in part.to_dict("records") if not arena.is_anchor(r["estimator"])
        ]  # fmt: skip
        what = estimand_name(estimand)
        made.append({"notion": NOTIONS[notion], "estimand": what, "rows": lines})
    return made


# The problems, and our own estimators


def problem_rows(found: Content, families: dict, cards: dict[str, str]) -> list[dict]:
    """Every problem that was run: family, k, what is wrong, its truths by notion, and its card."""
    of = arena.family_of(families)
    order = [*families, arena.OTHER]
    truths = found.settings.drop_duplicates(["problem", "notion", "estimand"])
    truth = (
        truths.dropna(subset=["truth"])
        .set_index(["problem", "notion", "estimand"])["truth"]
        .to_dict()
    )
    classes = dict(zip(truths["problem"], truths["k"]))
    rows = []
    for name in sorted(
        classes, key=lambda name: (order.index(of.get(name, arena.OTHER)), classes[name], name)
    ):
        known = {
            e: [
                (words, truth[name, notion, e])
                for notion, words in NOTIONS.items()
                if (name, notion, e) in truth
            ]
            for e in arena.MAIN
        }
        shown = {
            e: "; ".join(f"{words} {format_number(value)}" for words, value in of_it) or DASH
            for e, of_it in known.items()
        }
        rows.append({
            "problem": name, "family": of.get(name, arena.OTHER), "k": int(classes[name]), "about": problem_cards.about(name),
            "card": cards.get(name), **shown,
        })  # fmt: skip
    return rows


def own_tables(
    found: Content, frame, families, development, resamples: int = RESAMPLES
) -> dict | None:
    """What the section on our own estimators shows; None where none was run."""
    if not found.settings["estimator"].map(arena_own.is_own).any():
        return None
    halves = arena_own.halves(found.settings, development, resamples=resamples)
    lines = [
        {**{name: row[name] for name in ("half", "estimator", "role")}, "notion": NOTIONS[row["notion"]],
         "estimand": estimand_name(row["estimand"]), "regret": format_interval(row["regret"], row["low"], row["high"]),
         "worst": f"{row['worst']:.2f}", "worst_at": row["worst_at"], "mean_met": bool(row["meets_mean"]),
         "worst_met": bool(row["meets_worst"])}
        for row in halves.to_dict("records")
    ]  # fmt: skip
    held = [
        {**{name: row[name] for name in ("estimator", "family", "half")}, "notion": NOTIONS[row["notion"]],
         "estimand": estimand_name(row["estimand"]), "level": f"{100 * row['level']:.3g} %", "sides": row["sides"],
         "coverage": f"{100 * row['coverage']:.1f} ± {100 * row['se']:.1f} %", "least": f"{100 * row['least']:.1f} %",
         "passes": row["passes"], "samples": f"{row['samples']:,}", "relative": format_number(row["relative"], 2)}
        for row in arena_own.coverage(frame, families, development).to_dict("records")
    ]  # fmt: skip
    return {"halves": lines, "coverage": held, "fail": sum(not row["passes"] for row in held)}
