"""Draw the pictures of problems that the page of the arena links to."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from harness.errors import BadInputError
from harness.figures import problem_pictures
from harness.plan.components import Component
from harness.problems import posterior_samples
from harness.problems.base import ProblemSpec


def save(folder: Path, problems: Mapping[str, Component]) -> dict[str, Path]:
    """Draw the pictures <folder>/<id>.png of problems, except those that are up to date.

    Return {id: path} for the problems that have a picture. Problems whose data files are absent,
    or whose posterior is unknown, have none, unless an earlier run has drawn it.
    """
    pictures = {}
    for name, problem in problems.items():
        path = folder / f"{name}.png"
        if not problem_pictures.is_current(path, problem.key):
            try:
                spec = ProblemSpec.of(problem.object)
                if posterior_samples.why_not_sampled(problem.object, spec):
                    continue
                p, c = posterior_samples.sample(problem.object, spec)
            except BadInputError:  # files of data are absent
                continue
            problem_pictures.save(path, p, c, problem.key)
        pictures[name] = path
    return pictures
