"""Draw the records of an experiment: figure, tables, comparison with the paper, and page.

No cell is computed here.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pandas as pd

from harness.commands import file_diagrams
from harness.commands.drawing_parts import draw_parts
from harness.commands.experiment import Experiment
from harness.configure import variations
from harness.configure.settings import as_list
from harness.errors import BadInputError
from harness.evaluation import outcomes, rankings, tables
from harness.evaluation.selection import figure_estimands
from harness.evaluation.summary import evaluate
from harness.evaluation.sweep_tables import SweepResults
from harness.figures import figure_files
from harness.pages import arena_page
from harness.pages import page as pages

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
    if not experiment.has_numbers(frame) and (experiment.is_variation or has_picture(experiment)):
        raise BadInputError(
            f"no cell of {experiment.name} has a number, so no file is written; `calharness "
            "status` shows the states of the cells."
        )
    notes = _keep_other_results(experiment) if experiment.is_variation else []
    if experiment.settings.arena and not experiment.is_sweep:
        return arena_page.save(experiment, frame), {}, notes
    settings = experiment.shown_settings()
    parts = draw_parts(experiment, frame, select_estimands(experiment, frame), notes)
    summary, compared = parts.summary, parts.compared
    if not experiment.is_sweep:
        # Only the figure of a sweep shows times. All other results must not depend on the machine.
        summary = summary.drop(columns="cpu_seconds", errors="ignore")
    stem = experiment.folder / experiment.stem
    files = [*figure_files.save(parts.figure, stem, settings)]
    files += tables.save(summary, parts.wide, stem)
    if compared is not None:
        files += outcomes.save_comparison(compared, experiment.name, experiment.folder)
    elif experiment.is_variation:
        # An earlier drawing may have written a comparison with the paper.
        for path in experiment.folder.glob("reproduction*.csv"):
            path.unlink()
    diagrams = list(file_diagrams.reliability(experiment))
    for _, _, written in diagrams:
        files += written
    # The configured caption describes the figure only if the run has no other change.
    caption = settings.figure.caption
    if not caption or experiment.differs and "figure.caption" not in experiment.differs:
        caption = str(parts.figure.get_label() or caption or "")
    lines = file_diagrams.notes(experiment)
    page = pages.save(
        experiment, frame, files, parts.wide, compared, experiment.page, caption, diagrams, lines
    )
    verdicts = {} if compared is None else outcomes.count_by_source(compared)
    return [*files, page], verdicts, notes


def require_records(experiment: Experiment, frame: pd.DataFrame) -> None:
    """Raise BadInputError if the records `frame` of an experiment are empty."""
    if not len(frame):
        raise BadInputError(
            f"no cell of {experiment.name} is recorded in {experiment.out}, so no file is written; "
            "run it first."
        )


def wide_table(experiment: Experiment, frame: pd.DataFrame) -> pd.DataFrame:
    """Return the table that people read, with one column for each estimator.

    There is one row for each problem, n and combination of swept values.
    """
    if experiment.settings.arena and not experiment.is_sweep:
        return arena_page.table(experiment, frame)
    shown, settings = select_estimands(experiment, frame), experiment.shown_settings()
    if experiment.is_sweep:
        return SweepResults(experiment.plan).table(shown, settings)
    return (rankings.table if settings.ranking else tables.wide)(shown, settings)


def mean_rmse(experiment: Experiment) -> float | None:
    """Return the RMSE of the figure's estimand, averaged over problems, notions, n and estimators.

    A Hydra sweeper such as Optuna minimises this number. It is infinite if a cell failed or is
    undefined, because the average would otherwise run over the easier cells only. It is None if no
    truth is known.
    """
    frame = select_estimands(experiment, experiment.records())
    estimand = figure_estimands(frame, experiment.settings)[0]
    is_shown = frame["estimand"].eq(estimand)
    has_failed = frame["status"].isin(["failed", "undefined"])
    if (has_failed & (is_shown | frame["estimand"].isna())).any():
        return math.inf
    errors = evaluate(frame[is_shown])["rmse"].dropna()
    return float(errors.mean()) if len(errors) else None


def has_picture(experiment: Experiment) -> bool:
    """Return True if a figure of this experiment exists, no matter which records it shows."""
    return (experiment.folder / f"{experiment.stem}.png").is_file()


def is_drawn(experiment: Experiment, frame: pd.DataFrame) -> bool:
    """Return True if figure, table and page exist, and show exactly these records."""
    page = experiment.page
    if not all(page.with_suffix(ending).is_file() for ending in (".html", ".png", ".csv")):
        return False
    return f'content="{experiment.stamp(frame)}"' in page.read_text()[:2000]


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
    content: dict[str, Any] = {
        "identity": experiment.identity,
        "experiment": experiment.settings.experiment,
        "differs": experiment.differs,
        "title": experiment.settings.title or experiment.name,
    }
    if experiment.is_sweep:
        content["swept"] = experiment.swept()
    plain = json.loads(json.dumps(content, default=str))
    moved = variations.move_other_aside(experiment.folder, experiment.stem, plain)
    if not moved:
        return []
    return [
        f"{experiment.folder} contained results of another configuration; they are now in {moved}"
    ]
