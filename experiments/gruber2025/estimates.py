"""Figures 2, 4, 5 and 6: calibration errors that the tuned estimators of Tables 1 to 6 find.

The paper's bars are standard deviations over the folds, which share the test samples. They show how
much the fits vary, and not the uncertainty of the calibration error.
"""

import numpy as np

from harness.evaluation import items, text_tables
from harness.figures import panels

from . import tuned
from .tuned import (
    BASES,
    OURS,
    PAPER,
    PLACE,
    PUBLISHED,
    RIDGE,
    TWIN,
    combine,
    network_labels,
    stand_ins,
    summary,
)

__all__ = ["render", "reproduced", "summary", "table"]
SPREAD = " (standard deviation)"
LEFT = "as published × √(1 - q)"
OPEN = "paper (open, read from its figure)"
THEIRS = "the paper, as read from its figure"
PUBLISHED_KINDS = (PAPER, PUBLISHED, RIDGE)
HALF = "ridge that float32 chose (half-filled)"
LOOKS = {
    PAPER: {"markerfacecolor": "white", "zorder": 2},
    RIDGE: {"fillstyle": "left", "markerfacecoloralt": "white", "zorder": 2.5},
}
PLACES = {
    RIDGE: 0.25,
    PUBLISHED: 0.55,
    PAPER: 0.85,
}  # where a mark stands within its column, 0 to 1
NO_MARK = "no mark of the paper: hidden behind others in its figure"


def render(records, settings):
    """Draw the estimates as published in the first panel, and corrected ones in the last panel.

    Open marks are the paper's, as read from its figure. Bars are standard deviations over the
    folds. A network whose file is absent has the paper's marks alone, and no column in the last
    panel. The page of a twin (the paper's experiment on other networks) has its panels below each
    other: the paper's networks, then ours as published, then ours corrected.
    """
    both, _, bases = combine(records, settings, "rms", "rms_sd", SPREAD)
    ours, twin = items.labels(settings, "problem"), TWIN in settings.reasons
    computed = set(both.loc[both["kind"].ne(PAPER), "model"])
    present = [model for model in ours if model in computed]
    if twin:
        theirs = [model for model in network_labels(settings) if model not in ours]
        shown = [
            (theirs, THEIRS, (PAPER,)),
            (ours, "as published (other networks)", (PUBLISHED,)),
            (ours, "corrected, on the same split (other networks)", ("corrected",)),
        ]
        figure, axes = panels.grid(len(shown), 1, 0.6 + 1.85 * len(shown), sharey=True)
    else:
        shown = [(ours, PUBLISHED, PUBLISHED_KINDS)]
        shown += [(present, "corrected, same split", ("corrected",))] * bool(present)
        widths = [len(models) for models, *_ in shown]
        figure, axes = panels.grid(1, len(shown), 3.0, sharey=True, width_ratios=widths)
    for ax, (models, title, kinds) in zip(axes.flat, shown):
        _draw(ax, both, bases, models, kinds)
        ax.set_title(title)
        absent = [] if twin else [model for model in models if model not in computed]
        notes = {m: f"for {of}" for m, of in stand_ins(settings).items()}
        notes |= dict.fromkeys(absent, "(file absent)")
        name_columns(ax, [f"{m}\n{notes[m]}" if m in notes else m for m in models])
    for ax in axes[:, 0]:
        ax.set_ylabel("calibration error\n(root of mean square)")
    above = axes[0, 0]
    above.set_ylim(
        0.0, None
    )  # the y axis is shared, so its limits follow when all panels are drawn
    style = panels.look(0, filled=False, markersize=4)
    if both["kind"].eq(PAPER).any():
        above.plot([], [], **style | {"color": "0.35", "label": OPEN})
        figure.supxlabel(NO_MARK, fontsize=7, color="0.35")
    if both["kind"].eq(RIDGE).any():
        half = style | LOOKS[RIDGE] | {"markerfacecolor": "0.35", "color": "0.35"}
        above.plot([], [], **half | {"label": HALF})
    panels.legend(figure, axes, 5, first=BASES, last=[OPEN, HALF], handletextpad=0.4)
    return figure


def _draw(ax, both, bases, models, kinds):
    """Draw the marks of some kinds: a column per network, and a place in it per estimator."""
    step = 0.76 / len(bases)
    for i, base in enumerate(bases):
        style = panels.look(
            BASES.index(base), markersize=3.6, elinewidth=0.8, capsize=1.5
        )  # an estimator looks the same in all figures
        for kind in kinds:
            mine = both[
                both["kind"].eq(kind) & both["base"].eq(base) & both["model"].isin(models)
            ].drop_duplicates("model")
            place = PLACES.get(kind, 0.5) if len(kinds) > 1 else 0.5
            x = [models.index(m) - 0.42 + step * (i + place) for m in mine["model"]]
            look = LOOKS.get(kind, {"label": base, "zorder": 3})
            ax.errorbar(x, mine["mean"], yerr=mine["se"], **style | look)


def name_columns(ax, names):
    """Write the names of the networks on the x axis, and draw pale lines between them."""
    ax.set_xticks(range(len(names)), names, fontsize=6.5)
    ax.set_xlim(-0.5, len(names) - 0.5)
    ax.grid(axis="x", visible=False)
    ax.tick_params(axis="x", length=0)
    for x in np.arange(1, len(names)) - 0.5:
        ax.axvline(x, color="0.88", linewidth=0.6, zorder=0)


def table(records, settings):
    """Return a table with a row per network and estimator.

    It has the paper's estimate, ours as published and ours corrected. Errors are standard
    deviations over the folds. The last column has the published kde times sqrt(1 - q), where q is
    the share of test samples that kde drops. This is the estimate if the dropped samples are
    calibrated.
    """
    both, rows, _ = combine(records, settings, "rms", "rms_sd", SPREAD)
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
    heading = (
        "root mean squared calibration error: "
        "mean over folds of the root ± standard deviation over folds"
    )
    return text_tables.wide(rows, ["network", "estimator"], heading, [PAPER, *OURS, LEFT])


def reproduced(records, settings):
    """Return our estimates as published, and their standard deviations over the folds.

    The paper's estimates are read from its figure; their `plus_minus` is the error of reading.
    """
    return tuned.reproduced(records, settings, {"": "rms", SPREAD: "rms_sd"})
