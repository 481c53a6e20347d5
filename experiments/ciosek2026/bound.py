"""The certified bound on perturbed predictions against n, h = 2^-6. The paper: about 0.02 at n = 10^7 on its real data sets.

Part of that is the perturbation itself: moving scores by E|S - S0| changes the calibration error by up to as much. So the shift
(the estimator `mean_shift`) is shown beside the bound, with its largest possible value, 4 G / pi h = 1.166 h (G: Catalan's
constant)."""

import numpy as np

from experiments.ciosek2026 import bounds
from harness.report import items, panels

AT, SHIFT = 10_000_000, "mean_shift"


def measured(records):
    """(the numbers of the bounds, {problem: (E|S - S0|, h)}, NaN where a problem does not say)."""
    found = bounds.measured(records)
    shift = found[found["estimator"].eq(SHIFT)].drop_duplicates("problem").set_index("problem")
    moved = {problem: (np.nan, np.nan) for problem in found["problem"]}
    moved |= dict(zip(shift.index, zip(shift["value"], items.diagnostics(shift).reindex(columns=["h"])["h"])))
    return found[found["estimator"].ne(SHIFT)], moved


def render(records, config):
    """One panel per problem: mean bounds against n (log-log), dashed the true value where known, dotted E|S - S0|; the paper's
    0.02 at 10^7."""
    found, moved = measured(records)
    problems = items.chosen(config, found, "problem")
    if not problems:
        return panels.nothing()
    figure, axes = panels.panels(len(problems), height=2.2, sharey=True)
    for k, (ax, problem) in enumerate(zip(axes, problems)):
        mine = found[found["problem"].eq(problem)]
        for i, estimator in enumerate(items.chosen(config, mine)):
            line = mine[mine["estimator"].eq(estimator)].groupby("n")["value"].mean()
            line = line[line > 0]
            ax.plot(line.index, line, label=bounds.name(estimator, config), **bounds.style(estimator, i))
        panels.truth_line(ax, mine[mine["truth"].gt(0)])
        if moved[problem][0] == moved[problem][0]:
            ax.axhline(moved[problem][0], color="0.2", linestyle=":", linewidth=1.0, label="$E|S - S_0|$")
        if mine["n"].max() >= AT / 10:
            value = items.printed(config, "bound")["value"].iloc[0]
            look = {"color": "0.35", "markerfacecolor": "white", "markersize": 5, "linestyle": "none", "zorder": 5}
            ax.plot(AT, value, "D", label="paper, real data", **look)
        ax.set(xscale="log", yscale="log", title=bounds.function(problem, config))
        ax.set_ylabel("" if k % 3 else "bound on the $L_1$ error")
    panels.legend(figure, axes, columns=5)
    return figure


def table(records, config):
    """By problem and bound: mean bound at every n, the true value, h, E|S - S0| and 1.166 h."""
    (found, moved), rows = measured(records), {}
    means = items.in_order(items.means(found, ["problem", "estimator", "truth", "n"]).sort_values("n"), config)
    for (problem, estimator), part in means.groupby(["problem", "estimator"], sort=False):
        distance, h = moved[problem]
        row = {f"n = {r.n:,}": items.entry(r.mean, r.se) for r in part.itertuples()}
        row |= {"true value": items.entry(part["truth"].iloc[0]), "h": f"{h:.6g}" if h == h else "–"}
        row |= {"E|S - S0|": items.entry(distance), "1.166 h": items.entry(1.16624361 * h)}
        rows[bounds.function(problem, config), bounds.plain(estimator, config)] = row
    sizes = [f"n = {n:,}" for n in sorted(found["n"].unique())]
    heading = "mean bound ± standard error over the samples, level 95 %"
    return items.wide(rows, ["predictions", "bound"], heading, sizes)


def reproduced(records, config):
    """The paper-style bound at n = 10^7, of other predictions and so not judged, for every reported data set."""
    found = measured(records)[0]
    found = found[found["estimator"].eq(bounds.PAPER_STYLE[0]) & found["n"].eq(AT)]
    mean = items.means(found, ["estimator"])
    ours = items.printed(config)[["row", "column"]].merge(mean, "cross") if len(mean) else mean.reindex(columns=["row", "column"])
    return items.answers(
        items.numbers(ours, "{row}", "{column}", why=config["reasons"]["data"]), config, config["reasons"]["data"]
    )
