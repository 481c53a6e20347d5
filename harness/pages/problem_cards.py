"""Card of a problem: the spread of its scores, where it is miscalibrated, and its truths."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from harness.common.writing import stated_error, whole_file
from harness.configure.options import ids, option
from harness.errors import BadInputError
from harness.figures.style import COLOURS, WIDTH, pyplot
from harness.plan.components import load
from harness.problems.base import ProblemSpec, members_of, truth_of

ROWS, DOTS = 20_000, 1_500  # rows that are drawn from the problem, and that are shown as dots
DPI = 75
PARTS = 120  # of equally many rows, of the curve
FEW = 60  # distinct scores up to which each is a dot
MANY = 0.005  # a share of the rows; a score that occurs more often has a dot of its own
ESTIMANDS = ("l1", "l2_squared")
NAMES = {"l1": "$L_1$", "l2_squared": "squared"}
Truths = Mapping[str, Any]  # {"notion|estimand": (value, error, ...), or None if unknown}


def save(
    folder: Path,
    keys: Mapping[str, str],
    families: Mapping[str, str],
    truths: Mapping[str, Truths],
) -> dict[str, Path]:
    """Draw the cards <folder>/<id>.png that are missing or belong to another problem of that name.

    Parameters
    ----------
    folder : Path
    keys : mapping
        {problem id: key}. The file of a card holds the key.
    families : mapping
        {problem id: family}.
    truths : mapping
        {problem id: truths}; other truths are computed.

    Returns
    -------
    dict
        {problem id: path} of the problems that have a card. Problems whose files are absent, or
        whose posterior is unknown, have none.
    """
    cards = {}
    for name, key in keys.items():
        path = folder / f"{name}.png"
        if not (path.is_file() and key.encode() in path.read_bytes()[:2000]):
            try:
                figure = card(name, families.get(name), truths.get(name))
            except BadInputError:
                continue
            metadata = {"Software": None, "calharness": key}
            with whole_file(path) as temporary:
                figure.savefig(temporary, format="png", dpi=DPI, metadata=metadata)
            pyplot().close(figure)
        cards[name] = path
    return cards


def about(problem_id: str) -> str:
    """Describe a problem in one line.

    Examples
    --------
    >>> bool(about("sparse_k3"))
    True
    """
    text = option("problem", problem_id).about
    return text or (type(load("problem", problem_id, {})).__doc__ or "").strip().split("\n")[0]


def card(problem_id: str, family: str | None = None, truths: Truths | None = None) -> Figure:
    """Draw the card of a problem with a known posterior.

    At the left `draw`. At the right a description, k, and the truths l1 and l2_squared of every
    notion with their errors.

    Parameters
    ----------
    problem_id : str
        Id of conf/problem.
    family : str, optional
        Family in the arena; default the part of the id before the first "_k".
    truths : mapping, optional
        Stored truths. Others are computed.

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
    score, right, name = scores(p, problem.posterior(p))
    figure, axes = pyplot().subplot_mosaic(
        [["map", "text"], ["density", "text"]], figsize=(WIDTH, 3.4), height_ratios=[3.2, 1],
        width_ratios=[1, 1.05], layout="constrained",
    )  # fmt: skip
    figure.set_label(f"Card of the problem {problem_id}")
    draw(axes["map"], axes["density"], score, right, name)
    ax = axes["text"]
    ax.set_axis_off()
    family = family or problem_id.partition("_k")[0]
    text = _text(problem, spec, problem_id, family, score, truths or {})
    ax.text(0.02, 0.98, text, va="top", transform=ax.transAxes, linespacing=1.5)
    return figure  # type: ignore[no-any-return]


def sample(problem: Any, spec: ProblemSpec) -> tuple[np.ndarray, np.ndarray]:
    """Draw (p, y) of ROWS rows, or of as many as the problem has."""
    size = max(spec.sizes) if spec.sizes else min(ROWS, spec.n_max or ROWS)
    rng = spec.replication_rng(0) if spec.replication_rng else np.random.default_rng(0)
    p, y = problem.sample(size, rng)
    return p, y


def scores(p: np.ndarray, c: np.ndarray) -> tuple[np.ndarray, np.ndarray, str]:
    """Return score and posterior of its event from p and posteriors c, and the name of the score.

    For p of shape (n,), the score is P(Y = 1); for (n, k) it is the confidence in the top class.
    """
    if p.ndim == 1:
        return p, c, "score"
    rows, top = np.arange(len(p)), p.argmax(axis=1)
    return p[rows, top], c[rows, top], "confidence"


def draw(above: Any, below: Any, score: np.ndarray, right: np.ndarray, name: str) -> None:
    """Draw posterior against score above, and the histogram of the score below.

    Dots are single rows, a line is their mean given the score, and dashes are the diagonal. Few
    distinct scores have a dot each instead.
    """
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


def _draw_map(ax: Any, score: np.ndarray, right: np.ndarray) -> None:
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


def _text(
    problem: Any, spec: ProblemSpec, name: str, family: str, score: np.ndarray, truths: Truths
) -> str:
    kind = type(problem).__name__
    quantiles = ", ".join(f"{q:.3g}" for q in np.quantile(score, [0.1, 0.5, 0.9]))
    lines = [name, *textwrap.wrap(about(name), 52), ""]
    if kind == "Fitted":
        lines.append(f"truth: the map {problem.chosen}, best on held-out rows")
    lines.append(f"family {family}, {spec.classes} classes, {kind}")
    lines += [f"10, 50, 90 % of the scores: {quantiles}", "", "truths"]
    for notion in spec.notions:
        for estimand in ESTIMANDS:
            pair = f"{notion}|{estimand}"
            if pair in truths:
                value, error = (truths[pair] or (None, None))[:2]
            else:
                truth = truth_of(problem, estimand, notion)
                value, error = (truth.value, truth.error) if truth else (None, None)
            if value is not None:
                with_error = f" ± {error:.0e}" if error and stated_error(error) else ""
                shown = f"{notion.replace('_', ' ')}, {NAMES[estimand]}"
                lines.append(f"{shown}: {value:.5f}{with_error}")
    return "\n".join(lines)
