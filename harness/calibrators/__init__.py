"""Calibrators: fit (p, y) -> q, an estimate of E[Y given p].

A calibrator is a frozen dataclass with

    fit(p, y, rng) -> q      p (n,) with y in {0, 1}: q maps (m,) to (m,);   p (n, k) with y in 0..k-1: (m, k) to (m, k)

rng is a Generator, or an integer where the authors' own seed is reproduced. A class that the fit never sees is allowed and
gets probability 0 (or the smallest the calibrator can say). `determinism`, `max_n` and `max_classes` as for estimators.
Optional: `seconds`, rough CPU seconds of a fit at n = 1,000; `unavailable`, why it cannot run here (its cells are skipped with
that reason) or None; `fingerprint`, the dictionary that identifies it in the cells' keys in place of its fields.
"""

from harness.calibrators.boosting import CatBoost, LightGBM
from harness.calibrators.forests import ExtraTrees, RandomForest
from harness.calibrators.foundation import TabICL, TabPFN
from harness.calibrators.isotonic import Isotonic
from harness.calibrators.nadaraya_watson import NadarayaWatson
from harness.calibrators.partition import Partition
from harness.calibrators.popordanoska2024 import IsotonicScaled, TemperatureGrid
from harness.calibrators.scaling import QuadraticScaling, StructuredMatrixScaling
from harness.calibrators.temperature import Temperature

__all__ = [
    "CatBoost", "ExtraTrees", "Isotonic", "IsotonicScaled", "LightGBM", "NadarayaWatson", "Partition", "QuadraticScaling",
    "RandomForest", "StructuredMatrixScaling", "TabICL", "TabPFN", "Temperature", "TemperatureGrid",
]  # fmt: skip
