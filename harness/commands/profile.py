"""CPU seconds of a run by stage and estimator: the table of `profile=true`.

start     imports, configuration, and everything that is in no other stage
plan      planning, and reading which cells are done
compute   handing out chunks, waiting for them; the cells, if this process computes them
read      reading the records
figures   figures, tables and pages
estimate  the estimators, by their records (wherever they ran)
"""

from __future__ import annotations

import contextlib
import time
from collections import defaultdict
from collections.abc import Iterator

import pandas as pd

ROWS = 20  # shown in a terminal
COLUMNS = ["stage", "of", "times", "cpu_seconds"]

_seconds: dict[str, float] = defaultdict(float)  # CPU seconds of this process by stage


@contextlib.contextmanager
def stage(name: str) -> Iterator[None]:
    """Charge the CPU seconds of the block to a stage."""
    began = time.process_time()
    try:
        yield
    finally:
        _seconds[name] += time.process_time() - began


def table(frame: pd.DataFrame, since: float) -> pd.DataFrame:
    """Return one row per stage, and per estimator with cells recorded after `since`.

    Columns: stage, of, times, cpu_seconds, share.
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
    """Return the most expensive rows of a table, for a terminal."""
    return str(whole.head(ROWS).to_string(index=False))
