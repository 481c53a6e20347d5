"""Tables 1 to 6: the root of the cross-validated risk (x 100) of tuned calibration estimators, as published and corrected.

`..._gruber2025` estimators are the code that made the printed numbers, on the rows in the file's order; those labelled
", corrected" are the corrected ones on the very same split and folds, those labelled ", own split" Algorithm 1 on a random split.
"""

from experiments.gruber2025 import tuned
from experiments.gruber2025.tuned import LOST, OURS, PLACE, PUBLISHED, STYLES, beside, summary
from harness.report import items, panels, worded

__all__ = ["render", "reproduced", "summary", "table"]
ERROR = " (standard error)"
RISK = ("root_risk", "root_risk_se")


def render(records, config):
    """One panel per network: root risk x 100 with the standard error over the folds; every panel has its own scale, for the
    networks differ more than the estimators. A network whose file is absent shows the paper's numbers alone."""
    both, _, bases = beside(records, config, *RISK)
    models = items.labels(config, "problem")
    figure, axes = panels.panels(len(models), 5, 0.45 + 0.4 * len(bases), None, sharey=True)
    for model, ax in zip(models, axes):
        mine = both[both["model"].eq(model)]
        for kind, style in STYLES.items():
            panels.named_marks(ax, mine[mine["kind"].eq(kind)], "base", bases, **style)
        ax.set_title(model + ("" if mine["kind"].isin(OURS).any() else "\n(file absent)"))
        panels.name_rows(ax, bases)
        ax.locator_params(axis="x", nbins=4)
    figure.supxlabel("root of the cross-validated risk × 100", fontsize=8)
    panels.legend(figure, axes, first=STYLES)
    return figure


def table(records, config):
    """Rows (network, estimator): the paper's root risk x 100, ours as published and corrected; for kde q, the share of
    confidences that are exactly 1 in float32, which it drops, the inflation 1 / (1 - q) that this predicts, and the published
    number without it; and 100 times the top-label Brier score, which the root risk of a scalar notion is close to, whatever the
    estimator."""
    both, rows, _ = beside(records, config, *RISK)
    worded.entries(both, PLACE, "{kind}", digits=2, into=rows)
    held = items.with_diagnostics(items.values(records, config, ["accuracy"], "top_label"), "saturated_share")
    shares = held.sort_values("n").drop_duplicates("model", keep="last").set_index("model")["saturated_share"]
    brier = items.values(records, config, ["brier"], "top_label").groupby("model")["value"].mean()
    q = both["model"].map(shares).where(both["base"].eq("kde") & both["kind"].eq(PUBLISHED))
    values = (q, 1 / (1 - q), both["mean"] * (1 - q), 100 * both["model"].map(brier))
    for name, value, digits in zip(LOST, values, (4, 3, 2, 2)):
        worded.entries(both.assign(mean=value)[value.notna()], PLACE, name, error=None, digits=digits, into=rows)
    heading = "root of the cross-validated risk x 100: mean ± standard error over the folds"
    return worded.wide(rows, ["network", "estimator"], heading, ["paper", *OURS, *LOST])


def reproduced(records, config):
    """Our as-published root risks and their standard errors."""
    return tuned.reproduced(records, config, {"": RISK[0], ERROR: RISK[1]})
