"""Search the parts (files of records) of a results folder for defects, for `calharness doctor`."""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from harness.common import buckets
from harness.errors import BadInputError
from harness.records import parts, reader

MOST_CONTRADICTIONS = 10  # number of cells with differing records that are listed
Line = tuple[str, str]  # (kind, sentence), where the kind is "PROBLEM", "note" or ""

# Query for cells with more than one record: the smallest and largest value of each cell, and their
# difference. Records from before the last run with refresh=true do not count.
DUPLICATES = """
    with fine as (
      select *, max(written) filter ({refreshed}) over (partition by key) since
      from r where status = 'ok'
    ), cells as (
      select key, estimand, any_value(estimator) estimator, count(*) c,
        min(value) filter (since is null or written >= since) low,
        max(value) filter (since is null or written >= since) high
      from fine group by key, estimand
    )
    select key, estimator, arg_max(low, high - low), arg_max(high, high - low), max(high - low)
    from cells group by key, estimator having max(c) > 1"""


def examine_parts(out: Path) -> tuple[list[Line], bool]:
    """Return lines about the parts of a folder, and True if a part cannot be read.

    If parts disappear because a run joins them, they are examined again.
    """
    deadline = time.monotonic() + parts.RACE_SECONDS
    while True:
        files = parts.part_files(out)
        try:
            return _examine_files(out, files)
        except (BadInputError, OSError):
            if time.monotonic() > deadline or all(path.exists() for path in files):
                raise


def unfinished_files(out: Path) -> list[Path]:
    """Return temporary files of killed processes in a folder on this disk.

    Files that changed within the last minute are left out, because a run may be writing them.
    """
    since = time.time() - parts.RACE_SECONDS
    folders = (out / name for name in ("records", "truths", "runs"))
    files = []
    for path in sorted(path for folder in folders for path in folder.glob(".*")):
        with contextlib.suppress(FileNotFoundError):  # its process has renamed it
            if path.stat().st_mtime < since:
                files.append(path)
    return files


def _examine_files(out: Path, files: list[Path]) -> tuple[list[Line], bool]:
    broken = {path: reason for path in files if (reason := parts.broken_reason(path))}
    for path in broken:
        if not os.path.lexists(path):
            raise FileNotFoundError(path)
    lines = [
        (
            "PROBLEM",
            f"{buckets.display_name(path)} cannot be read ({reason}); `calharness doctor --repair` "
            "moves it aside, and the next run computes its cells again",
        )
        for path, reason in broken.items()
    ]
    readable = [path for path in files if path not in broken]
    lines.append(("", f"{len(readable):,} readable parts"))
    lines += [
        ("note", f"{path.name} was left by a process that was killed; --repair deletes it")
        for path in unfinished_files(out)
    ]
    if readable:
        lines += _compare_records(out, readable)
    return lines, bool(broken)


def _compare_records(out: Path, files: list[Path]) -> Iterator[Line]:
    """Yield lines about cells with several records, and about runs without provenance."""
    runs = {Path(name).stem: read_run(out, name) for name in buckets.names(out, "runs")}
    # Records from before a run with refresh=true may differ, but they are no longer used.
    refreshes = [name for name, run in runs.items() if run and run["config"].get("refresh") is True]
    refreshed = " or ".join(f"run_id = {reader.quoted(name)}" for name in refreshes) or "false"
    duplicates = reader.query(files, DUPLICATES.format(refreshed=refreshed))
    if duplicates:
        yield (
            "note",
            f"{len(duplicates):,} cells have more than one record (two runs at once, a repetition, "
            "or refresh=true); the best record counts, and the latest of equally good ones",
        )
    contradictions = [row for row in duplicates if (row[-1] or 0) > 0]
    for key, estimator, low, high, _ in contradictions[:MOST_CONTRADICTIONS]:
        yield (
            "PROBLEM",
            f"cell {key} ({estimator}) has records that differ, {low!r} and {high!r}, although "
            "equal seeds should give equal values; run it again with refresh=true",
        )
    more = len(contradictions) - MOST_CONTRADICTIONS
    if more > 0:
        yield "PROBLEM", f"{more:,} more cells with differing records"
    for (name,) in sorted(reader.query(files, "select distinct run_id from r")):
        if runs.get(name) is None:
            yield "PROBLEM", f"run {name} has records but no readable runs/{name}.json"


def read_run(out: Path, name: str) -> dict[str, Any] | None:
    """Return the content of the file `name` of a run, or None if it does not describe a run."""
    try:
        run = json.loads(buckets.read(out, name))
        complete = isinstance(run["config"], dict) and "todo" in run["cells"]
        return run if complete and {"run_id", "state"} <= run.keys() else None
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
