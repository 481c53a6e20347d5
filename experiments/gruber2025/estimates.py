"""Figures 2, 4, 5 and 6: the calibration errors that the tuned estimators find, from the cells of Tables 1 to 6.

The paper's bars are standard deviations over the folds, which share the test points: they say how much the fits vary, not how
well the error is known.
"""

import numpy as np
import pandas as pd

from experiments.gruber2025 import risk_table
from harness.report import reproduction
from harness.report.plots import COLOURS, MARKERS, WIDTH, pyplot
from harness.report.tables import label

measured, summary, BASES = risk_table.measured, risk_table.summary, risk_table.BASES
SPREAD = ", standard deviation"
NOTIONS = {"top_label": "top-label", "canonical": "canonical"}


def render(records, config):
    """Above as published with the paper's points, open, as read from its figure; below corrected. Bars: standard deviation over
    the folds."""
    plt = pyplot()
    found, printed = measured(records, config), _printed(config)
    models = list(dict.fromkeys(label(config, "problem", p) for p in config["problem"]))
    bases = [b for b in BASES if b in set(found["base"]) | set(printed.loc[printed["row"].isin(models), "column"])]
    figure, axes = plt.subplots(2, 1, figsize=(WIDTH, 4.3), sharex=True, sharey=True, layout="constrained")
    step = 0.76 / len(bases)
    for ax, kind in zip(axes, ("as published", "corrected")):
        for i, base in enumerate(bases):
            at = np.arange(len(models)) - 0.42 + step * (i + 0.5)
            mine = found[found["kind"].eq(kind) & found["base"].eq(base)].drop_duplicates("model").set_index("model")
            mine = mine.reindex(models)
            own = BASES.index(base)  # the same in all figures
            style = {"color": COLOURS[own], "marker": MARKERS[own], "linestyle": "none", "markersize": 3.6}
            if kind == "as published":
                theirs, spread = (_by_model(printed, base + end, models) for end in ("", SPREAD))
                shown = {"markerfacecolor": "white", "capsize": 1.5, "elinewidth": 0.8, "zorder": 2}
                ax.errorbar(at + step * 0.42, theirs, yerr=spread, **style, **shown)
            ax.errorbar(at, mine["rms"], yerr=mine["rms_sd"], capsize=1.5, elinewidth=0.8, label=base, zorder=3, **style)
        ax.set_title(kind if kind == "as published" else "corrected, on the same split")
        ax.set_ylabel("calibration error (root of\nthe mean square)")
        ax.grid(axis="x", visible=False)
        for x in np.arange(1, len(models)) - 0.5:
            ax.axvline(x, color="0.88", linewidth=0.6, zorder=0)
    axes[0].set_ylim(0.0, None)  # shared: when all points of both panels are drawn
    there = set(found["model"])
    axes[1].set_xticks(range(len(models)), [m if m in there else f"{m}\n(file absent)" for m in models])
    axes[1].set_xlim(-0.5, len(models) - 0.5)
    for ax in axes:
        ax.tick_params(axis="x", length=0)
    handles, texts = axes[0].get_legend_handles_labels()
    if printed["row"].isin(models).any():
        (theirs,) = axes[0].plot([], [], color="0.35", marker="o", markerfacecolor="white", linestyle="none", markersize=4)
        handles, texts = [*handles, theirs], [*texts, "paper (open, read from its figure)"]
    figure.legend(handles, texts, loc="outside upper center", ncols=6, columnspacing=1.2, handletextpad=0.4)
    return figure


def _by_model(printed, column, models):
    return printed[printed["column"].eq(column)].set_index("row")["value"].reindex(models)


def table(records, config):
    """Rows (network, estimator): the paper's point; ours as published and corrected, +- standard deviation over the folds; the
    published kde times sqrt(1 - q), which is left if the points that it drops count as calibrated (q: of the test part)."""
    found, printed = measured(records, config), _printed(config).set_index(["row", "column"])["value"]
    lines = {}
    for model in dict.fromkeys(label(config, "problem", p) for p in config["problem"]):
        for base in BASES:
            mine = {r.kind: r for r in found[found["model"].eq(model) & found["base"].eq(base)].itertuples()}
            theirs = printed.get((model, base))
            if not mine and theirs is None:
                continue
            published = mine.get("as published")
            lost = published.dropped if published and base == "kde" else np.nan
            lines[model, base] = {
                "paper": f"{theirs:.4f}" if theirs is not None and theirs == theirs else "–",
                **{kind: _entry(mine.get(kind)) for kind in list(risk_table.STYLES)[1:]},
                "as published × √(1 - q)": f"{published.rms * np.sqrt(1 - lost):.4f}" if lost > 0.0 else "–",
            }
    index = pd.MultiIndex.from_tuples(list(lines), names=["network", "estimator"])
    frame = pd.DataFrame(list(lines.values()), index, dtype=object)
    frame = frame.loc[:, frame.ne("–").any()]
    frame.columns.name = "root mean squared calibration error: mean over folds of the root ± standard deviation over folds"
    return frame


def _entry(r):
    return "–" if r is None else f"{r.rms:.4f} ± {r.rms_sd:.4f}"


def reproduced(records, config):
    """Our as-published estimates and their standard deviations over the folds; the paper's are read from its figure, and how
    well is their plus_minus."""
    found = measured(records, config)
    found = found[found["kind"].eq("as published")]
    frames = [
        pd.DataFrame({"row": found["model"], "column": found["base"] + end, "value": found[name], "reps": found["folds"]})
        for end, name in (("", "rms"), (SPREAD, "rms_sd"))
    ]
    return risk_table.answers(pd.concat(frames, ignore_index=True), records, config)


def _printed(config):
    printed = reproduction.reported(config["paper"], config["compare"])
    return printed[printed["column"].str.removesuffix(SPREAD).isin(BASES)]
