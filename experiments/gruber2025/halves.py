"""Tables 1 and 2 on random halves of their rows: how much the numbers vary.

The standard deviation over random halves, drawn without replacement, estimates the standard error
of a number on all rows (delete-half jackknife). The paper prints no such error. Its own standard
errors are over the folds. All estimators share these folds, so that the errors do not say how well
a difference between two estimators is known.
"""

from harness.evaluation import items, text_tables
from harness.figures import panels

from .tuned import BASES, KINDS, PUBLISHED, STYLES, summary, with_base

__all__ = ["render", "summary", "table"]
REFERENCE = "bins"
SHOWN = (PUBLISHED, *KINDS.values())


def differences(records, settings):
    """Return the root risk (x 100) minus that of the tuned bins on the same half.

    The result has one row per network, base and kind, with mean, sd and se over the halves.
    """
    rows = with_base(items.values(records, settings, ["rms"]))
    rows = items.with_diagnostics(rows, "root_risk").astype({"root_risk": float})
    rows = rows[rows["root_risk"].notna()]
    bins = rows[rows["base"].eq(REFERENCE)].set_index(["model", "rep"])["root_risk"]
    rows = rows.join(bins.rename("bins"), on=["model", "rep"])
    rows["gap"] = 100.0 * (rows["root_risk"] - rows["bins"])
    return items.means(rows, ["model", "base", "kind"], "gap")


def render(records, settings):
    """Draw a panel per network with the mean differences of `differences`.

    Bars are standard deviations over the halves.
    """
    gaps = differences(records, settings)
    models = [model for model in items.labels(settings, "problem") if model in set(gaps["model"])]
    if not models:
        return panels.nothing()
    figure, axes = panels.panels(len(models), 2, 1.45, None, sharex=True, sharey=True)
    for model, ax in zip(models, axes):
        mine = gaps[gaps["model"].eq(model)]
        for kind in SHOWN:
            style = STYLES[kind] | {"shift": {"corrected": 0.2}.get(kind, 0.0)}
            panels.named_marks(ax, mine[mine["kind"].eq(kind)], "base", BASES, error="sd", **style)
        ax.axvline(0.0, color="0.6", linewidth=0.8, zorder=0)
        ax.set_title(model)
        panels.name_rows(ax, BASES)
        ax.set_xscale("symlog", linthresh=0.1)
        ax.set_xticks([-0.1, 0, 0.1, 1, 10], ["-0.1", "0", "0.1", "1", "10"])
        ax.set_xticks([], minor=True)
    figure.supxlabel("root of the cross-validated risk × 100, less that of bins", fontsize=8)
    panels.legend(figure, axes, first=[PUBLISHED])
    return figure


def table(records, settings):
    """Return a table of `differences`: a row per network and estimator, a column per kind."""
    gaps = differences(records, settings)
    gaps = gaps.assign(se=gaps["sd"])
    rows = text_tables.entries(gaps, ["{model}", "{base}"], "{kind}", digits=3)
    heading = "root risk x 100 less that of bins: mean ± standard deviation over halves of the rows"
    kinds = [kind for kind in SHOWN if kind in set(gaps["kind"])]
    return text_tables.wide(rows, ["network", "estimator"], heading, kinds)
