"""Figure 3: isotonic recalibration and k-means binning on Dirichlet predictions with 3 and 10 classes (L2)."""

from harness.report import items, plots

render = plots.convergence


def reproduced(records, config):
    return items.convergence_numbers(records, config, "l2")
