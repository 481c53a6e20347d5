"""Describe the prediction files of a run, and draw their reliability diagrams."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from harness.common.writing import whole_file, without_formulas
from harness.estimators.base import EstimatorSpec
from harness.estimators.bootstrap import Bootstrap
from harness.evaluation.reliability import build_table, describe_panels
from harness.evaluation.selection import label
from harness.figures import figure_files, reliability_plot
from harness.math.reliability import panels as reliability_panels
from harness.plan.components import Component
from harness.problems.base import ProblemSpec
from harness.workflow.experiment import Experiment

MOST_DESCRIBED = 20  # largest number of files that are described


def notes(experiment: Experiment) -> list[str]:
    """Return lines about the prediction files of a run: how they were read, and their intervals."""
    if experiment.identity.is_paper_item or experiment.settings.ranking:
        return []
    files = list(_files(experiment).values())
    lines = [str(problem.object.described) for problem in files[:MOST_DESCRIBED]]
    if len(files) > MOST_DESCRIBED:
        lines.append(f"and {len(files) - MOST_DESCRIBED} more files")
    estimators = experiment.plan.estimators
    wrapped = [e for e in estimators.values() if EstimatorSpec.read(e.object, "keeps_values_of")]
    bootstraps = [e.object for e in wrapped if isinstance(e.object, Bootstrap)]
    if bootstraps:
        level, resamples = bootstraps[0].level, bootstraps[0].resamples
        lines.append(
            f"intervals have level {level:.0%}, are computed from {resamples} random halves of the "
            "rows, and are for the limit of the estimator as n grows"
        )
    with_intervals = {estimator.id for estimator in wrapped}
    costly = [name for name, e in estimators.items() if e.id not in with_intervals]
    if files and costly and experiment.settings.bootstrap is None:
        lines.append(
            f"no intervals for {', '.join(costly)}, because a bootstrap would take minutes; "
            "bootstrap=200 computes them"
        )
    return lines


def reliability(experiment: Experiment) -> Iterator[tuple[str, str, list[Path]]]:
    """Draw a reliability diagram for each prediction file of a run.

    Yield (title, caption, paths of the written files). Experiments of papers and rankings have no
    such diagrams.
    """
    settings, identity = experiment.settings, experiment.identity
    shown = settings.reliability
    if shown == "none" or settings.paper or settings.ranking:
        return
    files = _files(experiment)
    for name, problem in files.items():
        spec = ProblemSpec.of(problem.object)
        if spec.unavailable:
            continue
        p, y = problem.object.sample(problem.object.n_max, np.random.default_rng(0))
        notion = "top_label" if spec.top_label else None
        panels = reliability_panels(p, y, shown, notion=notion, classes=spec.names)
        stem = identity.folder / f"{identity.stem}_reliability"
        if len(files) > 1:
            suffix = re.sub("[^A-Za-z0-9.=-]+", "_", name).strip("_")
            stem = stem.with_name(f"{stem.name}_{suffix}")
        figure = reliability_plot.figure(
            panels, settings.figure.panels_per_row, settings.figure.size
        )
        pictures = figure_files.save(figure, stem, settings)
        table = stem.with_name(f"{stem.name}.csv")
        with whole_file(table) as temporary:
            without_formulas(build_table(panels)).to_csv(temporary, index=False)
        yield label(settings, "problem", name), describe_panels(panels), [*pictures, table]


def _files(experiment: Experiment) -> dict[str, Component]:
    """Return {name: problem} of the problems in the run whose samples are rows of a file."""
    return {
        name: problem
        for name, problem in experiment.plan.problems.items()
        if ProblemSpec.of(problem.object).rows_of_a_file
    }
