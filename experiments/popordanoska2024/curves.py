"""Numbers of the simulated and the real predictions, in the authors' unit.

The authors write the predicted probability g of a class as two columns (1 - g, g). So their squared
error of a class is twice our estimand `l2_squared`, and so is their sharpness. Their refinement is
twice ours minus 1: it is -mean F(r) with F(r) = r^2 + (1 - r)^2, where r estimates the probability
of the class. KL is the same on one column and on two. All pages of this paper are in their unit.
"""

import numpy as np

from harness.evaluation import items
from harness.evaluation.selection import label
from harness.evaluation.summary import evaluate
from harness.figures import panels

VECTOR = "vector_truth_popordanoska2024"  # estimator that returns the authors' ground truth
# Estimators with this end of the id are in the authors' unit already, except their bins on one
# column.
AUTHORS = "_popordanoska2024"
ONE_COLUMN = ("classwise_ece_popordanoska2024",)
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
    """Return records with values and truths in the authors' unit (canonical ones unchanged)."""
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
    """Return `items.evaluated` of some estimands, in the authors' unit.

    Further columns: `short`, the name of the estimand; `relative`, the bias in per cent of the
    truth, with the error `relative_se`; and `theirs`, the ground truth as the authors compute it.
    """
    table = items.evaluated(
        in_two_columns(records[records["estimator"].ne(VECTOR)]), settings, estimands
    )
    nonzero, theirs = (
        table["truth"].where(table["truth"].ne(0.0)),
        authors_truth(records, settings)["value"],
    )
    table = table.assign(
        relative=100 * table["bias"] / nonzero, relative_se=100 * table["se"] / nonzero
    )
    table["theirs"] = [
        theirs.get(place, np.nan) for place in zip(table["problem"], table["estimand"])
    ]
    return table.assign(short=table["estimand"].map(SHORT))


def authors_truth(records, settings):
    """Return the ground truth as the authors compute it, indexed by problem and estimand.

    The columns are value, error, short, model and keys.
    """
    fine = items.values(records[records["estimator"].eq(VECTOR)], settings, SHORT).drop_duplicates(
        ["problem", "estimand"]
    )
    fine = fine.assign(
        error=items.diagnostics(fine).reindex(columns=["error"])["error"],
        short=fine["estimand"].map(SHORT),
    )
    return fine.set_index(["problem", "estimand"])


def summary(records, settings):
    """Return `evaluate` in the authors' unit, with labels beside the ids."""
    frame = evaluate(in_two_columns(records))
    for group in ("estimator", "problem"):
        frame.insert(0, f"{group}_label", [label(settings, group, name) for name in frame[group]])
    doubled = frame["estimand"].isin(list(UNIT)) & frame["notion"].ne("canonical")
    return frame.assign(unit=np.where(doubled, "two columns", "").astype(object))


def marks(ax, part, settings, item, column="{column}, {short}", looks=None, apart=None):
    """Draw the reported numbers of the problems and estimators of `part` as open grey marks.

    They are slightly to the right of their n.

    Parameters
    ----------
    looks : mapping, optional
        {label of a problem or estimator: style of its marks}.
    apart : mapping, optional
        {label: factor of n}, so that lines that lie close stand side by side.
    """
    estimates = items.printed(settings, item)
    estimates[["model", "n"]] = estimates["row"].str.extract(r"^(.*), n = (\d+)$")
    estimates = estimates[
        estimates["model"].isin(part["model"])
        & estimates["column"].isin(items.formatted(part, column))
    ]
    look = {
        "color": "0.45",
        "marker": "D",
        "markerfacecolor": "white",
        "markersize": 3.2,
        "linestyle": "none",
        "zorder": 2,
    }
    estimates = estimates.assign(n=1.09 * estimates["n"].astype(float))
    for (model, column), mine in estimates.groupby(["model", "column"], sort=False):
        special = (looks or {}).get(model) or (looks or {}).get(column.split(", ")[0], {})
        mine = mine.assign(n=(apart or {}).get(model, 1.0) * mine["n"])
        panels.curve(
            ax, mine, value="value", error="plus_minus", **{"label": AGAIN, **look, **special}
        )


def titles(settings, group, names):
    """Return {id: label} of problems or estimators, with the k of 'k =' in italics."""
    return {name: label(settings, group, name).replace("k =", "$k$ =") for name in names}


def reproduced_rows(records, settings, column="{column}, {short}", value="mean"):
    """Return our numbers in the authors' unit, in rows '<problem label>, n = <n>'.

    The columns are '<estimator label>, <estimand>'. A cell without a number leaves its reason.
    """
    row, lost = "{model}, n = {n}", records[records["estimator"].ne(VECTOR)]
    columns = [column.replace("{short}", name) for name in SHORT.values()]
    ours = items.numbers(numbers(records, settings), row, column, value)
    return items.together(ours, items.without_number(lost, settings, row, columns))
