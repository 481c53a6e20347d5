"""What the items on certified bounds share: names and looks, and numbers beside an independent prototype's."""

from pathlib import Path

import pandas as pd

from harness.evaluation import items
from harness.evaluation.selection import label
from harness.figures.style import COLOURS

from . import rates

# By estimator: its name in figures; colour by family, line and marker (the paper's form is solid, full); the exponent of n in
# theory; the paper's name of its three bounds.
ESTIMATORS = pd.read_csv(Path(__file__).with_name("estimators.csv"), dtype=str).set_index(
    "estimator"
)


def said(estimator: str, column: str, otherwise=None):
    """What ESTIMATORS says about an estimator, else `otherwise`."""
    return ESTIMATORS[column].dropna().get(estimator, otherwise)


def name(estimator: str, settings) -> str:
    """How an estimator is called in figures: as configured, else as here, else by its id."""
    given = label(settings, "estimator", estimator)
    return given if given != estimator else said(estimator, "name", estimator)


def plain(estimator: str, settings) -> str:
    """How it is called in tables: without the mathematics of figures."""
    return (
        name(estimator, settings).replace("$", "").replace("h^2", "h²").replace("^{1/3}", "^(1/3)")
    )


def function(problem: str, settings) -> str:
    """How a problem is called: as configured, else as in 'sine' or 'sine, perturbed'."""
    given, base = label(settings, "problem", problem), problem.removesuffix("_perturbed")
    return (
        given
        if given != problem
        else base.removeprefix("score_").replace("_", " ") + ", perturbed" * (base != problem)
    )


def named(frame, settings):
    """The frame in the configuration's order, with the names `function` of the problem and `bound`, plain, of the estimator."""
    frame = items.in_order(frame, settings)
    functions = [function(problem, settings) for problem in frame["problem"]]
    return frame.assign(
        function=functions, bound=[plain(estimator, settings) for estimator in frame["estimator"]]
    )


def looks(frame, settings) -> dict[str, dict]:
    """By estimator of the frame: its name and look for matplotlib's plot, open markers where the line is not solid."""
    found = {}
    for i, e in enumerate(items.chosen(settings, frame)):
        colour, line = COLOURS[int(said(e, "colour", i % 8))], said(e, "line", (0, (1, 1)))
        found[e] = {
            "color": colour,
            "linestyle": line,
            "marker": said(e, "marker", "P"),
            "label": name(e, settings),
        }
        found[e] |= {"markerfacecolor": colour if line == "-" else "white", "markeredgewidth": 0.8}
    return found


def measured(records):
    """rates.excess of the L1 records that carry a number."""
    return rates.excess(items.with_number(records, "l1"))
