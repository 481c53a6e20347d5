"""Draw the records of an experiment: figure, tables, comparison with the paper, and page.

No cell is computed here.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pandas as pd

from harness.configure import variations
from harness.configure.settings import as_list
from harness.errors import BadInputError
from harness.evaluation import outcomes, rankings, tables
from harness.evaluation.selection import figure_estimands
from harness.evaluation.summary import evaluate
from harness.evaluation.sweep_tables import SweepResults
from harness.figures import figure_files
from harness.pages import page as pages
from harness.pages.arena import page as arena_page
from harness.plan.plan import problems_by_id
from harness.records.schema import has_numbers
from harness.workflow import drawn, file_diagrams, problem_cards
from harness.workflow.experiment import Experiment
from harness.workflow.parts import make_parts

Rendered = tuple[list[Path], dict[str, dict[str, int]], list[str]]


def render(experiment: Experiment, frame: pd.DataFrame) -> Rendered:
    """Draw an experiment from its records `frame`, and write figure, tables and page.

    Returns
    -------
    files : list of Path
        Paths of the written files. The page is the last one.
    verdicts : dict
        Numbers of compared rows, {source of the paper's number: {verdict: count}}.
    notes : list of str
        Remarks for the reader.

    Raises
    ------
    BadInputError
        If there is no record, or if there is no number and a figure would be overwritten. No file
        is changed then.
    """
    require_records(experiment, frame)
    settings, identity = experiment.settings, experiment.identity
    if not has_numbers(frame) and (identity.is_variation or has_picture(experiment)):
        raise BadInputError(
            f"no cell of {settings.run_name} has a number, so no file is written; `calharness "
            "status` shows the states of the cells."
        )
    notes = _keep_other_results(experiment) if identity.is_variation else []
    if settings.arena and not (identity.is_sweep or settings.figure.y):
        files = render_arena(experiment, frame)
        drawn.note_drawn(experiment, frame)
        return files, {}, notes
    parts = make_parts(experiment, frame, select_estimands(experiment, frame), notes)
    summary, compared = parts.summary, parts.compared
    if not identity.is_sweep:
        # Only the figure of a sweep shows times. All other results must not depend on the machine.
        summary = summary.drop(columns="cpu_seconds", errors="ignore")
    stem = identity.folder / identity.stem
    tables_written = tables.save(summary, parts.wide, stem)
    try:
        figure = parts.draw()
        caption = str(figure.get_label() or "")
        files = [*figure_files.save(figure, stem, settings), *tables_written]
    except Exception as error:
        error.add_note(f"The figure cannot be drawn. The tables are written: {tables_written[0]}")
        raise
    if compared is not None:
        files += outcomes.save_comparison(compared, settings.run_name, identity.folder)
    elif identity.is_variation:
        # An earlier drawing may have written a comparison with the paper.
        for path in identity.folder.glob("reproduction*.csv"):
            path.unlink()
    diagrams = list(file_diagrams.reliability(experiment))
    for _, _, written in diagrams:
        files += written
    # The configured caption describes the figure only if the run has no other change. It may name
    # marks, such as numbers of the paper, that a variation does not have.
    is_described = not identity.differs or "figure.caption" in identity.differs
    if settings.figure.caption and is_described:
        caption = settings.figure.caption
    lines = file_diagrams.notes(experiment)
    missing = experiment.records.missing(frame)
    page = pages.save(
        identity, settings, frame, missing, files, parts.wide, compared, caption, diagrams, lines
    )
    drawn.note_drawn(experiment, frame)
    verdicts = {} if compared is None else outcomes.count_by_source(compared)
    return [*files, page], verdicts, notes


def render_arena(experiment: Experiment, frame: pd.DataFrame) -> list[Path]:
    """Draw the pictures of the problems, and write the page of the arena."""
    identity, plans = experiment.identity, experiment.records.plans
    recorded = set(frame["problem"])
    problems = {name: part for name, part in problems_by_id(plans).items() if name in recorded}
    cards = problem_cards.save(identity.folder / "cards", problems)
    files = arena_page.save(identity, experiment.settings, plans, frame, cards)
    return [*cards.values(), *files]


def require_records(experiment: Experiment, frame: pd.DataFrame) -> None:
    """Raise BadInputError if the records `frame` of an experiment are empty."""
    if not len(frame):
        raise BadInputError(
            f"no cell of {experiment.settings.run_name} is recorded in {experiment.records.out}, "
            "so no file is written; run it first."
        )


def wide_table(experiment: Experiment, frame: pd.DataFrame) -> pd.DataFrame:
    """Return the table that people read, with one column for each estimator.

    There is one row for each problem, n and combination of swept values.
    """
    settings, is_sweep = experiment.settings, experiment.identity.is_sweep
    if settings.arena and not (is_sweep or settings.figure.y):
        return arena_page.table(settings, experiment.records.plans, frame)
    shown = select_estimands(experiment, frame)
    if is_sweep:
        return SweepResults(experiment.plan).table(shown, settings)
    return (rankings.table if settings.ranking else tables.wide)(shown, settings)


def mean_rmse(experiment: Experiment) -> float | None:
    """Return the RMSE of the figure's estimand, averaged over problems, notions, n and estimators.

    A Hydra sweeper such as Optuna minimises this number. It is infinite if a cell failed or is
    undefined, because the average would otherwise run over the easier cells only. It is None if no
    truth is known.
    """
    frame = select_estimands(experiment, experiment.records.read())
    estimand = figure_estimands(frame, experiment.settings)[0]
    is_shown = frame["estimand"].eq(estimand)
    has_failed = frame["status"].isin(["failed", "undefined"])
    if (has_failed & (is_shown | frame["estimand"].isna())).any():
        return math.inf
    errors = evaluate(frame[is_shown])["rmse"].dropna()
    return float(errors.mean()) if len(errors) else None


def has_picture(experiment: Experiment) -> bool:
    """Return True if a figure of this experiment exists, no matter which records it shows."""
    return experiment.identity.page.with_suffix(".png").is_file()


def select_estimands(experiment: Experiment, frame: pd.DataFrame) -> pd.DataFrame:
    """Return the records of the estimands that the setting `estimand` selects."""
    chosen = [str(name) for name in as_list(experiment.settings.estimand)]
    if not chosen:
        return frame
    known = set(frame["estimand"].dropna())
    absent = [name for name in chosen if name not in known]
    if known and absent:
        raise BadInputError(
            f"estimand is {', '.join(absent)}, which no record of this run has; "
            f"choose among {', '.join(sorted(known))}."
        )
    return frame[frame["estimand"].isin(chosen) | frame["estimand"].isna()]


def _keep_other_results(experiment: Experiment) -> list[str]:
    """Rename the folder of results if it contains results of another configuration.

    Return a list with a remark about it, or an empty list.
    """
    settings, identity = experiment.settings, experiment.identity
    content: dict[str, Any] = {
        "identity": identity.digest,
        "experiment": settings.experiment,
        "differs": identity.differs,
        "title": settings.title or settings.run_name,
    }
    if identity.is_sweep:
        content["swept"] = identity.swept()
    plain = json.loads(json.dumps(content, default=str))
    moved = variations.move_other_aside(identity.folder, identity.stem, plain)
    if not moved:
        return []
    return [
        f"{identity.folder} contained results of another configuration; they are now in {moved}"
    ]
