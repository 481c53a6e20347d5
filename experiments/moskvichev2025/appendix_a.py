"""Appendix A: two predictions, 0.3 with probability p and 0.6 otherwise, P(Y = 1) = 0.5 whatever the prediction. Exact values of
the metrics against p, what the paper's formulas say, and what the ridge that the estimator has makes of CKCE.

The paper's line for ECE, 0.4 - 0.2 p, has the weights p and 1 - p exchanged: the prediction 0.3, which is 0.4 away in L1, has
weight p, so ECE = 0.4 p + 0.2 (1 - p) = 0.2 + 0.2 p. Its lines for CKCE (0.1) and JKCE (0.1 p^2 - 0.04 p + 0.02) are right.
"""

import numpy as np

from experiments.moskvichev2025 import metrics, population
from harness.report import reproduction
from harness.report.plots import COLOURS, MARKERS, WIDTH, pyplot
from harness.runs.components import build

PREDICTIONS, POSTERIORS = np.array([0.3, 0.6]), np.array([0.5, 0.5])
SIZES = (100, 1000, 10_000, 10**6, 10**8)
METRICS = ("CKCE", "JKCE", "ECE")


def exact(p):
    """{column: population value} at P(x = 0) = p."""
    law = (np.array([p, 1.0 - p]), PREDICTIONS, POSTERIORS)
    plain = population.linear_and_gaussian(np.sqrt(2.0) * np.ptp(PREDICTIONS))  # their distance
    values = {
        "CKCE": population.ckce(*law, population.same, [0.0])[0],
        "JKCE": population.jkce(*law, population.same),
        "ECE": population.ece(*law),
    }
    ridges = [n**-0.25 for n in SIZES]
    values |= {f"CKCE, ridge of n = {n:,}": v for n, v in zip(SIZES, population.ckce(*law, population.same, ridges))}
    with_ridge, without = population.ckce(*law, plain, [1000**-0.25, 0.0])
    values["CKCE, kernel of Section 3.2, ridge of n = 1,000"] = with_ridge
    values["CKCE, kernel of Section 3.2, no ridge"] = without
    return values


def printed(config):
    """{column: (p, value)} of the paper's formulas."""
    found = reproduction.reported(config["paper"], ["appendix_a"])
    found = found.assign(p=found["row"].str.removeprefix("p = ").astype(float))
    return {column: (part["p"].to_numpy(), part["value"].to_numpy()) for column, part in found.groupby("column")}


def estimates(records, config):
    """Mean estimates by p and column."""
    found = metrics.values(records, config)
    at = {name: build("problem", name, settings).weights[0] for name, settings in config["problem"].items()}
    return metrics.means(found.assign(p=[at[name] for name in found["problem"]]), ["p", "n", "column"])


def render(records, config):
    plt = pyplot()
    grid = np.linspace(0.02, 0.98, 97)
    known = [exact(p) for p in grid]
    means = estimates(records, config)
    figure, axes = plt.subplots(1, 2, figsize=(WIDTH, 2.9), layout="constrained")
    ax = axes[0]
    for i, metric in enumerate(METRICS):
        p, values = printed(config)[metric]
        ax.plot(p, values, linestyle="none", marker=MARKERS[i], color=COLOURS[i], markerfacecolor="white")
        ax.plot(grid, [one[metric] for one in known], color=COLOURS[i], label=metric)
    ax.plot([], [], linestyle="none", marker="o", color="0.4", markerfacecolor="white", label="paper's formula")
    ax.set(title="exact values, no ridge", xlabel="$p = P(x = 0)$", ylim=(0, 0.5))
    ax.legend(ncols=2, loc="upper center")
    ax = axes[1]
    ax.plot(grid, [one["CKCE"] for one in known], color="0.2", linestyle="--", label="no ridge")
    for i, n in enumerate(SIZES):
        text = rf"$n = 10^{{{int(np.log10(n))}}}$"
        ax.plot(grid, [one[f"CKCE, ridge of n = {n:,}"] for one in known], color=COLOURS[i], label=text)
    for i, n in enumerate(SIZES):
        mine = means[means["column"].eq("CKCE, 1{p = q}") & means["n"].eq(n)]
        if len(mine):
            ax.errorbar(mine["p"], mine["mean"], yerr=mine["sd"], linestyle="none", marker="o", color=COLOURS[i], capsize=1.5)
    ax.set(title=r"CKCE with the ridge $n^{-1/4}$; marks: estimates", xlabel="$p = P(x = 0)$", ylim=(0, 0.16))
    ax.legend(ncols=3, loc="upper center")
    return figure


def table(records, config):
    """Rows p: exact values, the paper's formula for ECE, CKCE with its ridge, mean estimates +- standard deviation."""
    means, rows = estimates(records, config), {}
    formula = dict(zip(*printed(config)["ECE"]))
    for p, wrong in formula.items():
        values = exact(p)
        row = rows.setdefault((f"{p:.2f}",), {m: metrics.entry(values[m]) for m in METRICS})
        row["ECE, paper's formula"] = metrics.entry(wrong)
        row["CKCE, ridge of n = 1,000"] = metrics.entry(values["CKCE, ridge of n = 1,000"])
        for r in means[np.isclose(means["p"], p)].itertuples():
            row[f"{r.column}, n = {r.n:,}"] = metrics.entry(r.mean, r.sd)
    return metrics.framed(rows, ["p"], "exact; estimates: mean ± standard deviation")


def reproduced(records, config):
    """Exact values beside the paper's formulas and an independent computation."""
    asked = reproduction.reported(config["paper"], config["compare"])["row"].unique()
    rows = [
        (row, column, value, 0.0, np.inf) for row in asked for column, value in exact(float(row.removeprefix("p = "))).items()
    ]
    return metrics.answers(rows, records, config)
