"""Certified upper bounds on the error of perturbed predictions, against the sample size n.

The width of the perturbation is h = 2^-6. The summary of the paper reports a bound of about 0.02 at
n = 10^7 on real data sets. The perturbation moves a score S0 to S and changes the calibration error
by at most the mean shift E|S - S0| (estimator `mean_shift`), which is at most 1.166 h.
"""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from harness.common import wording
from harness.configure.settings import Settings
from harness.evaluation import items, text_tables
from harness.figures import panels

from . import bounds, drawing, rates

LAST_N, SHIFT, PAPER_STYLE = 10_000_000, "mean_shift", "nw_kfold_first_order"
LEVEL = 0.02  # of the bound that the paper reaches at n = LAST_N


def measured(records: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return two frames: the records of the bounds, and the mean shift of each problem.

    The second frame is indexed by problem. Its columns are `value`, the mean shift E|S - S0|, and
    `h`, the width of the perturbation. Both are NaN if the problem does not know them.
    """
    frame = bounds.measured(records)
    shift = frame[frame["estimator"].eq(SHIFT)].drop_duplicates("problem").set_index("problem")
    moved = (
        shift[["value"]]
        .join(items.diagnostics(shift).reindex(columns=["h"]))
        .reindex(frame["problem"].unique())
    )
    return frame[frame["estimator"].ne(SHIFT)], moved.astype(float)


def render(records: pd.DataFrame, settings: Settings) -> Figure:
    """Draw one panel per problem with mean bounds against n, on logarithmic axes.

    A bound of 0 is drawn on the lower edge. A dashed line is the true error, if it is known. A
    dotted line is the mean shift E|S - S0|. A diamond at n = 10^7 is the paper's 0.02.
    """
    frame, moved = measured(records)
    means = items.means(frame, ["problem", "estimator", "n"])
    drawn = np.r_[means["mean"], frame["truth"].dropna()]
    bottom = 10.0 ** np.floor(np.log10(min(drawn[drawn > 0], default=1.0)))
    look = {
        "color": "0.35",
        "markerfacecolor": "white",
        "markersize": 5,
        "linestyle": "none",
        "zorder": 5,
    }

    def draw(ax: Axes, problem: str) -> None:
        """Draw the panel of one problem."""
        mine, distance = frame[frame["problem"].eq(problem)], moved["value"][problem]
        drawing.means(ax, mine, bounds.looks(mine, settings), "value")
        none = means[means["problem"].eq(problem) & means["mean"].eq(0.0)]
        on_edge = {
            "linestyle": "none",
            "color": "black",
            "markerfacecolor": "white",
            "clip_on": False,
            "zorder": 6,
        }
        if len(none):  # an empty line that is not clipped has no extent to lay out
            ax.plot(
                none["n"], np.full(len(none), bottom), label="lower bound, 0", marker="v", **on_edge
            )
        ax.set_yscale("log", nonpositive="mask")
        ax.set_ylim(bottom, 1.3)
        panels.truth_line(ax, mine[mine["truth"].gt(0)])
        if pd.notna(distance):
            ax.axhline(distance, color="0.2", linestyle=":", linewidth=1.0, label="$E|S - S_0|$")
        ax.plot(
            LAST_N,
            items.printed(settings, "bound")["value"].iloc[0],
            "D",
            label="paper, $n = 10^7$",
            **look,
        )
        ax.set_title(bounds.function(problem, settings))

    more = {"sharex": True, "sharey": True, "columns": 5}
    return panels.each(
        items.chosen(settings, frame, "problem"), draw, 2.2, "bound on the $L_1$ error", **more
    )


def table(records: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Return a table of texts with one row per problem and bound.

    The columns are the mean bound at each n, the true error, the width h, the mean shift E|S - S0|
    and its upper bound 1.166 h.
    """
    frame, moved = measured(records)
    means = bounds.with_names(
        items.means(frame, ["problem", "estimator", "truth", "n"]).sort_values("n"), settings
    )
    rows = text_tables.entries(means, ("{function}", "{bound}"), "n = {n:,}")
    for r in means.drop_duplicates(["problem", "estimator"]).itertuples():
        distance, h = moved.loc[r.problem]
        rows[r.function, r.bound] |= {
            "true value": wording.format_fixed(r.truth),
            "h": f"{h:.6g}" if pd.notna(h) else "–",
        }
        rows[r.function, r.bound] |= {
            "E|S - S0|": wording.format_fixed(distance),
            "1.166 h": wording.format_fixed(1.16624361 * h),
        }
    heading = "mean bound ± standard error over the samples, level 95 %"
    return text_tables.wide(rows, ["predictions", "bound"], heading, rates.size_columns(frame))


def reproduced(records: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Return our bound at n = 10^7, and the number of samples that a bound of 0.02 needs.

    The bound has the form of the paper's NW bound (kernel smoothing).

    Both belong to other predictions than the paper's, so they are not judged.
    """
    frame, why = measured(records)[0], settings.reasons["data"]
    frame = frame[frame["estimator"].eq(PAPER_STYLE)]
    printed = items.printed(settings)[["row", "column"]]
    at_end = items.means(frame[frame["n"].eq(LAST_N)], ["estimator"])
    ours = items.numbers(
        printed[printed["row"].str.endswith(f"n = {LAST_N:,}")].merge(at_end, "cross"),
        "{row}",
        "{column}",
        why=why,
    )
    sizes = samples_needed(frame)
    if sizes.notna().all() and len(sizes):
        most = pd.DataFrame([{"value": sizes.max(), "keys": tuple(frame["key"])}])
        row = items.numbers(
            most, f"bound of {LEVEL:g}", "samples needed", "value", None, None, why=why
        )
        ours = items.together(ours, row)
    return items.answers(ours, settings, why)


def samples_needed(frame: pd.DataFrame) -> pd.Series:
    """Return, for each problem, the sample size n at which the mean bound is 0.02.

    It is interpolated linearly in the logarithms of n and of the bound. It is NaN if all mean
    bounds are above 0.02, or all are below it.
    """
    sizes = {}
    for problem, part in (
        items.means(frame, ["problem", "n"]).sort_values("n").groupby("problem", sort=False)
    ):
        n, mean = np.log(part["n"].to_numpy(float)), np.log(part["mean"].to_numpy(float))
        reached = len(part) > 1 and mean.min() <= np.log(LEVEL) <= mean.max()
        sizes[problem] = (
            np.exp(np.interp(np.log(LEVEL), mean[::-1], n[::-1])) if reached else np.nan
        )
    return pd.Series(sizes, dtype=float)
