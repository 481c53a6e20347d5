"""Calibrator that mixes another calibrator with the uniform distribution.

No class then has probability 0.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from harness.calibrators.base import (
    CalibrationMap,
    CalibratorSpec,
    refuse_masked_sample,
    weighted_fit,
)
from harness.calibrators.isotonic import Isotonic
from harness.errors import BadInputError
from harness.math.weights import checked_weights


def _inherited(name: str) -> Any:
    """Return a property that reads the attribute of the same name from the inner calibrator."""
    return property(lambda self: getattr(CalibratorSpec.of(self.calibrator), name))


@dataclass(frozen=True)
class Mixture:
    """Map of another calibrator, mixed with the uniform distribution.

        q(p) = (1 - w) q0(p) + w / k,    w = weight / (n + 1)

    q0 is the map of the other calibrator, n the number of fitted samples, and k the number of
    classes (2 for scalars).

    Parameters
    ----------
    calibrator : calibrator
        Calibrator that fits q0.
    weight : float
        Number of uniformly distributed samples that the mixture stands for, positive and at most 2.

    Notes
    -----
    q is at least w / k, so the log-loss stays finite even if q0 has zeros, as with isotonic
    regression. Determinism and cost are those of the calibrator.

    References
    ----------
    `MixtureCalibrator` of probmetrics 1.3.0; its "calib-err" of proper scores uses the calibrators
    ts-mix and isotonic-mix.

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

    determinism = _inherited("determinism")
    revision = _inherited("revision")
    max_n = _inherited("max_n")
    max_classes = _inherited("max_classes")
    null_bias = _inherited("null_bias")
    seconds = _inherited("seconds")
    unavailable = _inherited("unavailable")

    def fit(
        self,
        p: np.ndarray,
        y: np.ndarray,
        rng: np.random.Generator | int | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> CalibrationMap:
        """Fit the map. With weights, n is their sum."""
        refuse_masked_sample(p, y)
        n = float(len(p))
        if sample_weight is not None:
            n = float(checked_weights(sample_weight, len(p)).sum())
        inner = weighted_fit(self.calibrator, p, y, rng, sample_weight)
        w, k = self.weight / (n + 1), 2 if p.ndim == 1 else p.shape[1]
        return lambda x: (1.0 - w) * inner(x) + w / k
