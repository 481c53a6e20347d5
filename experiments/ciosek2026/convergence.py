"""Every certified bound against n on functions with a known calibration error: how far above the truth it is, and how fast that
falls. The paper prints the range of its log-log slopes over its four functions; whether they are of bound - CE is not known, nor
are the functions, delta and the number of folds."""

import numpy as np
import pandas as pd

from experiments.ciosek2026 import bounds
from harness.report import items, panels, reproduction

RANGES = {"nw_kfold_first_order": "NW", "tv_kfold": "TV", "lip_bkt": "Lip+Bkt"}  # rows of the reported item `slopes`
ENDS = ("slope, steepest", "slope, flattest")
THEORY = {
    "nw_kfold_first_order": "-1/3", "nw_kfold_ciosek2026": "-2/5", "nw_kfold": "-2/5", "nw_jensen": "-2/5",
    "nw_jensen_histogram": "-2/5", "tv_kfold": "-1/4", "tv_kfold_basic": "-1/4", "tv_insample": "-1/4", "bv_window": "-1/3",
    "lip_bkt": "-1/3", "lip_bkt_jensen": "-1/3",
}  # fmt: skip


def render(records, config):
    """One panel per function: mean of bound - CE against n, both axes logarithmic; a cross where a bound is vacuous (1). Grey:
    the slope -1/3, the paper's theoretical rate of NW and Lip+Bkt."""
    found = bounds.measured(records)
    problems = items.chosen(config, found, "problem")
    if not problems:
        return panels.nothing()
    figure, axes = panels.panels(len(problems), sharex=True, sharey=True)
    chosen = items.chosen(config, found[found["kind"].eq("upper")])
    drawn = found[found["estimator"].isin(chosen)]
    sizes = np.array(sorted(drawn["n"].unique()), float)
    least = drawn.loc[drawn["n"].eq(sizes[0]) & drawn["excess"].gt(0), "excess"].min() if len(sizes) > 1 else np.nan
    for k, (ax, problem) in enumerate(zip(axes, problems)):
        mine = found[found["problem"].eq(problem) & found["truth"].notna()]
        for i, estimator in enumerate(chosen):
            by = mine[mine["estimator"].eq(estimator)].groupby("n")
            line, vacuous = by["excess"].mean(), by["vacuous"].any().astype(bool)
            ax.plot(line.index, line, label=bounds.name(estimator, config), **bounds.style(estimator, i))
            ax.plot(line.index[vacuous], line[vacuous], "x", color="0.2", markersize=6, zorder=4)
        if least == least:
            guide = {"color": "0.6", "linewidth": 0.8, "label": "slope $-1/3$", "zorder": 1}
            ax.plot(sizes, 0.3 * least * (sizes / sizes[0]) ** (-1 / 3), **guide)
        truth = mine["truth"].iloc[0] if len(mine) else np.nan
        ax.set_title(f"{bounds.function(problem, config).removesuffix(', perturbed')}, CE = {truth:.4f}")
        ax.set(xscale="log", yscale="log", ylabel="" if k % 3 else "bound $-$ CE")
    panels.legend(figure, axes, columns=5)
    return figure


def table(records, config):
    """By function and bound: slope with its standard error, over the first and the last decade, in theory; for the paper-style
    bounds the paper's range and whether the slope is inside; the mean bound at every n (vacuous ones are left out of the fit)."""
    mean = items.evaluated(records, config, "l1").set_index(["problem", "estimator"])
    rows = {}
    for r in bounds.slopes(records, config).itertuples():
        of_it, (low, high) = mean.loc[[(r.problem, r.estimator)]].sort_values("n"), paper_range(r.estimator)
        row = rows[bounds.function(r.problem, config), bounds.plain(r.estimator, config)] = {
            "CE": items.entry(of_it["truth"].iloc[0])
        }
        if of_it["kind"].isin(["upper", "lower"]).any():
            row |= {
                "slope": items.entry(r.slope, r.se, 3) + (f" (n ≥ {r.n_min:,.0f})" if r.left_out and r.slope == r.slope else ""),
                "first decade": items.entry(r.first, digits=3),
                "last decade": items.entry(r.last, digits=3),
                "theory": THEORY.get(r.estimator, "–"),
                "paper's range": f"{low} to {high}" if low == low else "–",
                "verdict": verdict(r.slope, r.estimator),
            }
        row |= {f"n = {one.n:,}": items.entry(one.mean, one.se) for one in of_it.itertuples()}
    heading = "slope of log(mean of bound - CE) on log n, ± jackknife error; mean bounds"
    return items.wide(rows, ["function", "bound"], heading)


def paper_range(estimator):
    """(steepest, flattest) slope of the paper's bound of that form, NaN without one."""
    printed = reproduction.reported("ciosek2026", ["slopes"]).set_index(["row", "column"])["value"]
    return tuple(float(printed.get((RANGES.get(estimator), end), np.nan)) for end in ENDS)


def verdict(slope, estimator):
    """inside | steeper | flatter than the paper's range, a dash where there is no slope or no range."""
    low, high = paper_range(estimator)
    if slope != slope or low != low:
        return "–"
    return "steeper" if slope < low else "flatter" if slope > high else "inside"


def reproduced(records, config):
    """The steepest and the flattest slope over the paper's number of functions, beside its range and not judged by it: the
    functions are others; and the mean bounds, beside the prototype's."""
    fits = bounds.slopes(records, config)
    fits = fits[fits["problem"].str.removesuffix("_perturbed").isin(bounds.THE_FOUR) & fits["slope"].notna()]
    ends = [
        fits[fits["estimator"].eq(e)].sort_values("slope").iloc[[0, -1]].assign(end=ENDS)
        for e in RANGES
        if e in set(fits["estimator"])
    ]
    found = pd.concat(ends) if ends else fits
    found = found.assign(bound=found["estimator"].map(RANGES))
    slopes = items.numbers(found, "{bound}", "{end}", "slope", why=config["reasons"]["slopes"])
    others = [i for i in config["compare"] if i != "slopes"]
    return items.joined(
        [items.answers(slopes, config, items=["slopes"]), items.answers(bounds.means(records, config), config, items=others)]
    )
