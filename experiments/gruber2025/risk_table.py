"""Tables 1 to 6: root of the cross-validated risk (x 100) of tuned estimators.

Estimators whose id ends in `_gruber2025` are the code behind the printed numbers, on the rows in
the file's order. Labels with ", corrected" are corrected estimators on the same split and folds.
Labels with ", own split" are Algorithm 1 on a random split.
"""

from harness.evaluation import items, text_tables
from harness.figures import panels

from . import tuned
from .tuned import (
    LOST,
    OURS,
    PAPER,
    PLACE,
    PUBLISHED,
    RIDGE,
    STYLES,
    TWIN,
    combine,
    network_labels,
    stand_ins,
    summary,
)

__all__ = ["render", "reproduced", "summary", "table"]
ERROR = " (standard error)"
RISK = ("root_risk", "root_risk_se")
REFERENCES = ("bins", "ukkr")
SHOWN = (
    PAPER,
    PUBLISHED,
    RIDGE,
    "corrected",
)  # not "own split": another split has another level of risk
SHIFTS = {PAPER: -0.24, PUBLISHED: 0.0, RIDGE: 0.0, "corrected": 0.24}
LINEAR, TICKS, NAMED = (
    0.01,
    (-10.0, -1.0, -0.1, -0.01, 0.0, 0.01, 0.1, 1.0, 10.0),
    (-10.0, -0.1, 0.0, 0.1, 10.0),
)


def render(records, settings):
    """Draw one panel per network: root risk x 100 of each estimator minus that of tuned bins.

    In tables without bins, ukkr takes the place of the bins. Both terms of a difference are of the
    same kind (paper, as published, corrected). The title has the root risk of the bins as
    published, with its standard error over the folds.

    All panels share one x axis. It is linear up to 0.01 and then logarithmic: most estimators
    differ by hundredths, but a kernel that drops its saturated samples differs by several units. A
    network whose file is absent has the paper's numbers alone.
    """
    both, _, bases = combine(records, settings, *RISK)
    reference = next((base for base in REFERENCES if base in bases), None)
    if reference is None:
        return panels.nothing()
    level = both[both["base"].eq(reference)].set_index(["model", "kind"])[["mean", "se"]]
    level = level[~level.index.duplicated()]
    both["of_kind"] = both["kind"].replace(RIDGE, PUBLISHED)
    both = both.join(level["mean"].rename("level"), on=["model", "of_kind"])
    both = both.assign(gap=both["mean"] - both["level"])
    models, ours = (
        [m for m in network_labels(settings) if m in set(both["model"])],
        items.labels(settings, "problem"),
    )
    per_row = min(5, max(len(ours), len(set(models) - set(ours))))
    figure, axes = panels.panels(
        len(models), per_row, 0.5 + 0.26 * len(bases), None, sharex=True, sharey=True
    )
    stood_for = stand_ins(settings)
    for model, ax in zip(models, axes):
        mine = both[both["model"].eq(model)]
        kinds = [kind for kind in SHOWN if mine["kind"].eq(kind).any()]
        for kind in kinds:
            style = STYLES[kind] | {"shift": SHIFTS[kind] if len(kinds) > 1 else 0.0}
            panels.named_marks(ax, mine[mine["kind"].eq(kind)], "base", bases, "gap", None, **style)
        known = [kind for kind in (PUBLISHED, PAPER) if (model, kind) in level.index]
        ends = [
            "{} {:.2f} ± {:.2f}".format(reference, *level.loc[model, kind]) for kind in known[:1]
        ]
        if TWIN not in settings.reasons and not mine["kind"].isin(OURS).any():
            ends.append("(file absent)")
        if model in stood_for:
            ends.append(f"for {stood_for[model]}")
        ax.set_title("\n".join([model, *ends]), fontsize=7)
        ax.axvline(0.0, color="0.6", linewidth=0.8, zorder=0)
        panels.name_rows(ax, bases)
        ax.set_xscale("symlog", linthresh=LINEAR)
    low, high = both.loc[both["kind"].isin(SHOWN), "gap"].agg(["min", "max"])
    left, right = min(-0.12, 1.6 * low), max(0.12, 1.6 * high)
    ticks = [t for t in TICKS if left < t < right]
    named = NAMED if 10.0 in ticks else (*NAMED, 1.0)
    axes[0].set_xlim(left, right)
    for ax in axes:
        ax.set_xticks(ticks, [f"{t:g}" if t in named else "" for t in ticks])
        ax.set_xticks([], minor=True)
        ax.tick_params(labelsize=6.5)
        ax.set_xlabel(f"less that of {reference}", fontsize=6.5, labelpad=1)
        ax.tick_params(labelbottom=True)
    figure.supxlabel(
        f"root of the cross-validated risk × 100, less that of {reference} of the same kind "
        f"(linear to {LINEAR:g}, then logarithmic)",
        fontsize=8,
    )
    panels.legend(figure, axes, first=STYLES)
    return figure


def table(records, settings):
    """Return a table with a row per network and estimator: root risk x 100 of all kinds.

    Further columns explain the published kde: the share q of confidences that are exactly 1 in
    float32 and are dropped, the inflation 1 / (1 - q) that follows, and the published number
    divided by it. The last column has the top-label Brier score x 100. For a scalar notion the root
    risk of every estimator is close to that score.
    """
    both, rows, _ = combine(records, settings, *RISK)
    text_tables.entries(both, PLACE, "{kind}", digits=2, into=rows)
    cells = items.with_diagnostics(
        items.values(records, settings, ["accuracy"], "top_label"), "saturated_share"
    )
    shares = (
        cells.sort_values("n")
        .drop_duplicates("model", keep="last")
        .set_index("model")["saturated_share"]
    )
    brier = items.values(records, settings, ["brier"], "top_label").groupby("model")["value"].mean()
    q = both["model"].map(shares).where(both["base"].eq("kde") & both["kind"].eq(PUBLISHED))
    values = (q, 1 / (1 - q), both["mean"] * (1 - q), 100 * both["model"].map(brier))
    for name, value, digits in zip(LOST, values, (4, 3, 2, 2)):
        text_tables.entries(
            both.assign(mean=value)[value.notna()],
            PLACE,
            name,
            error=None,
            digits=digits,
            into=rows,
        )
    heading = "root of the cross-validated risk x 100: mean ± standard error over the folds"
    return text_tables.wide(rows, ["network", "estimator"], heading, ["paper", *OURS, *LOST])


def reproduced(records, settings):
    """Return our root risks as published, and their standard errors over the folds."""
    return tuned.reproduced(records, settings, {"": RISK[0], ERROR: RISK[1]})
