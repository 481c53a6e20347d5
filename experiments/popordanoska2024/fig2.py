"""Figure 2: KL calibration error on simulated data. (a) kernel against bins, (b) via the risk against direct, (c) bias over n.

The class-wise numbers of the paper come from the kernel via the risk (eq. 14) with a bandwidth by n. (a) has the squared error as
well, where from 500 samples on bins do better than the kernel.
"""

import pandas as pd

from experiments.popordanoska2024 import curves
from harness.report.plots import COLOURS, MARKERS, WIDTH, pyplot
from harness.report.tables import label

summary = curves.summary
RISK, DIRECT = "kde_risk_schedule_popordanoska2024", "kde_direct_schedule_popordanoska2024"
BINNED = {"kl": "binned_kl_popordanoska2024", "l2_squared": "binned15"}


def render(records, config):
    return {"fig2a": _kernel_and_bins, "fig2b": _risk_and_direct, "fig2c": _bias}[_part(config)](records, config)


def _kernel_and_bins(records, config):
    plt = pyplot()
    table = curves.numbers(records)
    figure, axes = plt.subplots(1, 2, figsize=(WIDTH, 2.5), layout="constrained")
    for ax, (estimand, name) in zip(axes, curves.SHORT.items()):
        part = table[table["estimand"].eq(estimand)]
        curves.truth_line(ax, part)
        curves.curve(ax, part, config, curves.of(config, (RISK, BINNED[estimand])))
        for estimator in curves.of(config, (RISK, BINNED[estimand])):
            column = f"{label(config, 'estimator', estimator)}, {name}"
            curves.marks(ax, "fig2a_authors_code", column, "k = 2, ")
        ax.set_ylabel(curves.AXIS[estimand] + ("\n(two columns)" if estimand == "l2_squared" else ""))
        ax.set_xlabel("number of samples $n$")
        ax.set_ylim(bottom=0.0)
    curves.legend(figure, axes, columns=5)
    return figure


def _risk_and_direct(records, config):
    plt = pyplot()
    table = curves.numbers(records, ("kl",))
    problems = list(config["problem"])
    figure, axes = plt.subplots(1, len(problems), figsize=(WIDTH, 2.5), squeeze=False, sharey=True, layout="constrained")
    for ax, problem in zip(axes[0], problems):
        part = table[table["problem"].eq(problem)]
        curves.truth_line(ax, part)
        curves.curve(ax, part, config, curves.of(config, (RISK, DIRECT)))
        for estimator in curves.of(config, (RISK, DIRECT)):
            column = f"{label(config, 'estimator', estimator)}, KL"
            curves.marks(ax, "fig2b_authors_code", column, f"{label(config, 'problem', problem)}, ")
        ax.set_title(label(config, "problem", problem).replace("k =", "$k$ ="))
        ax.set_xlabel("number of samples $n$")
        ax.set_ylim(bottom=0.0)
    axes[0, 0].set_ylabel(curves.AXIS["kl"])
    curves.legend(figure, axes)
    return figure


def _bias(records, config):
    plt = pyplot()
    table = curves.numbers(records, ("kl",))
    shown = curves.of(config, (RISK, DIRECT))
    figure, axes = plt.subplots(1, len(shown), figsize=(WIDTH, 2.4), squeeze=False, sharey=True, layout="constrained")
    for ax, estimator in zip(axes[0], shown):
        for i, problem in enumerate(config["problem"]):
            line = table[table["problem"].eq(problem) & table["estimator"].eq(estimator)].sort_values("n")
            name = label(config, "problem", problem)
            ax.errorbar(
                line["n"], line["bias"], yerr=line["se"], color=COLOURS[i], marker=MARKERS[i], capsize=1.5, elinewidth=0.7,
                label=name.replace("k =", "$k$ ="), zorder=3,
            )  # fmt: skip
            if estimator == RISK:
                curves.marks(ax, "fig2c_authors_code", f"{label(config, 'estimator', RISK)}, bias of KL", f"{name}, ")
        ax.axhline(0.0, color="0.2", linestyle="--", linewidth=1.0, zorder=1)
        ax.set_xscale("log")
        ax.set_title(label(config, "estimator", estimator))
        ax.set_xlabel("number of samples $n$")
    axes[0, 0].set_ylabel("bias of the KL calibration error")
    curves.legend(figure, axes)
    return figure


def table(records, config):
    """By k and n: truth and estimates. Parts (a) and (b): by how much the second of two estimators is closer to the truth, with
    the error of that paired difference (bins and kernel; via the risk and direct). Part (c): bias, and bias in per cent."""
    part = _part(config)
    found = curves.numbers(records)
    rows = {}
    for r in found.itertuples():
        if part != "fig2a" and r.estimand != "kl":
            continue
        name = label(config, "estimator", r.estimator)
        suffix = f", {curves.SHORT[r.estimand]}" if part == "fig2a" else ""
        row = rows.setdefault((label(config, "problem", r.problem), int(r.n)), {})
        row[f"true value{suffix}"] = curves.entry(r.truth)
        if part == "fig2c":
            row[f"{name}, bias"] = curves.entry(r.bias, r.se)
            row[f"{name}, %"] = curves.entry(r.relative, r.relative_se, 0)
        else:
            row[f"{name}{suffix}"] = curves.entry(r.mean, r.se)
    for column, estimand, first, second in _contests(part):
        for (problem, n), d in curves.gap(records, estimand, first, second).iterrows():
            rows[label(config, "problem", problem), n][column] = curves.entry(d["gap"], d["se"])
    order = [label(config, "problem", p) for p in config["problem"]]
    keys = sorted(rows, key=lambda key: (order.index(key[0]), key[1]))
    columns = list(dict.fromkeys(c for key in keys for c in rows[key]))
    index = pd.MultiIndex.from_tuples(keys, names=["problem", "n"])
    frame = pd.DataFrame([[rows[key].get(c, "–") for c in columns] for key in keys], index, columns, dtype=object)
    frame.columns.name = "kl: mean ± standard error; squared L2 on two columns"
    return frame


def _contests(part):
    """(column, estimand, first, second) of the comparisons that a part of the figure makes."""
    if part == "fig2a":
        return [
            ("|bias| bins - kernel, KL", "kl", BINNED["kl"], RISK),
            ("|bias| bins - kernel, squared L2", "l2_squared", BINNED["l2_squared"], RISK),
        ]
    return [("|bias| via risk - direct", "kl", RISK, DIRECT)] if part == "fig2b" else []


def reproduced(records, config):
    """Our estimates, for (c) our biases, beside those of the authors' code and of an independent implementation."""
    ours = curves.reproduced_rows(records, config)
    if _part(config) == "fig2c":
        ours = ours.assign(value=ours["bias"], column=ours["column"].str.replace(", KL", ", bias of KL"))
    return curves.answer(config["compare"], ours.drop(columns="bias"))


def _part(config):
    return config["compare"][0].split("_")[0]
