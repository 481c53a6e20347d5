"""Binned error whose samples are shared among the bins by a softmax (SB-ECE)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import softmax

from harness.errors import BadInputError
from harness.estimators.base import Estimate, is_positive
from harness.estimators.binned import check_bins
from harness.math.notions import checked_scalars

LEAST_TEMPERATURE = 1e-12  # below it, rounding decides in which bin a prediction on an edge is


@dataclass(frozen=True)
class SoftBinned:
    """Binned error whose samples are shared among the bins by a softmax (SB-ECE).

        c_j        = (j - 1/2) / B, the centre of bin j = 1, ..., B
        w_ij       = exp(-(p_i - c_j)^2 / T) / sum_m exp(-(p_i - c_m)^2 / T)
        W_j        = sum_i w_ij
        gap_j      = sum_i w_ij (p_i - y_i) / W_j
        l1         = sum_j (W_j / n) |gap_j|
        l2_squared = sum_j (W_j / n) gap_j^2
        rms        = sqrt(l2_squared)

    p_i is one of n predictions, and y_i its outcome.

    Parameters
    ----------
    bins : int
        Number of bins, B.
    temperature : float
        T, at least 1e-12. A sample at the centre of a bin has exp(-1 / (T B^2)) times this weight
        in the next bin: 1/85 for the defaults. T is a hyperparameter in the authors' code.

    Notes
    -----
    As T tends to 0, the limit is `Binned` of equal width, but a prediction on an edge is shared by
    two bins. As T grows, the limit of l1 is |mean p - mean y|. No T gives less.

    Biased upwards by the noise of the gaps, less than `Binned`, as a soft bin averages over more
    samples. Biased downwards by gaps that cancel inside a soft bin, more than `Binned`. An empty
    bin counts as 0. Cost: O(n B) time and memory.

    References
    ----------
    Karandikar et al. (2021), Soft calibration objectives for neural networks, NeurIPS, eq. 11 (rms
    is the authors' loss). Their code divides by 1e-5 if W_j is smaller.

    Examples
    --------
    >>> estimates = SoftBinned(bins=2, temperature=0.25 / np.log(3))([0.25, 0.75], [1, 0])
    >>> round(estimates["l1"].value, 6), round(estimates["l2_squared"].value, 6)
    (0.375, 0.140625)
    """

    bins: int = 15
    temperature: float = 0.001

    notions = ("binary", "top_label", "classwise")
    estimands = ("l1", "l2_squared", "rms")
    determinism = "rounding"
    revision = 1
    null_bias = 0.05

    def __post_init__(self) -> None:
        check_bins(self.bins)
        if not (is_positive(self.temperature) and self.temperature >= LEAST_TEMPERATURE):
            raise BadInputError(
                f"temperature is {self.temperature!r}; a number of at least {LEAST_TEMPERATURE} "
                "is needed."
            )

    def __call__(self, p: np.ndarray, y: np.ndarray, rng: object = None) -> dict[str, Estimate]:
        """Return the errors of predictions p (n,), for outcomes y (n,)."""
        p, y = checked_scalars(p, y)
        centres = (np.arange(self.bins) + 0.5) / self.bins
        weights = softmax(-((p[:, None] - centres) ** 2) / self.temperature, axis=1)
        sizes, gaps = weights.sum(axis=0), (p - y) @ weights  # each gap is times its size
        squared = float((gaps[sizes > 0] ** 2 / sizes[sizes > 0]).sum() / len(p))
        values = {"l1": np.abs(gaps).sum() / len(p), "l2_squared": squared, "rms": squared**0.5}
        return {name: Estimate(float(value)) for name, value in values.items()}
