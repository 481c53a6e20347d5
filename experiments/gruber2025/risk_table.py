"""Tables 1 to 6: the root of the cross-validated risk (x 100) of tuned calibration estimators, as published and corrected.

A cell is one network's test set, one notion and one estimator; its five (or ten) folds are inside. `..._gruber2025` estimators
are the code that made the printed numbers, on the rows in the file's order; `..._split_gruber2025`, labelled ", corrected", are
the corrected estimators on the very same split and folds; the plain ones, labelled ", own split", are Algorithm 1, each on a
random split of its own, which moves the risk more than the choice of the estimator does.
"""

import json

import numpy as np
import pandas as pd

from harness.common.seeds import data_rng
from harness.report import reproduction
from harness.report.evaluation import evaluate
from harness.report.plots import COLOURS, WIDTH, pyplot
from harness.report.tables import label
from harness.runs.components import configured

BASES = ("15 bins", "bins", "kde", "kkr", "ukkr")
KINDS = {", corrected": "corrected", ", own split": "corrected, own split"}  # by the end of the label; else as published
ERROR = ", standard error"
STYLES = {
    "paper": {"color": "0.35", "marker": "D", "markerfacecolor": "white", "markersize": 3.5},
    "as published": {"color": COLOURS[0], "marker": "o", "markersize": 3.5},
    "corrected": {"color": COLOURS[1], "marker": "s", "markersize": 3.5},
    "corrected, own split": {"color": COLOURS[2], "marker": "v", "markersize": 3.5},
}


def render(records, config):
    """One panel per network: root risk x 100 with the standard error over the folds; every panel has its own scale, for the
    networks differ more than the estimators. A network whose file is absent shows the paper's numbers alone."""
    plt = pyplot()
    found, printed = measured(records, config), _printed(config)
    models = list(dict.fromkeys(label(config, "problem", p) for p in config["problem"]))
    bases = [b for b in BASES if b in set(found["base"]) | set(printed.loc[printed["row"].isin(models), "column"])]
    columns = min(5, len(models))
    rows = -(-len(models) // columns)
    height = 0.75 + rows * (0.45 + 0.4 * len(bases))
    figure, axes = plt.subplots(rows, columns, figsize=(WIDTH, height), squeeze=False, sharey=True, layout="constrained")
    for model, ax in zip(models, axes.flat):
        for i, base in enumerate(bases):
            theirs = printed[printed["row"].eq(model) & printed["column"].eq(base)]
            _point(ax, theirs["value"], i - 0.3, theirs["plus_minus"], "paper")
            for j, kind in enumerate(list(STYLES)[1:]):
                mine = found[found["model"].eq(model) & found["base"].eq(base) & found["kind"].eq(kind)]
                _point(ax, mine["root_risk"], i - 0.1 + 0.2 * j, mine["root_risk_se"], kind)
        ax.set_title(model + ("" if model in set(found["model"]) else "\n(file absent)"))
        ax.set_yticks(range(len(bases)), bases)
        ax.set_ylim(len(bases) - 0.5, -0.5)
        ax.tick_params(axis="y", length=0)
        ax.grid(axis="y", visible=False)
        ax.locator_params(axis="x", nbins=4)
    for ax in axes.flat[len(models) :]:
        ax.set_visible(False)
    figure.supxlabel("root of the cross-validated risk × 100", fontsize=8)
    _legend(figure, axes.flat[: len(models)])
    return figure


def _point(ax, values, at, errors, kind):
    if len(values) and values.notna().any():
        ax.errorbar(
            values,
            np.full(len(values), at),
            xerr=errors,
            linestyle="none",
            capsize=1.5,
            elinewidth=0.8,
            label=kind,
            **STYLES[kind],
        )


def _legend(figure, axes):
    entries = {text: handle for ax in axes for handle, text in zip(*ax.get_legend_handles_labels())}
    texts = [text for text in STYLES if text in entries]
    if texts:
        figure.legend([entries[t] for t in texts], texts, loc="outside upper center", ncols=len(texts))


def measured(records, config):
    """One row per network, notion and estimator: model and base (the paper's labels), kind (of STYLES), root_risk
    and root_risk_se (x 100), rms and rms_sd, dropped (share of points lost as NaN), choice, folds, cpu_seconds; reps averaged."""
    fine = records[records["status"].eq("ok") & records["estimand"].eq("rms") & records["diagnostics"].notna()]
    rows = []
    for r in fine.itertuples():
        parts, name = json.loads(r.diagnostics), label(config, "estimator", r.estimator)
        if "root_risk" not in parts:
            continue
        base, kind = base_and_kind(name)
        rows.append(
            {
                "problem": r.problem, "model": label(config, "problem", r.problem), "notion": r.notion, "n": r.n,
                "estimator": r.estimator, "base": base, "kind": kind, "root_risk": 100.0 * parts["root_risk"],
                "root_risk_se": 100.0 * parts["root_risk_se"], "rms": r.value, "rms_sd": parts["rms_sd"],
                "dropped": parts.get("dropped_share", np.nan), "choice": parts["choice"], "folds": _folds(r.estimator_parameters),
                "cpu_seconds": r.cpu_seconds, "truth": r.truth,
            }
        )  # fmt: skip
    by = ["problem", "model", "notion", "n", "estimator", "base", "kind"]
    numbers = ["root_risk", "root_risk_se", "rms", "rms_sd", "dropped", "choice", "folds", "cpu_seconds", "truth"]
    frame = pd.DataFrame(rows, columns=[*by, *numbers])
    return frame.groupby(by, sort=False, as_index=False).mean()


def base_and_kind(name):
    """'kde, corrected' -> ('kde', 'corrected')."""
    end = next((end for end in KINDS if name.endswith(end)), "")
    return name.removesuffix(end), KINDS.get(end, "as published")


def _folds(parameters):
    return json.loads(parameters).get("folds", 5) if isinstance(parameters, str) else 5


def summary(records, config):
    """measured(), and the ordinary summary of the estimators that have no folds (the Brier score)."""
    found = measured(records, config)
    return pd.concat([found, others(records, found)], ignore_index=True)


def others(records, found):
    """Mean values of the estimators of the run that are not tuned, as rows of their own."""
    rest = evaluate(records[records["status"].eq("ok") & ~records["estimator"].isin(found["estimator"])])
    return rest[["problem", "notion", "n", "estimator", "estimand", "mean", "cpu_seconds"]]


def table(records, config):
    """Rows (network, estimator): the paper's root risk x 100, ours as published and corrected; for kde q, the share of
    confidences that are exactly 1 in float32, which it drops, the inflation 1 / (1 - q) that this predicts, and the published
    number without it; and 100 times the top-label Brier score, which the root risk of a scalar notion is close to, whatever the
    estimator."""
    found, printed = measured(records, config), _printed(config).set_index(["row", "column"])
    brier = records[records["status"].eq("ok") & records["estimand"].eq("brier") & records["notion"].eq("top_label")]
    brier = {label(config, "problem", p): v for p, v in brier.groupby("problem")["value"].mean().items()}
    models = {label(config, "problem", p): p for p in config["problem"]}
    lines = {}
    for model, problem in models.items():
        q = saturated(config, problem, found) if found["notion"].eq("top_label").any() else np.nan
        for base in BASES:
            mine = {r.kind: r for r in found[found["model"].eq(model) & found["base"].eq(base)].itertuples()}
            asked = printed.loc[(model, base)] if (model, base) in printed.index else None
            if not mine and asked is None:
                continue
            published = mine.get("as published")
            lost = q if base == "kde" and published else np.nan
            lines[model, base] = {
                "paper": f"{asked['value']:.2f} ± {asked['plus_minus']:.2f}" if asked is not None else "–",
                **{kind: _entry(mine.get(kind)) for kind in list(STYLES)[1:]},
                "q": f"{lost:.4f}" if lost == lost else "–",
                "1 / (1 - q)": f"{1 / (1 - lost):.3f}" if lost == lost else "–",
                "as published × (1 - q)": f"{published.root_risk * (1 - lost):.2f}" if lost == lost else "–",
                "100 × Brier": f"{100 * brier[model]:.2f}" if model in brier else "–",
            }
    index = pd.MultiIndex.from_tuples(list(lines), names=["network", "estimator"])
    frame = pd.DataFrame(list(lines.values()), index, dtype=object)
    frame = frame.loc[:, frame.ne("–").any()]
    frame.columns.name = "root of the cross-validated risk x 100: mean ± standard error over the folds"
    return frame


def saturated(config, problem, found):
    """Share of the top confidences of a problem's rows that are exactly 1 in float32; NaN if no cell has them."""
    sizes = found.loc[found["problem"].eq(problem), "n"]
    if not len(sizes):
        return np.nan
    made = configured("problem", problem, config["problem"][problem])
    p, _ = made.object.sample(int(sizes.max()), data_rng(config["seed"], made.key, 0))
    top = p if p.ndim == 1 else p.max(axis=1)
    return float((top.astype(np.float32) == 1.0).mean())


def _entry(r):
    return "–" if r is None else f"{r.root_risk:.2f} ± {r.root_risk_se:.2f}"


def reproduced(records, config):
    """Our as-published numbers, and their standard errors, for the rows of `compare`."""
    found = measured(records, config)
    found = found[found["kind"].eq("as published")]
    frames = [
        pd.DataFrame({"row": found["model"], "column": found["base"] + end, "value": found[name], "reps": found["folds"]})
        for end, name in (("", "root_risk"), (ERROR, "root_risk_se"))
    ]
    return answers(pd.concat(frames, ignore_index=True), records, config)


def answers(ours, records, config):
    """`ours` (row, column, value, reps) for every item of `compare`, with no Monte Carlo error, since nothing is drawn; and for
    the reported rows without a number the reason: that of the cell, or that the network is none of this run."""
    ours = ours.astype({"value": float, "reps": float})  # also where there is none
    lost = records[~records["status"].eq("ok")].drop_duplicates(["problem", "estimator"])
    lost = {(label(config, "problem", r.problem), label(config, "estimator", r.estimator)): r for r in lost.itertuples()}
    frames = []
    for item in config["compare"]:
        asked = reproduction.reported(config["paper"], [item])[["row", "column"]]
        frame = asked.merge(ours, on=["row", "column"], how="left")
        whys = [_why(row, column.split(", ")[0], lost, config) for row, column in zip(frame["row"], frame["column"])]
        frames.append(frame.assign(item=item, error=0.0, why=[None if v == v else w for v, w in zip(frame["value"], whys)]))
    return pd.concat(frames, ignore_index=True)


def _why(model, base, lost, config):
    if (model, base) in lost:
        return reproduction.why_without(lost[model, base])
    known = model in {label(config, "problem", p) for p in config["problem"]}
    return "no cell of this run" if known else config["reasons"].get("other networks", "the network is none of this run")


def _printed(config):
    printed = reproduction.reported(config["paper"], config["compare"])
    return printed[printed["column"].isin(BASES)]
