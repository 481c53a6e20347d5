"""Debiased root mean squared error over bins, for models with continuous output."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harness.estimators.base import Estimate, check_choice
from harness.estimators.binned import Debiased, check_bins, debiased_squares
from harness.math.notions import checked_scalars

RULES = ("mass", "width", "auto")


@dataclass(frozen=True)
class ScalingBinning:
    """Debiased squared error over bins, and its root.

        l2_squared = sum_b (n_b / n) [(mean p - mean y)^2 - mean y (1 - mean y) / (n_b - 1)]
        rms        = sqrt(max(l2_squared, 0))

    n_b of the n samples are in bin b, and means are over the samples of bin b.

    Parameters
    ----------
    bins : int
        Number of bins. A bin with a single sample counts as 0.
    rule : {"mass", "width", "auto"}
        "mass" and "width" are as in `Binned`. "auto" makes every distinct prediction a bin if there
        are fewer than n / 4 of them, as after recalibration by bins; otherwise it is "mass".

    Notes
    -----
    The estimate of l2_squared is a lower bound in expectation, but no confidence bound. It is
    unbiased for sum_b P(b) (E[p given b] - E[y given b])^2 if every distinct prediction is a bin of
    two samples or more. Otherwise its bias is that of `Debiased`. Binning can only lower the error
    (Proposition 3.3), so that this sum is at most l2_squared of the model.

    rms is no bound, not even in expectation. Clipping at 0 raises it near calibration, and the root
    lowers it elsewhere. Cost: O(n log B) for B bins, O(n log n) for "auto".

    References
    ----------
    Kumar, Liang and Ma (2019), NeurIPS, Proposition 3.3 and Definition 5.1;
    `lower_bound_scaling_ce` and, for "auto", `get_calibration_error` of their package
    uncertainty-calibration.

    Examples
    --------
    >>> estimates = ScalingBinning(bins=1)([0.9, 0.9, 0.9, 0.9], [0, 0, 1, 0])
    >>> round(estimates["l2_squared"].value, 6), round(estimates["rms"].value, 6)
    (0.36, 0.6)
    """

    bins: int = 15
    rule: str = "mass"

    notions = ("binary", "top_label", "classwise")
    estimands = ("rms", "l2_squared")
    determinism = "exact"
    revision = 1
    null_bias = 0.01

    def __post_init__(self) -> None:
        check_choice("rule", self.rule, RULES)
        check_bins(self.bins)

    def __call__(
        self, p: np.ndarray, y: np.ndarray, rng: np.random.Generator | None = None
    ) -> dict[str, Estimate]:
        p, y = checked_scalars(p, y)
        squared = _squared_error_by_value(p, y) if self.rule == "auto" else None
        if squared is None:
            rule = "mass" if self.rule == "auto" else self.rule
            squared = Debiased(self.bins, rule)(p, y, rng)["l2_squared"].value
        return {"rms": Estimate(max(squared, 0.0) ** 0.5), "l2_squared": Estimate(squared)}


def _squared_error_by_value(p: np.ndarray, y: np.ndarray) -> float | None:
    """Return the debiased squared error with one bin per distinct prediction.

    Return None if there are n / 4 distinct predictions or more.
    """
    values, index, sizes = np.unique(p, return_inverse=True, return_counts=True)
    if len(values) >= len(p) / 4.0:
        return None
    return debiased_squares(sizes, values, np.bincount(index, y) / sizes)
