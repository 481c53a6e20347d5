"""Figure 4: squared L2 (top) and KL (bottom) calibration error and its relative bias, for 2, 5 and 10 classes.

Two lines of truth. The class-wise error compares g_j with E[Y_j given g_j]; what the authors take for the truth compares it with
E[Y_j given the whole vector], which is more for more than two classes (Jensen: the latter varies about the former). Relative
bias is against the first.
"""

import numpy as np
import pandas as pd

from experiments.popordanoska2024 import curves
from experiments.popordanoska2024.authors import classwise_of_vector
from harness.report.plots import COLOURS, MARKERS, WIDTH, pyplot
from harness.report.tables import label
from harness.runs.components import configured

summary = curves.summary
RISK, DIRECT = "kde_risk_schedule_popordanoska2024", "kde_direct_schedule_popordanoska2024"
SHOWN = (RISK, DIRECT)
ROWS = ("l2_squared", "kl")
TRUTH, THEIRS = "True value", "Authors' ground truth"


def render(records, config):
    plt = pyplot()
    found, problems, theirs = curves.numbers(records), list(config["problem"]), authors_truths(config)
    figure, axes = plt.subplots(
        2, len(problems) + 1, figsize=(WIDTH, 4.0), layout="constrained", squeeze=False, width_ratios=[1] * len(problems) + [1.15]
    )
    for i, estimand in enumerate(ROWS):
        for j, problem in enumerate(problems):
            ax, part = axes[i, j], found[found["estimand"].eq(estimand) & found["problem"].eq(problem)]
            curves.truth_line(ax, part)
            ax.axhline(
                theirs[problem, estimand].value,
                color="0.2",
                linestyle=":",
                linewidth=1.0,
                label="authors' ground truth",
                zorder=1,
            )
            curves.curve(ax, part, config, curves.of(config, SHOWN))
            column = f"{label(config, 'estimator', RISK)}, {curves.SHORT[estimand]}"
            curves.marks(ax, "fig4_authors_code", column, f"{label(config, 'problem', problem)}, ")
            ax.set_ylim(bottom=0.0)
            if i == 0:
                ax.set_title(label(config, "problem", problem).replace("k =", "$k$ ="))
        _relative(axes[i, -1], found[found["estimand"].eq(estimand)], problems, config)
        axes[i, 0].set_ylabel(curves.AXIS[estimand] + ("\n(two columns)" if estimand == "l2_squared" else ""))
    axes[0, -1].set_title("relative bias (%)")
    for ax in axes[1]:
        ax.set_xlabel("number of samples $n$")
    axes[0, -1].legend(fontsize=6, handlelength=1.6, loc="upper right")
    curves.legend(figure, axes[:, :-1], columns=3)
    return figure


def _relative(ax, part, problems, config):
    """Relative bias via the risk (full lines) and direct (broken), one colour per number of classes."""
    for estimator, style in ((RISK, "-"), (DIRECT, "--")):
        for i, problem in enumerate(problems):
            line = part[part["estimator"].eq(estimator) & part["problem"].eq(problem)].sort_values("n")
            name = label(config, "problem", problem).replace("k =", "$k$ =")
            ax.errorbar(
                line["n"], line["relative"], yerr=line["relative_se"], color=COLOURS[5 + i], marker=MARKERS[5 + i],
                linestyle=style, capsize=1.2, elinewidth=0.6, label=name if estimator == RISK else None,
            )  # fmt: skip
    ax.axhline(0.0, color="0.2", linewidth=0.8)
    ax.set_xscale("log")
    ax.set_ylim(-25, 450)  # beyond: 100 samples with ten classes


def authors_truths(config):
    """{(problem, estimand): Truth} of what the authors' code takes for the truth, in the authors' unit."""
    found = {}
    for problem, settings in config["problem"].items():
        made = configured("problem", problem, settings).object
        for estimand in ROWS:
            truth = classwise_of_vector(made, estimand)
            factor = curves.UNIT.get(estimand, (1.0, 0.0))[0]
            found[problem, estimand] = type(truth)(truth.value * factor, truth.error * factor, truth.method)
    return found


def table(records, config):
    """By estimand, k and n: true value, the authors' ground truth, every estimator and its relative bias in per cent."""
    found, theirs = curves.numbers(records), authors_truths(config)
    order = [(e, p) for e in ROWS for p in config["problem"]]
    rows = {}
    for r in found.itertuples():
        row = rows.setdefault((order.index((r.estimand, r.problem)), int(r.n)), {})
        name = label(config, "estimator", r.estimator)
        row["true value"], row["authors' ground truth"] = f"{r.truth:.5f}", f"{theirs[r.problem, r.estimand].value:.5f}"
        row[name], row[f"{name}, bias %"] = curves.entry(r.mean, r.se), curves.entry(r.relative, r.relative_se, 0)
    keys = sorted(rows)
    columns = list(dict.fromkeys(c for key in keys for c in rows[key]))
    names = [(curves.SHORT[order[i][0]], label(config, "problem", order[i][1]), n) for i, n in keys]
    index = pd.MultiIndex.from_tuples(names, names=["estimand", "problem", "n"])
    frame = pd.DataFrame([[rows[key].get(c, "–") for c in columns] for key in keys], index, columns, dtype=object)
    frame.columns.name = "kl and l2_squared (two columns): mean ± standard error; relative bias against the true value"
    return frame


def reproduced(records, config):
    """Our estimates, our truths, and our value of what the authors take for the truth."""
    ours = curves.reproduced_rows(records, config).drop(columns="bias")
    exact = curves.numbers(records).drop_duplicates(["problem", "estimand"])
    truths = [
        (label(config, "problem", r.problem), f"{TRUTH}, {curves.SHORT[r.estimand]}", r.truth, r.truth_error)
        for r in exact.itertuples()
    ]
    truths += [
        (label(config, "problem", problem), f"{THEIRS}, {curves.SHORT[estimand]}", t.value, t.error)
        for (problem, estimand), t in authors_truths(config).items()
    ]
    truths = pd.DataFrame(truths, columns=["row", "column", "value", "error"]).assign(reps=np.inf)
    return curves.answer(config["compare"], pd.concat([ours, truths], ignore_index=True))
