"""The bias of the kernel estimators at a fixed bandwidth h (two classes): c / n towards a limit that is not the true value.

With n to infinity r(g) becomes the smoothed truth r_h(g) = E[k(g; f) C] / E[k(g; f)], so that the direct form tends to E
D_F(r_h(f), f) and the form via the risk to that less E <grad F(f), C - r_h(f)>. Both are integrals over one number (quadrature).
"""

import itertools

import numpy as np
import pandas as pd
from scipy.special import expit, gammaln, rel_entr

from experiments.popordanoska2024 import curves
from harness.report import reproduction
from harness.report.plots import COLOURS, MARKERS, WIDTH, pyplot
from harness.runs.components import configured

summary = curves.summary
FORMS = {"direct": "Direct", "risk": "Via risk"}
NAMES = {**curves.SHORT, "refinement_kl": "KL", "refinement_l2_squared": "squared L2"}
FLOOR = 1e-7  # as the authors clip


def settings(config):
    """{estimator: (form, bandwidth)}."""
    return {name: (one.get("form", "risk"), float(one["bandwidth"])) for name, one in config["estimator"].items()}


def limits(problem, bandwidth, panels=600, reach=22.0):
    """{(form, estimand): limit for n to infinity}, two classes, in the authors' unit; Gauss quadrature of order 4 over the
    log-odds of s, whose law for Dir(1, 1) is logistic."""
    x, w = np.polynomial.legendre.leggauss(4)
    edges = np.linspace(-reach, reach, panels + 1)
    mid, half = (edges[1:] + edges[:-1]) / 2, np.diff(edges) / 2
    x, weights = (mid[:, None] + half[:, None] * x).ravel(), (half[:, None] * w).ravel()
    weights = weights * expit(x) * expit(-x)
    c, g = expit(problem.truth_power * x), np.clip(expit(problem.prediction_power * x), FLOOR, 1 - FLOOR)
    r = np.empty_like(g)
    constant = -gammaln(g / bandwidth + 1) - gammaln((1 - g) / bandwidth + 1)
    for rows in np.array_split(np.arange(len(g)), max(1, len(g) ** 2 >> 20)):
        kernel = np.log(g[rows, None]) * (g / bandwidth) + np.log1p(-g[rows, None]) * ((1 - g) / bandwidth) + constant
        kernel = np.exp(kernel - kernel.max(axis=1, keepdims=True)) * weights
        r[rows] = kernel @ c / kernel.sum(axis=1)
    kl = weights @ (rel_entr(r, g) + rel_entr(1 - r, 1 - g))
    l2 = weights @ (2 * (r - g) ** 2)
    return {
        ("direct", "kl"): kl,
        ("direct", "l2_squared"): l2,
        ("risk", "kl"): kl - weights @ ((c - r) * (np.log(g) - np.log1p(-g))),
        ("risk", "l2_squared"): l2 - weights @ (2 * (c - r) * (2 * g - 1)),
    }


def measured(records, config):
    """One row per estimator, estimand and n: mean, se, reps, truth, form, bandwidth, limit, n (mean - limit) and its error."""
    found = curves.numbers(records, tuple(NAMES))
    known = settings(config)
    found = found.assign(form=[known[e][0] for e in found["estimator"]], bandwidth=[known[e][1] for e in found["estimator"]])
    problems = {name: configured("problem", name, one).object for name, one in config["problem"].items()}
    at = {(p, b): limits(problems[p], b) for p, b in set(zip(found["problem"], found["bandwidth"]))}
    limit = [at[r.problem, r.bandwidth].get((r.form, r.estimand), np.nan) for r in found.itertuples()]
    found = found.assign(limit=limit)
    return found.assign(rate=found["n"] * (found["mean"] - found["limit"]), rate_se=found["n"] * found["se"])


def render(records, config):
    plt = pyplot()
    found = measured(records, config)
    figure, axes = plt.subplots(2, 2, figsize=(WIDTH, 4.3), sharex=True, layout="constrained")
    widths = sorted(set(found["bandwidth"]), reverse=True)
    for (left, right), estimand in zip(axes, curves.SHORT):
        part = found[found["estimand"].eq(estimand)]
        curves.truth_line(left, part)
        for form, (i, bandwidth) in itertools.product(FORMS, enumerate(widths)):
            line = part[part["form"].eq(form) & part["bandwidth"].eq(bandwidth)].sort_values("n")
            if not len(line):
                continue
            style = {
                "color": COLOURS[i], "marker": MARKERS[i], "capsize": 1.5, "elinewidth": 0.7, "markersize": 3.5,
                "markerfacecolor": COLOURS[i] if form == "direct" else "white", "linestyle": "-" if form == "direct" else "--",
                "label": f"{FORMS[form].lower()}, $h$ = {bandwidth:g}",
            }  # fmt: skip
            left.errorbar(line["n"], line["mean"], yerr=line["se"], **style)
            left.axhline(line["limit"].iloc[0], color=COLOURS[i], linestyle=":", linewidth=0.9, zorder=1)
            right.errorbar(line["n"], line["rate"], yerr=line["rate_se"], **style)
        left.set_ylabel(curves.AXIS[estimand])
        right.set_ylabel(r"$n$ $\times$ (mean $-$ limit)")
        left.set_xscale("log")
        left.set_ylim(bottom=0.0)
        right.set_ylim(bottom=0.0)
    for ax in axes[1]:
        ax.set_xlabel("number of samples $n$")
    curves.legend(figure, axes[0, 0], columns=4)
    return figure


def table(records, config):
    """By estimand, form and bandwidth: true value, limit, n (mean - limit) as the mean over n weighted by precision, and the
    same at the smallest and the largest n. Samples of different n share their beginnings, so the error of the mean is a little
    small."""
    found = measured(records, config)
    rows = {}
    for (estimand, form, bandwidth), part in found[found["estimand"].isin(curves.SHORT)].groupby(
        ["estimand", "form", "bandwidth"]
    ):
        part = part.sort_values("n")
        weight = 1 / part["rate_se"] ** 2
        rows[NAMES[estimand], FORMS[form], f"{bandwidth:g}"] = [
            curves.entry(part["truth"].iloc[0]),
            curves.entry(part["limit"].iloc[0]),
            curves.entry((part["rate"] * weight).sum() / weight.sum(), weight.sum() ** -0.5, 2),
            *(f"{curves.entry(r.rate, r.rate_se, 1)} (n = {r.n})" for r in (part.iloc[0], part.iloc[-1])),
        ]
    index = pd.MultiIndex.from_tuples(list(rows), names=["estimand", "form", "h"])
    columns = ["true value", "limit at h", "n (mean - limit)", "at the smallest n", "at the largest n"]
    frame = pd.DataFrame(list(rows.values()), index, columns, dtype=object)
    frame.columns.name = "kl and squared L2 (two columns): limit for n to infinity and the 1 / n law"
    return frame


def reproduced(records, config):
    """Rows 'h = <bandwidth>, n = <n>', columns '<form>, <estimand>', and 'Refinement, <estimand>', of the direct estimator."""
    found = curves.numbers(records, tuple(NAMES))
    known, rows = settings(config), []
    for r in found.itertuples():
        form, bandwidth = known[r.estimator]
        if r.estimand.startswith("refinement"):
            column = f"Refinement, {NAMES[r.estimand]}" if form == "direct" else None
        else:
            column = f"{FORMS[form]}, {NAMES[r.estimand]}"
        if column:
            rows.append((f"h = {bandwidth:g}, n = {r.n}", column, r.mean, r.se, r.reps, None))
    for r in records[~records["status"].eq("ok")].drop_duplicates(["n", "estimator"]).itertuples():
        form, bandwidth = known[r.estimator]
        for name in curves.SHORT.values():
            row = (f"h = {bandwidth:g}, n = {r.n}", f"{FORMS[form]}, {name}")
            if row not in {done[:2] for done in rows}:
                rows.append((*row, np.nan, np.nan, np.nan, reproduction.why_without(r)))
    ours = pd.DataFrame(rows, columns=["row", "column", "value", "error", "reps", "why"])
    return curves.answer(config["compare"], ours)
