"""Numbers that a paper reported for several n, drawn as open marks in our figures against n."""

from __future__ import annotations

from typing import Any

import pandas as pd

from harness.configure.settings import Settings
from harness.evaluation import items, reproduction
from harness.evaluation.selection import figure_estimands, label
from harness.figures.panels import look

TEXT = "open: the paper"  # text in the legend
TEXT_OF_PREDICTIONS = "open: predicted"
TEXTS = (TEXT, TEXT_OF_PREDICTIONS)
OFFSET = 1.06  # an open mark stands at this factor times n, so that it does not hide ours
# Names of rows as items.convergence_numbers makes them.
ROW = r"^(?P<model>.*), n = (?P<n>[\d,]+)(?:, seed = (?P<seed>\d+))?$"
CELL = ["problem", "n", "estimator"]
POINT = [*CELL, "value", "plus_minus", "source"]


def against_n(records: pd.DataFrame, settings: Settings, estimand: str) -> pd.DataFrame:
    """Return the numbers that a paper reported for one estimand, with our ids.

    The rows of reported.csv must be named as `items.convergence_numbers` names them. Items named
    `<figure>_runs` hold single runs. They are averaged over the replications that we have of the
    same cell, or over all runs if we have none. The frame is empty if the experiment is no item of
    a paper.

    Returns
    -------
    DataFrame
        problem, n, estimator, value, plus_minus: the standard error, NaN for one run, and source.
    """
    parts = [pd.DataFrame(columns=POINT)]
    first = next(iter(figure_estimands(records, settings)), None)
    for item in settings.compare or () if settings.item else ():
        figure, _, name = item.partition("_runs")
        if (name.removeprefix("_") or first) == estimand:
            reported = reproduction.reported(str(settings.paper), [item])
            rows = reported.join(reported["row"].str.extract(ROW)).dropna(subset="n")
            rows = _with_ids(rows, settings)
            parts.append(rows[POINT] if figure == item else _means(rows, records, estimand))
    points = pd.concat([part for part in parts if len(part)] or parts, ignore_index=True)
    return points.drop_duplicates(CELL, ignore_index=True)


def _with_ids(rows: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Replace the paper's names of problems and estimators by our ids; drop rows without an id."""
    for group, column in (("problem", "model"), ("estimator", "column")):
        ids = {label(settings, group, name): name for name in settings.chosen(group)}
        rows = rows.assign(**{group: rows[column].map(ids)})
    rows = rows.dropna(subset=["problem", "estimator", "value"])
    return rows.assign(n=rows["n"].str.replace(",", "").astype(int))


def _means(rows: pd.DataFrame, records: pd.DataFrame, estimand: str) -> pd.DataFrame:
    """Average the paper's single runs over the replications that we have of the same cell."""
    ours = items.with_number(records, estimand).groupby(CELL)["rep"].agg(frozenset).to_dict()
    rows = rows.assign(seed=rows["seed"].astype(int))
    kept = [
        runs[runs["seed"].isin(ours.get(key, runs["seed"]))]
        for key, runs in rows.groupby(CELL, sort=False)
        if key not in ours or ours[key] <= set(runs["seed"])
    ]
    means = items.means(pd.concat(kept) if kept else rows.head(0), [*CELL, "source"])
    points: pd.DataFrame = means.rename(columns={"mean": "value", "se": "plus_minus"})[POINT]
    return points


def draw(ax: Any, points: pd.DataFrame, i: int, same_draws: bool = False) -> None:
    """Draw the reported numbers as open marks in the style of series `i`, next to ours.

    If both sides have the same random draws, the numbers should coincide: the marks are then rings
    around ours, without error bars. An empty frame draws nothing.
    """
    if len(points):
        size = {"markersize": 6.4 if same_draws else 4.6, "markeredgewidth": 0.7}
        how = {**look(i, filled=False), **size, "elinewidth": 0.5, "zorder": 2.5}
        error = None if same_draws else points["plus_minus"]
        x = points["n"] * (1.0 if same_draws else OFFSET)
        ax.errorbar(x, points["value"], yerr=error, **how)
        ax.plot([], [], **{**look(0, filled=False, label=text(points)), **size, "color": "0.35"})


def text(points: pd.DataFrame) -> str:
    """Return the text of the open marks in a legend."""
    return TEXT_OF_PREDICTIONS if _are_predicted(points) else TEXT


def _are_predicted(points: pd.DataFrame) -> bool:
    return bool(points["source"].eq(reproduction.PREDICTED).all())


def caption(points: pd.DataFrame, settings: Settings) -> str:
    """Return the sentence of the caption that explains the open marks, or '' without marks."""
    if not len(points):
        return ""
    are_runs = all("_runs" in item for item in settings.compare or ())
    source = "the authors' published runs on the same draws" if are_runs else "the paper"
    if _are_predicted(points):
        source = "predictions"
    has_bars = points["plus_minus"].notna().any() and not settings.same_draws_as_paper
    bars = ", with bars of one standard error" if has_bars else ""
    return f"Open marks: {source}{bars}."
