"""Reasons for missing numbers: cells without a number, and dashes in the wide table of results."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Any, TypeAlias

import pandas as pd

from harness.common.wording import DASH, format_count
from harness.configure.settings import Settings
from harness.evaluation.selection import estimators, label, shown_estimands
from harness.evaluation.summary import evaluate, mask_pairs
from harness.evaluation.tables import places
from harness.records.schema import has_number

Cause: TypeAlias = tuple[str, str, int, str]  # (status or DASH, estimator, number, reason)


def without_number(records: pd.DataFrame) -> list[Cause]:
    """Count the cells without a number by status, estimator and reason.

    Return a list of (status, estimator, number of cells, reason). Cells with the status
    `undefined` count as cells without a number.
    """
    lost = records[~has_number(records)]
    lost = lost.assign(reason=[last_line(reason) for reason in lost["reason"]])
    counts = lost.groupby(["status", "estimator", "reason"], observed=True)["key"].nunique()
    return [
        (status, estimator, int(n), reason) for (status, estimator, reason), n in counts.items()
    ]


def dashes(records: pd.DataFrame, settings: Settings) -> list[Cause]:
    """Count the dashes in the wide table of results by estimator and reason.

    Return a list of (DASH, estimator, number of dashes, reason). `settings` lists the estimators,
    and so the columns of the table.
    """
    frame = evaluate(records)
    filled: defaultdict[tuple[Any, ...], set[str]] = defaultdict(set)  # estimators with an entry
    for place, r in places(frame, shown_estimands(records, settings)):
        key = tuple(place[name] for name in ("problem", "notion", "n", "estimand"))
        filled[key] |= set() if r is None else {r["estimator"]}
    numbers = frame[has_number(frame)]
    given = numbers.groupby(["problem", "notion", "n", "estimator"])["estimand"].agg(list)
    counts: Counter[tuple[str, str]] = Counter()
    for (*cell, estimand), names in filled.items():
        for estimator in estimators(records, settings):
            if estimator not in names:
                others = given.get((*cell, estimator))
                reason = "no cell of this estimator is recorded yet"
                if others:
                    reason = f"the estimator gives {', '.join(others)}, not {estimand}"
                counts[estimator, reason] += 1
    return [(DASH, estimator, count, reason) for (estimator, reason), count in counts.items()]


def causes(parts: Iterable[Cause], settings: Settings) -> list[tuple[str, list[str], int, str]]:
    """Merge the tuples of `without_number` and `dashes` that share a status and a reason.

    Return a list of (status, labels of the estimators, total number, reason).
    """
    labels: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    totals: Counter[tuple[str, str]] = Counter()
    for status, estimator, count, reason in parts:
        labels[status, reason].append(label(settings, "estimator", estimator))
        totals[status, reason] += count
    return [
        (status, list(dict.fromkeys(names)), totals[status, reason], reason)
        for (status, reason), names in labels.items()
    ]


def reasons(records: pd.DataFrame, settings: Settings, of_table: bool = True) -> list[str]:
    """Explain the missing numbers of a result table, one line per status and reason.

    A line names the estimators and the number of cells, as in 'skipped oracle: the problem's true
    posterior is not known (6 cells)'. With `of_table=True` the lines are about the wide table of
    `tables.wide`, and its dashes are explained too. With `of_table=False` they are about all cells
    without a number.
    """
    if records.empty:
        return []
    estimand = records["estimand"]
    shown = estimand.isna() | estimand.isin(["", *shown_estimands(records, settings)])
    if settings.ranking or not of_table:
        parts = without_number(records)
    else:
        parts = without_number(records[shown]) + dashes(records, settings)
    lines = []
    for status, names, count, reason in causes(parts, settings):
        subject, number = status, format_count(count, "cell")
        if status == DASH:
            subject, number = f"{DASH} of", f"{count:,} {'entry' if count == 1 else 'entries'}"
        why = reason or "no reason is recorded"
        lines.append(f"{subject} {', '.join(names)}: {why} ({number})")
    outside = (records["value"] < records["low"]) | (records["value"] > records["high"])
    two_sided = records["low"].notna() & records["high"].notna() & records["kind"].eq("point")
    rows = records[
        shown & outside & two_sided & has_number(records) & mask_pairs(records, settings.files)
    ]
    if len(rows):
        names = [label(settings, "estimator", name) for name in rows["estimator"].unique()]
        lines.append(
            f"{', '.join(names)}: a value lies outside its interval. The interval is corrected for "
            "the bias that smaller samples show, the value is not (`calharness info predictions`)"
        )
    return lines


def explain_missing(record: Any) -> str:
    """Return why a record has no number: its status and the last line of its reason."""
    reason = last_line(record.reason)
    return f"{record.status}: {reason}" if reason else record.status


def last_line(reason: Any) -> str:
    """Return the last line of a reason, or "" if the reason is None or NaN.

    The last line of a traceback is its message.
    """
    lines = reason.strip().splitlines() if isinstance(reason, str) else []
    return lines[-1].strip() if lines else ""
