"""Debiased root mean squared error over bins, for models of continuous output."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harness.estimators.base import Estimate, check_choice
from harness.estimators.binned import Debiased, check_bins, debiased_squares
from harness.math.notions import checked

RULES = ("mass", "width", "auto")


@dataclass(frozen=True)
class ScalingBinning:
    """Root of the debiased squared error over bins, which is below the error of a continuous model.

        l2_squared = sum_b (n_b / n) [(mean p - mean y)^2 - mean y (1 - mean y) / (n_b - 1)]
        rms = sqrt(max(l2_squared, 0))

    Parameters
    ----------
    bins : int
        Number of bins; those of a single sample count 0.
    rule : {"mass", "width", "auto"}
        As in `Binned`. "auto": every predicted value is a bin if there are fewer than n / 4 of them
        (the output of a model that was recalibrated by bins), else "mass".

    Notes
    -----
    A point estimate, no confidence bound. l2_squared is unbiased, except for bins of one sample,
    for sum_b P(b) (E[p given b] - E[y given b])^2. That is at most the l2_squared of the model
    (Proposition 3.3: binning can only lower the error), with equality if every value is a bin: a
    lower bound in expectation. rms is no bound, not even in expectation: clipping at 0 raises it
    near calibration, and the root lowers it elsewhere. O(n log B), "auto" O(n log n).

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
        p, y = checked(p, y)
        squared = _by_value(p, y) if self.rule == "auto" else None
        if squared is None:
            rule = "mass" if self.rule == "auto" else self.rule
            squared = Debiased(self.bins, rule)(p, y, rng)["l2_squared"].value
        return {"rms": Estimate(max(squared, 0.0) ** 0.5), "l2_squared": Estimate(squared)}


def _by_value(p: np.ndarray, y: np.ndarray) -> float | None:
    """Return the debiased squared error with a bin per value, None if there are too many values."""
    values, index, sizes = np.unique(p, return_inverse=True, return_counts=True)
    if len(values) >= len(p) / 4.0:
        return None
    return debiased_squares(sizes, values, np.bincount(index, y) / sizes)
