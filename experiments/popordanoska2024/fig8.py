"""Figure 8: class-wise reliability diagrams, ten bins of equal width: the diagnostics of the estimator `reliability10`."""

import numpy as np

from harness.evaluation import items
from harness.evaluation.selection import label
from harness.figures import panels

from . import class_diagrams, comparisons, networks

BINS, DIAGRAM = 10, "reliability10"


def bins(records, settings):
    """`class_diagrams.bins_of` with the column network."""
    fine = items.with_number(records, "l1", "classwise")
    return named(class_diagrams.bins_of(fine[fine["estimator"].eq(DIAGRAM)]), settings)


def named(frame, settings):
    """The frame with `network`: the label of the file, else of the network that its id names."""
    ids = frame["problem"].astype(object)
    files = ids.isin(list(settings.labels.problem or {}))
    ids = ids.where(files, ids.str.extract(networks.IN_TRAINING)[1].fillna(ids))
    return frame.assign(network=[label(settings, "problem", name) for name in ids])


def render(records, settings):
    """One panel per class, the networks below each other: the share of the class in a bin beside the bin's mean prediction."""
    found = bins(records, settings)
    return class_diagrams.figure(found, BINS) if len(found) else panels.nothing(networks.NO_FILES)


def table(records, settings):
    """Rows (network, class): share of the class, its mean prediction, and the L1 error over the ten bins."""
    rows = class_diagrams.table(bins(records, settings))
    return networks.wide(rows, ["network", "class"], "class-wise: l1 over ten bins of equal width")


def reproduced(records, settings):
    """The mean over classes, as the binned estimator recorded it. The paper draws and prints no number."""
    mine = named(
        items.values(records[records["estimator"].ne(DIAGRAM)], settings, "l1", "classwise"),
        settings,
    )
    ours = items.numbers(
        mine, "L1 error, mean over classes, {network}", "{column}", "value", np.nan, 1
    )
    return comparisons.answers_or_reason(ours, records, settings)
