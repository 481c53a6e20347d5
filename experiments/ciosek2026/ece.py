"""Where the fixed-bin heuristic fails: the fourth function oscillates once per bin, and what cancels inside a bin is not seen at
any n. Beside it the certified interval, which holds the truth, at the price of its width."""

import numpy as np
import pandas as pd

from experiments.ciosek2026 import bounds
from harness.report.plots import COLOURS

FIXED, GROWING = "binned15", "binned, n^(1/3) bins"
INTERVALS = ("certified_interval_perturbed", "certified_interval")  # the first that a problem has is drawn


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
    found = found[found["problem"].eq(problem)]
    for name in INTERVALS:
        if found["estimator"].eq(name).any():
            return found[found["estimator"].eq(name)]
    return found[:0]


def render(records, config):
    """One panel per function: mean estimates (bars: standard deviation of one sample) and the mean certified interval as a band
    against n; dashed the true value."""
    heuristic = estimates(records)
    panels = [p for p in config["problem"] if p in set(heuristic["problem"])]
    if not panels:
        return bounds.nothing()
    figure, axes = bounds.grid(len(panels), per_row=4, height=1.75, sharex=True, sharey="row")
    for k, (ax, problem) in enumerate(zip(axes, panels)):
        band = interval(records, problem).groupby("n")[["low", "high"]].mean()
        ax.fill_between(
            band.index, band["low"], band["high"], color=COLOURS[5], alpha=0.3, linewidth=0, label="certified interval, 95 %"
        )
        for name, colour, marker in ((FIXED, 1, "o"), (GROWING, 0, "s")):
            by = heuristic[heuristic["problem"].eq(problem) & heuristic["estimator"].eq(name)].groupby("n")["value"]
            label = "15 bins" if name == FIXED else "$n^{1/3}$ bins"
            ax.errorbar(
                by.mean().index,
                by.mean(),
                yerr=by.std(),
                color=COLOURS[colour],
                marker=marker,
                capsize=1.5,
                elinewidth=0.7,
                label=label,
            )
        truth = heuristic.loc[heuristic["problem"].eq(problem), "truth"].iloc[0]
        ax.axhline(truth, color="0.2", linestyle="--", linewidth=1.0, label="true value")
        ax.set_xscale("log")
        ax.set_ylim(0.0, 0.45)
        ax.set_title(bounds.function(problem, config))
        if k % 4 == 0:
            ax.set_ylabel("$L_1$ calibration error")
    bounds.legend(figure, axes)
    return figure


def table(records, config):
    """By function and n: the truth, both estimates as mean ± standard deviation of one sample, how many standard deviations the
    truth is away at the largest n, and the mean certified interval with its coverage."""
    heuristic, rows = estimates(records), {}
    for problem in [p for p in config["problem"] if p in set(heuristic["problem"])]:
        band = interval(records, problem)
        for n, part in heuristic[heuristic["problem"].eq(problem)].groupby("n"):
            row = {"truth": bounds.entry(part["truth"].iloc[0])}
            for name, text in ((FIXED, "15 bins"), (GROWING, "n^(1/3) bins")):
                values = part.loc[part["estimator"].eq(name), "value"]
                row[text] = bounds.entry(values.mean(), values.std())
                row[f"{text} - truth"] = f"{values.mean() - part['truth'].iloc[0]:+.4f}" if len(values) else "–"
            mine = band[band["n"].eq(n)]
            if len(mine):
                inside = mine["low"].le(mine["truth"]) & mine["truth"].le(mine["high"])
                row |= {
                    "certified interval": f"{mine['low'].mean():.4f} to {mine['high'].mean():.4f}",
                    "covers": f"{inside.mean():.3f}",
                }
            rows[bounds.function(problem, config), f"{n:,}"] = row
    return bounds.frame(rows, ["function", "n"], "estimates: mean ± standard deviation of one sample; interval: mean ends, 95 %")


def reproduced(records, config):
    """Mean estimates by rows '<problem id>, n = <n>'; the paper gives no number."""
    both = estimates(records)
    ours = bounds.means(pd.concat([both, records[records["estimator"].isin(INTERVALS)]], ignore_index=True), config)
    return bounds.answer(config["compare"], ours)
