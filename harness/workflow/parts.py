"""Make the figure and tables of an experiment, and compare its numbers with those of the paper."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import Any, NamedTuple

import pandas as pd
from matplotlib.figure import Figure

from harness.common.module_names import item_module
from harness.configure import variations
from harness.configure.settings import Settings
from harness.errors import BadInputError
from harness.evaluation import rankings, reproduction, tables
from harness.evaluation.selection import label
from harness.evaluation.sweep_tables import SweepResults
from harness.figures import plots, ranking_plot, sweep_plots
from harness.workflow.experiment import Experiment

MOST_CHARACTERS = 200  # length at which an error message in a remark is cut


class Parts(NamedTuple):
    """Figure and tables of an experiment.

    draw      function without parameters that draws the figure
    summary   one row per problem, notion, n, estimator and estimand
    wide      table that people read, with one column for each estimator
    compared  the paper's numbers with ours, or None if there is nothing to compare
    """

    draw: Callable[[], Figure]
    summary: pd.DataFrame
    wide: pd.DataFrame
    compared: pd.DataFrame | None


def make_parts(
    experiment: Experiment, frame: pd.DataFrame, shown: pd.DataFrame, notes: list[str]
) -> Parts:
    """Make the tables of an experiment, and the function that draws its figure.

    The tables can be written before the figure is drawn, so that an error of the drawing loses no
    number.

    Every figure or table of a paper has a module that draws it. This module also draws variations
    that estimate the same quantities. Other variations get the general figure and are not compared
    with the paper.

    Parameters
    ----------
    experiment : Experiment
        The experiment.
    frame : DataFrame
        All of its records.
    shown : DataFrame
        Records of the estimands to show.
    notes : list of str
        List to which remarks for the reader are added.
    """
    settings, identity = experiment.settings, experiment.identity
    draw: Callable[[], Figure]
    if identity.is_sweep:
        results = SweepResults(experiment.plan)
        draw = partial(sweep_plots.render, results, shown, settings)
        return Parts(draw, results.summary(shown, settings), results.table(shown, settings), None)
    own_figure = {"figure.y", "figure.yscale"}.isdisjoint(identity.differs)
    if not settings.item or not (own_figure and variations.same_quantities(identity.differs)):
        if not settings.ranking:
            return _overview(shown, settings)
        draw = partial(ranking_plot.render, shown, settings)
        wide = rankings.table(shown, settings)
        return Parts(draw, rankings.summary(shown, settings), wide, None)
    item: Any = load_item(str(settings.paper), settings.item)
    draw = partial(item.render, shown, settings)
    try:
        if identity.differs:  # whether the module can draw a variation shows only when it draws
            draw = _constant(draw())
        parts = Parts(
            draw,
            getattr(item, "summary", tables.summary)(shown, settings),
            getattr(item, "table", tables.wide)(shown, settings),
            _compare(experiment, item, frame) if settings.compare else None,
        )
    except Exception as error:
        if not identity.differs:
            raise
        reason = " ".join(f"{type(error).__name__}: {error}".split())[:MOST_CHARACTERS]
        notes.append(
            f"the figure of {settings.experiment} cannot be drawn for this variation ({reason}); "
            "the general figure is drawn instead"
        )
        return _overview(shown, settings)
    compared = parts.compared
    if compared is not None and identity.differs:
        compared = reproduction.rows_of_variation(compared, identity.differs)
        reasons = compared.loc[compared["verdict"].eq("not reproducible here"), "reason"].unique()
        notes += [f"not compared with the paper: {r}" for r in reasons if isinstance(r, str) and r]
    return parts._replace(compared=compared if compared is not None and len(compared) else None)


def load_item(paper: str, item: str) -> ModuleType:
    """Import the module that draws an item of a paper.

    It is experiments/<paper>/<item>.py, or <paper>/<item>.py of a user's own package. The module
    has the functions render(records, settings) -> Figure and reproduced(records, settings) ->
    DataFrame. It may also have table(records, settings), for the page and LaTeX, and
    summary(records, settings), for the CSV file.
    """
    module = item_module(paper, item)
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name not in (module, module.rpartition(".")[0]):
            raise
        raise BadInputError(
            f"there is no module {module} to draw the item {item!r}; put {paper}/{item}.py into "
            "the folder in which you start calharness."
        ) from error


def _constant(figure: Figure) -> Callable[[], Figure]:
    return lambda: figure


def _overview(shown: pd.DataFrame, settings: Settings) -> Parts:
    wide = tables.wide(shown, settings)
    draw = partial(plots.overview, shown, settings)
    return Parts(draw, tables.summary(shown, settings), wide, None)


def _compare(experiment: Experiment, item: Any, frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table that compares the paper's numbers with ours.

    `item` is the module that draws the item of the paper.
    """
    settings, names = experiment.settings, set(frame["estimator"])
    for plan in experiment.records.plans:
        names |= set(plan.estimators)
    computed = {label(settings, "estimator", name) for name in names} | {reproduction.TRUTH}
    compared: pd.DataFrame = reproduction.compare(
        item.reproduced(frame, settings),
        str(settings.paper),
        settings.compare,
        settings.reasons,
        computed,
        settings.same_draws_as_paper,
        records=frame,
    )
    return compared
