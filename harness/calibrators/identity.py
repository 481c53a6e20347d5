"""Calibrator that leaves the predictions unchanged."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from harness.calibrators.base import CalibrationMap, refuse_masked_sample
from harness.math.weights import checked_weights


@dataclass(frozen=True)
class Identity:
    """Leave the predictions unchanged.

        q(p) = p

    Notes
    -----
    Nothing is fitted, so a variational estimate with this calibrator is 0 on every sample. In a
    combination of calibrators it represents predictions that are already calibrated. Determinism:
    exact. Cost: O(n).

    References
    ----------
    berta2026, eq. 6, with q the identity.

    Examples
    --------
    >>> import numpy as np
    >>> Identity().fit(np.array([0.3]), np.array([1]))(np.array([0.2, 0.9]))
    array([0.2, 0.9])
    """

    determinism = "exact"
    seconds = 1e-6

    def fit(
        self,
        p: np.ndarray,
        y: np.ndarray,
        rng: np.random.Generator | int | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> CalibrationMap:
        refuse_masked_sample(p, y)
        if sample_weight is not None:
            checked_weights(sample_weight, len(p))
        return lambda x: x.copy()
