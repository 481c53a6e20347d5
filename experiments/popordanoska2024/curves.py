"""What the items on simulated and real predictions share: the authors' unit, curves over n, our numbers beside the reported ones.

Unit. The authors write one class as two columns, (1 - g, g). Their squared error of a class is therefore twice our estimand
`l2_squared`, and so is their sharpness; their refinement, -mean F(r) with F(r) = r^2 + (1 - r)^2, is twice ours less 1. KL is the
same on one column and on two. Everything in this folder is shown in their unit.
"""

import numpy as np

from harness.report import items, panels
from harness.report.evaluation import evaluate
from harness.report.shown import label

VECTOR = "vector_truth_popordanoska2024"  # what the authors take for the truth: an estimator of no figure
AUTHORS = "_popordanoska2024"  # estimators whose ids end so give the authors' unit already,
ONE_COLUMN = ("classwise_ece_popordanoska2024",)  # but for their bins, which are of one column
UNIT = {"l2_squared": (2.0, 0.0), "sharpness_l2_squared": (2.0, 0.0), "refinement_l2_squared": (2.0, -1.0)}  # factor, shift
SHORT = {"kl": "KL", "l2_squared": "squared L2"}
AXIS = {"kl": "KL calibration error", "l2_squared": "squared $L_2$ calibration error"}
AGAIN = "authors' code, run again"
STYLES = {  # one look per estimator in all figures: colour, marker, line
    "kde_risk_schedule_popordanoska2024": (0, "-"), "kde_popordanoska2024": (0, "-"),
    "kde_direct_schedule_popordanoska2024": (1, "-"), "kde_direct_popordanoska2024": (1, "-"),
    "kde": (2, "-"), "kde_likelihood": (5, "-"), "binned_kl_popordanoska2024": (3, "-"), "binned15": (4, "-"),
    "debiased15": (6, "-"),
}  # fmt: skip


def in_two_columns(records):
    """The records, values and truths, in the authors' unit; those of the canonical notion are as they were."""
    frame = records.copy()
    for estimand, (factor, shift) in UNIT.items():
        mine = frame["estimand"].eq(estimand) & frame["notion"].ne("canonical")
        plain = mine & (~frame["estimator"].str.endswith(AUTHORS) | frame["estimator"].isin(ONE_COLUMN))
        for rows, columns in ((plain, ["value", "low", "high"]), (mine, ["truth"])):
            frame.loc[rows, columns] = frame.loc[rows, columns] * factor + shift
        frame.loc[mine, "truth_error"] *= factor
    return frame


def numbers(records, config, estimands=tuple(SHORT)):
    """items.evaluated of these estimands in the authors' unit, with their names (`short`) and `relative`, the bias in per cent of
    the truth, with its error."""
    table = items.evaluated(in_two_columns(records[records["estimator"].ne(VECTOR)]), config, estimands)
    nonzero = table["truth"].where(table["truth"].ne(0.0))
    table = table.assign(relative=100 * table["bias"] / nonzero, relative_se=100 * table["se"] / nonzero)
    return table.assign(short=table["estimand"].map(SHORT))


def of_vector(records, config):
    """What the authors take for the truth by problem and estimand (index): value, error, short, model, keys."""
    fine = items.values(records[records["estimator"].eq(VECTOR)], config, SHORT).drop_duplicates(["problem", "estimand"])
    fine = fine.assign(error=items.diagnostics(fine).reindex(columns=["error"])["error"], short=fine["estimand"].map(SHORT))
    return fine.set_index(["problem", "estimand"])


def summary(records, config):
    """evaluate(), in the authors' unit, with the labels beside the ids."""
    frame = evaluate(in_two_columns(records))
    for group in ("estimator", "problem"):
        frame.insert(0, f"{group}_label", [label(config, group, name) for name in frame[group]])
    doubled = frame["estimand"].isin(list(UNIT)) & frame["notion"].ne("canonical")
    return frame.assign(unit=np.where(doubled, "two columns", "").astype(object))


def panel(ax, part, config, estimators, item=None, reported=None):
    """One problem and estimand: the true value, the estimators' means against n, and the numbers that an item reports of them (or
    of those in `reported`) as grey marks."""
    known = [name for name in estimators if name in config["estimator"]]
    panels.truth_line(ax, part)
    for i, name in enumerate(known):
        colour, style = STYLES.get(name, (i % 8, "-"))
        how = panels.look(colour, line=style, label=label(config, "estimator", name), zorder=3)
        panels.curve(ax, part[part["estimator"].eq(name)], log=True, **how)
    for (model, short), _ in part.groupby(["model", "short"]) if item else ():
        for name in reported or known:
            marks(ax, config, item, f"{label(config, 'estimator', name)}, {short}", f"{model}, ")


def marks(ax, config, item, column, prefix):
    """Reported numbers of an item as open grey marks with their standard errors, a little to the right of their n."""
    found = items.printed(config, item)
    found = found[found["column"].eq(column) & found["row"].str.startswith(f"{prefix}n = ")]
    found = found.assign(n=1.09 * found["row"].str.extract(r"n = (\d+)$")[0].astype(float))
    look = {"color": "0.45", "marker": "D", "markerfacecolor": "white", "markersize": 3.2, "linestyle": "none", "zorder": 2}
    panels.curve(ax, found, value="value", error="plus_minus", label=AGAIN, **look)


def axis(estimand):
    """The label of an axis of errors."""
    return AXIS[estimand] + ("\n(two columns)" if estimand == "l2_squared" else "")


def titled(config, problem):
    """A problem's label for a title: 'k =' in italics."""
    return label(config, "problem", problem).replace("k =", "$k$ =")


def reproduced_rows(records, config, column="{column}, {short}", value="mean"):
    """Our numbers with row '<problem label>, n = <n>' and column '<estimator label>, <estimand>', in the authors' unit; cells
    without a number leave their reason."""
    row, lost = "{model}, n = {n}", records[records["estimator"].ne(VECTOR)]
    columns = [column.replace("{short}", name) for name in SHORT.values()]
    ours = items.numbers(numbers(records, config), row, column, value)
    return items.together(ours, items.without_number(lost, config, row, columns))
