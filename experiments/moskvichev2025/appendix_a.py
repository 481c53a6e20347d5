"""Appendix A: two predictions, 0.3 with probability p and 0.6 otherwise, P(Y = 1) = 0.5 whatever the prediction. Exact values of
the metrics against p, what the paper's formulas say, and what the ridge that the estimator has makes of CKCE.

The paper's line for ECE, 0.4 - 0.2 p, has the weights p and 1 - p exchanged: the prediction 0.3, which is 0.4 away in L1, has
weight p, so ECE = 0.4 p + 0.2 (1 - p) = 0.2 + 0.2 p. Its lines for CKCE (0.1) and JKCE (0.1 p^2 - 0.04 p + 0.02) are right.
"""

import numpy as np

from experiments.moskvichev2025 import metrics
from experiments.moskvichev2025.authors import SIZES
from harness.report import items, panels
from harness.report.plots import COLOURS

METRICS = ("CKCE", "JKCE", "ECE")
AXIS = "$p = P(x = 0)$"


def exact(records):
    """One row per p with the population values by column."""
    found = metrics.population(records, weights="weights")
    return found.assign(row=[f"p = {w[0]:.2f}" for w in found["weights"]], p=[w[0] for w in found["weights"]])


def printed(config):
    """The paper's formulas, with p."""
    found = items.printed(config, "appendix_a")
    return found.assign(p=found["row"].str.removeprefix("p = ").astype(float))


def estimates(records, config):
    """Mean estimates by row, p, n and column."""
    found = metrics.values(records, config)
    p = [float(w[0]) for w in items.parameters(found, "problem", "weights")["weights"]]
    return items.means(found.assign(p=p, row=[f"p = {w:.2f}" for w in p]), ["row", "p", "n", "column"])


def render(records, config):
    known, means, formulas = exact(records), estimates(records, config), printed(config)
    figure, (axes,) = panels.grid(1, 2, 2.9)
    for i, metric in enumerate(METRICS):
        theirs = formulas[formulas["column"].eq(metric)]
        axes[0].plot(theirs["p"], theirs["value"], **panels.look(i, filled=False))
        axes[0].plot(known["p"], known.get(metric), color=COLOURS[i], label=metric)
    axes[0].plot([], [], **panels.look(0, filled=False, color="0.4", label="paper's formula"))
    axes[0].set(title="exact values, no ridge", xlabel=AXIS, ylim=(0, 0.5))
    axes[0].legend(ncols=2, loc="upper center")
    axes[1].plot(known["p"], known.get("CKCE"), color="0.2", linestyle="--", label="no ridge")
    for i, n in enumerate(SIZES):
        text = rf"$n = 10^{{{int(np.log10(n))}}}$"
        axes[1].plot(known["p"], known.get(f"CKCE, ridge of n = {n:,}"), color=COLOURS[i], label=text)
        mine = means[means["column"].eq("CKCE, 1{p = q}") & means["n"].eq(n)]
        panels.curve(axes[1], mine, "p", error="sd", linestyle="none", marker="o", color=COLOURS[i])
    axes[1].set(title=r"CKCE with the ridge $n^{-1/4}$; marks: estimates", xlabel=AXIS, ylim=(0, 0.16))
    axes[1].legend(ncols=3, loc="upper center")
    return figure


def table(records, config):
    """Rows p: exact values, the paper's formula for ECE, CKCE with its ridge, mean estimates +- standard deviation."""
    known, formulas, rows = exact(records), printed(config), {}
    for name in METRICS:
        items.entries(known, ["{p:.2f}"], name, name, None, into=rows)
    items.entries(formulas[formulas["column"].eq("ECE")], ["{p:.2f}"], "ECE, paper's formula", "value", None, into=rows)
    items.entries(known, ["{p:.2f}"], "CKCE, ridge of n = 1,000", "CKCE, ridge of n = 1,000", None, into=rows)
    items.entries(estimates(records, config), ["{p:.2f}"], "{column}, n = {n:,}", "mean", "sd", into=rows)
    return items.wide(rows, ["p"], "exact; estimates: mean ± standard deviation")


def reproduced(records, config):
    """Exact values beside the paper's formulas and an independent computation."""
    known = exact(records)
    columns = [name for name in known if name.startswith(METRICS)]
    return metrics.answers([items.numbers(known, "{row}", name, name, 0.0, np.inf) for name in columns], records, config)
