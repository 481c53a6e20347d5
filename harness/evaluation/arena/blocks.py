"""Blocks of the arena that were not run, and why: an estimator under a notion at one n.

A block consists of all problems of the notion with at most ten classes, and all replications. It is
run if it costs at most LIMIT CPU minutes. benchmarks/arena_blocks.py measures the cost of the
blocks without records.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pandas as pd

from harness.common.paths import CHECKOUT
from harness.evaluation.arena.rules import MAIN, is_anchor

FILE = "blocks.csv"
KEYS = ["estimator", "notion", "n"]
COLUMNS = [*KEYS, "cells", "cpu_seconds", "reason"]
LIMIT = 10.0  # CPU minutes of a block that is run
MOST_CLASSES = 10  # problems of 100 classes have one n and are no part of a block
COST, YET = "not run: cost", "not run yet"


def missing(settings: pd.DataFrame) -> pd.DataFrame:
    """Return the blocks without any cell: the columns of KEYS, and `cells`, their number of cells.

    `settings` is the result of `arena.settings`. An estimator has blocks under the notions under
    which it was run at some n. The sizes are all n of the settings.
    """
    rows = settings[settings["estimand"].isin(MAIN) & settings["k"].le(MOST_CLASSES)]
    cells = rows[["reps", "undefined", "failed"]].sum(axis=1)
    run = rows[cells.gt(0)]
    run = run[~run["estimator"].map(is_anchor).astype(bool)]
    problems = run.groupby("notion")["problem"].nunique()
    reps = int(cells.max()) if len(cells) else 0
    sizes = pd.DataFrame({"n": sorted(rows["n"].unique())})
    every = run[KEYS[:2]].drop_duplicates().merge(sizes, how="cross")
    marked = every.merge(run[KEYS].drop_duplicates(), how="left", on=KEYS, indicator=True)
    absent = marked.loc[marked["_merge"].eq("left_only"), KEYS]
    absent = absent.assign(cells=reps * absent["notion"].map(problems).astype(int))
    return absent.sort_values(KEYS, ignore_index=True)


def read(folder: Path) -> pd.DataFrame:
    """Read the measured costs from a results folder, else from the repository's results.

    Columns: COLUMNS. cpu_seconds is the mean of a cell. If it is NaN, `reason` tells why it was
    not measured. Without a file, return a frame without rows.
    """
    folders = [folder, *([CHECKOUT / "results" / "arena"] if CHECKOUT else [])]
    for path in (folder / FILE for folder in folders):
        if path.is_file():
            return pd.read_csv(path, keep_default_na=False, na_values={"cpu_seconds": [""]})
    return pd.DataFrame(columns=COLUMNS)


def states(settings: pd.DataFrame, measured: pd.DataFrame) -> pd.DataFrame:
    """Return the blocks that were not run, with their cost in CPU minutes and their state.

    Parameters
    ----------
    settings : DataFrame
        The result of `arena.settings`.
    measured : DataFrame
        The result of `read`.

    Returns
    -------
    DataFrame
        The columns of `missing`, then

        minutes
            CPU minutes of the block: its number of cells times the mean of a cell. NaN where
            nothing was measured, and infinite where the measurement was given up.
        state
            COST if `minutes` is above LIMIT, else YET.
    """
    table = missing(settings).merge(measured[[*KEYS, "cpu_seconds", "reason"]], how="left", on=KEYS)
    return with_states(table)


def with_states(table: pd.DataFrame) -> pd.DataFrame:
    """Return measured blocks (the columns of `read`) with their minutes and states."""
    given_up = table["reason"].notna() & table["cpu_seconds"].isna()
    minutes = (table["cells"] * table["cpu_seconds"].astype(float) / 60.0).mask(given_up, math.inf)
    state = minutes.gt(LIMIT).map({True: COST, False: YET})
    return table.assign(minutes=minutes, state=state)[[*KEYS, "cells", "minutes", "state"]]


def format_minutes(minutes: float) -> str:
    """Format CPU minutes.

    Examples
    --------
    >>> format_minutes(24.2), format_minutes(0.2), format_minutes(math.inf)
    ('24 min', '< 1 min', 'hours')
    """
    if not math.isfinite(minutes):
        return "hours"
    return "< 1 min" if minutes < 1.0 else f"{minutes:,.0f} min"


def count_minutes(states: pd.DataFrame) -> str:
    """Return the CPU minutes of all blocks that are not run yet, in words; "" without such a block.

    If some of them were not measured, the minutes of the others are a lower limit.
    """
    yet = states.loc[states["state"].eq(YET), "minutes"]
    if yet.empty:
        return ""
    least = "at least " if yet.isna().any() else ""
    return f"{least}{yet.sum():,.0f} CPU minutes"


def describe(block: Any) -> str:
    """Describe a row of `states` for a table.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> describe(SimpleNamespace(state=COST, minutes=24.2))
    'not run: cost (24 min of CPU)'
    >>> describe(SimpleNamespace(state=YET, minutes=float("nan")))
    'not run yet'
    """
    if math.isfinite(block.minutes):
        return f"{block.state} ({format_minutes(block.minutes)} of CPU)"
    return str(block.state)
