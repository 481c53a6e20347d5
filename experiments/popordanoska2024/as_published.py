"""What each convention of the published numbers does, on problems whose truth is known.

* A perfectly calibrated model (a network's predictions with labels drawn from them): every error is 0, and what an estimator
  gives is its own bias. With the bandwidth 0.02 of the tables, via the risk, that is most of what the tables print.
* Simulated data: the same, beside a truth that is not 0, and beside what the authors take for it.
* Squared errors on two columns (the authors' unit) are twice those on one (ours).
"""

from experiments.popordanoska2024 import curves
from harness.report import items, panels
from harness.report.tables import label

summary = curves.summary


def render(records, config):
    """Estimates against n, or, of one or two n, side by side: full marks at the larger n, open ones at the smaller."""
    return _against_n(records, config) if records["n"].nunique() > 2 else _side_by_side(records, config)


def _against_n(records, config):
    found = curves.numbers(records, config)
    problems = items.chosen(config, found, "problem")
    figure, axes = panels.grid(2, len(problems), 4.2, sharex=True)
    for row, estimand in zip(axes, curves.SHORT):
        for i, problem in enumerate(problems):
            part = found[found["estimand"].eq(estimand) & found["problem"].eq(problem)]
            panels.truth_line(row[i], part)
            curves.curve(row[i], part, config, estimators(config))
            axes[0, i].set_title(curves.titled(config, problem))
            axes[1, i].set_xlabel(panels.N_AXIS)
        row[0].set_ylabel(curves.axis(estimand))
    panels.legend(figure, axes, columns=3)
    return figure


def _side_by_side(records, config):
    found, theirs = curves.numbers(records, config), curves.of_vector(records, config)["value"]
    problems, names = items.chosen(config, found, "problem"), [e for e in estimators(config) if e in set(found["estimator"])]
    figure, axes = panels.grid(2, len(problems), 0.9 + 2 * (0.35 + 0.19 * len(names)), sharey=True)
    for row, estimand in zip(axes, curves.SHORT):
        for i, (ax, problem) in enumerate(zip(row, problems)):
            part = found[found["estimand"].eq(estimand) & found["problem"].eq(problem)]
            for j, (n, of_n) in enumerate(part.groupby("n")):
                at = of_n["estimator"].map(names.index) + 0.28 * (j - 0.5)
                panels.marks(ax, at, of_n, scale=100, **panels.look(j, bool(j), label=f"$n$ = {n:,}"))
            panels.truth_line(ax, part, upright=True, scale=100)
            if (problem, estimand) in theirs:
                line = {"color": "0.2", "linestyle": ":", "linewidth": 1.0, "label": "authors' ground truth", "zorder": 1}
                ax.axvline(100 * theirs[problem, estimand], **line)
            for absent in set(names) - set(part["estimator"]):
                place = {"transform": ax.get_yaxis_transform(), "ha": "right", "va": "center", "fontsize": 6, "color": "0.45"}
                ax.text(0.98, names.index(absent), "no estimate", **place)
            ax.set_xlabel({"kl": "KL", "l2_squared": "squared $L_2$"}[estimand] + r" $\times$ 100")
            axes[0, i].set_title(label(config, "problem", problem))
        panels.name_rows(row[0], [label(config, "estimator", e) for e in names], 0.6, 0.6)
    panels.legend(figure, axes)
    return figure


def estimators(config):
    """The estimators in the order of their labels, others after them."""
    known = list(config["labels"]["estimator"])
    named = [name for name in config["estimator"] if name != curves.VECTOR]
    return sorted(named, key=lambda name: known.index(name) if name in known else len(known))


def table(records, config):
    """By problem, n and estimator, all x 100: KL, and the squared error on two columns and on one; the truths beside them."""
    found, theirs, rows = curves.numbers(records, config), curves.of_vector(records, config)["value"], {}
    order = estimators(config)
    found = found.sort_values(["n", "estimator"], key=lambda c: c if c.name == "n" else c.map(order.index), kind="stable")
    for r in items.in_order(found, config, "problem").itertuples():
        row, name = rows.setdefault((r.model, int(r.n), r.column), {}), f"{r.short} x 100"
        row[name] = items.entry(100 * r.mean, 100 * r.se, 3)
        row[f"{name}, true value"] = items.entry(100 * r.truth, digits=3)
        row[f"{name}, authors' ground truth"] = items.entry(100 * theirs.get((r.problem, r.estimand), float("nan")), digits=3)
        if r.estimand in curves.UNIT:
            row[f"{name}, one column"] = items.entry(50 * r.mean, 50 * r.se, 3)
    columns = sorted(dict.fromkeys(c for row in rows.values() for c in row), key=lambda c: (c[0] != "K", len(c)))
    heading = "kl and squared L2 (two columns where not said otherwise): mean ± standard error"
    return items.wide(rows, ["problem", "n", "estimator"], heading, columns)


def reproduced(records, config):
    """Our numbers, rows '<problem>, n = <n>': of other predictions than those behind the reported ones, so shown by
    themselves."""
    return items.answers(curves.reproduced_rows(records, config), config, config["reasons"]["data"])
