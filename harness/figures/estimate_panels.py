"""Panels of a figure of estimates: what they show, their places and their titles."""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from harness.configure.settings import Settings, as_list
from harness.evaluation.reproduction import TRUTH
from harness.evaluation.selection import figure_estimands, label
from harness.evaluation.summary import evaluate
from harness.figures.style import grid_shape
from harness.math.notions import NOTIONS
from harness.records.schema import has_number

MAX_PANELS = 40


class Panel(NamedTuple):
    """Estimand, problem and notion that one panel of a figure shows."""

    estimand: str
    problem: str
    notion: str

    def rows(self, table: pd.DataFrame) -> pd.DataFrame:
        """Return the rows of the table that belong to this panel."""
        same = table["estimand"].eq(self.estimand) & table["problem"].eq(self.problem)
        return table[same & table["notion"].eq(self.notion)]


def prepare(
    records: pd.DataFrame, settings: Settings
) -> tuple[pd.DataFrame, list[Panel], list[str]]:
    """Return the evaluated estimates, the panels and the estimators, in drawing order."""
    estimands = figure_estimands(records, settings)
    table = evaluate(records, settings.files)
    table = table[table["estimand"].isin(estimands) & has_number(table)].reset_index(drop=True)
    order = {problem: i for i, problem in enumerate(settings.problem)}
    seen = list(records[["problem", "notion"]].drop_duplicates().itertuples(index=False, name=None))
    ranked = sorted(seen, key=lambda p: (order.get(p[0], len(order)), NOTIONS.index(p[1])))
    with_numbers = set(zip(table["estimand"], table["problem"], table["notion"]))
    panels = [Panel(e, *p) for e in estimands for p in ranked if (e, *p) in with_numbers]
    present = dict.fromkeys(table["estimator"])
    chosen = as_list(settings.figure.estimators)
    if not chosen:
        chosen = [*settings.estimator, *(e for e in present if e not in settings.estimator)]
        # If the true value is drawn as a line, an estimator with the label of the truth is not.
        if set(table["problem"]) == set(table.loc[table["truth"].notna(), "problem"]):
            chosen = [e for e in chosen if label(settings, "estimator", e) != TRUTH]
    return table, panels, [e for e in chosen if e in present]


def place_panels(panels: list[Panel], settings: Settings) -> tuple[int, int, list[tuple[int, int]]]:
    """Return the numbers of rows and columns of a figure, and (row, column) of each panel.

    Each estimand begins a new row.
    """
    blocks = Counter(panel.estimand for panel in panels)
    _, columns = grid_shape(max(blocks.values()), settings.figure.panels_per_row)
    places: list[tuple[int, int]] = []
    first = 0
    for count in blocks.values():
        places += [(first + i // columns, i % columns) for i in range(count)]
        first += -(-count // columns)
    return first, columns, places


def hide_unused(axes: Any, places: list[tuple[int, int]]) -> None:
    """Hide the axes of a figure at all other places than these."""
    for place, ax in np.ndenumerate(axes):
        ax.set_visible(place in places)


def has_notions(panels: list[Panel]) -> bool:
    """Return True if the panels show several notions."""
    return len({panel.notion for panel in panels}) > 1


def panel_title(panel: Panel, panels: list[Panel], settings: Settings) -> str:
    """Return the title of a panel: its problem, and its notion if the panels have several."""
    title: str = label(settings, "problem", panel.problem)
    return f"{title}\n{panel.notion.replace('_', '-')}" if has_notions(panels) else title
