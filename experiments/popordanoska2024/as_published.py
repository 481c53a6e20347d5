"""What each convention of the published numbers does, on problems whose truth is known.

* A perfectly calibrated model (a network's predictions with labels drawn from them): every error is 0, and what an estimator
  gives is its own bias. With the bandwidth 0.02 of the tables, via the risk, that is most of what the tables print.
* Simulated data: the same, beside a truth that is not 0, and beside what the authors take for it.
* Squared errors on two columns (the authors' unit) are twice those on one (ours).
"""

import pandas as pd

from experiments.popordanoska2024 import curves
from experiments.popordanoska2024.authors import classwise_of_vector
from harness.problems import TemperedDirichlet
from harness.report import reproduction
from harness.report.plots import COLOURS, MARKERS, WIDTH, pyplot
from harness.report.tables import label
from harness.runs.components import configured

summary = curves.summary


def render(records, config):
    return _against_n(records, config) if records["n"].nunique() > 2 else _side_by_side(records, config)


def _against_n(records, config):
    plt = pyplot()
    found = curves.numbers(records)
    problems = [p for p in config["problem"] if p in set(found["problem"])]
    figure, axes = plt.subplots(2, len(problems), figsize=(WIDTH, 4.2), squeeze=False, sharex=True, layout="constrained")
    for row, estimand in zip(axes, curves.SHORT):
        for ax, problem in zip(row, problems):
            part = found[found["estimand"].eq(estimand) & found["problem"].eq(problem)]
            curves.truth_line(ax, part)
            curves.curve(ax, part, config, list(config["estimator"]))
        row[0].set_ylabel(curves.AXIS[estimand] + ("\n(two columns)" if estimand == "l2_squared" else ""))
    for ax, problem in zip(axes[0], problems):
        ax.set_title(label(config, "problem", problem).replace("k =", "$k$ ="))
    for ax in axes[1]:
        ax.set_xlabel("number of samples $n$")
    curves.legend(figure, axes, columns=3)
    return figure


def _side_by_side(records, config):
    """One panel per problem and estimand; full marks at the larger n, open ones at the smaller."""
    plt = pyplot()
    found, theirs = curves.numbers(records), authors_truths(config)
    problems = [p for p in config["problem"] if p in set(found["problem"])]
    names = [e for e in _order(config) if e in set(found["estimator"])]
    height = 0.9 + 2 * (0.35 + 0.19 * len(names))
    figure, axes = plt.subplots(2, len(problems), figsize=(WIDTH, height), squeeze=False, sharey=True, layout="constrained")
    for row, estimand in zip(axes, curves.SHORT):
        for ax, problem in zip(row, problems):
            part = found[found["estimand"].eq(estimand) & found["problem"].eq(problem)]
            for j, (n, of_n) in enumerate(part.groupby("n")):
                at = [names.index(e) + 0.28 * (j - 0.5) for e in of_n["estimator"]]
                ax.errorbar(
                    100 * of_n["mean"], at, xerr=100 * of_n["se"], linestyle="none", color=COLOURS[j], marker=MARKERS[j],
                    markerfacecolor=COLOURS[j] if j else "white", capsize=1.5, elinewidth=0.7, label=f"$n$ = {n:,}",
                )  # fmt: skip
            known = part["truth"].dropna()
            if len(known):
                ax.axvline(100 * known.iloc[0], color="0.2", linestyle="--", linewidth=1.0, label="true value", zorder=1)
            if (problem, estimand) in theirs:
                line = {"color": "0.2", "linestyle": ":", "linewidth": 1.0, "label": "authors' ground truth", "zorder": 1}
                ax.axvline(100 * theirs[problem, estimand], **line)
            for absent in set(names) - set(part["estimator"]):
                place = {"transform": ax.get_yaxis_transform(), "ha": "right", "va": "center", "fontsize": 6, "color": "0.45"}
                ax.text(0.98, names.index(absent), "no estimate", **place)
            ax.set_xlabel({"kl": "KL", "l2_squared": "squared $L_2$"}[estimand] + r" $\times$ 100")
        row[0].set_yticks(range(len(names)), [label(config, "estimator", e) for e in names])
        row[0].set_ylim(len(names) - 0.4, -0.6)
    for ax, problem in zip(axes[0], problems):
        ax.set_title(label(config, "problem", problem))
    curves.legend(figure, axes)
    return figure


def _order(config):
    """The estimators in the order of their labels, others after them."""
    known = list(config["labels"]["estimator"])
    return sorted(config["estimator"], key=lambda name: known.index(name) if name in known else len(known))


def authors_truths(config):
    """{(problem, estimand): value in the authors' unit} of what their code takes for the truth, for the simulated problems."""
    found = {}
    for name, settings in config["problem"].items():
        made = configured("problem", name, settings).object
        if isinstance(made, TemperedDirichlet):
            for estimand in curves.SHORT:
                found[name, estimand] = classwise_of_vector(made, estimand).value * curves.UNIT.get(estimand, (1.0, 0.0))[0]
    return found


def table(records, config):
    """By problem, n and estimator, all x 100: KL, and the squared error on two columns and on one; the truths beside them."""
    found, theirs = curves.numbers(records), authors_truths(config)
    order = (list(config["problem"]), _order(config))
    rows = {}
    for r in found.itertuples():
        key = (order[0].index(r.problem), int(r.n), order[1].index(r.estimator))
        row, name = rows.setdefault(key, {}), curves.SHORT[r.estimand]
        row[f"{name} x 100"] = curves.entry(100 * r.mean, 100 * r.se, 3)
        row[f"{name} x 100, true value"] = curves.entry(100 * r.truth, digits=3)
        row[f"{name} x 100, authors' ground truth"] = curves.entry(
            100 * theirs.get((r.problem, r.estimand), float("nan")), digits=3
        )
        if r.estimand in curves.UNIT:
            row[f"{name} x 100, one column"] = curves.entry(50 * r.mean, 50 * r.se, 3)
    keys = sorted(rows)
    columns = sorted({c for row in rows.values() for c in row}, key=lambda c: (c[0] != "K", len(c)))
    labels = [(label(config, "problem", order[0][p]), n, label(config, "estimator", order[1][e])) for p, n, e in keys]
    index = pd.MultiIndex.from_tuples(labels, names=["problem", "n", "estimator"])
    frame = pd.DataFrame([[rows[key].get(c, "–") for c in columns] for key in keys], index, columns, dtype=object)
    frame.columns.name = "kl and squared L2 (two columns where not said otherwise): mean ± standard error"
    return frame


def reproduced(records, config):
    """Our numbers, rows '<problem>, n = <n>': of other predictions than those behind the reported ones, so shown by
    themselves."""
    ours = curves.reproduced_rows(records, config).drop(columns="bias")
    asked = reproduction.reported("popordanoska2024", config["compare"])
    ours = pd.concat([ours, asked[["row", "column"]].assign(why=config["reasons"]["data"])], ignore_index=True)
    return curves.answer(config["compare"], ours)
