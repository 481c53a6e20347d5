"""Figure 6: log-loss, accuracy, KL calibration error and refinement in the course of over-training, two classes.

The log-loss is the sum of the calibration error and the refinement (via risk exactly so, of estimates as well). The paper smooths
one network's curves; here they are means over networks, and nothing is smoothed.
"""

import pandas as pd

from harness.evaluation import items, text_tables
from harness.figures import panels

from . import comparisons, drawing, networks
from .networks import of

PARTS = {"train": "training", "val": "validation"}
PANELS = {
    "logloss": "log-loss (nats)", "accuracy": "accuracy (%)", "kl": r"$\mathrm{CE_{KL}}$ (nats)",
    "refinement_kl": "refinement (nats)",
}  # fmt: skip
CHANGES = {  # column of `changes`: of the table, its digits, and the row beside the paper's text
    "least loss": ("epoch of the least log-loss", 0, "validation log-loss, epoch of the least"),
    "least error": ("epoch of the least error", 0, "KL calibration error, epoch of the least"),
    "loss": ("log-loss rises by", 4, "validation log-loss, rise from there to the end"),
    "error": (
        "calibration error by",
        4,
        "KL calibration error, rise from the epoch of the least log-loss to the end",
    ),
    "refinement": (
        "refinement by",
        4,
        "refinement, rise from the epoch of the least log-loss to the end",
    ),
}


def measured(records, settings):
    """The records' numbers. The refinement of an estimator that gives a calibration error alone is the log-loss less that."""
    found = networks.estimates(records, settings, "binary")
    loss, split = (
        of(found, "logloss").set_index("problem")["value"],
        set(of(found, "refinement_kl")["column"]),
    )
    alone = of(found, "kl")[lambda f: ~f["column"].isin(split)]
    rest = alone.assign(
        estimand="refinement_kl", value=alone["problem"].map(loss).astype(float) - alone["value"]
    )
    return pd.concat([found, rest.dropna(subset="value")], ignore_index=True)


def render(records, settings):
    """Loss and accuracy of both parts, calibration error and refinement of the validation part by every estimator; the vertical
    line is the epoch of the least mean validation loss."""
    found = measured(records, settings)
    if not len(of(found, "logloss")):
        return panels.nothing(networks.NO_FILES)
    of_both = found["estimand"].isin(["logloss", "accuracy"])
    found = found.assign(series=found["part"].map(PARTS).where(of_both, found["column"]))[
        of_both | found["part"].eq("val")
    ]
    drawn = items.means(found, ["estimand", "series", "epoch"]).assign(row=0)
    names = [*PARTS.values(), *items.labels(settings, "estimator", of(found, "kl")["column"])]
    drawn["at"] = drawn["epoch"] * 1.12 ** (
        drawn["series"].map(names.index) % 3 - 1
    )  # side by side: some are the same number
    more = {"xlabel": "epoch", "how": {"x": "at", "log": True, "markersize": 2.5, "linewidth": 0.9}}
    figure, axes = drawing.facets(
        drawn, ("row", {0: ""}), ("estimand", PANELS), "series", names, 2.45, **more
    )
    loss = of(drawn, "logloss", series="validation").set_index("epoch")["mean"]
    for ax in axes.values():
        ax.axvline(loss.idxmin(), color="0.45", linewidth=0.8, linestyle=":", zorder=0)
    panels.legend(figure, list(axes.values()), columns=3)
    return figure


def changes(records, settings):
    """Per estimator and seed, on the validation part: the epochs of the least log-loss and of the least calibration error, and
    by what log-loss, calibration error and refinement rise from the former to the last epoch."""
    found, rows = measured(records, settings), []
    found = found[found["part"].eq("val")]
    for column in items.labels(settings, "estimator", of(found, "kl")["column"]):
        mine = found[found["column"].eq(column) | found["estimand"].eq("logloss")]
        for (_, seed), run in mine.groupby(["network", "seed"]):
            curves = [
                of(run, name).set_index("epoch")["value"].sort_index()
                for name in ("logloss", "kl", "refinement_kl")
            ]
            if len(curves[0]) and len(curves[1]):
                at, last = curves[0].idxmin(), curves[0].index.max()
                rises = [curve[last] - curve[at] for curve in curves]
                rows.append(
                    (column, seed, at, curves[1].idxmin(), *rises, tuple(run["key"].unique()))
                )
    return pd.DataFrame(rows, columns=["column", "seed", *CHANGES, "keys"])


def table(records, settings):
    """`changes` by estimator. The first error, of a network that says 1/2 of everything, is small too and may be the least."""
    found, rows = changes(records, settings), {}
    for name, (text, digits, _) in CHANGES.items():
        text_tables.entries(
            items.means(found, ["column"], name), ("{column}",), text, digits=digits, into=rows
        )
    heading = "validation: epochs of the least, and rises in nats from the least log-loss to the last epoch; "
    return networks.wide(rows, ["estimator"], heading + "mean ± standard error")


def reproduced(records, settings):
    """The paper draws one network and prints no number; ours are there to be read beside its text."""
    found = changes(records, settings)
    of_network, ours = found.drop_duplicates("seed").assign(column="network"), []
    for name, (_, _, row) in CHANGES.items():
        ours.append(
            items.numbers(
                items.means(of_network if "loss" in name else found, ["column"], name),
                row,
                "{column}",
            )
        )
    return comparisons.answers_or_reason(items.together(*ours), records, settings)
