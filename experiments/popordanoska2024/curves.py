"""What the items on simulated and real predictions share: the authors' unit, curves over n, our numbers beside the reported ones.

Unit. The authors write one class as two columns, (1 - g, g). Their squared error of a class is therefore twice our estimand
`l2_squared`, and so is their sharpness; their refinement, -mean F(r) with F(r) = r^2 + (1 - r)^2, is twice ours less 1. KL is the
same on one column and on two. Everything in this folder is shown in their unit.
"""

import numpy as np

from harness.evaluation import items
from harness.evaluation.selection import label
from harness.evaluation.summary import evaluate
from harness.figures import panels

VECTOR = "vector_truth_popordanoska2024"  # what the authors take for the truth: an estimator of no figure
AUTHORS = "_popordanoska2024"  # estimators whose ids end so give the authors' unit already,
ONE_COLUMN = ("classwise_ece_popordanoska2024",)  # but for their bins, which are of one column
UNIT = {
    "l2_squared": (2.0, 0.0),
    "sharpness_l2_squared": (2.0, 0.0),
    "refinement_l2_squared": (2.0, -1.0),
}  # factor, shift
SHORT = {"kl": "KL", "l2_squared": "squared L2"}
AXIS = {
    "kl": "KL calibration error",
    "l2_squared": "squared $L_2$ calibration error\n(two columns)",
}
AGAIN, THEIRS = "authors' code, run again", "authors' ground truth"


def in_two_columns(records):
    """The records, values and truths, in the authors' unit; those of the canonical notion are as they were."""
    frame = records.copy()
    for estimand, (factor, shift) in UNIT.items():
        mine = frame["estimand"].eq(estimand) & frame["notion"].ne("canonical")
        plain = mine & (
            ~frame["estimator"].str.endswith(AUTHORS) | frame["estimator"].isin(ONE_COLUMN)
        )
        for rows, columns in ((plain, ["value", "low", "high"]), (mine, ["truth"])):
            frame.loc[rows, columns] = frame.loc[rows, columns] * factor + shift
        frame.loc[mine, "truth_error"] *= factor
    return frame


def numbers(records, settings, estimands=tuple(SHORT)):
    """items.evaluated of these estimands in the authors' unit, with `short`, their names, `relative`, the bias in per cent of the
    truth, with its error, and `theirs`, what the authors take for the truth."""
    table = items.evaluated(
        in_two_columns(records[records["estimator"].ne(VECTOR)]), settings, estimands
    )
    nonzero, theirs = (
        table["truth"].where(table["truth"].ne(0.0)),
        of_vector(records, settings)["value"],
    )
    table = table.assign(
        relative=100 * table["bias"] / nonzero, relative_se=100 * table["se"] / nonzero
    )
    table["theirs"] = [
        theirs.get(place, np.nan) for place in zip(table["problem"], table["estimand"])
    ]
    return table.assign(short=table["estimand"].map(SHORT))


def of_vector(records, settings):
    """What the authors take for the truth by problem and estimand (index): value, error, short, model, keys."""
    fine = items.values(records[records["estimator"].eq(VECTOR)], settings, SHORT).drop_duplicates(
        ["problem", "estimand"]
    )
    fine = fine.assign(
        error=items.diagnostics(fine).reindex(columns=["error"])["error"],
        short=fine["estimand"].map(SHORT),
    )
    return fine.set_index(["problem", "estimand"])


def summary(records, settings):
    """evaluate(), in the authors' unit, with the labels beside the ids."""
    frame = evaluate(in_two_columns(records))
    for group in ("estimator", "problem"):
        frame.insert(0, f"{group}_label", [label(settings, group, name) for name in frame[group]])
    doubled = frame["estimand"].isin(list(UNIT)) & frame["notion"].ne("canonical")
    return frame.assign(unit=np.where(doubled, "two columns", "").astype(object))


def marks(ax, part, settings, item, column="{column}, {short}", looks=None, apart=None):
    """What an item reports of the problems and estimators of `part`: open grey marks, a little to the right of their n; or by
    `looks`, {label of a problem or an estimator: what its marks have of their own}, and `apart`, {label: factor of n}."""
    found = items.printed(settings, item)
    found[["model", "n"]] = found["row"].str.extract(r"^(.*), n = (\d+)$")
    found = found[
        found["model"].isin(part["model"]) & found["column"].isin(items.formatted(part, column))
    ]
    look = {
        "color": "0.45",
        "marker": "D",
        "markerfacecolor": "white",
        "markersize": 3.2,
        "linestyle": "none",
        "zorder": 2,
    }
    found = found.assign(n=1.09 * found["n"].astype(float))
    for (model, column), mine in found.groupby(["model", "column"], sort=False):
        own = (looks or {}).get(model) or (looks or {}).get(column.split(", ")[0], {})
        mine = mine.assign(n=(apart or {}).get(model, 1.0) * mine["n"])
        panels.curve(ax, mine, value="value", error="plus_minus", **{"label": AGAIN, **look, **own})


def titles(settings, group, names):
    """{id: label} of problems or estimators, 'k =' in italics."""
    return {name: label(settings, group, name).replace("k =", "$k$ =") for name in names}


def reproduced_rows(records, settings, column="{column}, {short}", value="mean"):
    """Our numbers with row '<problem label>, n = <n>' and column '<estimator label>, <estimand>', in the authors' unit; cells
    without a number leave their reason."""
    row, lost = "{model}, n = {n}", records[records["estimator"].ne(VECTOR)]
    columns = [column.replace("{short}", name) for name in SHORT.values()]
    ours = items.numbers(numbers(records, settings), row, column, value)
    return items.together(ours, items.without_number(lost, settings, row, columns))
