"""Appendix A: three calibration errors of a toy model, as functions of one probability.

The model predicts 0.3 with probability p and 0.6 otherwise. The true probability is always 0.5.
The figure shows exact values of CKCE, JKCE and ECE, and the formulas that the paper prints for
them. The paper's formula of ECE exchanges p and 1 - p. The figure also shows the effect of the
ridge on CKCE.
"""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from harness.configure.settings import Settings
from harness.evaluation import items, text_tables
from harness.figures import panels
from harness.figures.style import COLOURS

from . import drawing, metrics
from .population_metrics import SIZES

METRICS, FORMULA, RIDGE = ("CKCE", "JKCE", "ECE"), "ECE, paper's formula", "CKCE, ridge of n = {:,}"


def exact(records: pd.DataFrame) -> pd.DataFrame:
    """Return the exact values of CKCE, JKCE and ECE, one row per probability p and metric.

    They come from the diagnostics of the estimator `population`.
    """
    return _with_p(metrics.by_diagnostic(records, "population", weights="weights"))


def printed() -> pd.DataFrame:
    """Return the paper's formulas of CKCE, JKCE and ECE at p = 0.05, 0.1, ..., 0.95."""
    p = np.linspace(0.05, 0.95, 19)
    lines = {"CKCE": 0.1 + 0.0 * p, "JKCE": 0.1 * p**2 - 0.04 * p + 0.02, "ECE": 0.4 - 0.2 * p}
    parts = [pd.DataFrame({"p": p, "value": y, "column": name}) for name, y in lines.items()]
    return pd.concat(parts, ignore_index=True)


def estimates(records: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Return the mean estimates over the draws, one row per probability p, size n and metric."""
    return items.means(
        _with_p(metrics.values(records, settings, "weights")), ["row", "p", "n", "column"]
    )


def _with_p(frame: pd.DataFrame) -> pd.DataFrame:
    """Add the columns `p` (the first of the weights) and `row`, its name in reported.csv."""
    p = [float(weights[0]) for weights in frame["weights"]]
    return frame.assign(p=p, row=[f"p = {w:.2f}" for w in p])


def render(records: pd.DataFrame, settings: Settings) -> Figure:
    """Draw exact values beside the paper's formulas, and CKCE with the ridge of its estimates.

    Both panels have the probability p on the x axis.
    """
    population, means, formulas = exact(records), estimates(records, settings), printed()
    figure, ((left, right),) = panels.grid(1, 2, 2.9)
    for i, metric in enumerate(METRICS):
        drawing.column_line(left, formulas, metric, "p", **panels.look(i, filled=False))
        drawing.column_line(left, population, metric, "p", color=COLOURS[i], label=metric)
    left.plot([], [], **panels.look(0, filled=False, label="paper's formula") | {"color": "0.4"})
    left.set(
        title="exact values, no ridge",
        xlabel="$p = P(x = 0)$",
        ylabel="calibration error",
        ylim=(0, 0.5),
    )
    left.text(0.78, 0.2, "paper: ECE = 0.4 - 0.2 p", ha="right", fontsize=6.5, color=COLOURS[2])
    left.text(0.7, 0.37, "exact: ECE = 0.2 + 0.2 p", ha="right", fontsize=6.5, color=COLOURS[2])
    left.legend(ncols=2, loc="upper center")
    drawing.column_line(
        right, population, "CKCE", "p", color="0.2", linestyle="--", label="no ridge"
    )
    for i, n in enumerate(SIZES):
        drawing.column_line(
            right,
            population,
            RIDGE.format(n),
            "p",
            color=COLOURS[i],
            label=rf"$n = 10^{{{len(str(n)) - 1}}}$",
        )
        mine = means[means["column"].eq("CKCE, 1{p = q}") & means["n"].eq(n)]
        # side by side, because the bars would hide each other
        mine = mine.assign(p=mine["p"] + 0.008 * (i - 1))
        panels.curve(
            right,
            mine,
            "p",
            error="sd",
            linestyle="none",
            marker="o",
            markersize=2.5,
            color=COLOURS[i],
        )
    right.set(
        title=r"CKCE with the ridge $n^{-1/4}$; marks: estimates",
        xlabel="$p = P(x = 0)$",
        ylabel="CKCE",
        ylim=(0, 0.16),
    )
    right.legend(ncols=3, loc="upper center")
    return figure


def table(records: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Return a table of texts with one row per probability p.

    The columns are exact values, the paper's formula of ECE, CKCE with a ridge, and mean estimates.
    """
    population, formulas, first = (
        exact(records),
        printed(),
        [*METRICS, FORMULA, RIDGE.format(1000)],
    )
    rows = text_tables.entries(
        population[population["column"].isin(first)], ["{p:.2f}"], "{column}", "value", None
    )
    text_tables.entries(
        formulas[formulas["column"].eq("ECE")], ["{p:.2f}"], FORMULA, "value", None, into=rows
    )
    text_tables.entries(
        estimates(records, settings), ["{p:.2f}"], "{column}, n = {n:,}", "mean", "sd", into=rows
    )
    return text_tables.wide(rows, ["p"], "exact; estimates: mean ± standard deviation", first)


def reproduced(records: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Return our exact values for the reported numbers.

    Each of the paper's three formulas is one reported number: its value at p = 0.05.
    """
    return metrics.answers([items.exact(exact(records), "{row}", "{column}")], records, settings)
