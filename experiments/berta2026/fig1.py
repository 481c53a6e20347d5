"""Figure 1: isotonic recalibration and equal-mass binning on three binary problems (L1)."""

from harness.figures import plots

from . import legacy

render = plots.convergence


def reproduced(records, settings):
    return legacy.reproduced(records, settings, "l1")
