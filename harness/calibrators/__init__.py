"""Calibrators: fit a map q to (p, y), where q(p) estimates E[Y given p].

A calibrator is a frozen dataclass with a method

    fit(p, y, rng) -> q      p (n,) with y in {0, 1}: q maps (m,) to (m,)
                             p (n, k) with y in 0..k-1: q maps (m, k) to (m, k)

`harness.calibrators.base` describes the arguments of `fit` and the optional attributes of a
calibrator.
"""

from harness.calibrators.bbq import BBQ
from harness.calibrators.boosting import CatBoost, LightGBM
from harness.calibrators.forests import ExtraTrees, RandomForest
from harness.calibrators.foundation import TabICL, TabPFN
from harness.calibrators.histogram import HistogramBinning
from harness.calibrators.identity import Identity
from harness.calibrators.isotonic import Isotonic
from harness.calibrators.matrices import DirichletCalibration, MatrixScaling, VectorScaling
from harness.calibrators.mixture import Mixture
from harness.calibrators.nadaraya_watson import NadarayaWatson
from harness.calibrators.partition import Partition
from harness.calibrators.scaling import QuadraticScaling, StructuredMatrixScaling
from harness.calibrators.sigmoids import BetaCalibration, Platt
from harness.calibrators.splines import Spline
from harness.calibrators.temperature import Temperature

__all__ = [
    "BBQ", "BetaCalibration", "CatBoost", "DirichletCalibration", "ExtraTrees", "HistogramBinning",
    "Identity", "Isotonic", "LightGBM", "MatrixScaling", "Mixture", "NadarayaWatson", "Partition",
    "Platt", "QuadraticScaling", "RandomForest", "Spline", "StructuredMatrixScaling", "TabICL",
    "TabPFN", "Temperature", "VectorScaling",
]  # fmt: skip
