"""Estimators of other libraries, the optional extra `peers`.

There is one module per library: relplot, netcal, uncertainty-calibration, torchmetrics and
probmetrics. If a library is not installed, the cells of its estimators are skipped with that
reason. A library is imported when one of its estimators is first called.

No result is corrected. p is checked and passed on in double precision, and the number that the
library returns is the value of the estimate, with all known defects.
"""

from harness.estimators.peers.base import Measure, installed
from harness.estimators.peers.netcal import Netcal
from harness.estimators.peers.probmetrics import Probmetrics, ProbmetricsGain
from harness.estimators.peers.relplot import Relplot
from harness.estimators.peers.torchmetrics import Torchmetrics
from harness.estimators.peers.uncertainty_calibration import UncertaintyCalibration

__all__ = [
    "Measure",
    "Netcal",
    "Probmetrics",
    "ProbmetricsGain",
    "Relplot",
    "Torchmetrics",
    "UncertaintyCalibration",
    "installed",
]
