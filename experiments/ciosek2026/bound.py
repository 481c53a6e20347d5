"""The certified bound on perturbed predictions against n, h = 2^-6; the paper: about 0.02 at n = 10^7 on its real data sets.
Beside it E|S - S0| (`mean_shift`): by up to it the perturbation changes the error itself; at most 4 G / pi h = 1.166 h."""

from experiments.ciosek2026 import bounds
from harness.report import items, panels, worded

AT, SHIFT, PAPER_STYLE = 10_000_000, "mean_shift", "nw_kfold_first_order"


def measured(records):
    """The numbers of the bounds; by problem E|S - S0| as `value`, and `h`, NaN where a problem does not say."""
    found = bounds.measured(records)
    shift = found[found["estimator"].eq(SHIFT)].drop_duplicates("problem").set_index("problem")
    moved = shift[["value"]].join(items.diagnostics(shift).reindex(columns=["h"])).reindex(found["problem"].unique())
    return found[found["estimator"].ne(SHIFT)], moved.astype(float)


def render(records, config):
    """One panel per problem: mean bounds against n (log-log), dashed the true value where known, dotted E|S - S0|; the paper's
    0.02 at 10^7."""
    found, moved = measured(records)
    look = {"color": "0.35", "markerfacecolor": "white", "markersize": 5, "linestyle": "none", "zorder": 5}

    def draw(ax, problem):
        mine, distance = found[found["problem"].eq(problem)], moved["value"][problem]
        panels.means(ax, mine, bounds.looks(mine, config), "value")
        ax.set_yscale("log", nonpositive="mask")  # lower bounds may be 0
        panels.truth_line(ax, mine[mine["truth"].gt(0)])
        if distance == distance:
            ax.axhline(distance, color="0.2", linestyle=":", linewidth=1.0, label="$E|S - S_0|$")
        if mine["n"].max() >= AT / 10:
            ax.plot(AT, items.printed(config, "bound")["value"].iloc[0], "D", label="paper, real data", **look)
        ax.set_title(bounds.function(problem, config))

    return panels.each(items.chosen(config, found, "problem"), draw, 2.2, "bound on the $L_1$ error", sharey=True)


def table(records, config):
    """By problem and bound: mean bound at every n, the true value, h, E|S - S0| and 1.166 h."""
    found, moved = measured(records)
    means = bounds.named(items.means(found, ["problem", "estimator", "truth", "n"]).sort_values("n"), config)
    rows = worded.entries(means, ("{function}", "{bound}"), "n = {n:,}")
    for r in means.drop_duplicates(["problem", "estimator"]).itertuples():
        distance, h = moved.loc[r.problem]
        rows[r.function, r.bound] |= {"true value": worded.entry(r.truth), "h": f"{h:.6g}" if h == h else "–"}
        rows[r.function, r.bound] |= {"E|S - S0|": worded.entry(distance), "1.166 h": worded.entry(1.16624361 * h)}
    heading = "mean bound ± standard error over the samples, level 95 %"
    return worded.wide(rows, ["predictions", "bound"], heading, worded.size_columns(found))


def reproduced(records, config):
    """The paper-style bound at n = 10^7, of other predictions and so not judged, for every reported data set."""
    found, why = measured(records)[0], config["reasons"]["data"]
    found = items.means(found[found["estimator"].eq(PAPER_STYLE) & found["n"].eq(AT)], ["estimator"])
    ours = items.printed(config)[["row", "column"]].merge(found, "cross")
    return items.answers(items.numbers(ours, "{row}", "{column}", why=why), config, why)
