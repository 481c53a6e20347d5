"""Figure of printed numbers beside the seeds of networks that were trained again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd
from matplotlib.figure import Figure

from harness.figures import panels

INTERVAL = "95 % prediction interval of the seeds trained here"


def draw(
    columns: Mapping[str, str],
    names: Sequence[str],
    seeds: pd.DataFrame,
    table: pd.DataFrame,
    printed: pd.DataFrame,
) -> Figure:
    """Draw a panel per column, with a row per name: seeds, their interval, and the printed number.

    Parameters
    ----------
    columns : mapping
        {value of the column `panel`: title of the panel}.
    names : sequence of str
        Names of the rows, values of the column `name`.
    seeds, table, printed : DataFrame
        Numbers of the seeds (`value`), result of `harness.evaluation.seeds.intervals` (`mean` and
        `half`), and printed numbers (`value`). All have the columns `panel` and `name`.
    """
    height = 0.8 + 0.3 * len(names)
    figure, axes = panels.grid(1, len(columns), height, sharey=True)
    for ax, (panel, title) in zip(axes.flat, columns.items()):
        mine = [frame[frame["panel"].eq(panel)] for frame in (seeds, table, printed)]
        dots = panels.look(0, marker=".", markersize=4, alpha=0.5, label="a seed", shift=0.15)
        panels.named_marks(ax, mine[0], "name", names, "value", None, **dots)
        bar = panels.look(0, label=INTERVAL, shift=-0.05)
        panels.named_marks(ax, mine[1], "name", names, "mean", "half", **bar)
        paper = panels.look(3, filled=False, color="0.3", label="printed in the paper", shift=-0.25)
        panels.named_marks(ax, mine[2], "name", names, "value", None, **paper)
        ax.set_title(title)
        ax.margins(x=0.1)
    panels.name_rows(axes.flat[0], list(names), 0.6, 0.6)
    panels.legend(figure, axes, 3)
    return figure
