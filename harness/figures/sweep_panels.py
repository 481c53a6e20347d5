"""Panels of the figure of a parameter sweep: what each one shows, its place and its title."""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from harness.common.names import notion_name
from harness.configure import sweeps
from harness.configure.settings import Settings
from harness.evaluation.selection import label
from harness.evaluation.sweep_tables import comparable
from harness.figures.style import grid_shape
from harness.math.notions import NOTIONS

NO_BREAK = "\N{NO-BREAK SPACE}"
ROW = ["estimand", "problem", "notion", "n"]


class Panel(NamedTuple):
    """Content of a panel: an estimand of a problem at one n, and at one value of `across`.

    `across` is the parameter whose values are the columns of the figure, and `value` is None
    without such a parameter, or if it does not change the problem's cells.
    """

    estimand: str
    problem: str
    notion: str
    n: int
    value: Any = None

    def rows(self, frame: pd.DataFrame, across: str | None) -> pd.DataFrame:
        """Return the rows of a frame that the panel shows."""
        here = frame[frame[ROW].eq(list(self[:4])).all(axis=1)]
        if across is None:
            return here
        allowed = (None, comparable(self.value))
        return here[np.array([comparable(v) in allowed for v in here[across]], dtype=bool)]


def is_grid(swept: pd.DataFrame, across: str | None) -> bool:
    """Return True if the columns of panels are the values of `across`, or the sample sizes.

    It is False if problems have different sample sizes, such as files.
    """
    sizes = swept.groupby(["problem", "notion"])["n"].agg(frozenset)
    return across is not None or sizes.nunique() == 1


def place_panels(
    swept: pd.DataFrame,
    frame: pd.DataFrame,
    across: str | None,
    values: dict[str, Any],
    estimands: list[str],
    settings: Settings,
) -> dict[tuple[int, int], Panel]:
    """Return {(row, column): panel} of all panels, row by row."""
    order = {name: i for i, name in enumerate(settings.problem)}
    shown = sorted(
        (Panel(*place) for place in set(swept[ROW].itertuples(index=False, name=None))),
        key=lambda p: (
            estimands.index(p.estimand), order.get(p.problem, len(order)), p.problem,
            NOTIONS.index(p.notion), p.n,
        ),
    )  # fmt: skip
    if across is not None:
        present = {comparable(v) for v in swept[across]}
        columns = [v for v in values[across] if comparable(v) in present]
        panels = {}
        for i, panel in enumerate(shown):
            changes = panel.rows(frame, None)[across].notna().any()
            for j, value in enumerate(columns if changes else [None]):
                panels[i, j] = panel._replace(value=value)
        return panels
    if is_grid(swept, across):
        sizes = sorted(swept["n"].unique())
        rows = list(dict.fromkeys(panel[:3] for panel in shown))
        return {(rows.index(panel[:3]), sizes.index(panel.n)): panel for panel in shown}
    panels, first = {}, 0
    for _, group in itertools.groupby(shown, key=lambda panel: panel.estimand):
        places = list(enumerate(group))
        _, width = grid_shape(len(places), settings.figure.panels_per_row)
        panels |= {(first + k // width, k % width): panel for k, panel in places}
        first += -(-len(places) // width)
    return panels


def panel_title(panel: Panel, across: str | None, swept: pd.DataFrame, settings: Settings) -> str:
    """Return the title of a panel, without what all panels share."""
    words = [label(settings, "problem", panel.problem)]
    words += [notion_name(panel.notion)] if swept["notion"].nunique() > 1 else []
    words += [f"n = {panel.n:,}"] if swept["n"].nunique() > 1 or across is None else []
    words += [f"{across} = {sweeps.shown_text(panel.value)}"] if panel.value is not None else []
    return ", ".join(word.replace(" ", NO_BREAK) for word in words)


def cost_title(
    panels: Mapping[tuple[int, int], Panel], column: int, across: str | None, aligned: bool
) -> str:
    """Return the title of the panel of CPU times below a column of panels."""
    above = [panel for (_, j), panel in panels.items() if j == column]
    title = "CPU time"
    if not aligned:
        return title
    if across is None:
        return f"{title}, n{NO_BREAK}={NO_BREAK}{above[0].n:,}"
    values = [sweeps.shown_text(panel.value) for panel in above if panel.value is not None]
    return f"{title}, {across} = {values[0]}".replace(" = ", f"{NO_BREAK}={NO_BREAK}")


def fold(title: str, columns: int, aligned: bool) -> str:
    """Break the lines of a title, for a figure with this number of columns of panels."""
    width = {1: 70, 2: 48}.get(columns, 34 if columns == 3 else 26)
    if not aligned and columns > 2:  # each panel has numbers at its y axis
        width = 27
    lines = textwrap.wrap(title, width, break_long_words=False, break_on_hyphens=False)
    return "\n".join(lines).replace(NO_BREAK, " ")
