"""Health of a results folder: what its records hold, and what is wrong with them."""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from harness.common import buckets
from harness.common.tables import text_table
from harness.errors import BadInputError
from harness.records import compaction, parts, reader, truths

UNREADABLE = (
    OSError,
    ValueError,
    TypeError,
    KeyError,
    AttributeError,
    RecursionError,
)  # of JSON that is none, or another's


def status_text(out: Path) -> str:
    """Cells by estimator and status, and the latest runs."""
    table: dict[str, dict[str, int]] = defaultdict(dict)
    for estimator, status, count in reader.status_counts(out):
        table[estimator][status] = count
    statuses = ("ok", "skipped", "undefined", "failed", "interrupted")
    lines = [f"{buckets.named(out)}: {len(parts.part_files(out)):,} parts"]
    if table:
        rows = [(name, *(row.get(s, 0) for s in statuses)) for name, row in table.items()]
        columns = range(1, len(statuses) + 1)
        lines.append(text_table(rows, head=("estimator", *statuses), right=columns, indent=0))
    for name in buckets.names(out, "runs")[-5:]:
        try:
            run = json.loads(buckets.read(out, name))
            took = f" after {run['seconds']} s" if "seconds" in run else ""
            lines.append(
                f"run {run['run_id']}: {run['config'].get('name') or 'adhoc'}, {run['cells']['todo']:,} cells to do, "
                f"{run['state']}{took}"
            )
        except UNREADABLE:
            lines.append(f"run {Path(name).stem}: unreadable")
    return "\n".join(lines)


def examine(
    out: Path, overrides: list[str] | None = None, compact: bool = False, repair: bool = False
) -> tuple[str, int]:
    """(text, number of problems): broken parts, leftovers of killed writers, cells recorded twice, twice with different values,
    records without provenance, unreadable truths, and mistakes in the papers' paper.yaml and reported.csv; with `overrides` also
    the cells that this experiment misses. `compact` joins the readable parts into one. `repair` moves broken parts and
    truths aside first, into <out>/broken with a note, so that what they held is computed again; nothing else is touched."""
    lines, problems = [buckets.named(out)], 0

    def problem(text: str) -> None:
        nonlocal problems
        problems += 1
        lines.append(f"  PROBLEM  {text}")

    for name in ("records", "truths", "runs"):
        if os.path.lexists(out / name) and not (out / name).is_dir():
            problem(f"{out / name} is no folder; move it away, the next run makes one")
    if repair:
        lines += [f"  moved    {note}" for note in _repair(out)] or ["  nothing to repair"]
    found, broken = _of_parts(out)
    for kind, text in found:
        if kind == "PROBLEM":
            problem(text)
        else:
            lines.append(f"  {kind:<9}{text}" if kind else f"  {text}")
    for name in buckets.names(out, "truths"):
        try:
            truths.read_truths(out, Path(name).stem)
        except BadInputError as error:
            problem(str(error).rstrip("."))
    for sentence in _of_papers():
        problem(sentence)
    if overrides is not None and not broken:
        problems += _missing(out, overrides, lines)
    if compact:
        before, rows = compaction.compact(out)
        lines.append(
            f"  compacted {before} parts into one of {rows:,} rows"
            if rows
            else "  nothing to compact"
        )
    lines.append(f"  {problems} problem{'' if problems == 1 else 's'}")
    return "\n".join(lines), problems


def _of_parts(out: Path) -> tuple[list[tuple[str, str]], bool]:
    """([(PROBLEM, note or nothing, sentence)] on the parts of a folder, whether any cannot be read). Where some went in the
    meantime, as they were joined, it looks again."""
    deadline = time.monotonic() + parts.RACE_SECONDS
    while True:
        every = parts.part_files(out)
        try:
            return _of_files(out, every)
        except (BadInputError, OSError):
            if time.monotonic() > deadline or all(path.exists() for path in every):
                raise


def _of_files(out: Path, every: list[Path]) -> tuple[list[tuple[str, str]], bool]:
    reasons = {path: parts.broken_reason(path) for path in every}
    broken = {path: reason for path, reason in reasons.items() if reason}
    if gone := [path for path in broken if not os.path.lexists(path)]:
        raise FileNotFoundError(gone[0])
    found = [
        (
            "PROBLEM",
            f"{buckets.shown(path)} cannot be read ({reason}); `calharness doctor --repair` moves it aside to compute its "
            "cells again",
        )
        for path, reason in broken.items()
    ]
    good = [path for path in every if path not in broken]
    found.append(("", f"{len(good):,} readable parts"))
    for path in sorted((out / "records").glob(".*.tmp")):
        found.append(
            (
                "note",
                f"{path.name} is what a killed writer left; it holds no finished cell and can be deleted",
            )
        )
    if not good:
        return found, bool(broken)
    twice, contradictions = _duplicates(good, _refreshes(out))
    if twice:
        found.append(
            ("note", f"{twice:,} cells are recorded more than once (two writers, a retry, or refresh=true); the best, then "
             "latest, record of each is used")
        )  # fmt: skip
    for key, estimator, low, high in contradictions[:10]:
        found.append(
            ("PROBLEM", f"cell {key} ({estimator}) has records that differ, {low!r} and {high!r}; equal seeds should give equal "
             "values: run it again with refresh=true, the latest record is then taken")
        )  # fmt: skip
    if len(contradictions) > 10:
        found.append(("PROBLEM", f"{len(contradictions) - 10:,} more cells with differing records"))
    for run in _runs_without_provenance(good, out):
        found.append(("PROBLEM", f"run {run} has records but no readable runs/{run}.json"))
    return found, bool(broken)


def _repair(out: Path) -> list[str]:
    """Move what cannot be read aside; a line on each."""
    found = [
        (f"records/{path.name}", reason)
        for path in parts.part_files(out)
        if (reason := parts.broken_reason(path))
    ]
    for name in buckets.names(out, "truths"):
        try:
            truths.read_truths(out, Path(name).stem)
        except BadInputError as error:
            found.append(
                (name, str(error).removeprefix(f"{buckets.named(out)}/{name} ").partition(";")[0])
            )
    notes = []
    for name, reason in found:
        aside = out / "broken" / name.replace("/", "-")
        aside.parent.mkdir(exist_ok=True)
        try:
            buckets.set_aside(out, name, aside)
        except FileNotFoundError:  # joined with others in the meantime
            continue
        notes.append(f"{buckets.named(out)}/{name} to {aside}: {reason}")
        with open(out / "broken" / "NOTES.txt", "a") as file:
            file.write(f"{time.strftime('%Y-%m-%d %H:%M:%S')} {notes[-1]}\n")
    return notes


def _of_papers() -> Iterator[str]:
    """What is wrong with paper.yaml and reported.csv, a sentence for each file."""
    from harness.evaluation import papers, reproduction

    for name in papers.described():
        for examined in (papers.examine, reproduction.examine):
            try:
                examined(name)
            except BadInputError as error:
                yield str(error)


def _refreshes(out: Path) -> list[str]:
    """The runs with refresh=true: what was recorded before them may differ, and is no longer used."""
    runs = {}
    for name in buckets.names(out, "runs"):
        with contextlib.suppress(*UNREADABLE):
            runs[Path(name).stem] = (
                json.loads(buckets.read(out, name)).get("config", {}).get("refresh")
            )
    return [run for run, refresh in runs.items() if refresh is True]


def _duplicates(
    files: list[Path], refreshes: list[str]
) -> tuple[int, list[tuple[str, str, float, float]]]:
    """(number of cells recorded more than once, those whose records differ since they were last refreshed)."""
    refreshed = (
        " or ".join("run_id = '" + run.replace("'", "''") + "'" for run in refreshes) or "false"
    )
    sql = f"""with fine as (select *, max(written) filter ({refreshed}) over (partition by key) since from r where status = 'ok'),
             cells as (select key, estimand, any_value(estimator) estimator, count(*) c,
                       min(value) filter (since is null or written >= since) low,
                       max(value) filter (since is null or written >= since) high from fine group by key, estimand)
             select key, estimator, max(c), arg_max(low, high - low), arg_max(high, high - low), max(high - low)
             from cells group by key, estimator having max(c) > 1"""
    rows = reader.query(files, sql)
    return len(rows), [
        (key, e, low, high) for key, e, _, low, high, gap in rows if gap is not None and gap > 0
    ]


def _runs_without_provenance(files: list[Path], out: Path) -> list[str]:
    found = reader.query(files, "select distinct run_id from r")
    return sorted(run for (run,) in found if not _is_json(out, f"runs/{run}.json"))


def _is_json(out: Path, name: str) -> bool:
    try:
        return isinstance(json.loads(buckets.read(out, name)), dict)
    except UNREADABLE:
        return False


def _missing(out: Path, overrides: list[str], lines: list[str]) -> int:
    from harness.commands.experiment import Experiment

    experiment = Experiment.of([*overrides, f"out={out}"])
    frame = experiment.records(to_draw=True)
    missing = experiment.missing(frame)
    state = {
        status: int(n)
        for status, n in frame.drop_duplicates("key")["status"].value_counts().items()
    }
    lines.append(
        f"  {experiment.name}: {experiment.cell_count:,} cells planned, recorded {state or 'none'}, {missing:,} missing"
    )
    if missing:
        lines.append("  PROBLEM  cells are missing; run the experiment again to compute them")
    return int(missing > 0)
