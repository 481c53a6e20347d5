"""Figure 3: isotonic recalibration and k-means binning on Dirichlet predictions with 3 and 10 classes (L2)."""

from experiments.berta2026 import legacy
from harness.figures import plots

render = plots.convergence


def reproduced(records, settings):
    return legacy.reproduced(records, settings, "l2")
