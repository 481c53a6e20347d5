"""Figure 6: log-loss, accuracy, KL calibration error and refinement during over-training.

The log-loss is the sum of the calibration error and the refinement. Estimates via the risk have the
same property. The paper draws one network, with smoothed curves. Here the curves are means over
networks, without smoothing. There are two classes.
"""

import pandas as pd

from harness.evaluation import items, text_tables
from harness.figures import panels

from . import comparisons, drawing, networks
from .networks import select

PARTS = {"train": "training", "val": "validation"}
PANELS = {
    "logloss": "log-loss (nats)", "accuracy": "accuracy (%)", "kl": r"$\mathrm{CE_{KL}}$ (nats)",
    "refinement_kl": "refinement (nats)",
}  # fmt: skip
CHANGES = {  # {column of `changes`: (text in the table, digits, row in reported.csv)}
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
    """Return the numbers of the records, with a refinement for every estimator.

    If an estimator gives only a calibration error, its refinement is the log-loss minus that error.
    """
    frame = networks.estimates(records, settings, "binary")
    loss, split = (
        select(frame, "logloss").set_index("problem")["value"],
        set(select(frame, "refinement_kl")["column"]),
    )
    alone = select(frame, "kl")[lambda f: ~f["column"].isin(split)]
    rest = alone.assign(
        estimand="refinement_kl", value=alone["problem"].map(loss).astype(float) - alone["value"]
    )
    return pd.concat([frame, rest.dropna(subset="value")], ignore_index=True)


def render(records, settings):
    """Draw log-loss and accuracy of training and validation, and the two parts of the log-loss.

    The parts are calibration error and refinement on validation images, by every estimator. The
    vertical line is the epoch of the smallest mean validation loss.
    """
    frame = measured(records, settings)
    if not len(select(frame, "logloss")):
        return panels.nothing(networks.NO_FILES)
    of_both = frame["estimand"].isin(["logloss", "accuracy"])
    frame = frame.assign(series=frame["part"].map(PARTS).where(of_both, frame["column"]))[
        of_both | frame["part"].eq("val")
    ]
    drawn = items.means(frame, ["estimand", "series", "epoch"]).assign(row=0)
    names = [*PARTS.values(), *items.labels(settings, "estimator", select(frame, "kl")["column"])]
    drawn["at"] = drawn["epoch"] * 1.12 ** (
        drawn["series"].map(names.index) % 3 - 1
    )  # set lines side by side that have the same values
    more = {"xlabel": "epoch", "how": {"x": "at", "log": True, "markersize": 2.5, "linewidth": 0.9}}
    figure, axes = drawing.facets(
        drawn, ("row", {0: ""}), ("estimand", PANELS), "series", names, 2.45, **more
    )
    loss = select(drawn, "logloss", series="validation").set_index("epoch")["mean"]
    for ax in axes.values():
        ax.axvline(loss.idxmin(), color="0.45", linewidth=0.8, linestyle=":", zorder=0)
    panels.legend(figure, list(axes.values()), columns=3)
    return figure


def changes(records, settings):
    """Return two epochs and three rises by estimator and seed, on validation images.

    The epochs are those of the smallest log-loss and of the smallest calibration error. The rises
    are those of log-loss, calibration error and refinement, from the epoch of the smallest log-loss
    to the last.
    """
    frame, rows = measured(records, settings), []
    frame = frame[frame["part"].eq("val")]
    for column in items.labels(settings, "estimator", select(frame, "kl")["column"]):
        mine = frame[frame["column"].eq(column) | frame["estimand"].eq("logloss")]
        for (_, seed), run in mine.groupby(["network", "seed"]):
            curves = [
                select(run, name).set_index("epoch")["value"].sort_index()
                for name in ("logloss", "kl", "refinement_kl")
            ]
            if len(curves[0]) and len(curves[1]):
                least, last = curves[0].idxmin(), curves[0].index.max()
                rises = [curve[last] - curve[least] for curve in curves]
                rows.append(
                    (column, seed, least, curves[1].idxmin(), *rises, tuple(run["key"].unique()))
                )
    return pd.DataFrame(rows, columns=["column", "seed", *CHANGES, "keys"])


def table(records, settings):
    """Return the means of `changes` by estimator.

    An untrained network that predicts 1/2 everywhere has a small calibration error too. So its
    epoch may be that of the smallest error.
    """
    frame, rows = changes(records, settings), {}
    for name, (text, digits, _) in CHANGES.items():
        text_tables.entries(
            items.means(frame, ["column"], name), ("{column}",), text, digits=digits, into=rows
        )
    heading = (
        "validation: epochs of the least, and rises in nats from the least log-loss "
        "to the last epoch; mean ± standard error"
    )
    return networks.wide(rows, ["estimator"], heading)


def reproduced(records, settings):
    """Return our numbers; the paper draws one network and prints no number."""
    frame = changes(records, settings)
    of_network, ours = frame.drop_duplicates("seed").assign(column="network"), []
    for name, (_, _, row) in CHANGES.items():
        ours.append(
            items.numbers(
                items.means(of_network if "loss" in name else frame, ["column"], name),
                row,
                "{column}",
            )
        )
    return comparisons.answers_or_reason(items.together(*ours), records, settings)
