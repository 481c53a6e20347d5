"""Reasons why there is no number: of cells, and of the dashes in the wide table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, TypeAlias

import pandas as pd

from harness.common.wording import DASH
from harness.configure.settings import Settings
from harness.evaluation.selection import estimators, label, shown_estimands
from harness.evaluation.summary import are_of, evaluate
from harness.evaluation.tables import places
from harness.records.schema import WITH_NUMBER, has_number

Cause: TypeAlias = tuple[str, str, int, str]  # status or dash, estimator, number, reason
TRUTH = "truth"  # in place of an estimator: the column of true values


def without_number(records: pd.DataFrame) -> list[Cause]:
    """Return (status, estimator, cells, reason) of cells without a number, undefined ones too."""
    lost = records[~has_number(records)]
    lost = lost.assign(reason=[last_line(reason) for reason in lost["reason"]])
    counts = lost.groupby(["status", "estimator", "reason"], observed=True)["key"].nunique()
    return [
        (status, estimator, int(n), reason) for (status, estimator, reason), n in counts.items()
    ]


def dashes(records: pd.DataFrame, settings: Settings) -> list[Cause]:
    """Return ('–', estimator or 'truth', entries, reason) of the dashes in the wide table."""
    frame = evaluate(records)
    filled: dict[tuple[Any, ...], set[str]] = {}  # by place: estimators with an entry
    known: dict[tuple[Any, ...], bool] = {}  # by place with a number: is the truth known?
    for place, r in places(frame, shown_estimands(records, settings)):
        key = tuple(place[name] for name in ("problem", "notion", "n", "estimand"))
        filled.setdefault(key, set())
        if r is not None:
            filled[key].add(r["estimator"])
            if r["status"] in WITH_NUMBER:
                known[key] = known.get(key, False) or pd.notna(r["truth"])
    numbers = frame[has_number(frame)]
    given = numbers.groupby(["problem", "notion", "n", "estimator"])["estimand"].agg(list)

    counts: Counter[tuple[str, str]] = Counter()
    every = estimators(records, settings)
    for (problem, notion, n, estimand), names in filled.items():
        for estimator in every:
            others = given.get((problem, notion, n, estimator))
            if estimator in names:
                continue
            if others:
                counts[estimator, f"it gives no {estimand} (but {', '.join(others)})"] += 1
            else:
                counts[estimator, "no cell of it is recorded yet"] += 1
        key = (problem, notion, n, estimand)
        if any(known.values()) and not known.get(key):
            quantity = f"{estimand} of {label(settings, 'problem', problem)}"
            if key in known:
                counts[TRUTH, f"the true {quantity} is not known"] += 1
            else:
                counts[TRUTH, f"no estimate of the {quantity} to compare it with"] += 1
    return [(DASH, estimator, count, reason) for (estimator, reason), count in counts.items()]


def causes(parts: Iterable[Cause], settings: Settings) -> list[tuple[str, list[str], int, str]]:
    """Join `without_number` and `dashes` by cause: (status, labels of estimators, number, reason)."""
    labels: dict[tuple[str, str], dict[str, None]] = {}
    totals: Counter[tuple[str, str]] = Counter()
    for status, estimator, count, reason in parts:
        is_truth = (status, estimator) == (DASH, TRUTH)
        name = TRUTH if is_truth else label(settings, "estimator", estimator)
        labels.setdefault((status, reason), {})[name] = None
        totals[status, reason] += count
    return [
        (status, list(names), totals[status, reason], reason)
        for (status, reason), names in labels.items()
    ]


def reasons(records: pd.DataFrame, settings: Settings, of_table: bool = True) -> list[str]:
    """Explain the places of the wide table without a number.

    One line per status, or dash, and reason, with its estimators and their number, as in
    'skipped oracle: the problem's true posterior is not known (6 cells)'. With of_table=False it is
    about all cells without a number, and no dashes: the table is another one.
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
        is_dash = status == DASH
        noun = ("entry" if count == 1 else "entries") if is_dash else f"cell{'s' * (count != 1)}"
        subject = f"{DASH} of" if is_dash else status
        why = reason or "no reason is recorded"
        lines.append(f"{subject} {', '.join(names)}: {why} ({count:,} {noun})")
    points = records[
        shown & are_of(records, settings.files) & has_number(records) & records["kind"].eq("point")
    ]
    outside = points[
        points["low"].notna()
        & points["high"].notna()
        & ~points["value"].between(points["low"], points["high"])
    ]
    if len(outside):
        names = [label(settings, "estimator", name) for name in outside["estimator"].unique()]
        lines.append(
            f"{', '.join(names)}: a value lies outside its interval, as that is corrected for the bias "
            "which smaller samples show (`calharness info predictions`)"
        )
    return lines


def why_without(record: Any) -> str:
    """Return the status of a record without a number, and the last line of its reason."""
    reason = last_line(record.reason)
    return f"{record.status}: {reason}" if reason else record.status


def last_line(reason: Any) -> str:
    """Return the last line of a reason (of a traceback: its message), "" for None and NaN."""
    lines = reason.strip().splitlines() if isinstance(reason, str) else []
    return lines[-1].strip() if lines else ""
