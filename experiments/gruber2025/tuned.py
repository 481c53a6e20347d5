"""Numbers of the tuned estimators, for the tables and figures of this paper.

An estimator's label names its base and its kind. The base is the name in the paper's tables, such
as "kde" (`BASES`). The kind says which version was computed, such as "corrected" (`STYLES`).
"""

import pandas as pd

from harness.evaluation import items
from harness.figures.style import COLOURS

from . import tuned_numbers

BASES = ("15 bins", "bins", "kde", "kkr", "ukkr")
PAPER, PUBLISHED, RIDGE = "paper", "as published", "float32's ridge"
KINDS = {
    ", corrected": "corrected",
    ", own split": "corrected, own split",
    f", {RIDGE}": RIDGE,
}  # {end of the label: kind}; a label without such an end is as published
PLACE = ["{model}", "{base}"]
LOST = ["q", "1 / (1 - q)", "as published × (1 - q)", "100 × Brier"]
STYLES = {
    PAPER: {
        "color": "0.35", "marker": "D", "markerfacecolor": "white", "markersize": 3.5,
        "label": PAPER, "shift": -0.3,
    },
    PUBLISHED: {
        "color": COLOURS[0], "marker": "o", "markersize": 3.5, "label": PUBLISHED, "shift": -0.1,
    },
    RIDGE: {
        "color": COLOURS[0], "marker": "o", "markersize": 3.5, "fillstyle": "left",
        "markerfacecoloralt": "white", "label": "as published, at the ridge that float32 chose",
        "shift": 0.0,
    },
    "corrected": {
        "color": COLOURS[1], "marker": "s", "markersize": 3.5, "label": "corrected", "shift": 0.1,
    },
    "corrected, own split": {
        "color": COLOURS[2], "marker": "v", "markersize": 3.5, "label": "corrected, own split",
        "shift": 0.3,
    },
}  # fmt: skip
OURS = list(STYLES)[1:]
TWIN = "other networks"  # key in `reasons` of a twin's configuration


def base_and_kind(name):
    """Return base and kind of a label: 'kde, corrected' -> ('kde', 'corrected')."""
    end = next((end for end in KINDS if name.endswith(end)), "")
    return name.removesuffix(end), KINDS.get(end, PUBLISHED)


def with_base(estimates):
    """Add the columns `base` and `kind` to estimates, from the labels in `column`."""
    both = [base_and_kind(name) for name in estimates["column"]]
    return estimates.assign(base=[base for base, _ in both], kind=[kind for _, kind in both])


def measured(records, settings):
    """Return the numbers of the tuned estimators, one row per network, base and kind.

    The columns are those of `tuned_numbers.measured`, and `base` and `kind`.
    """
    return tuned_numbers.measured(
        with_base(items.values(records, settings, ["rms"])), ["base", "kind"]
    )


def summary(records, settings):
    """Return `measured`, followed by the mean values of all estimators that have no folds."""
    return tuned_numbers.with_others(measured(records, settings), records)


def network_labels(settings):
    """Return the labels of the networks of a page.

    A twin is the paper's experiment on other networks. Its page has the paper's networks first,
    which are printed numbers alone, and then ours.
    """
    theirs = dict.fromkeys(items.printed(settings)["row"]) if TWIN in settings.reasons else {}
    return [*theirs, *items.labels(settings, "problem")]


def stand_ins(settings):
    """Return {label of our network: label of the paper's network that it stands for}.

    Our networks stand for the paper's in the order of the configuration. The result is empty for a
    page that is no twin, and for a twin with another number of networks than the paper.
    """
    theirs = dict.fromkeys(items.printed(settings)["row"]) if TWIN in settings.reasons else {}
    ours = items.labels(settings, "problem")
    return dict(zip(ours, theirs)) if len(ours) == len(theirs) else {}


def combine(records, settings, value, error, spread=""):
    """Return the paper's numbers and ours in one frame, and the rows of a table of them.

    Parameters
    ----------
    value, error : str
        Columns of `measured` with our numbers and their errors.
    spread : str
        Ending of the columns of reported.csv that hold the paper's errors. Without it the errors
        are in the column `plus_minus`.

    Returns
    -------
    both : DataFrame
        One row per model, base and kind, with `mean` and `se`. The paper's rows have the kind
        PAPER.
    rows : dict
        An empty row for each pair (model, base) with a number, in the paper's order.
    bases : list of str
        The bases with a number, in the paper's order.
    """
    theirs = items.printed(settings).rename(
        columns={"row": "model", "column": "base", "value": "mean", "plus_minus": "se"}
    )
    if spread:
        errors = theirs.assign(base=theirs["base"].str.removesuffix(spread))[
            theirs["base"].str.endswith(spread)
        ]
        theirs = theirs.drop(columns="se").join(
            errors.set_index(["model", "base"])["mean"].rename("se"), on=["model", "base"]
        )
    models = network_labels(settings)
    theirs = theirs[theirs["base"].isin(BASES) & theirs["model"].isin(models)].assign(kind=PAPER)
    estimates = measured(records, settings).rename(columns={value: "mean", error: "se"})
    both = pd.concat(
        [frame for frame in (theirs, estimates) if len(frame)] or [estimates], ignore_index=True
    )
    both = both.reindex(columns=list(dict.fromkeys([*estimates, *theirs])))
    have = set(zip(both["model"], both["base"]))
    rows = {(model, base): {} for model in models for base in BASES if (model, base) in have}
    return both, rows, [base for base in BASES if base in {base for _, base in rows}]


def rows_to_compare(estimates):
    """Return the rows of `measured` that are compared with the paper's printed numbers.

    These are the estimators as published. For kernel ridge the row with the ridge that float32
    chose takes their place, if it was computed.
    """
    ridge = estimates[estimates["kind"].eq(RIDGE)]
    both = pd.MultiIndex.from_frame(ridge[["model", "base"]])
    published = estimates[estimates["kind"].eq(PUBLISHED)]
    replaced = pd.MultiIndex.from_frame(published[["model", "base"]]).isin(both)
    return pd.concat([published[~replaced], ridge], ignore_index=True)


def reproduced(records, settings, numbers):
    """Return our numbers as published, for the comparison with the paper's numbers.

    `numbers` is {ending of the paper's column: column of `measured`}. The numbers have no Monte
    Carlo error, because the split is fixed. A reported number without one of ours gets a reason:
    that of its cell, or that its network is not part of this run.
    """
    estimates = rows_to_compare(measured(records, settings))
    ours = items.together(
        *(
            items.numbers(estimates, "{model}", "{base}" + end, of, 0.0, "folds")
            for end, of in numbers.items()
        )
    )
    lost, models = (
        items.whys(records, settings, "problem", "estimator"),
        items.labels(settings, "problem"),
    )
    absent = settings.reasons.get(TWIN, "the network is none of this run")

    def why(model, column):
        return lost.get(
            (model, column.split(" (")[0]), "no cell of this run" if model in models else absent
        )

    asked = items.printed(settings)[["item", "row", "column"]]
    return asked.merge(items.answers(ours, settings, why), on=["item", "row", "column"]).assign(
        error=0.0
    )
