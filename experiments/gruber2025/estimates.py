"""Figures 2, 4, 5 and 6: the calibration errors that the tuned estimators find, from the cells of Tables 1 to 6.

The paper's bars are standard deviations over the folds, which share the test points: they say how much the fits vary, not how
well the error is known.
"""

import numpy as np

from experiments.gruber2025 import risk_table
from experiments.gruber2025.risk_table import BASES, OURS, PUBLISHED, measured, places, printed, summary
from harness.report import items, panels

__all__ = ["render", "reproduced", "summary", "table"]
SPREAD = ", standard deviation"
LOST = "as published × √(1 - q)"
OPEN = "paper (open, read from its figure)"


def render(records, config):
    """Above as published with the paper's points, open, as read from its figure; below corrected. Bars: standard deviation over
    the folds."""
    found, theirs = measured(records, config), paper(config)
    models = items.labels(config, "problem")
    bases = [b for b in BASES if b in {base for _, base in places(found, theirs, config)}]
    figure, axes = panels.grid(2, 1, 4.3, sharex=True, sharey=True)
    step = 0.76 / len(bases)
    for ax, kind in zip(axes.flat, (PUBLISHED, "corrected")):
        for i, base in enumerate(bases):
            style = panels.look(BASES.index(base), markersize=3.6, elinewidth=0.8, capsize=1.5)  # the same in all figures
            at = {model: j - 0.42 + step * (i + 0.5) for j, model in enumerate(models)}
            mine = found[found["kind"].eq(kind) & found["base"].eq(base)].drop_duplicates("model")
            read = theirs[theirs["base"].eq(base) & theirs["model"].isin(models)] if kind == PUBLISHED else theirs[:0]
            x = [at[model] + step * 0.42 for model in read["model"]]
            ax.errorbar(x, read["value"], yerr=read["spread"], markerfacecolor="white", zorder=2, **style)
            ax.errorbar([at[m] for m in mine["model"]], mine["rms"], yerr=mine["rms_sd"], label=base, zorder=3, **style)
        ax.set_title(kind if kind == PUBLISHED else "corrected, on the same split")
        ax.set_ylabel("calibration error (root of\nthe mean square)")
        ax.grid(axis="x", visible=False)
        ax.tick_params(axis="x", length=0)
        for x in np.arange(1, len(models)) - 0.5:
            ax.axvline(x, color="0.88", linewidth=0.6, zorder=0)
    above, below = axes.flat
    above.set_ylim(0.0, None)  # shared: when all points of both panels are drawn
    there = set(found["model"])
    below.set_xticks(range(len(models)), [m if m in there else f"{m}\n(file absent)" for m in models])
    below.set_xlim(-0.5, len(models) - 0.5)
    if theirs["model"].isin(models).any():
        above.plot([], [], **panels.look(0, filled=False, markersize=4, label=OPEN) | {"color": "0.35"})
    panels.legend(figure, above, 6, last=[OPEN], handletextpad=0.4)
    return figure


def paper(config):
    """The paper's points by model and base, with the standard deviation over the folds (`spread`)."""
    found = printed(config, SPREAD)
    is_spread = found["column"].str.endswith(SPREAD)
    spread = found[is_spread].set_index(["model", "base"])["value"].rename("spread")
    return found[~is_spread].join(spread, on=["model", "base"])


def table(records, config):
    """Rows (network, estimator): the paper's point; ours as published and corrected, +- standard deviation over the folds; the
    published kde times sqrt(1 - q), which is left if the points that it drops count as calibrated (q: of the test part)."""
    found, theirs = measured(records, config), paper(config)
    rows = places(found, theirs, config)
    theirs = theirs[theirs["model"].isin(items.labels(config, "problem"))]
    items.entries(theirs, ["{model}", "{base}"], "paper", "value", None, into=rows)
    items.entries(found, ["{model}", "{base}"], "{kind}", "rms", "rms_sd", into=rows)
    lost = found[found["base"].eq("kde") & found["kind"].eq(PUBLISHED) & found["dropped"].gt(0.0)]
    lost = lost.assign(left=lost["rms"] * np.sqrt(1 - lost["dropped"]))
    items.entries(lost, ["{model}", "{base}"], LOST, "left", None, into=rows)
    heading = "root mean squared calibration error: mean over folds of the root ± standard deviation over folds"
    return items.wide(rows, ["network", "estimator"], heading, ["paper", *OURS, LOST])


def reproduced(records, config):
    """Our as-published estimates and their standard deviations over the folds; the paper's are read from its figure, and how
    well is their plus_minus."""
    return risk_table.reproduced(records, config, (("", "rms"), (SPREAD, "rms_sd")))
