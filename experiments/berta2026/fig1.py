"""Figure 1: isotonic recalibration with and without cross-validation, and equal-mass binning, on three binary problems (L1)."""

from harness.report import items
from harness.report.plots import convergence


def render(records, config):
    return convergence(records, config)


def reproduced(records, config):
    return items.convergence_numbers(records, config, "l1")
