"""Draw an experiment: figure, tables, paper against ours, page. Nothing is computed here."""

from __future__ import annotations

import contextlib
import importlib
import json
import math
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from harness.commands import file_diagrams
from harness.commands.experiment import Experiment
from harness.common.paths import EXPERIMENTS, PACKAGE
from harness.configure import variations
from harness.configure.settings import Settings, as_list
from harness.errors import BadInputError
from harness.evaluation import rankings, reproduction, tables
from harness.evaluation.selection import figure_estimands, label
from harness.evaluation.summary import evaluate
from harness.evaluation.sweep_tables import SweepResults
from harness.figures import figure_files, plots, ranking_plot, sweep_plots
from harness.pages import arena_page
from harness.pages import page as pages

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

SOURCES = (".py", ".j2", ".csv", ".parquet", ".yaml")  # what a drawing depends on
Rendered = tuple[list[Path], dict[str, dict[str, int]], list[str]]
Drawn = tuple["Figure", "pd.DataFrame", "pd.DataFrame", "pd.DataFrame | None"]


def render(experiment: Experiment, frame: pd.DataFrame) -> Rendered:
    """Draw and write everything that people look at.

    Returns
    -------
    files, verdicts, notes
        The files, the page last; the number of rows by source and verdict; sentences for the reader.

    Raises
    ------
    BadInputError
        If there is no number to draw. Then nothing is drawn, and nothing overwritten.
    """
    require_records(experiment, frame)
    if not experiment.has_numbers(frame) and (experiment.is_variation or has_picture(experiment)):
        raise BadInputError(
            f"no cell of {experiment.name} has a number; nothing is drawn and nothing overwritten."
        )
    notes = _keep_other_results(experiment) if experiment.is_variation else []
    undisturbed: Any = contextlib.nullcontext()
    if experiment.is_variation:
        undisturbed = variations.undisturbed(
            experiment.folder, experiment.stem, experiment.identity
        )
    if experiment.settings.arena and not experiment.is_sweep:
        with undisturbed:
            return arena_page.save(experiment, frame), {}, notes
    shown, settings = _shown(experiment, frame), experiment.shown_settings()
    figure, summary, wide, compared = _drawn(experiment, frame, shown, settings, notes)
    if not experiment.is_sweep:
        # the figure of a sweep has the times, other results are the same on every machine
        summary = summary.drop(columns="cpu_seconds", errors="ignore")
    with undisturbed:
        stem = experiment.folder / experiment.stem
        files = figure_files.save(figure, stem, settings)
        files += tables.save(summary, wide, stem)
        if compared is not None:
            files += reproduction.save(compared, experiment.name, experiment.folder)
        elif experiment.is_variation:  # what an earlier drawing compared is not of this one
            for old in experiment.folder.glob("reproduction*.csv"):
                old.unlink()
        diagrams = list(file_diagrams.reliability(experiment))
        for _, _, drawn in diagrams:
            files += drawn
        page = experiment.folder / f"{experiment.stem}.html"
        caption, lines = _caption(experiment, figure), file_diagrams.notes(experiment)
        files.append(
            pages.save(experiment, frame, files, wide, compared, page, caption, diagrams, lines)
        )
    return files, reproduction.counts_by_source(compared) if compared is not None else {}, notes


def require_records(experiment: Experiment, frame: pd.DataFrame) -> None:
    """Raise BadInputError if no cell is recorded."""
    if not len(frame):
        raise BadInputError(
            f"no cell of {experiment.name} is recorded in {experiment.out}; nothing is drawn and "
            "nothing overwritten: run it first."
        )


def wide_table(experiment: Experiment, frame: pd.DataFrame) -> pd.DataFrame:
    """The table for people: rows by problem and n (and swept values), a column per estimator."""
    if experiment.settings.arena and not experiment.is_sweep:
        return arena_page.table(experiment, frame)
    shown, settings = _shown(experiment, frame), experiment.shown_settings()
    if experiment.is_sweep:
        return SweepResults(experiment.plan).table(shown, settings)
    return (rankings.table if settings.ranking else tables.wide)(shown, settings)


def mean_rmse(experiment: Experiment) -> float | None:
    """Mean over problems, notions, n and estimators of the root mean squared error of the figure's
    estimand: the number that a sweeper which searches minimises. Infinite where a cell failed or is
    undefined, as the mean would be over the easier ones; None where no truth is known."""
    frame = _shown(experiment, experiment.records())
    shown = frame["estimand"].eq(figure_estimands(frame, experiment.settings)[0])
    without = frame["status"].isin(["failed", "undefined"]) & (shown | frame["estimand"].isna())
    if without.any():
        return math.inf
    errors = evaluate(frame[shown])["rmse"].dropna()
    return float(errors.mean()) if len(errors) else None


def has_picture(experiment: Experiment) -> bool:
    """Whether there is a picture of this result, of whatever records."""
    return (experiment.folder / f"{experiment.stem}.png").is_file()


def is_drawn(experiment: Experiment, frame: pd.DataFrame) -> bool:
    """Whether figure, table and page are there and current. The page, which is written last, has
    the stamp of these records and is no older than the code that draws."""
    page = experiment.folder / f"{experiment.stem}.html"
    if not all(
        page.with_name(f"{experiment.stem}{end}").is_file() for end in (".html", ".png", ".csv")
    ):
        return False
    sources = (
        p for folder in (PACKAGE, EXPERIMENTS) for p in folder.rglob("*") if p.suffix in SOURCES
    )
    newest = max(path.stat().st_mtime_ns for path in sources)
    stamp = f'content="{experiment.stamp(frame)}"'
    return page.stat().st_mtime_ns >= newest and stamp in page.read_text()[:2000]


def load_item(paper: str, item: str) -> ModuleType:
    """The module experiments/<paper>/<item>.py: render(records, settings) -> Figure and
    reproduced(records, settings) -> frame. Where it is a table of its own kind also
    table(records, settings), for page and LaTeX, and summary(records, settings), for the CSV."""
    try:
        return importlib.import_module(f"harness.experiments.{paper}.{item}")
    except ModuleNotFoundError as error:
        if error.name not in (
            f"harness.experiments.{paper}",
            f"harness.experiments.{paper}.{item}",
        ):
            raise
        raise BadInputError(
            f"there is no {item!r} for paper {paper!r}; an item is a module experiments/<paper>/<item>.py."
        ) from error


def _keep_other_results(experiment: Experiment) -> list[str]:
    """Move the results of another configuration in the same folder aside. Returns notes."""
    content = {
        "identity": experiment.identity,
        "experiment": experiment.settings.experiment,
        "differs": experiment.differs,
        "title": experiment.settings.title or experiment.name,
        **({"swept": experiment.swept()} if experiment.is_sweep else {}),
    }
    plain = json.loads(json.dumps(content, default=str))
    moved = variations.keep_other(experiment.folder, experiment.stem, plain)
    if not moved:
        return []
    return [
        f"{experiment.folder} held the results of another configuration; they are kept in {moved}"
    ]


def _caption(experiment: Experiment, figure: Figure) -> str:
    """The experiment's own words where they are of this figure, else what the figure says of itself."""
    own = experiment.settings.figure.caption
    if own and (not experiment.differs or "figure.caption" in experiment.differs):
        return str(own)
    return str(figure.get_label() or own or "")


def _drawn(
    experiment: Experiment,
    frame: pd.DataFrame,
    shown: pd.DataFrame,
    settings: Settings,
    notes: list[str],
) -> Drawn:
    """(figure, summary, wide table, paper against ours or None). A paper's item draws its own
    experiment, and variations in sampling alone. Other variations are drawn in the general way,
    and compared with nothing."""
    if experiment.is_sweep:
        results = SweepResults(experiment.plan)
        figure = sweep_plots.render(results, shown, settings)
        return figure, results.summary(shown, settings), results.table(shown, settings), None
    item = _item(experiment)
    view: Any = item or (rankings if settings.ranking else None)
    try:
        figure = _painter(experiment)(shown, settings)
        summary = getattr(view, "summary", tables.summary)(shown, settings)
        wide = getattr(view, "table", tables.wide)(shown, settings)
        compared = (
            _compared(experiment, item, frame, settings) if item and settings.compare else None
        )
    except Exception as error:
        if not (item and experiment.differs):
            raise
        kind = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        name = experiment.settings.experiment
        notes.append(
            f"the drawing of {name} does not fit this variation ({kind}); drawn in general"
        )
        general = plots.overview(shown, settings)
        return general, tables.summary(shown, settings), tables.wide(shown, settings), None
    if compared is not None and experiment.differs:
        compared = variations.comparable(compared, experiment.differs)
        reasons = compared.loc[compared["verdict"].eq("not reproducible here"), "reason"].unique()
        notes += [f"not judged against the paper: {r}" for r in reasons if isinstance(r, str) and r]
    return figure, summary, wide, compared if compared is not None and len(compared) else None


def _compared(
    experiment: Experiment, item: Any, frame: pd.DataFrame, settings: Settings
) -> pd.DataFrame:
    """The paper's numbers beside ours."""
    plans = [one.plan for one in experiment.family]
    names = {*frame["estimator"], *(name for plan in plans for name in plan.estimators)}
    computed = {label(settings, "estimator", name) for name in names} | {reproduction.TRUTH}
    asked = (settings.compare, settings.reasons, computed, settings.same_draws_as_paper)
    ours = item.reproduced(frame, settings)
    return reproduction.compare(ours, str(experiment.paper), *asked, records=frame)


def _item(experiment: Experiment) -> Any:
    """The paper's item that draws this experiment; None where it is drawn in a general way."""
    own = experiment.settings.item and variations.same_quantities(experiment.differs)
    return load_item(str(experiment.paper), str(experiment.settings.item)) if own else None


def _painter(experiment: Experiment) -> Callable[[pd.DataFrame, Settings], Figure]:
    """The function (records, settings) -> Figure that draws all but a sweep."""
    item = _item(experiment)
    if item:
        return item.render  # type: ignore[no-any-return]
    return ranking_plot.render if experiment.settings.ranking else plots.overview


def _shown(experiment: Experiment, frame: pd.DataFrame) -> pd.DataFrame:
    """The records of the estimands that `estimand` selects."""
    chosen = [str(name) for name in as_list(experiment.settings.estimand)]
    if not chosen:
        return frame
    have = set(frame["estimand"].dropna())
    absent = [name for name in chosen if name not in have]
    if have and absent:
        raise BadInputError(
            f"estimand is {', '.join(absent)}, which no cell of this run gave; they gave {', '.join(sorted(have))}."
        )
    return frame[frame["estimand"].isin(chosen) | frame["estimand"].isna()]
