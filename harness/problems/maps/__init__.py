"""Calibration maps g* with C = g*(p), where C = E[Y given p].

Scalar maps take probabilities (n,). Vector maps take probabilities (n, k). A vector map applies a
function h to every entry and then normalises: g*(p) = h(p) / sum_j h(p_j). Class-wise and top-label
truths of harness.problems.Dirichlet rely on this form. The maps of `simplex` have any form.

Optional members of a map:

* `kinks`: interior points where a scalar map is not smooth. Quadrature splits there.
* `pair(p, 1 - p)`: returns C and 1 - C, both to full relative accuracy. The difference 1 - g*(p)
  would lose digits.
"""

from harness.problems.maps.irregular import Cantor, Rough, Sawtooth, Spiky
from harness.problems.maps.kinked import Between, Bump, Piecewise, Shifted, Spot, SquareWave, Steps
from harness.problems.maps.links import (
    Averaged,
    BetaCurve,
    Chirp,
    CubicLogit,
    Groups,
    NoisyLogits,
    WrongLink,
)
from harness.problems.maps.simplex import (
    Confused,
    Constant,
    DirichletMap,
    LabelNoise,
    LabelShift,
    Regions,
    SimplexWave,
)
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
from harness.problems.maps.zones import Bent, Hats, Jump, Zone

__all__ = [
    "Affine",
    "Averaged",
    "Bend",
    "Bent",
    "BetaCurve",
    "Between",
    "Bump",
    "Cantor",
    "Chirp",
    "Confused",
    "Constant",
    "CubicLogit",
    "DirichletMap",
    "Groups",
    "Harmonic",
    "Hats",
    "Hump",
    "Identity",
    "Jump",
    "LabelNoise",
    "LabelShift",
    "LogitAffine",
    "NoisyLogits",
    "Piecewise",
    "Power",
    "Regions",
    "Rough",
    "Sawtooth",
    "ScalarMap",
    "Shifted",
    "Sigmoid",
    "SimplexWave",
    "Spiky",
    "Spot",
    "SquareWave",
    "Steps",
    "Wave",
    "Wavy",
    "WrongLink",
    "Zone",
]
