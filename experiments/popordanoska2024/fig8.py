"""Figure 8: class-wise reliability diagrams with ten bins of equal width (`reliability10`)."""

import numpy as np

from harness.evaluation import items
from harness.evaluation.selection import label
from harness.figures import panels

from . import class_diagrams, comparisons, networks

BINS, DIAGRAM = 10, "reliability10"


def bins(records, settings):
    """Return `class_diagrams.read_bins`, with the label of the network in the column `network`."""
    fine = items.with_number(records, "l1", "classwise")
    return named(class_diagrams.read_bins(fine[fine["estimator"].eq(DIAGRAM)]), settings)


def named(frame, settings):
    """Add `network`: the label of the problem if it has one, else the network in its id."""
    ids = frame["problem"].astype(object)
    files = ids.isin(list(settings.labels.problem or {}))
    ids = ids.where(files, ids.str.extract(networks.IN_TRAINING)[1].fillna(ids))
    return frame.assign(network=[label(settings, "problem", name) for name in ids])


def render(records, settings):
    """Draw a panel per class, with the networks below each other.

    The share of the class in a bin is compared with the mean prediction of the bin.
    """
    numbers = bins(records, settings)
    return (
        class_diagrams.figure(numbers, BINS) if len(numbers) else panels.nothing(networks.NO_FILES)
    )


def table(records, settings):
    """Return a table by network and class: share, mean prediction and L1 error of the ten bins."""
    rows = class_diagrams.table(bins(records, settings))
    return networks.wide(rows, ["network", "class"], "class-wise: l1 over ten bins of equal width")


def reproduced(records, settings):
    """Return the mean over the classes of the binned L1 error. The paper prints no number."""
    mine = named(
        items.values(records[records["estimator"].ne(DIAGRAM)], settings, "l1", "classwise"),
        settings,
    )
    ours = items.numbers(
        mine, "L1 error, mean over classes, {network}", "{column}", "value", np.nan, 1
    )
    return comparisons.answers_or_reason(ours, records, settings)
