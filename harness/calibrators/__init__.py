"""Calibrators: fit (p, y) -> q, an estimate of E[Y given p].

A calibrator is a frozen dataclass with

    fit(p, y, rng) -> q      p (n,) with y in {0, 1}: q maps (m,) to (m,);   p (n, k) with y in 0..k-1: (m, k) to (m, k)

rng is a Generator, or an integer where the authors' own seed is reproduced. A class that the fit never sees is allowed and
gets probability 0 (or the smallest the calibrator can say). `determinism` as for estimators.
"""

from harness.calibrators.isotonic import Isotonic
from harness.calibrators.nadaraya_watson import NadarayaWatson
from harness.calibrators.partition import Partition
from harness.calibrators.temperature import Temperature

__all__ = ["Isotonic", "NadarayaWatson", "Partition", "Temperature"]
