"""The certified bound on perturbed predictions against n, h = 2^-6; the paper: about 0.02 at n = 10^7 on its real data sets.
Beside it E|S - S0| (`mean_shift`): by up to it the perturbation changes the error itself; at most 4 G / pi h = 1.166 h."""

import numpy as np
import pandas as pd

from harness.common import wording
from harness.evaluation import items, text_tables
from harness.figures import panels

from . import bounds, drawing, rates

AT, SHIFT, PAPER_STYLE = 10_000_000, "mean_shift", "nw_kfold_first_order"
LEVEL = 0.02  # of the bound that the paper reaches at n = AT


def measured(records):
    """The numbers of the bounds; by problem E|S - S0| as `value`, and `h`, NaN where a problem does not say."""
    found = bounds.measured(records)
    shift = found[found["estimator"].eq(SHIFT)].drop_duplicates("problem").set_index("problem")
    moved = (
        shift[["value"]]
        .join(items.diagnostics(shift).reindex(columns=["h"]))
        .reindex(found["problem"].unique())
    )
    return found[found["estimator"].ne(SHIFT)], moved.astype(float)


def render(records, settings):
    """One panel per problem: mean bounds against n (log-log), those of 0 on the lower edge, dashed the true value where known,
    dotted E|S - S0|; the paper's 0.02 at 10^7."""
    found, moved = measured(records)
    means = items.means(found, ["problem", "estimator", "n"])
    drawn = np.r_[means["mean"], found["truth"].dropna()]
    bottom = 10.0 ** np.floor(np.log10(min(drawn[drawn > 0], default=1.0)))
    look = {
        "color": "0.35",
        "markerfacecolor": "white",
        "markersize": 5,
        "linestyle": "none",
        "zorder": 5,
    }

    def draw(ax, problem):
        mine, distance = found[found["problem"].eq(problem)], moved["value"][problem]
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
        if distance == distance:
            ax.axhline(distance, color="0.2", linestyle=":", linewidth=1.0, label="$E|S - S_0|$")
        ax.plot(
            AT,
            items.printed(settings, "bound")["value"].iloc[0],
            "D",
            label="paper, $n = 10^7$",
            **look,
        )
        ax.set_title(bounds.function(problem, settings))

    more = {"sharex": True, "sharey": True, "columns": 5}
    return panels.each(
        items.chosen(settings, found, "problem"), draw, 2.2, "bound on the $L_1$ error", **more
    )


def table(records, settings):
    """By problem and bound: mean bound at every n, the true value, h, E|S - S0| and 1.166 h."""
    found, moved = measured(records)
    means = bounds.named(
        items.means(found, ["problem", "estimator", "truth", "n"]).sort_values("n"), settings
    )
    rows = text_tables.entries(means, ("{function}", "{bound}"), "n = {n:,}")
    for r in means.drop_duplicates(["problem", "estimator"]).itertuples():
        distance, h = moved.loc[r.problem]
        rows[r.function, r.bound] |= {
            "true value": wording.format_fixed(r.truth),
            "h": f"{h:.6g}" if h == h else "–",
        }
        rows[r.function, r.bound] |= {
            "E|S - S0|": wording.format_fixed(distance),
            "1.166 h": wording.format_fixed(1.16624361 * h),
        }
    heading = "mean bound ± standard error over the samples, level 95 %"
    return text_tables.wide(rows, ["predictions", "bound"], heading, rates.size_columns(found))


def reproduced(records, settings):
    """The paper-style bound at n = 10^7 for every reported data set, and the samples that it needs to be 0.02, of other
    predictions and so not judged."""
    found, why = measured(records)[0], settings.reasons["data"]
    found = found[found["estimator"].eq(PAPER_STYLE)]
    asked = items.printed(settings)[["row", "column"]]
    at_end = items.means(found[found["n"].eq(AT)], ["estimator"])
    ours = items.numbers(
        asked[asked["row"].str.endswith(f"n = {AT:,}")].merge(at_end, "cross"),
        "{row}",
        "{column}",
        why=why,
    )
    sizes = needed(found)
    if sizes.notna().all() and len(sizes):
        most = pd.DataFrame([{"value": sizes.max(), "keys": tuple(found["key"])}])
        row = items.numbers(
            most, f"bound of {LEVEL:g}", "samples needed", "value", None, None, why=why
        )
        ours = items.together(ours, row)
    return items.answers(ours, settings, why)


def needed(found) -> pd.Series:
    """By problem: the n at which the mean bound is `LEVEL`, by linear interpolation of the logarithms; NaN where it is not
    reached."""
    sizes = {}
    for problem, part in (
        items.means(found, ["problem", "n"]).sort_values("n").groupby("problem", sort=False)
    ):
        n, mean = np.log(part["n"].to_numpy(float)), np.log(part["mean"].to_numpy(float))
        reached = len(part) > 1 and mean.min() <= np.log(LEVEL) <= mean.max()
        sizes[problem] = (
            np.exp(np.interp(np.log(LEVEL), mean[::-1], n[::-1])) if reached else np.nan
        )
    return pd.Series(sizes, dtype=float)
