"""Estimator of the library torchmetrics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from harness.estimators.peers.base import Peer


@dataclass(frozen=True)
class Torchmetrics(Peer):
    """Binned errors of torchmetrics.

        l1   = sum_b n_b / n |gap_b|
        rms  = sqrt(sum_b n_b / n gap_b^2)
        linf = max_b |gap_b|

    n is the number of samples, n_b that of bin b, and gap_b = mean p in b - mean y in b. With B
    bins, bin j is [j/B, (j+1)/B).

    Parameters
    ----------
    bins : int
        Number of bins, B.

    Notes
    -----
    The library puts p = 1 into a bin of its own, so that its gap does not cancel with gaps in the
    bin below. All three are biased upwards. Cost: O(n).

    References
    ----------
    Guo et al. (2017), eq. 3; Kumar, Liang and Ma (2019); torchmetrics 1.9.0,
    BinaryCalibrationError.

    Examples
    --------
    >>> Torchmetrics().estimands
    ('l1', 'rms', 'linf')
    """

    bins: int = 15

    package = "torchmetrics"
    estimands = ("l1", "rms", "linf")
    determinism = "rounding"
    null_bias = 0.1

    def value(self, p: np.ndarray, y: np.ndarray, rng: Any) -> dict[str, float]:
        """Return {estimand: number} from torchmetrics, for scalar predictions p and labels y."""
        import torch
        from torchmetrics.functional.classification import binary_calibration_error as error

        tensors = torch.from_numpy(p), torch.from_numpy(y)
        norms = {"l1": "l1", "rms": "l2", "linf": "max"}
        return {
            name: float(error(*tensors, n_bins=self.bins, norm=norm))
            for name, norm in norms.items()
        }
