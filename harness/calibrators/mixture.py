"""A calibrator mixed with the uniform distribution, so that nothing is impossible."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from harness.calibrators.base import CalibrationMap, CalibratorSpec
from harness.calibrators.isotonic import Isotonic
from harness.errors import BadInputError


@dataclass(frozen=True)
class Mixture:
    """Another calibrator's map, with a little of the uniform distribution mixed in.

        q(p) = (1 - w) q0(p) + w / k,    w = weight / (n + 1),    k = 2 for scalars

    Parameters
    ----------
    calibrator : calibrator
        What fits q0.
    weight : float
        At most 2. How many uniformly distributed samples the mixture stands for.

    Notes
    -----
    Keeps q at least w / k, so that the log-loss of a map with zeros, such as isotonic regression's, stays finite. Determinism and
    cost are those of the calibrator.

    References
    ----------
    `MixtureCalibrator` of probmetrics 1.3.0, the calibrators ts-mix and isotonic-mix behind its "calib-err" of proper scores.

    Examples
    --------
    >>> import numpy as np
    >>> q = Mixture(Isotonic()).fit(np.array([0.1, 0.2, 0.6, 0.9]), np.array([0, 0, 1, 1]))
    >>> q(np.array([0.0, 1.0])).round(6)
    array([0.1, 0.9])
    """

    calibrator: Any = field(default_factory=Isotonic)
    weight: float = 1.0

    def __post_init__(self) -> None:
        if not 0.0 < self.weight <= 2.0:
            raise BadInputError(
                f"weight is {self.weight!r}; a positive number of at most 2 is needed."
            )

    @property
    def determinism(self) -> str:
        return CalibratorSpec.of(self.calibrator).determinism

    @property
    def revision(self) -> int:
        return CalibratorSpec.of(self.calibrator).revision

    @property
    def max_n(self) -> int | None:
        return CalibratorSpec.of(self.calibrator).max_n

    @property
    def max_classes(self) -> int | None:
        return CalibratorSpec.of(self.calibrator).max_classes

    @property
    def null_bias(self) -> float:
        return CalibratorSpec.of(self.calibrator).null_bias

    @property
    def seconds(self) -> float:
        return CalibratorSpec.of(self.calibrator).seconds

    @property
    def unavailable(self) -> str | None:
        return CalibratorSpec.of(self.calibrator).unavailable

    def fit(
        self, p: np.ndarray, y: np.ndarray, rng: np.random.Generator | int | None = None
    ) -> CalibrationMap:
        inner = self.calibrator.fit(p, y, rng)
        w, k = self.weight / (len(p) + 1), 2 if p.ndim == 1 else p.shape[1]
        return lambda x: (1.0 - w) * inner(x) + w / k
