"""Names, styles and records of certified bounds, shared by the figures of ciosek2026."""

from pathlib import Path
from typing import Any

import pandas as pd

from harness.configure.settings import Settings
from harness.evaluation import items
from harness.evaluation.selection import label
from harness.figures.style import COLOURS

from . import rates

# One row per estimator. `name` is for figures. `colour` is common to a family of bounds. `line` and
# `marker` are solid and full for the paper's bounds. `theory` is the exponent of n in theory, and
# `paper` the paper's name of one of its three bounds.
ESTIMATORS = pd.read_csv(Path(__file__).with_name("estimators.csv"), dtype=str).set_index(
    "estimator"
)


def lookup(estimator: str, column: str, otherwise: Any = None) -> Any:
    """Return the entry of ESTIMATORS for an estimator and a column, or `otherwise` without one."""
    return ESTIMATORS[column].dropna().get(estimator, otherwise)


def name(estimator: str, settings: Settings) -> str:
    """Return the name of an estimator in figures.

    It is the configured label, else the name in ESTIMATORS, else the id.
    """
    configured = label(settings, "estimator", estimator)
    return configured if configured != estimator else lookup(estimator, "name", estimator)


def plain(estimator: str, settings: Settings) -> str:
    """Return the name of an estimator in tables, in plain text instead of TeX."""
    return (
        name(estimator, settings).replace("$", "").replace("h^2", "h²").replace("^{1/3}", "^(1/3)")
    )


def function(problem: str, settings: Settings) -> str:
    """Return the name of a problem: the configured label, else one such as 'sine, perturbed'."""
    configured = label(settings, "problem", problem)
    if configured != problem:
        return configured
    base = problem.removesuffix("_perturbed")
    return base.removeprefix("score_").replace("_", " ") + ", perturbed" * (base != problem)


def with_names(frame: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Sort a frame in the configured order, and add the columns `function` and `bound`.

    `function` is the name of the problem, and `bound` the plain name of the estimator.
    """
    frame = items.in_order(frame, settings)
    functions = [function(problem, settings) for problem in frame["problem"]]
    return frame.assign(
        function=functions, bound=[plain(estimator, settings) for estimator in frame["estimator"]]
    )


def looks(frame: pd.DataFrame, settings: Settings) -> dict[str, dict[str, Any]]:
    """Return {id of an estimator: label and style for matplotlib's plot}.

    Markers are open if the line is not solid.
    """
    rows = {}
    for i, e in enumerate(items.chosen(settings, frame)):
        colour, line = COLOURS[int(lookup(e, "colour", i % 8))], lookup(e, "line", (0, (1, 1)))
        rows[e] = {
            "color": colour,
            "linestyle": line,
            "marker": lookup(e, "marker", "P"),
            "label": name(e, settings),
        }
        rows[e] |= {"markerfacecolor": colour if line == "-" else "white", "markeredgewidth": 0.8}
    return rows


def measured(records: pd.DataFrame) -> pd.DataFrame:
    """Return the records with an estimate of the L1 error, with the columns of `rates.excess`."""
    return rates.excess(items.with_number(records, "l1"))
