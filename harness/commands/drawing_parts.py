"""The parts of a result: figure, summary, table, and the paper's numbers against ours."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any, NamedTuple

import pandas as pd
from matplotlib.figure import Figure

from harness.commands.experiment import Experiment
from harness.common.module_names import item_module
from harness.configure import variations
from harness.configure.settings import Settings
from harness.errors import BadInputError
from harness.evaluation import rankings, reproduction, tables
from harness.evaluation.selection import label
from harness.evaluation.sweep_tables import SweepResults
from harness.figures import plots, ranking_plot, sweep_plots

MOST_CHARACTERS = 200  # of an error in a note


class Parts(NamedTuple):
    """The parts of a result. `compared` is None if there is no paper to compare with."""

    figure: Figure
    summary: pd.DataFrame
    wide: pd.DataFrame
    compared: pd.DataFrame | None


def draw_parts(
    experiment: Experiment, frame: pd.DataFrame, shown: pd.DataFrame, notes: list[str]
) -> Parts:
    """Draw the `shown` records of an experiment.

    The module of a paper's item draws its experiment, and the variations that only sample
    differently. Other variations have the general figure, and are compared with nothing. Sentences
    for the reader are added to `notes`.
    """
    settings = experiment.shown_settings()
    if experiment.is_sweep:
        results = SweepResults(experiment.plan)
        figure = sweep_plots.render(results, shown, settings)
        return Parts(figure, results.summary(shown, settings), results.table(shown, settings), None)
    if not settings.item or not variations.same_quantities(experiment.differs):
        if not settings.ranking:
            return _overview(shown, settings)
        figure = ranking_plot.render(shown, settings)
        wide = rankings.table(shown, settings)
        return Parts(figure, rankings.summary(shown, settings), wide, None)
    item: Any = load_item(str(experiment.paper), settings.item)
    try:
        parts = Parts(
            item.render(shown, settings),
            getattr(item, "summary", tables.summary)(shown, settings),
            getattr(item, "table", tables.wide)(shown, settings),
            _compare(experiment, item, frame, settings) if settings.compare else None,
        )
    except Exception as error:
        if not experiment.differs:
            raise
        reason = " ".join(f"{type(error).__name__}: {error}".split())[:MOST_CHARACTERS]
        notes.append(
            f"the drawing of {settings.experiment} does not fit this variation ({reason}); "
            "the general figure is drawn"
        )
        return _overview(shown, settings)
    compared = parts.compared
    if compared is not None and experiment.differs:
        compared = variations.comparable(compared, experiment.differs)
        reasons = compared.loc[compared["verdict"].eq("not reproducible here"), "reason"].unique()
        notes += [f"not judged against the paper: {r}" for r in reasons if isinstance(r, str) and r]
    return parts._replace(compared=compared if compared is not None and len(compared) else None)


def load_item(paper: str, item: str) -> ModuleType:
    """Import experiments/<paper>/<item>.py, or <paper>/<item>.py of the user's own package.

    It has render(records, settings) -> Figure and reproduced(records, settings) -> DataFrame. It
    may have table(records, settings), for page and LaTeX, and summary(records, settings), for the
    CSV.
    """
    module = item_module(paper, item)
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name not in (module, module.rpartition(".")[0]):
            raise
        raise BadInputError(
            f"there is no module {module} that draws the item {item!r}; put "
            f"{paper}/{item}.py into the folder that you start calharness in."
        ) from error


def _overview(shown: pd.DataFrame, settings: Settings) -> Parts:
    wide = tables.wide(shown, settings)
    return Parts(plots.overview(shown, settings), tables.summary(shown, settings), wide, None)


def _compare(
    experiment: Experiment, item: Any, frame: pd.DataFrame, settings: Settings
) -> pd.DataFrame:
    """Return the paper's numbers with ours."""
    names = set(frame["estimator"])
    for member in experiment.family:
        names |= set(member.plan.estimators)
    computed = {label(settings, "estimator", name) for name in names} | {reproduction.TRUTH}
    compared: pd.DataFrame = reproduction.compare(
        item.reproduced(frame, settings),
        str(experiment.paper),
        settings.compare,
        settings.reasons,
        computed,
        settings.same_draws_as_paper,
        records=frame,
    )
    return compared
