"""The paper's own points, for figures against n that draw ours: read from its reported numbers, drawn as open marks."""

from __future__ import annotations

import pandas as pd

from harness.configure.settings import Settings, as_list
from harness.evaluation import items, reproduction
from harness.evaluation.selection import label
from harness.figures.panels import look

TEXT = "open: the paper"  # in the legend
ASIDE = 1.06  # times n: where the open marks stand
NAMED = r"^(?P<model>.*), n = (?P<n>[\d,]+)(?:, seed = (?P<seed>\d+))?$"  # a row of items.convergence_numbers
POINT = ["problem", "n", "estimator", "value", "plus_minus"]


def against_n(records: pd.DataFrame, settings: Settings, estimand: str) -> pd.DataFrame:
    """The reported numbers of one estimand that are named as `items.convergence_numbers` names them, by our ids.

    Of authors' single runs (items `<figure>_runs`) the mean: over the replications that we have of that cell, if there is a run
    of each, and over all where we have none. Nothing where the configuration is no item of a paper.

    Returns
    -------
    DataFrame
        problem, n, estimator, value, plus_minus: the standard error, NaN for one run.
    """
    found = pd.DataFrame(columns=POINT)
    for item in settings.compare or () if settings.item else ():
        figure, _, named = item.partition("_runs")
        if (
            named.removeprefix("_") or next(iter(as_list(settings.figure.estimand)), None)
        ) != estimand:
            continue
        reported = reproduction.reported(settings.paper, [item])
        rows = _of_ids(
            reported.join(reported["row"].str.extract(NAMED)).dropna(subset="n"), settings
        )
        point = rows[POINT] if figure == item else _means(rows, records, estimand)
        new = pd.MultiIndex.from_frame(point[POINT[:3]]).isin(
            pd.MultiIndex.from_frame(found[POINT[:3]])
        )
        found = (
            pd.concat([found, point[~new]], ignore_index=True)
            if len(found)
            else point.reset_index(drop=True)
        )
    return found


def _of_ids(rows, settings):
    """The rows with our ids in the place of the paper's names; those of others are left out."""
    for column, group, named in (
        ("problem", "problem", "model"),
        ("estimator", "estimator", "column"),
    ):
        ids = {label(settings, group, name): name for name in settings.chosen(group)}
        rows = rows.assign(**{column: rows[named].map(ids)})
    rows = rows.dropna(subset=["problem", "estimator", "value"])
    return rows.assign(n=rows["n"].str.replace(",", "").astype(int))


def _means(rows, records, estimand):
    """The mean of single runs, with its standard error, over the replications that we have of the same cell."""
    cell = POINT[:3]
    fine = items.with_number(records, estimand)
    ours = fine.groupby(cell)["rep"].agg(frozenset).to_dict()
    theirs = rows.assign(seed=rows["seed"].astype(int))
    kept = [
        one[one["seed"].isin(ours.get(key, one["seed"]))]
        for key, one in theirs.groupby(cell, sort=False)
        if key not in ours or ours[key] <= set(one["seed"])
    ]
    found = items.means(pd.concat(kept) if kept else theirs.head(0), cell)
    return found.rename(columns={"mean": "value", "se": "plus_minus"})[POINT]


def draw(ax, points: pd.DataFrame, i: int, same_draws: bool = False) -> None:
    """Open marks in the look of series `i`, without a line: beside ours with their errors, or, where both are of the same draws
    and should coincide, as rings around ours; nothing where there are none."""
    if len(points):
        size = {"markersize": 6.4 if same_draws else 4.6, "markeredgewidth": 0.7}
        how = {**look(i, filled=False), **size, "elinewidth": 0.5, "zorder": 2.5}
        error = None if same_draws else points["plus_minus"]
        ax.errorbar(
            points["n"] * (1.0 if same_draws else ASIDE), points["value"], yerr=error, **how
        )
        ax.plot([], [], **{**look(0, filled=False, label=TEXT), **size, "color": "0.35"})


def caption(points: pd.DataFrame, settings: Settings) -> str:
    """The sentence on these marks, empty where there are none."""
    if not len(points):
        return ""
    of_runs = all("_runs" in item for item in settings.compare)
    whose = "the authors' published runs on the same draws" if of_runs else "the paper"
    bars = "" if settings.same_draws_as_paper else ", with one standard error, beside ours"
    return f"Open marks: {whose}{bars}."
