"""Why there is no number: the reasons of cells, and of the dashes in the wide table."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd

from harness.common.wording import DASH
from harness.configure.figure import NO_LABELS
from harness.evaluation.selection import estimators, label, shown_estimands
from harness.evaluation.summary import are_of, evaluated_once
from harness.evaluation.tables import entries_of
from harness.records.schema import WITH_NUMBER, has_number


def without_number(records) -> list[tuple[str, str, int, str]]:
    """[(status, estimator, cells, reason)] of all cells that gave no number, and of undefined estimates."""
    without = records[~has_number(records)]
    if not len(without):
        return []
    grouped = without.assign(short=without["reason"].map(last_line)).groupby(
        ["status", "estimator", "short"], sort=True
    )
    return [
        (status, estimator, int(count), reason)
        for (status, estimator, reason), count in grouped["key"].nunique().items()
    ]


def dashes(records, settings) -> list[tuple[str, str, int, str]]:
    """[('–', estimator or 'truth', entries, reason)] of the dashes in the wide table."""
    shown = shown_estimands(records, settings)
    frame = evaluated_once(records)
    levels = ["problem", "notion", "estimand", "n"]
    places: dict[tuple, dict] = {}
    truths: dict[tuple, bool] = {}
    numbers: set[tuple] = set()
    gives: dict[tuple, dict] = {}
    for key, estimator, r in entries_of(frame, shown, levels, replace(settings, labels=NO_LABELS)):
        places.setdefault(key, {})[estimator] = places.get(key, {}).get(estimator) or r is not None
        truths[key] = truths.get(key, False) or (
            r is not None and r["status"] in WITH_NUMBER and r["truth"] == r["truth"]
        )
        numbers |= {key} if r is not None and r["status"] in WITH_NUMBER else set()
    for r in frame[has_number(frame)].itertuples():
        gives.setdefault((r.problem, r.notion, r.n, r.estimator), {})[r.estimand] = None
    found: dict[tuple, int] = {}
    every = estimators(records, settings)
    for (problem, notion, estimand, n), there in places.items():
        for estimator in every:
            if not there.get(estimator):
                others = gives.get((problem, notion, n, estimator))
                reason = (
                    f"it gives no {estimand} (but {', '.join(others)})"
                    if others
                    else "no cell of it is recorded yet"
                )
                found[estimator, reason] = found.get((estimator, reason), 0) + 1
        if any(truths.values()) and not truths[problem, notion, estimand, n]:
            of = f"{estimand} of {label(settings, 'problem', problem)}"
            known = (problem, notion, estimand, n) in numbers
            reason = (
                f"the true {of} is not known"
                if known
                else f"no estimate of the {of} to compare it with"
            )
            found["truth", reason] = found.get(("truth", reason), 0) + 1
    return [(DASH, estimator, count, reason) for (estimator, reason), count in found.items()]


def causes(found, settings) -> list[tuple[str, list[str], int, str]]:
    """[(status, labels of estimators, cells or entries, reason)] of what `without_number` and `dashes` found: what has the same
    cause is one line."""
    lines: dict[tuple, tuple] = {}
    for status, estimator, count, reason in found:
        names, total = lines.get((status, reason), ([], 0))
        name = (
            estimator
            if (status, estimator) == (DASH, "truth")
            else label(settings, "estimator", estimator)
        )
        lines[status, reason] = (list(dict.fromkeys([*names, name])), total + count)
    return [(status, names, count, reason) for (status, reason), (names, count) in lines.items()]


def reasons(records, settings, of_table: bool = True) -> list[str]:
    """Why the wide table has no number where it has none: a line per status, or dash, and reason, with the estimators that it is
    the reason of and how often, as in 'skipped oracle: the problem's true posterior is not known (6 cells)'. With of_table false
    of all cells without a number, and not of dashes: the table is another one."""
    if not len(records):
        return []
    shown = records["estimand"].isna() | records["estimand"].isin(
        ["", *shown_estimands(records, settings)]
    )
    whole = settings.ranking or not of_table
    found = without_number(records if whole else records[shown])
    found += [] if whole else dashes(records, settings)
    said = [
        _line(status, names, reason, count)
        for status, names, count, reason in causes(found, settings)
    ]
    on_file = pd.Series(are_of(records, settings.files), index=records.index, dtype=bool)
    of_files = records[shown & on_file & has_number(records)]
    both = of_files[
        of_files["kind"].eq("point") & of_files["low"].notna() & of_files["high"].notna()
    ]
    beside = both[(both["value"] < both["low"]) | (both["value"] > both["high"])]
    if len(beside):
        names = ", ".join(
            label(settings, "estimator", name) for name in dict.fromkeys(beside["estimator"])
        )
        said.append(
            f"{names}: a value lies outside its interval, as that is corrected for the bias which smaller samples show "
            f"(`calharness info predictions`)"
        )
    return said


def _line(status, names, reason, count):
    of, one, more = (
        (f"{DASH} of", "entry", "entries") if status == DASH else (status, "cell", "cells")
    )
    return f"{of} {', '.join(names)}: {reason or 'no reason is recorded'} ({count:,} {one if count == 1 else more})"


def why_without(record) -> str:
    """Why a record holds no number: its status and the last line of its reason, whole."""
    said = last_line(record.reason)
    return f"{record.status}: {said}" if said else record.status


def last_line(reason) -> str:
    """The last line of a record's reason, which of a traceback is the message; nothing where there is none (None, NaN)."""
    lines = reason.strip().splitlines() if isinstance(reason, str) else []
    return lines[-1].strip() if lines else ""
