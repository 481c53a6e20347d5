"""Figure 1: isotonic recalibration with and without cross-validation, and equal-mass binning, on three binary problems (L1)."""

from experiments.berta2026 import legacy
from harness.figures import plots

render = plots.convergence


def reproduced(records, settings):
    return legacy.reproduced(records, settings, "l1")
