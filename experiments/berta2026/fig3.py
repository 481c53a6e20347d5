"""Figure 3: isotonic recalibration and k-means binning, Dirichlet predictions (L2)."""

import pandas as pd

from harness.configure.settings import Settings
from harness.figures import plots

from . import legacy

render = plots.convergence


def reproduced(records: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Return our numbers of the figure, for the comparison with the authors' runs."""
    return legacy.reproduced(records, settings, "l2")
