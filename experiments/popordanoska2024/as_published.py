"""What each convention of the published numbers does, on problems whose truth is known.

* A perfectly calibrated model (a network's predictions with labels drawn from them): every error is 0, and what an estimator
  gives is its own bias. With the bandwidth 0.02 of the tables, via the risk, that is most of what the tables print.
* Simulated data: the same, beside a truth that is not 0, and beside what the authors take for it.
* Squared errors on two columns (the authors' unit) are twice those on one (ours).
"""

import numpy as np

from experiments.popordanoska2024 import curves
from harness.report import items, panels
from harness.report.shown import label

summary = curves.summary
THEIRS = "authors' ground truth"


def measured(records, config):
    """curves.numbers with `theirs`, what the authors take for the truth; by problem, n and the estimators' labels."""
    found, theirs = curves.numbers(records, config), curves.of_vector(records, config)["value"]
    found["theirs"] = [theirs.get(place, np.nan) for place in zip(found["problem"], found["estimand"])]
    known = items.ranked(config["estimator"], config["labels"]["estimator"])
    return items.in_order(found, {**config, "n": sorted(found["n"].unique()), "estimator": known}, "problem", "n", "estimator")


def render(records, config):
    """Estimates against n, or, of one or two n, side by side: full marks at the larger n, open ones at the smaller."""
    found, several = measured(records, config), records["n"].nunique() > 2
    problems, names = items.chosen(config, found, "problem"), items.ranked(config["estimator"], config["labels"]["estimator"])
    names = [name for name in names if name in set(found["estimator"])]
    height = 4.2 if several else 0.9 + 2 * (0.35 + 0.19 * len(names))
    figure, axes = panels.grid(2, len(problems), height, sharex=several, sharey=not several)
    for row, estimand in zip(axes, curves.SHORT):
        for ax, problem in zip(row, problems):
            part = found[found["estimand"].eq(estimand) & found["problem"].eq(problem)]
            if several:
                curves.panel(ax, part, config, names)
            else:
                _side_by_side(ax, part, names)
                ax.set_xlabel({"kl": "KL", "l2_squared": "squared $L_2$"}[estimand] + r" $\times$ 100")
        if several:
            row[0].set_ylabel(curves.axis(estimand))
        else:
            panels.name_rows(row[0], [label(config, "estimator", e) for e in names], 0.6, 0.6)
    for top, bottom, problem in zip(*axes, problems):
        top.set_title(curves.titled(config, problem))
        bottom.set_xlabel(panels.N_AXIS if several else bottom.get_xlabel())
    panels.legend(figure, axes, columns=3 + (not several))
    return figure


def _side_by_side(ax, part, names):
    """One problem and estimand: a row of marks per estimator, x 100, which says where it has none."""
    for j, (n, of_n) in enumerate(part.groupby("n")):
        at = of_n["estimator"].map(names.index) + 0.28 * (j - 0.5)
        panels.marks(ax, at, of_n, scale=100, **panels.look(j, bool(j), label=f"$n$ = {n:,}"))
    panels.truth_line(ax, part, upright=True, scale=100)
    for value in part["theirs"].dropna().unique():
        panels.rule(ax, 100 * value, upright=True, linestyle=":", label=THEIRS)
    for absent in set(names) - set(part["estimator"]):
        place = {"transform": ax.get_yaxis_transform(), "ha": "right", "va": "center", "fontsize": 6, "color": "0.45"}
        ax.text(0.98, names.index(absent), "no estimate", **place)


def table(records, config):
    """By problem, n and estimator, all x 100: KL, and the squared error on two columns and on one; the truths beside them."""
    found, key = measured(records, config), ("model", "n", "column")
    found[["mean", "se", "truth", "theirs"]] *= 100
    shown = {"": ("mean", "se", 3), ", true value": ("truth", None, 3), f", {THEIRS}": ("theirs", None, 3)}
    rows = items.columns(found, key, {"{short} x 100" + name: how for name, how in shown.items()})
    half = found[found["estimand"].isin(list(curves.UNIT))]
    half = half.assign(mean=half["mean"] / 2, se=half["se"] / 2)
    items.columns(half, key, {"{short} x 100, one column": ("mean", "se", 3)}, into=rows)
    columns = sorted(dict.fromkeys(c for row in rows.values() for c in row), key=lambda c: (c[0] != "K", len(c)))
    heading = "kl and squared L2 (two columns where not said otherwise): mean ± standard error"
    return items.wide(rows, ["problem", "n", "estimator"], heading, columns)


def reproduced(records, config):
    """Our numbers, rows '<problem>, n = <n>': of other predictions than those behind the reported ones, so shown by
    themselves."""
    return items.answers(curves.reproduced_rows(records, config), config, config["reasons"]["data"])
