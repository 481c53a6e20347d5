"""Figures 2, 4, 5 and 6: calibration errors by the tuned estimators of Tables 1 to 6.

The paper's bars are standard deviations over the folds, which share the test points. They show the
variation of the fits, not the uncertainty of the error.
"""

import numpy as np

from harness.evaluation import items, text_tables
from harness.figures import panels

from . import tuned
from .tuned import BASES, OURS, PAPER, PLACE, PUBLISHED, TWIN, beside, models_of, summary

__all__ = ["render", "reproduced", "summary", "table"]
SPREAD = " (standard deviation)"
LEFT = "as published × √(1 - q)"
OPEN = "paper (open, read from its figure)"
THEIRS = "the paper, as read from its figure"
SHOWN = {PUBLISHED: (PAPER, PUBLISHED), "corrected, on the same split": ("corrected",)}
LOOKS = {PAPER: {"markerfacecolor": "white", "zorder": 2}}


def render(records, settings):
    """Draw estimates as published (above) and corrected (below).

    Open marks are the paper's points as read from its figure. Bars are standard deviations over the
    folds. A twin has other networks, so the paper's points get a separate panel.
    """
    both, _, bases = beside(records, settings, "rms", "rms_sd", SPREAD)
    ours, twin = items.labels(settings, "problem"), TWIN in settings.reasons
    theirs = [model for model in models_of(settings) if twin and model not in ours]
    shown = [(ours, *one) for one in SHOWN.items()]
    if twin:
        shown = [
            (theirs, THEIRS, (PAPER,)),
            *((ours, f"{title} (other networks)", kinds[-1:]) for _, title, kinds in shown),
        ]
    figure, axes = panels.grid(len(shown), 1, 0.6 + 1.85 * len(shown), sharey=True)
    step, there = 0.76 / len(bases), set(both.loc[both["kind"].ne(PAPER), "model"])
    for ax, (models, title, kinds) in zip(axes.flat, shown):
        for i, base in enumerate(bases):
            style = panels.look(
                BASES.index(base), markersize=3.6, elinewidth=0.8, capsize=1.5
            )  # the same in all figures
            for kind in kinds:
                mine = both[
                    both["kind"].eq(kind) & both["base"].eq(base) & both["model"].isin(models)
                ].drop_duplicates("model")
                at = 0.92 if kind == PAPER and len(kinds) > 1 else 0.5
                x = [models.index(m) - 0.42 + step * (i + at) for m in mine["model"]]
                ax.errorbar(
                    x,
                    mine["mean"],
                    yerr=mine["se"],
                    **style,
                    **LOOKS.get(kind, {"label": base, "zorder": 3}),
                )
        ax.set(title=title, ylabel="calibration error\n(root of mean square)")
        name_columns(ax, [m if twin or m in there else f"{m}\n(file absent)" for m in models])
    above = axes[0, 0]
    above.set_ylim(0.0, None)  # shared: when all points of all panels are drawn
    if both["kind"].eq(PAPER).any():
        above.plot(
            [], [], **panels.look(0, filled=False, markersize=4, label=OPEN) | {"color": "0.35"}
        )
    panels.legend(figure, axes, 6, first=BASES, last=[OPEN], handletextpad=0.4)
    return figure


def name_columns(ax, names):
    """Name the columns on the x axis, with a pale line between neighbours and without ticks."""
    ax.set_xticks(range(len(names)), names)
    ax.set_xlim(-0.5, len(names) - 0.5)
    ax.grid(axis="x", visible=False)
    ax.tick_params(axis="x", length=0)
    for x in np.arange(1, len(names)) - 0.5:
        ax.axvline(x, color="0.88", linewidth=0.6, zorder=0)


def table(records, settings):
    """Return rows (network, estimator): the paper's point, ours as published and corrected.

    Errors are standard deviations over the folds. The published kde is also multiplied by sqrt(1 -
    q), which remains if its dropped points (a share q of the test part) count as calibrated.
    """
    both, rows, _ = beside(records, settings, "rms", "rms_sd", SPREAD)
    text_tables.entries(
        both.assign(se=both["se"].where(both["kind"].ne(PAPER))), PLACE, "{kind}", into=rows
    )
    lost = both[both["base"].eq("kde") & both["kind"].eq(PUBLISHED) & both["dropped"].gt(0.0)]
    text_tables.entries(
        lost.assign(left=lost["mean"] * np.sqrt(1 - lost["dropped"])),
        PLACE,
        LEFT,
        "left",
        None,
        into=rows,
    )
    heading = "root mean squared calibration error: mean over folds of the root ± standard deviation over folds"
    return text_tables.wide(rows, ["network", "estimator"], heading, [PAPER, *OURS, LEFT])


def reproduced(records, settings):
    """Return our as-published estimates and their standard deviations over the folds.

    The paper's are read from its figure; their plus_minus is the accuracy of reading.
    """
    return tuned.reproduced(records, settings, {"": "rms", SPREAD: "rms_sd"})
