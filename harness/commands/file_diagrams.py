"""Files of predictions in a run: how they were read, and their reliability diagrams."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from harness.commands.experiment import Experiment
from harness.common.writing import whole_file
from harness.estimators.base import EstimatorSpec
from harness.estimators.bootstrap import Bootstrap
from harness.evaluation import reliability as diagrams
from harness.evaluation.selection import label
from harness.figures import figure_files, reliability_plot
from harness.plan.components import Component
from harness.problems.base import ProblemSpec

MOST_DESCRIBED = 20  # files


def notes(experiment: Experiment) -> list[str]:
    """Sentences on the files of a run: how each was read, and what its intervals are or why an
    estimator has none."""
    if experiment.paper and not experiment.is_variation or experiment.settings.ranking:
        return []
    files = list(_files(experiment).values())
    found = [str(problem.object.described) for problem in files[:MOST_DESCRIBED]]
    if len(files) > MOST_DESCRIBED:
        found.append(f"and {len(files) - MOST_DESCRIBED} more files")
    estimators = experiment.plan.estimators
    wrapped = [e for e in estimators.values() if EstimatorSpec.read(e.object, "keeps_values_of")]
    halves = [e.object for e in wrapped if isinstance(e.object, Bootstrap)]
    if halves:
        found.append(
            f"intervals: {halves[0].level:.0%}, from {halves[0].resamples} random halves of the rows, "
            "for what the estimator tends to as n grows"
        )
    with_intervals = {e.id for e in wrapped}
    costly = [name for name, e in estimators.items() if e.id not in with_intervals]
    if files and costly and experiment.settings.bootstrap is None:
        found.append(
            f"no bootstrap of {', '.join(costly)} by default, which would take minutes; bootstrap=200 asks for it"
        )
    return found


def reliability(experiment: Experiment) -> Iterator[tuple[str, str, list[Path]]]:
    """Draw a reliability diagram of every file of the run: yields (title, caption, files). There is
    none in a paper's item or a ranking."""
    which, settings = experiment.settings.reliability, experiment.shown_settings()
    if which == "none" or experiment.paper or settings.ranking:
        return
    files = _files(experiment)
    for name, problem in files.items():
        spec = ProblemSpec.of(problem.object)
        if spec.unavailable:
            continue
        p, y = problem.object.sample(problem.object.n_max, np.random.default_rng(0))
        notion = "top_label" if spec.top_label else None
        panels = diagrams.panels(p, y, which, notion=notion, classes=spec.names)
        own = f"_{re.sub('[^A-Za-z0-9.=-]+', '_', name).strip('_')}" if len(files) > 1 else ""
        stem = experiment.folder / f"{experiment.stem}_reliability{own}"
        pictures = figure_files.save(
            reliability_plot.figure(panels, settings.figure.panels_per_row, settings.figure.size),
            stem,
            settings,
        )
        table = stem.with_name(f"{stem.name}.csv")
        with whole_file(table) as temporary:
            diagrams.table_of(panels).to_csv(temporary, index=False)
        yield label(settings, "problem", name), diagrams.caption_of(panels), [*pictures, table]


def _files(experiment: Experiment) -> dict[str, Component]:
    """The problems of the run whose samples are rows of a file."""
    problems = experiment.plan.problems
    return {
        name: one for name, one in problems.items() if ProblemSpec.of(one.object).rows_of_a_file
    }
