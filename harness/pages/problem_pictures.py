"""Picture of a problem: the distribution of its scores, and its posterior given the score."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from harness.common.writing import whole_file
from harness.errors import BadInputError
from harness.figures.figure_files import to_png
from harness.figures.style import COLOURS, pyplot
from harness.plan.components import load
from harness.problems.base import ProblemSpec, list_members

Floats = NDArray[np.float64]

ROWS, DOTS = 20_000, 1_500  # number of rows that are sampled, and that are shown as dots
SIZE, DPI = (3.6, 3.3), 120  # SIZE in inches: the width of a phone's screen
PARTS = 120  # number of points of the mean line; each is the mean of equally many rows
FEW = 60  # largest number of distinct scores for which each score has one dot
MANY = 0.005  # a score that occurs in a larger share of the rows has its own dot


def save(folder: Path, keys: Mapping[str, str]) -> dict[str, Path]:
    """Draw the pictures <folder>/<id>.png of problems, except those that are up to date.

    Parameters
    ----------
    folder : Path
        Folder of the pictures.
    keys : mapping
        {problem id: key}. Each picture file holds the key of its problem. A picture with another
        key is drawn again.

    Returns
    -------
    dict
        {problem id: path} for the problems that have a picture. Problems whose data files are
        absent, or whose posterior is unknown, have none.
    """
    pictures = {}
    for name, key in keys.items():
        path = folder / f"{name}.png"
        if not is_current(path, key):
            try:
                problem = load("problem", name, {})
                spec = ProblemSpec.of(problem)
                reason = why_not_drawn(problem, spec)
            except BadInputError:  # files of data are absent
                continue
            if reason:
                continue
            p, _ = sample(problem, spec)
            content = to_png(draw(p, problem.posterior(p)), DPI, calharness=key)
            with whole_file(path) as temporary:
                temporary.write_bytes(content)
        pictures[name] = path
    return pictures


def is_current(path: Path, key: str) -> bool:
    """Return True if a picture exists that `save` drew for a problem with this key."""
    return path.is_file() and key.encode() in path.read_bytes()[:2000]


def why_not_drawn(problem: Any, spec: ProblemSpec) -> str:
    """Return the reason why no picture of a problem can be drawn, or "" if it can."""
    if list_members(problem) is not None:
        return "a family of problems, whose members are only known when it runs"
    if spec.unavailable:
        return spec.unavailable
    if spec.posterior is None:
        return "the posterior E[Y given p] is unknown: these are predictions of a model"
    return ""


def sample(problem: Any, spec: ProblemSpec) -> tuple[Floats, Floats]:
    """Draw ROWS rows (p, y) from a problem, or as many as it has."""
    size = max(spec.sizes) if spec.sizes else min(ROWS, spec.n_max or ROWS)
    rng = spec.replication_rng(0) if spec.replication_rng else np.random.default_rng(0)
    p, y = problem.sample(size, rng)
    return p, y


def scores(p: Floats, c: Floats) -> tuple[Floats, Floats, str]:
    """Return the scores of rows, the posteriors of their event, and the name of the score.

    p holds predictions, c the posteriors E[Y | p] in the same shape. For shape (n,) the score is
    P(Y = 1). For shape (n, k) it is the confidence in the top class, and the event is that this
    class is right.
    """
    if p.ndim == 1:
        return p, c, "score"
    rows, top = np.arange(len(p)), p.argmax(axis=1)
    return p[rows, top], c[rows, top], "confidence"


def draw(p: Floats, c: Floats) -> Figure:
    """Draw the posterior against the score, and a histogram of the scores below.

    p holds predictions, c the posteriors E[Y | p] in the same shape. Dots are single rows, and a
    line is the mean posterior given the score. The dashed diagonal is perfect calibration. If
    there are few distinct scores, each has one dot at its mean posterior.
    """
    score, right, name = scores(p, c)
    figure, (above, below) = pyplot().subplots(
        2, 1, figsize=SIZE, height_ratios=[3, 1], layout="constrained"
    )
    low = 0.0 if score.min() < 0.4 else 0.5 * np.floor(2 * score.min())
    _draw_map(above, score, right)
    above.set_ylabel(f"P({'1' if name == 'score' else 'correct'}) given the {name}")
    above.tick_params(labelbottom=False)
    shares = np.full(len(score), 1 / len(score))
    below.hist(score, bins=np.linspace(low, 1.0, 51), weights=shares, color=COLOURS[5])
    below.set(ylabel="share", xlabel=name)
    for ax in (above, below):
        ax.set_xlim(low - 0.02, 1.02)
    above.set_ylim(min(low, right.min()) - 0.03, 1.03)
    return figure  # type: ignore[no-any-return]


def _draw_map(ax: Any, score: Floats, right: Floats) -> None:
    dashes = {"color": "0.25", "linestyle": "--", "linewidth": 0.9, "zorder": 2}
    ax.plot([0, 1], [0, 1], label="calibrated", **dashes)
    values, which, counts = np.unique(score, return_inverse=True, return_counts=True)
    means = np.bincount(which, right) / counts
    dots = {"color": COLOURS[1], "marker": "o", "linestyle": "none", "markersize": 4}
    if len(values) <= FEW:
        ax.plot(values, means, label="mean given the score", zorder=4, **dots)
    else:
        rows = {"color": COLOURS[0], "markersize": 2, "alpha": 0.4, "zorder": 3}
        ax.plot(score[:DOTS], right[:DOTS], ".", label="rows", **rows)
        many = counts > MANY * len(score)
        single = np.isin(score, values[many], invert=True)
        order = np.flatnonzero(single)[np.argsort(score[single], kind="stable")]
        parts = [part for part in np.array_split(order, PARTS) if len(part)]
        x, y = ([column[part].mean() for part in parts] for column in (score, right))
        ax.plot(x, y, color=COLOURS[1], label="mean", zorder=4)
        ax.plot(values[many], means[many], zorder=5, **dots)
    ax.legend(loc="upper left", handlelength=1.6)
