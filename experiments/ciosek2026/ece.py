"""Where the fixed-bin heuristic fails: the fourth function oscillates once per bin, and what cancels inside a bin is not seen at
any n. Beside it the certified interval, which holds the truth, at the price of its width."""

import numpy as np
import pandas as pd

from experiments.ciosek2026 import bounds
from harness.report import items, panels
from harness.report.style import COLOURS

FIXED, GROWING = "binned15", "binned, n^(1/3) bins"
NAMES = {FIXED: "15 bins", GROWING: "n^(1/3) bins"}
INTERVALS = ("certified_interval_perturbed", "certified_interval")  # the first that a problem has is shown


def estimates(records):
    """The records of the heuristic: 15 bins, and, under one name, those of the binned estimator whose number of bins is n^(1/3)
    rounded."""
    found = bounds.measured(records)
    binned = found[found["estimator"].str.fullmatch(r"binned\d+")]
    count = binned["estimator"].str.removeprefix("binned").astype(int)
    growing = binned[count.eq(np.round(binned["n"] ** (1 / 3)).astype(int))].assign(estimator=GROWING)
    return pd.concat([binned[binned["estimator"].eq(FIXED)], growing], ignore_index=True)


def interval(records, problem):
    """The records of the interval to show for a problem, empty if it has none."""
    found = bounds.measured(records)
    found = found[found["problem"].eq(problem) & found["estimator"].isin(INTERVALS)]
    return found[found["estimator"].eq(min(found["estimator"], key=INTERVALS.index, default=None))]


def render(records, config):
    """One panel per function: mean estimates (bars: standard deviation of one sample) and the mean certified interval as a band
    against n; dashed the true value."""
    heuristic = estimates(records)
    means = items.means(heuristic, ["problem", "estimator", "truth", "n"])
    look = {"color": COLOURS[5], "alpha": 0.3, "linewidth": 0, "label": "certified interval, 95 %"}

    def draw(ax, problem):
        band, mine = interval(records, problem).groupby("n")[["low", "high"]].mean(), means[means["problem"].eq(problem)]
        ax.fill_between(band.index, band["low"], band["high"], **look)
        for name, colour, marker in ((FIXED, 1, "o"), (GROWING, 0, "s")):
            how = {"color": COLOURS[colour], "marker": marker, "label": NAMES[name].replace("n^(1/3)", "$n^{1/3}$")}
            panels.curve(ax, mine[mine["estimator"].eq(name)], error="sd", **how)
        panels.truth_line(ax, mine)
        ax.set(xscale="log", ylim=(0.0, 0.45), title=bounds.function(problem, config))

    problems, ylabel = items.chosen(config, heuristic, "problem"), "$L_1$ calibration error"
    return panels.each(problems, draw, 1.75, ylabel, per_row=4, columns=4, sharex=True, sharey="row")


def table(records, config):
    """By function and n: the truth, both estimates as mean ± standard deviation of one sample and how far they are from the
    truth, and the mean certified interval with its coverage."""
    means, rows = items.means(estimates(records), ["problem", "n", "truth", "estimator"]).sort_values("n", kind="stable"), {}
    for r in items.in_order(means, config, "problem").itertuples():
        row = rows.setdefault((bounds.function(r.problem, config), f"{r.n:,}"), {"truth": items.entry(r.truth)})
        row[NAMES[r.estimator]] = items.entry(r.mean, r.sd)
        row[f"{NAMES[r.estimator]} - truth"] = f"{r.mean - r.truth:+.4f}"
        mine = interval(records, r.problem).query("n == @r.n")
        if len(mine) and "covers" not in row:
            held = mine["low"].le(mine["truth"]) & mine["truth"].le(mine["high"])
            row |= {
                "certified interval": f"{mine['low'].mean():.4f} to {mine['high'].mean():.4f}",
                "covers": f"{held.mean():.3f}",
            }
    first = ["truth", *(column for text in NAMES.values() for column in (text, f"{text} - truth"))]
    heading = "estimates: mean ± standard deviation of one sample; interval: mean ends, 95 %"
    return items.wide(rows, ["function", "n"], heading, first)


def reproduced(records, config):
    """Mean estimates by rows '<problem id>, n = <n>'; the paper gives no number."""
    both = [estimates(records), records[records["estimator"].isin(INTERVALS)]]
    return items.answers(bounds.means(pd.concat(both, ignore_index=True), config), config)
