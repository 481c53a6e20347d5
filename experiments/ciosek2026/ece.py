"""Where the fixed-bin heuristic fails: the fourth function oscillates once per bin, and what cancels inside a bin is not seen at
any n. Beside it the certified interval, which holds the truth, at the price of its width."""

import numpy as np
import pandas as pd

from experiments.ciosek2026 import bounds
from harness.report import items, panels
from harness.report.plots import COLOURS

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
    problems = items.chosen(config, heuristic, "problem")
    if not problems:
        return panels.nothing()
    means = items.means(heuristic, ["problem", "estimator", "n"])
    figure, axes = panels.panels(len(problems), per_row=4, height=1.75, sharex=True, sharey="row")
    for k, (ax, problem) in enumerate(zip(axes, problems)):
        band = interval(records, problem).groupby("n")[["low", "high"]].mean()
        look = {"color": COLOURS[5], "alpha": 0.3, "linewidth": 0, "label": "certified interval, 95 %"}
        ax.fill_between(band.index, band["low"], band["high"], **look)
        for name, colour, marker in ((FIXED, 1, "o"), (GROWING, 0, "s")):
            line = means[means["problem"].eq(problem) & means["estimator"].eq(name)]
            text = NAMES[name].replace("n^(1/3)", "$n^{1/3}$")
            panels.curve(ax, line, error="sd", color=COLOURS[colour], marker=marker, label=text)
        panels.truth_line(ax, heuristic[heuristic["problem"].eq(problem)])
        ax.set(xscale="log", ylim=(0.0, 0.45), title=bounds.function(problem, config))
        ax.set_ylabel("" if k % 4 else "$L_1$ calibration error")
    panels.legend(figure, axes)
    return figure


def table(records, config):
    """By function and n: the truth, both estimates as mean ± standard deviation of one sample and how far they are from the
    truth, and the mean certified interval with its coverage."""
    heuristic, rows = estimates(records), {}
    for problem in items.chosen(config, heuristic, "problem"):
        band = interval(records, problem)
        for n, part in heuristic[heuristic["problem"].eq(problem)].groupby("n"):
            truth = part["truth"].iloc[0]
            row = rows[bounds.function(problem, config), f"{n:,}"] = {"truth": items.entry(truth)}
            for name, text in NAMES.items():
                values = part.loc[part["estimator"].eq(name), "value"]
                row[text] = items.entry(values.mean(), values.std())
                row[f"{text} - truth"] = f"{values.mean() - truth:+.4f}" if len(values) else "–"
            mine = band[band["n"].eq(n)]
            if len(mine):
                row["certified interval"] = f"{mine['low'].mean():.4f} to {mine['high'].mean():.4f}"
                row["covers"] = f"{(mine['low'].le(mine['truth']) & mine['truth'].le(mine['high'])).mean():.3f}"
    heading = "estimates: mean ± standard deviation of one sample; interval: mean ends, 95 %"
    return items.wide(rows, ["function", "n"], heading)


def reproduced(records, config):
    """Mean estimates by rows '<problem id>, n = <n>'; the paper gives no number."""
    both = [estimates(records), records[records["estimator"].isin(INTERVALS)]]
    return items.answers(bounds.means(pd.concat(both, ignore_index=True), config), config)
