"""Every certified bound against n on functions with a known calibration error: how far above the truth it is, and how fast that
falls. The paper prints the range of its log-log slopes over its four functions; whether they are of bound - CE is not known, nor
are the functions, delta and the number of folds."""

import numpy as np
import pandas as pd

from experiments.ciosek2026 import bounds
from harness.report import reproduction
from harness.report.tables import summary as plain_summary

RANGES = {"nw_kfold_first_order": "NW", "tv_kfold": "TV", "lip_bkt": "Lip+Bkt"}  # rows of the reported item `slopes`
ENDS = ("slope, steepest", "slope, flattest")
THEORY = {
    "nw_kfold_first_order": "-1/3", "nw_kfold_ciosek2026": "-2/5", "nw_kfold": "-2/5", "nw_jensen": "-2/5",
    "nw_jensen_histogram": "-2/5", "tv_kfold": "-1/4", "tv_kfold_basic": "-1/4", "tv_insample": "-1/4", "bv_window": "-1/3",
    "lip_bkt": "-1/3", "lip_bkt_jensen": "-1/3",
}  # fmt: skip


def render(records, config):
    """One panel per function: mean of bound - CE against n, both axes logarithmic; a cross where a bound is vacuous (1)."""
    found = bounds.measured(records)
    panels = bounds.problems(config, found)
    if not panels:
        return bounds.nothing()
    figure, axes = bounds.grid(len(panels), sharex=True, sharey=True)
    chosen = [e for e in bounds.shown(config, found) if found.loc[found["estimator"].eq(e), "kind"].eq("upper").any()]
    for ax, problem in zip(axes, panels):
        mine = found[found["problem"].eq(problem) & found["truth"].notna()]
        for i, estimator in enumerate(chosen):
            by = mine[mine["estimator"].eq(estimator)].groupby("n")
            line, vacuous = by["excess"].mean(), by["vacuous"].any()
            look = bounds.style(estimator, i)
            ax.plot(line.index, line, label=bounds.name(estimator, config), **look)
            if vacuous.any():
                ax.plot(line.index[vacuous], line[vacuous], "x", color="0.2", markersize=6, zorder=4)
        ax.set_xscale("log")
        ax.set_yscale("log")
        truth = mine["truth"].iloc[0] if len(mine) else np.nan
        ax.set_title(f"{bounds.function(problem, config).removesuffix(', perturbed')}, CE = {truth:.4f}")
    _guide(axes, found[found["estimator"].isin(chosen)])
    for ax in axes[:: min(3, len(axes))]:
        ax.set_ylabel("bound $-$ CE")
    bounds.legend(figure, axes, columns=5)
    return figure


def _guide(axes, found):
    """Grey lines of slope -1/3, the paper's theoretical rate of NW and Lip+Bkt, below the first panel's bounds."""
    sizes = np.array(sorted(found["n"].unique()), float)
    least = found.loc[found["n"].eq(sizes[0]) & found["excess"].gt(0), "excess"].min()
    if len(sizes) > 1 and least == least:
        for ax in axes:
            ax.plot(
                sizes, 0.3 * least * (sizes / sizes[0]) ** (-1 / 3), color="0.6", linewidth=0.8, label="slope $-1/3$", zorder=1
            )


def table(records, config):
    """By function and bound: slope with its standard error, over the first and the last decade, in theory; for the paper-style
    bounds the paper's range and whether the slope is inside; the mean bound at every n (vacuous ones are left out of the fit)."""
    mean = plain_summary(records, config)
    mean = mean[mean["estimand"].eq("l1")].set_index(["problem", "estimator", "n"]).sort_index()
    fits, rows = bounds.slopes(records, config), {}
    for r in fits.itertuples():
        low, high = paper_range(r.estimator)
        row = {"CE": bounds.entry(mean.loc[(r.problem, r.estimator), "truth"].iloc[0])}
        if mean.loc[(r.problem, r.estimator), "kind"].isin(["upper", "lower"]).any():
            row |= {
                "slope": bounds.entry(r.slope, r.se, 3) + (f" (n ≥ {r.n_min:,.0f})" if r.left_out and r.slope == r.slope else ""),
                "first decade": bounds.entry(r.first, digits=3),
                "last decade": bounds.entry(r.last, digits=3),
                "theory": THEORY.get(r.estimator, "–"),
                "paper's range": f"{low} to {high}" if low == low else "–",
                "verdict": verdict(r.slope, r.estimator),
            }
        for n, value in mean.loc[(r.problem, r.estimator), ["mean", "se"]].iterrows():
            row[f"n = {n:,}"] = bounds.entry(value["mean"], value["se"])
        rows[bounds.function(r.problem, config), bounds.plain(bounds.name(r.estimator, config))] = row
    return bounds.frame(rows, ["function", "bound"], "slope of log(mean of bound - CE) on log n, ± jackknife error; mean bounds")


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
    rows = []
    for estimator, text in RANGES.items():
        mine = fits[fits["estimator"].eq(estimator)].sort_values("slope")
        for end, r in zip(ENDS, (mine.iloc[0], mine.iloc[-1]) if len(mine) else ()):
            rows.append((text, end, r["slope"], r["se"], r["reps"], config["reasons"]["slopes"]))
    ours = pd.DataFrame(rows, columns=["row", "column", "value", "error", "reps", "why"])
    return pd.concat([bounds.answer([i], ours if i == "slopes" else bounds.means(records, config)) for i in config["compare"]])
