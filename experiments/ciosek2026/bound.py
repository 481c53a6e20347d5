"""The certified bound on perturbed predictions against n, h = 2^-6. The paper: about 0.02 at n = 10^7 on its real data sets.

Part of that is the perturbation itself: moving scores by E|S - S0| changes the calibration error by up to as much. So the shift
is shown beside the bound, with its largest possible value, 4 G / pi h = 1.166 h (G: Catalan's constant)."""

import numpy as np
import pandas as pd

from experiments.ciosek2026 import bounds
from harness.report import reproduction
from harness.runs.components import configured

AT = 10_000_000


def shift(problem):
    """E|S - S0| of a perturbed problem (of a file: of its rows), NaN for a problem that does not say."""
    found = problem.mean_shift() if hasattr(problem, "mean_shift") else None
    return found.value if found else np.nan


def shifts(records, config):
    """{problem: (E|S - S0|, h)} of the problems of these records, NaN where unknown."""
    found = {}
    given = records.drop_duplicates("problem").set_index("problem")["problem_parameters"]
    for name in given.index:
        one = config["problem"].get(name)
        made = configured("problem", name, one).object if one else None
        found[name] = (shift(made), getattr(made, "perturbation", None) or np.nan)
    return found


def render(records, config):
    """One panel per problem: mean bounds against n (log-log), dashed the true value where known, dotted E|S - S0|; the paper's
    0.02 at 10^7."""
    found = bounds.measured(records)
    panels = bounds.problems(config, found) or list(dict.fromkeys(found["problem"]))
    if not panels:
        return bounds.nothing()
    figure, axes = bounds.grid(len(panels), height=2.2, sharey=True)
    moved = shifts(records, config)
    for ax, problem in zip(axes, panels):
        mine = found[found["problem"].eq(problem)]
        for i, estimator in enumerate(bounds.shown(config, mine)):
            line = mine[mine["estimator"].eq(estimator)].groupby("n")["value"].mean()
            line = line[line > 0]
            ax.plot(line.index, line, label=bounds.name(estimator, config), **bounds.style(estimator, i))
        truth = mine["truth"].iloc[0]
        if truth > 0:
            ax.axhline(truth, color="0.2", linestyle="--", linewidth=1.0, label="true value")
        if moved[problem][0] == moved[problem][0]:
            ax.axhline(moved[problem][0], color="0.2", linestyle=":", linewidth=1.0, label="$E|S - S_0|$")
        if mine["n"].max() >= AT / 10:
            value = reproduction.reported("ciosek2026", ["bound"])["value"].iloc[0]
            ax.plot(
                AT,
                value,
                "D",
                color="0.35",
                markerfacecolor="white",
                markersize=5,
                linestyle="none",
                label="paper, real data",
                zorder=5,
            )
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.set_title(bounds.function(problem, config))
    for ax in axes[:: min(3, len(axes))]:
        ax.set_ylabel("bound on the $L_1$ error")
    bounds.legend(figure, axes, columns=5)
    return figure


def table(records, config):
    """By problem and bound: mean bound at every n, the true value, h, E|S - S0| and 1.166 h."""
    found, moved, rows = bounds.measured(records), shifts(records, config), {}
    for problem in bounds.problems(config, found) or list(dict.fromkeys(found["problem"])):
        mine = found[found["problem"].eq(problem)]
        distance, h = moved[problem]
        for estimator in [e for e in config["estimator"] if e in set(mine["estimator"])]:
            by = mine[mine["estimator"].eq(estimator)].groupby("n")["value"]
            row = {f"n = {n:,}": bounds.entry(v.mean(), v.std() / np.sqrt(len(v)) if len(v) > 1 else np.nan) for n, v in by}
            row |= {
                "true value": bounds.entry(mine["truth"].iloc[0]),
                "h": f"{h:.6g}" if h == h else "–",
                "E|S - S0|": bounds.entry(distance),
                "1.166 h": bounds.entry(1.16624361 * h),
            }
            rows[bounds.function(problem, config), bounds.plain(bounds.name(estimator, config))] = row
    made = bounds.frame(rows, ["predictions", "bound"], "mean bound ± standard error over the samples, level 95 %")
    sizes = sorted((c for c in made.columns if c.startswith("n = ")), key=lambda c: int(c.removeprefix("n = ").replace(",", "")))
    return made[[*sizes, *(c for c in made.columns if c not in sizes)]]


def reproduced(records, config):
    """The paper-style bound at n = 10^7, of other predictions and so not judged, for every reported data set; and the
    prototype's."""
    found = bounds.measured(records)
    mine = found[found["estimator"].eq(bounds.PAPER_STYLE[0]) & found["n"].eq(AT)]["value"]
    printed = reproduction.reported("ciosek2026", ["bound"])
    ours = printed[["row", "column"]].assign(value=mine.mean() if len(mine) else np.nan, error=np.nan, reps=len(mine) or np.nan)
    ours["error"] = mine.std() / np.sqrt(len(mine)) if len(mine) > 1 else np.nan
    ours["why"] = config["reasons"]["data"]
    return pd.concat(
        [bounds.answer([i], ours if i == "bound" else bounds.means(records, config)) for i in config["compare"]],
        ignore_index=True,
    )
