"""Binned ECE with a fixed number of bins, on a function that oscillates once in each bin.

Errors that cancel inside a bin stay hidden at any sample size n. A certified interval contains the
true error at every n, but it is wide.
"""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from harness.common import wording
from harness.configure.settings import Settings
from harness.evaluation import items, text_tables
from harness.figures import panels
from harness.figures.style import COLOURS

from . import bounds, rates

FIXED, GROWING = "binned15", "binned, n^(1/3) bins"
NAMES = {FIXED: "ECE, 15 bins", GROWING: "ECE, n^(1/3) bins"}
# If a problem has both intervals, the second one is shown.
INTERVALS = ("certified_interval", "certified_interval_perturbed")


def estimates(records: pd.DataFrame) -> pd.DataFrame:
    """Return the records of binned ECE with 15 bins, and with n^(1/3) bins.

    For each n, the estimator whose number of bins is n^(1/3), rounded, gets the name GROWING.
    """
    numbers = bounds.measured(records)
    binned = numbers[numbers["estimator"].str.fullmatch(r"binned\d+")]
    count = binned["estimator"].str.removeprefix("binned").astype(int)
    growing = binned[count.eq(np.round(binned["n"] ** (1 / 3)).astype(int))].assign(
        estimator=GROWING
    )
    return pd.concat([binned[binned["estimator"].eq(FIXED)], growing], ignore_index=True)


def intervals(records: pd.DataFrame) -> pd.DataFrame:
    """Return the mean ends and the coverage of the certified interval, by problem and n.

    If a problem has both kinds of interval, the one for perturbed scores counts.
    """
    numbers = bounds.measured(records[records["estimator"].isin(INTERVALS)])
    return rates.mean_intervals(
        numbers[numbers["estimator"].eq(numbers.groupby("problem")["estimator"].transform("max"))]
    )


def render(records: pd.DataFrame, settings: Settings) -> Figure:
    """Draw one panel per function against n, with all values divided by the true error.

    Lines are mean estimates with the standard deviation of one sample. A band spans the mean ends
    of the certified interval.
    """
    heuristic, cells = estimates(records), intervals(records)
    means = items.means(heuristic, ["problem", "estimator", "truth", "n"])
    means = means.assign(mean=means["mean"] / means["truth"], sd=means["sd"] / means["truth"])
    true = heuristic.groupby("problem")["truth"].first()
    relative = cells["problem"].map(true).astype(float)  # without a number there is no type either
    cells[["low", "high"]] = cells[["low", "high"]].astype(float).div(relative, axis=0)
    look = {"color": COLOURS[5], "alpha": 0.3, "linewidth": 0, "label": "certified interval, 95 %"}

    def draw(ax: Axes, problem: str) -> None:
        """Draw the panel of one problem."""
        band, mine = (frame[frame["problem"].eq(problem)] for frame in (cells, means))
        ax.fill_between(band["n"], band["low"], band["high"], **look)
        for name, colour, marker in ((FIXED, 1, "o"), (GROWING, 0, "s")):
            how = {
                "color": COLOURS[colour],
                "marker": marker,
                "label": NAMES[name].replace("n^(1/3)", "$n^{1/3}$"),
            }
            panels.curve(ax, mine[mine["estimator"].eq(name)], error="sd", **how)
        panels.rule(ax, 1.0, label="true value (CE)")
        name = bounds.function(problem, settings).replace(", perturbed", ", pert.")
        ax.set(xscale="log", ylim=(0.0, 2.2), title=f"{name}, CE = {true[problem]:.4f}")

    shape = {"height": 1.75, "per_row": 4, "columns": 4, "sharex": True, "sharey": True}
    return panels.each(
        items.chosen(settings, heuristic, "problem"), draw, ylabel="estimate / true value", **shape
    )


def table(records: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Return a table of texts with one row per function and n.

    The columns are the true error, mean estimates, their distances from the true error, the mean
    ends of the certified interval, and its coverage.
    """
    means, rows = items.means(estimates(records), ["problem", "n", "truth", "estimator"]), {}
    means = means.merge(intervals(records), "left").sort_values("n", kind="stable")
    for r in items.in_order(means, settings, "problem").itertuples():
        text, row = (
            NAMES[r.estimator],
            rows.setdefault((bounds.function(r.problem, settings), f"{r.n:,}"), {}),
        )
        row |= {
            "truth": wording.format_fixed(r.truth),
            text: wording.format_fixed(r.mean, r.sd),
            f"{text} - truth": f"{r.mean - r.truth:+.4f}",
        }
        if pd.notna(r.low):
            row |= {
                "certified interval": f"{r.low:.4f} to {r.high:.4f}",
                "covers": f"{r.covers:.3f}",
            }
    first = ["truth", *(column for text in NAMES.values() for column in (text, f"{text} - truth"))]
    heading = "estimates: mean ± standard deviation of one sample; interval: mean ends, 95 %"
    return text_tables.wide(rows, ["function", "n"], heading, first)


def reproduced(records: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Return our mean estimates in rows '<problem id>, n = <n>'.

    The summary of the paper has no number of ECE. The reported ones are those of an independent
    second implementation.
    """
    rows = pd.concat(
        [estimates(records), records[records["estimator"].isin(INTERVALS)]], ignore_index=True
    )
    return items.answers(rates.numbers_by_id(rows, settings, "l1"), settings)
