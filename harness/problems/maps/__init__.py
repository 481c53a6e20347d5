"""Calibration maps g*: C = g*(p).

Scalar maps take (n,) probabilities. Vector maps take (n, k); they are elementwise functions h
followed by normalisation, g*(p) = h(p) / sum_j h(p_j), which the conditional truths rely on.

`kinks` are the interior points where a scalar map is not smooth; quadrature splits there.
`pair(p, 1 - p)` gives C and 1 - C, each to full relative accuracy, where 1 - g*(p) would round.
"""

from harness.problems.maps.kinked import Between, Bump, Piecewise, Shifted, Spot, SquareWave, Steps
from harness.problems.maps.smooth import (
    Affine,
    Bend,
    Hump,
    Identity,
    LogitAffine,
    ScalarMap,
    Sigmoid,
    Wave,
    Wavy,
)
from harness.problems.maps.vectors import Harmonic, Power

__all__ = [
    "Affine",
    "Bend",
    "Between",
    "Bump",
    "Harmonic",
    "Hump",
    "Identity",
    "LogitAffine",
    "Piecewise",
    "Power",
    "ScalarMap",
    "Shifted",
    "Sigmoid",
    "Spot",
    "SquareWave",
    "Steps",
    "Wave",
    "Wavy",
]
