"""Figure and table rows of the CPU seconds that an experiment took.

A cell is one estimator on one sample. Its record holds its CPU seconds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from harness.evaluation import items
from harness.figures import panels

from . import drawing

Look = Mapping[str, Any]


def cells(records: pd.DataFrame) -> pd.DataFrame:
    """Return one record per cell that has an estimate."""
    return items.with_number(records).drop_duplicates("key")


def figure(
    rows: pd.DataFrame,
    looks: Mapping[str, Look],
    total: str,
    problems: str,
    lines: Iterable[tuple[float, Look]] = (),
) -> Figure:
    """Draw the mean CPU seconds of a cell against n, and the sum over all cells per estimator.

    Parameters
    ----------
    rows : DataFrame
        From `cells`.
    looks : mapping
        {id of an estimator: its label, colour, marker and line}, in the order of the bars.
    total : str
        Name of the bar with the sum over all estimators. There is no such bar for one estimator.
    problems : str
        Plural noun for the problems, such as "functions".
    lines : iterable of (seconds, look)
        Vertical lines in the right panel, and their styles. Seconds of NaN draw no line.
    """
    if not len(rows):
        return panels.nothing()
    figure, ((left, right),) = panels.grid(1, 2, 2.6)
    drawing.means(left, rows, looks, "cpu_seconds")
    left.set(xlabel=panels.N_AXIS, ylabel="CPU seconds, one sample")
    sums = [rows.loc[rows["estimator"].eq(estimator), "cpu_seconds"].sum() for estimator in looks]
    right.barh(
        [look["label"] for look in looks.values()],
        sums,
        color=[look["color"] for look in looks.values()],
        height=0.6,
    )
    if len(looks) > 1:
        right.barh(total, sum(sums), color="0.35", height=0.6)
    for seconds, look in lines:
        if pd.notna(seconds):
            right.axvline(seconds, **look)
    right.invert_yaxis()
    right.set_xlim(0.0, None)
    right.grid(axis="y", visible=False)
    right.set_xlabel(
        f"CPU seconds, {rows['problem'].nunique()} {problems}, {rows['rep'].nunique()} samples"
    )
    panels.legend(figure, [left, right], columns=3)
    return figure


def row(part: pd.DataFrame, column: str = "cpu_seconds", share: float = 1.0) -> dict[str, str]:
    """Return the seconds of some cells as texts of a table's row: for each n, and in total.

    `column` names the column of seconds in the frame. All seconds are multiplied by `share`.
    """
    by = part.groupby("n")[column].sum() * share
    return {f"n = {n:,}": f"{seconds:.3g}" for n, seconds in by.items()} | {
        "all n": f"{by.sum():.3g}"
    }
