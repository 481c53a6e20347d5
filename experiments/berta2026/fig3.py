"""Figure 3: isotonic recalibration and k-means binning on Dirichlet predictions with 3 and 10 classes (L2)."""

from harness.report import items
from harness.report.plots import convergence


def render(records, config):
    return convergence(records, config)


def reproduced(records, config):
    return items.convergence_numbers(records, config, "l2")
