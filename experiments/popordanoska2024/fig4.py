"""Figure 4: squared L2 (top) and KL (bottom) calibration error and its relative bias, for 2, 5 and 10 classes.

Two lines of truth. The class-wise error compares g_j with E[Y_j given g_j]; what the authors take for the truth (the estimator
`vector_truth_popordanoska2024`) compares it with E[Y_j given the whole vector], which is more for more than two classes (Jensen:
the latter varies about the former). Relative bias is against the first.
"""

import numpy as np

from experiments.popordanoska2024 import curves
from experiments.popordanoska2024.fig2 import DIRECT, RISK
from harness.report import items, panels

summary = curves.summary
ROWS = ("l2_squared", "kl")
THEIRS = "authors' ground truth"


def render(records, config):
    """Errors of each number of classes, and their relative bias via the risk (full lines) and direct (broken)."""
    found, theirs = curves.numbers(records, config), curves.of_vector(records, config)["value"]
    titles = {problem: curves.titled(config, problem) for problem in config["problem"]}
    figure, axes = panels.grid(2, len(titles) + 1, 4.0, width_ratios=[1] * len(titles) + [1.15])
    for row, estimand in zip(axes, ROWS):
        of_row = found[found["estimand"].eq(estimand)]
        for ax, problem in zip(row, titles):
            curves.panel(ax, of_row[of_row["problem"].eq(problem)], config, (RISK, DIRECT), "fig4_authors_code", [RISK])
            if (problem, estimand) in theirs:
                panels.rule(ax, theirs[problem, estimand], linestyle=":", label=THEIRS)
            ax.set_ylim(bottom=0.0)
        for estimator, texts, style in ((RISK, titles, "-"), (DIRECT, dict.fromkeys(titles), "--")):
            relative = {"value": "relative", "error": "relative_se", "log": True, "first": 5, "linestyle": style}
            panels.lines(row[-1], of_row[of_row["estimator"].eq(estimator)], "problem", texts, **relative)
        panels.rule(row[-1], 0.0, linestyle="-", linewidth=0.8)
        row[-1].set_ylim(-25, 450)  # beyond: 100 samples with ten classes
        row[0].set_ylabel(curves.axis(estimand))
    for top, bottom, title in zip(*axes, [*titles.values(), "relative bias (%)"]):
        top.set_title(title)
        bottom.set_xlabel(panels.N_AXIS)
    axes[0, -1].legend(fontsize=6, handlelength=1.6, loc="upper right")
    panels.legend(figure, axes[:, :-1], columns=3, first=["true value", THEIRS], last=[curves.AGAIN])
    return figure


def table(records, config):
    """By estimand, k and n: true value, the authors' ground truth, every estimator and its relative bias in per cent."""
    found = items.in_order(curves.numbers(records, config), {**config, "estimand": ROWS}, "estimand", "problem")
    theirs = curves.of_vector(records, config)["value"]
    found["theirs"] = [theirs.get(place, np.nan) for place in zip(found["problem"], found["estimand"])]
    shown = {
        "true value": ("truth", None, 5),
        THEIRS: ("theirs", None, 5),
        "{column}": ("mean", "se"),
        "{column}, bias %": ("relative", "relative_se", 0),
    }
    heading = "kl and l2_squared (two columns): mean ± standard error; relative bias against the true value"
    return items.wide(items.columns(found, ("short", "model", "n"), shown), ["estimand", "problem", "n"], heading)


def reproduced(records, config):
    """Our estimates, our truths, and our value of what the authors take for the truth."""
    exact = curves.numbers(records, config).drop_duplicates(["problem", "estimand"])
    theirs = curves.of_vector(records, config)
    ours = [
        curves.reproduced_rows(records, config),
        items.numbers(exact, "{model}", "True value, {short}", "truth", "truth_error", np.inf),
        items.numbers(theirs, "{model}", "Authors' ground truth, {short}", "value", "error", np.inf),
    ]
    return items.answers(items.together(*ours), config)
