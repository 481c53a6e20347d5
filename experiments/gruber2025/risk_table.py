"""Tables 1 to 6: the root of the cross-validated risk (x 100) of tuned calibration estimators, as published and corrected.

A cell is one network's test set, one notion and one estimator; its five (or ten) folds are inside. `..._gruber2025` estimators
are the code that made the printed numbers, on the rows in the file's order; `..._split_gruber2025`, labelled ", corrected", are
the corrected estimators on the very same split and folds; the plain ones, labelled ", own split", are Algorithm 1, each on a
random split of its own, which moves the risk more than the choice of the estimator does.
"""

import numpy as np
import pandas as pd

from harness.report import items, panels, reproduction
from harness.report.evaluation import evaluate
from harness.report.shown import label
from harness.report.style import COLOURS

BASES = ("15 bins", "bins", "kde", "kkr", "ukkr")
KINDS = {", corrected": "corrected", ", own split": "corrected, own split"}  # by the end of the label; else as published
PUBLISHED, ERROR = "as published", ", standard error"
BY = ["problem", "model", "notion", "n", "estimator", "base", "kind"]
NUMBERS = ["root_risk", "root_risk_se", "rms", "rms_sd", "dropped", "choice", "folds", "cpu_seconds", "truth"]
LOST = ["q", "1 / (1 - q)", "as published × (1 - q)", "100 × Brier"]
STYLES = {
    "paper": {"color": "0.35", "marker": "D", "markerfacecolor": "white", "markersize": 3.5},
    PUBLISHED: {"color": COLOURS[0], "marker": "o", "markersize": 3.5},
    "corrected": {"color": COLOURS[1], "marker": "s", "markersize": 3.5},
    "corrected, own split": {"color": COLOURS[2], "marker": "v", "markersize": 3.5},
}
OURS = list(STYLES)[1:]


def base_and_kind(name):
    """'kde, corrected' -> ('kde', 'corrected')."""
    end = next((end for end in KINDS if name.endswith(end)), "")
    return name.removesuffix(end), KINDS.get(end, PUBLISHED)


def measured(records, config):
    """One row per network, notion and estimator: model and base (the paper's labels), kind (of STYLES), root_risk
    and root_risk_se (x 100), rms and rms_sd, dropped (share of points lost as NaN), choice, folds, cpu_seconds; reps averaged."""
    found = items.values(records, config, ["rms"])
    parts = items.diagnostics(found).reindex(columns=["root_risk", "root_risk_se", "rms_sd", "choice", "dropped_share"])
    found = found.rename(columns={"value": "rms"}).join(parts.rename(columns={"dropped_share": "dropped"}))
    found["folds"] = items.parameters(found, "estimator", "folds")["folds"].fillna(5)
    found = found[found["root_risk"].notna()].astype(dict.fromkeys(NUMBERS, float))
    found[["root_risk", "root_risk_se"]] *= 100.0
    found["base"], found["kind"] = ([base_and_kind(name)[i] for name in found["column"]] for i in (0, 1))
    grouped = found.groupby(BY, sort=False)
    return grouped[NUMBERS].mean().assign(keys=grouped["key"].agg(tuple)).reset_index()


def summary(records, config):
    """measured(), and mean values of the estimators that have no folds."""
    found = measured(records, config).drop(columns="keys")
    rest = evaluate(records[records["status"].eq("ok") & ~records["estimator"].isin(found["estimator"])])
    return pd.concat([found, rest[["problem", "notion", "n", "estimator", "estimand", "mean", "cpu_seconds"]]], ignore_index=True)


def printed(config, end=""):
    """The paper's numbers, and those whose columns have this end: (model, base) in the columns model and base."""
    found = items.printed(config)
    found = found.assign(model=found["row"], base=found["column"].str.removesuffix(end))
    return found[found["base"].isin(BASES)]


def places(found, theirs, config):
    """The models and bases, in the paper's order, that have a number of ours or of theirs: an empty row of a table each."""
    have = {place for frame in (found, theirs) for place in zip(frame["model"], frame["base"])}
    return {(m, b): {} for m in items.labels(config, "problem") for b in BASES if (m, b) in have}


def render(records, config):
    """One panel per network: root risk x 100 with the standard error over the folds; every panel has its own scale, for the
    networks differ more than the estimators. A network whose file is absent shows the paper's numbers alone."""
    found, theirs = measured(records, config), printed(config)
    models = items.labels(config, "problem")
    bases = [b for b in BASES if b in {base for _, base in places(found, theirs, config)}]
    figure, axes = panels.panels(len(models), 5, 0.45 + 0.4 * len(bases), None, sharey=True)
    for model, ax in zip(models, axes):
        mine, paper = (frame[frame["model"].eq(model) & frame["base"].isin(bases)] for frame in (found, theirs))
        paper = paper.dropna(subset="value")
        panels.marks(ax, _at(paper, bases) - 0.3, paper, "value", "plus_minus", label="paper", **STYLES["paper"])
        for j, kind in enumerate(OURS):
            part = mine[mine["kind"].eq(kind)]
            panels.marks(ax, _at(part, bases) - 0.1 + 0.2 * j, part, "root_risk", "root_risk_se", label=kind, **STYLES[kind])
        ax.set_title(model + ("" if len(mine) else "\n(file absent)"))
        panels.name_rows(ax, bases)
        ax.locator_params(axis="x", nbins=4)
    figure.supxlabel("root of the cross-validated risk × 100", fontsize=8)
    panels.legend(figure, axes, first=STYLES)
    return figure


def _at(frame, bases):
    return np.array([bases.index(base) for base in frame["base"]], dtype=float)


def table(records, config):
    """Rows (network, estimator): the paper's root risk x 100, ours as published and corrected; for kde q, the share of
    confidences that are exactly 1 in float32, which it drops, the inflation 1 / (1 - q) that this predicts, and the published
    number without it; and 100 times the top-label Brier score, which the root risk of a scalar notion is close to, whatever the
    estimator."""
    found, theirs = measured(records, config), printed(config)
    rows = places(found, theirs, config)
    theirs = theirs[theirs["model"].isin(items.labels(config, "problem"))]
    items.entries(theirs, ["{model}", "{base}"], "paper", "value", "plus_minus", 2, into=rows)
    items.entries(found, ["{model}", "{base}"], "{kind}", "root_risk", "root_risk_se", 2, into=rows)
    shares = items.values(records, config, ["accuracy"], "top_label")
    shares = shares.assign(q=items.diagnostics(shares).get("saturated_share", np.nan)).sort_values("n").set_index("model")["q"]
    kde = found[found["base"].eq("kde") & found["kind"].eq(PUBLISHED) & found["model"].isin(shares.index)]
    for r in kde.itertuples():
        q = shares[r.model] if np.isscalar(shares[r.model]) else shares[r.model].iloc[-1]
        rows[r.model, "kde"] |= dict(zip(LOST, (f"{q:.4f}", f"{1 / (1 - q):.3f}", f"{r.root_risk * (1 - q):.2f}")))
    brier = items.values(records, config, ["brier"], "top_label").groupby("model")["value"].mean()
    for model, base in rows:
        if model in brier:
            rows[model, base]["100 × Brier"] = f"{100 * brier[model]:.2f}"
    heading = "root of the cross-validated risk x 100: mean ± standard error over the folds"
    return items.wide(rows, ["network", "estimator"], heading, ["paper", *OURS, *LOST])


def reproduced(records, config, numbers=(("", "root_risk"), (ERROR, "root_risk_se"))):
    """Our as-published numbers, and their standard errors, for the rows of `compare`, with no Monte Carlo error, since nothing is
    drawn; and for the reported rows without a number the reason: that of the cell, or that the network is none of this run."""
    found = measured(records, config)
    found = found[found["kind"].eq(PUBLISHED)]
    ours = items.together(*(items.numbers(found, "{model}", "{base}" + end, name, 0.0, "folds") for end, name in numbers))
    lost = records[~records["status"].eq("ok")].drop_duplicates(["problem", "estimator"])
    lost = {(label(config, "problem", r.problem), label(config, "estimator", r.estimator)): r for r in lost.itertuples()}

    def why(model, column):
        cell = lost.get((model, column.split(", ")[0]))
        if cell:
            return reproduction.why_without(cell)
        known = model in items.labels(config, "problem")
        return "no cell of this run" if known else config["reasons"].get("other networks", "the network is none of this run")

    asked = items.printed(config)[["item", "row", "column"]]
    return asked.merge(items.answers(ours, config, why), on=["item", "row", "column"]).assign(error=0.0)
