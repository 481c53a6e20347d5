"""The card of a problem: how its scores are spread, what is wrong where, and its truths."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from harness.common.writing import stated_error, whole_file
from harness.configure.options import ids, option
from harness.errors import BadInputError
from harness.figures.style import COLOURS, WIDTH, pyplot
from harness.plan.components import load
from harness.problems.base import ProblemSpec, members_of, truth_of

ROWS, SHOWN = 20_000, 1_500
DPI = 75  # of the files
PARTS = 120  # of equally many rows, of the curve
FEW = 60  # distinct scores up to which each is a dot
ESTIMANDS = ("l1", "l2_squared")
NAMES = {"l1": "$L_1$", "l2_squared": "squared"}


def save(
    folder: Path,
    keys: Mapping[str, str],
    families: Mapping[str, str],
    truths: Mapping[str, Mapping],
) -> dict[str, Path]:
    """Draw the cards that are not there, or are of another problem of that name: <folder>/<id>.png.

    Parameters
    ----------
    folder : Path
    keys : mapping
        {problem id: key}: its key is written into the file, and a card whose key is another is drawn again.
    families : mapping
        {problem id: family}.
    truths : mapping
        {problem id: {"notion|estimand": (value, error, ...) or None}}, which are computed where they are not given.

    Returns
    -------
    dict
        {problem id: path} of those that have a card; problems whose files are absent, or whose posterior is unknown, have none.
    """
    found = {}
    for name, key in keys.items():
        path = folder / f"{name}.png"
        if not (path.is_file() and key.encode() in path.read_bytes()[:2000]):
            try:
                figure = card(name, families.get(name), truths.get(name))
            except BadInputError:
                continue
            folder.mkdir(parents=True, exist_ok=True)
            with whole_file(path) as temporary:
                figure.savefig(
                    temporary, format="png", dpi=DPI, metadata={"Software": None, "calharness": key}
                )
            pyplot().close(figure)
        found[name] = path
    return found


def about(problem_id: str) -> str:
    """What is wrong with the predictions of a problem, in one line.

    Examples
    --------
    >>> bool(about("sparse_k3"))
    True
    """
    said = option("problem", problem_id).about
    return said or (type(load("problem", problem_id, {})).__doc__ or "").strip().split("\n")[0]


def card(problem_id: str, family: str | None = None, truths: Mapping | None = None):
    """The card of a problem with a known posterior.

    Parameters
    ----------
    problem_id : str
        An id of conf/problem.
    family : str, optional
        Its family in the arena; what comes before the first "_k" if not given.
    truths : mapping, optional
        {"notion|estimand": (value, error, ...) or None}, as stored; those that are not in it are computed.

    Returns
    -------
    matplotlib.figure.Figure
        Left, above: of 20,000 drawn rows E[class on top is right given p] (of two classes: P(Y = 1 given p)) against the score,
        1,500 of them as dots, and their mean given the score as a line (as dots, where the scores are few), with the diagonal.
        Below: the histogram of the score. Right: what it is, k, and the truths l1 and l2_squared of every notion with their
        errors.

    Raises
    ------
    BadInputError
        If there is no such problem, its files are absent, or its posterior is unknown.

    Examples
    --------
    >>> figure = card("sparse_k3")
    >>> figure.axes[0].get_ylabel()
    'P(correct) given the confidence'
    """
    if problem_id not in ids("problem"):
        raise BadInputError(
            f"there is no problem {problem_id!r}; `calharness list problems` shows all."
        )
    problem = load("problem", problem_id, {})
    spec = ProblemSpec.of(problem)
    if members_of(problem) is not None or spec.unavailable or spec.posterior is None:
        raise BadInputError(
            f"{problem_id} has no card: {spec.unavailable or 'its posterior is not known'}."
        )
    p, _ = sample(problem, spec)
    score, right, axis = scores(p, problem.posterior(p))
    figure, axes = pyplot().subplot_mosaic(
        [["map", "text"], ["density", "text"]], figsize=(WIDTH, 3.4), height_ratios=[3.2, 1], width_ratios=[1, 1.05],
        layout="constrained",
    )  # fmt: skip
    figure.set_label(f"Card of the problem {problem_id}")
    draw(axes["map"], axes["density"], score, right, axis, COLOURS[5])
    axes["text"].set_axis_off()
    text = _text(
        problem, spec, problem_id, family or problem_id.partition("_k")[0], score, truths or {}
    )
    axes["text"].text(0.02, 0.98, text, va="top", transform=axes["text"].transAxes, linespacing=1.5)
    return figure


def sample(problem: Any, spec: ProblemSpec) -> Any:
    """20,000 rows of a problem, or as many as it has."""
    size = max(spec.sizes) if spec.sizes else min(ROWS, spec.n_max or ROWS)
    return problem.sample(
        size, spec.replication_rng(0) if spec.replication_rng else np.random.default_rng(0)
    )


def scores(p: Any, c: Any) -> tuple[Any, Any, str]:
    """Of drawn rows p with their posteriors c the score, the posterior of its event, and what the score is called."""
    if p.ndim == 1:
        return p, c, "score"
    rows, top = np.arange(len(p)), p.argmax(axis=1)
    return p[rows, top], c[rows, top], "confidence"


def draw(above: Any, below: Any, score: Any, right: Any, axis: str, colour: str) -> None:
    """The map, dots and mean beside the diagonal, into one pair of axes, and the histogram of the score into the other."""
    low = 0.0 if score.min() < 0.4 else 0.5 * np.floor(2 * score.min())
    _map(above, score, right)
    above.set_ylabel(f"P({'1' if axis == 'score' else 'correct'}) given the {axis}")
    above.tick_params(labelbottom=False)
    below.hist(
        score,
        bins=np.linspace(low, 1.0, 51),
        weights=np.full(len(score), 1 / len(score)),
        color=colour,
    )
    below.set_ylabel("share")
    below.set_xlabel(axis)
    for ax in (above, below):
        ax.set_xlim(low - 0.02, 1.02)
    above.set_ylim(min(low, right.min()) - 0.03, 1.03)


def _map(ax, score, right):
    ax.plot(
        [0, 1], [0, 1], color="0.25", linestyle="--", linewidth=0.9, label="calibrated", zorder=2
    )
    values, which, count = np.unique(score, return_inverse=True, return_counts=True)
    means = np.bincount(which, right) / count
    if len(values) <= FEW:
        ax.plot(
            values,
            means,
            "o",
            color=COLOURS[1],
            markersize=4,
            label="mean given the score",
            zorder=4,
        )
    else:
        ax.plot(
            score[:SHOWN],
            right[:SHOWN],
            ".",
            color=COLOURS[0],
            markersize=2,
            alpha=0.4,
            label="rows",
            zorder=3,
        )
        many = count > 0.005 * len(score)
        single = np.isin(score, values[many], invert=True)
        order = np.flatnonzero(single)[np.argsort(score[single], kind="stable")]
        parts = [rows for rows in np.array_split(order, PARTS) if len(rows)]
        ax.plot(
            [score[r].mean() for r in parts],
            [right[r].mean() for r in parts],
            color=COLOURS[1],
            label="mean",
            zorder=4,
        )
        ax.plot(values[many], means[many], "o", color=COLOURS[1], markersize=4, zorder=5)
    ax.legend(loc="upper left", handlelength=1.6)


def _text(problem, spec, problem_id, family, score, truths):
    kind = type(problem).__name__
    lines = [f"{problem_id}", *textwrap.wrap(about(problem_id), 52), ""]
    if kind == "Fitted":
        lines.append(f"truth: the map {problem.chosen}, best on held-out rows")
    lines += [f"family {family}, {spec.classes} classes, {kind}"]
    quantiles = ", ".join(f"{q:.3g}" for q in np.quantile(score, [0.1, 0.5, 0.9]))
    lines += [f"10, 50, 90 % of the scores: {quantiles}", "", "truths"]
    for notion in spec.notions:
        for name in ESTIMANDS:
            if f"{notion}|{name}" in truths:
                value, error = (truths[f"{notion}|{name}"] or (None, None))[:2]
            else:
                found = truth_of(problem, name, notion)
                value, error = (found.value, found.error) if found is not None else (None, None)
            if value is not None:
                with_error = f" ± {error:.0e}" if stated_error(error) else ""
                lines.append(f"{notion.replace('_', ' ')}, {NAMES[name]}: {value:.5f}{with_error}")
    return "\n".join(lines)
