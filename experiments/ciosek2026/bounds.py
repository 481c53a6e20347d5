"""Names, styles and numbers that the items on certified bounds share."""

from pathlib import Path

import pandas as pd

from harness.evaluation import items
from harness.evaluation.selection import label
from harness.figures.style import COLOURS

from . import rates

# Table by estimator: name in figures; colour (by family), line and marker (solid and full for the
# paper's form); exponent of n in theory; the paper's name of its three bounds.
ESTIMATORS = pd.read_csv(Path(__file__).with_name("estimators.csv"), dtype=str).set_index(
    "estimator"
)


def lookup(estimator: str, column: str, otherwise=None):
    """Return the entry of ESTIMATORS for an estimator, or `otherwise`."""
    return ESTIMATORS[column].dropna().get(estimator, otherwise)


def name(estimator: str, settings) -> str:
    """Return the name of an estimator in figures: configured, from ESTIMATORS, or its id."""
    given = label(settings, "estimator", estimator)
    return given if given != estimator else lookup(estimator, "name", estimator)


def plain(estimator: str, settings) -> str:
    """Return the name of an estimator in tables, without mathematics."""
    return (
        name(estimator, settings).replace("$", "").replace("h^2", "h²").replace("^{1/3}", "^(1/3)")
    )


def function(problem: str, settings) -> str:
    """Return the name of a problem: configured, or like 'sine' or 'sine, perturbed'."""
    given, base = label(settings, "problem", problem), problem.removesuffix("_perturbed")
    return (
        given
        if given != problem
        else base.removeprefix("score_").replace("_", " ") + ", perturbed" * (base != problem)
    )


def named(frame, settings):
    """Sort a frame as configured; add `function` of the problem and `bound` of the estimator."""
    frame = items.in_order(frame, settings)
    functions = [function(problem, settings) for problem in frame["problem"]]
    return frame.assign(
        function=functions, bound=[plain(estimator, settings) for estimator in frame["estimator"]]
    )


def looks(frame, settings) -> dict[str, dict]:
    """Return {estimator: name and style for plot}; markers are open if the line is not solid."""
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


def measured(records):
    """rates.excess of the L1 records that carry a number."""
    return rates.excess(items.with_number(records, "l1"))
