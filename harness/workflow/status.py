"""Describe what a results folder contains and what its runs still have to do."""

from __future__ import annotations

import json
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from harness.common import buckets
from harness.common.progress import rough_clock
from harness.common.tables import text_table
from harness.common.wording import format_count
from harness.records import parts, reader
from harness.records.health import read_run

STATUSES = ("ok", "failed", "skipped", "undefined", "interrupted")
GROUPS = ("estimator", "problem")
MOST_RUNS = 5  # number of runs that `calharness status` lists
MOST_UNFINISHED = 200  # number of latest runs whose remaining cells are counted
WATCH_SECONDS = 2.0  # pause between two looks at a folder


def status_text(out: Path) -> str:
    """Return the text of `calharness status`: cells by state, and the latest runs."""
    return _text(out, _unfinished_runs(out))


def watch(out: Path, show: Callable[[str], None]) -> None:
    """Call `show` with the text of `status_text` whenever it changes, until nothing is to do.

    In a folder without runs and records, wait for the first run. A pause is at least five times as
    long as the look before it.
    """
    before = None
    while True:
        began = time.monotonic()
        # Before the runs are read, so that a run that starts meanwhile is watched.
        is_used = bool(buckets.names(out, "runs") or parts.part_files(out))
        runs = _unfinished_runs(out)
        text = _text(out, runs)
        if text != before:
            show(text)
            before = text
        if is_used and not runs:
            return
        time.sleep(max(WATCH_SECONDS, 5 * (time.monotonic() - began)))


def _text(out: Path, unfinished: list[dict[str, Any]]) -> str:
    files = len(parts.part_files(out))
    lines = [f"{buckets.location(out)}: {format_count(files, 'file')} of records"]
    if not files:
        lines = [f"{buckets.location(out)}: no records yet; a run writes them here"]
    counts = {group: defaultdict[str, Counter[str]](Counter) for group in GROUPS}
    for *names, status, cells in reader.status_counts(out):
        for group, name in zip(GROUPS, names):
            counts[group][name][status] += cells
    todo = _cells_to_do(out, unfinished)
    for group in GROUPS:
        names = sorted({*counts[group], *todo[group]})
        rows = [
            (name, todo[group][name], *(counts[group][name][status] for status in STATUSES))
            for name in names
        ]
        head = (group, "to do", *STATUSES)
        lines += ["", text_table(rows, head, right=range(1, len(head)), indent=0)] if rows else []
    runs = list(_run_lines(out, todo["run"]))
    return "\n".join([*lines, *([""] if len(lines) > 1 and runs else []), *runs])


def _unfinished_runs(out: Path) -> list[dict[str, Any]]:
    """Return the runs that have not finished.

    A run counts only if no later run has the same experiment, shard, problems and estimators:
    resuming a run starts another one.
    """
    latest: dict[str, dict[str, Any]] = {}
    for name in buckets.names(out, "runs")[-MOST_UNFINISHED:]:
        run = read_run(out, name)
        if run is not None:
            config = run["config"]
            same = [config.get(name) for name in ("name", "shard", "shards", "sweep", *GROUPS)]
            latest[json.dumps(same, sort_keys=True)] = run
    return [run for run in latest.values() if run["state"] != "finished" and "todo" in run]


def _cells_to_do(out: Path, runs: list[dict[str, Any]]) -> dict[str, Counter[str]]:
    """Return the numbers of cells that runs have to do, by estimator, by problem and by run."""
    todo = {group: Counter[str]() for group in (*GROUPS, "run")}
    for run in runs:
        todo["run"][run["run_id"]] = run["cells"]["todo"]
        for group in GROUPS:
            todo[group].update(run["todo"][group])
    for run_id, estimator, problem, cells in reader.recorded_counts(out, [*todo["run"]]):
        for group, name in (("run", run_id), ("estimator", estimator), ("problem", problem)):
            todo[group][name] -= cells
    return todo


def _run_lines(out: Path, todo: Counter[str]) -> Iterator[str]:
    """Yield a line for each of the latest runs."""
    for name in buckets.names(out, "runs")[-MOST_RUNS:]:
        run = read_run(out, name)
        if run is None:
            yield f"run {Path(name).stem}: unreadable"
            continue
        state = run["state"]
        if "seconds" in run:
            state += f" after {rough_clock(run['seconds'])}"
        if left := todo.get(run["run_id"], 0):
            state += f", {left:,} to do"
        yield (
            f"run {run['run_id']}: {run['config'].get('name') or 'adhoc'}, "
            f"{run['cells']['todo']:,} cells, {state}"
        )
