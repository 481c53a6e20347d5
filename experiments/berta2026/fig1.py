"""Figure 1: isotonic recalibration with and without cross-validation, and equal-mass binning, on three binary problems (L1)."""

from harness.figures import plots

from . import legacy

render = plots.convergence


def reproduced(records, config):
    return legacy.reproduced(records, config, "l1")
