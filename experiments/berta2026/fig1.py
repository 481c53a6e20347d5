"""Figure 1: isotonic recalibration with and without cross-validation, and equal-mass binning, on three binary problems (L1)."""

from harness.report import items, plots

render = plots.convergence


def reproduced(records, config):
    return items.convergence_numbers(records, config, "l1")
