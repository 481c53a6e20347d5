"""Figure 3: isotonic recalibration and k-means binning, Dirichlet predictions (L2)."""

from harness.figures import plots

from . import legacy

render = plots.convergence


def reproduced(records, settings):
    return legacy.reproduced(records, settings, "l2")
