"""Measure the CPU seconds of a run by stage and estimator, for `profile=true`.

start     imports, configuration, and everything that belongs to no other stage
plan      planning, and reading which cells are done
compute   sending chunks to workers and waiting for them, or computing the cells in this process
read      reading the records
figures   drawing figures, tables and pages
estimate  running the estimators in all processes, according to their records
"""

from __future__ import annotations

import contextlib
import time
from collections import defaultdict
from collections.abc import Iterator

import pandas as pd

from harness.common.tables import frame_text

ROWS = 20  # number of rows that are shown in a terminal
COLUMNS = ["stage", "of", "times", "cpu_seconds"]

_seconds: dict[str, float] = defaultdict(float)  # {stage: CPU seconds of this process}


@contextlib.contextmanager
def stage(name: str) -> Iterator[None]:
    """Add the CPU seconds that the block uses to the stage `name`."""
    began = time.process_time()
    try:
        yield
    finally:
        _seconds[name] += time.process_time() - began


def table(frame: pd.DataFrame, since: float) -> pd.DataFrame:
    """Return the CPU seconds of a run, with one row for each stage and for each estimator.

    Only cells in `frame` that were recorded after the time `since` count. The columns are stage,
    of (the estimator), times (number of cells), cpu_seconds and share (of all CPU seconds).
    """
    start = time.process_time() - sum(_seconds.values())
    stages = pd.DataFrame([(name, "", 1, s) for name, s in {"start": start, **_seconds}.items()])
    cells = frame[frame["written"] >= since].drop_duplicates("key")
    estimators = cells.groupby("estimator", observed=True)["cpu_seconds"].agg(["size", "sum"])
    estimators = estimators.reset_index().assign(stage="estimate")
    rows = [
        stages.set_axis(COLUMNS, axis=1),
        estimators[["stage", "estimator", "size", "sum"]].set_axis(COLUMNS, axis=1),
    ]
    whole = pd.concat([part for part in rows if len(part)], ignore_index=True)
    whole = whole.sort_values("cpu_seconds", ascending=False, ignore_index=True).round(3)
    return whole.assign(share=(whole["cpu_seconds"] / whole["cpu_seconds"].sum()).round(3))


def text(whole: pd.DataFrame) -> str:
    """Return the first rows of a table as text for a terminal."""
    return frame_text(whole.head(ROWS), index=False)
