"""The debiased root mean squared error over bins: below the error of a model of continuous output."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harness.errors import BadInputError
from harness.estimators.base import Estimate
from harness.estimators.binned import Debiased, check_bins
from harness.math.notions import checked

RULES = ("mass", "width", "auto")


@dataclass(frozen=True)
class ScalingBinning:
    """The root of the debiased squared error over bins: what can be said of the error of a model of continuous output.

        l2_squared = sum_b (n_b / n) [(mean p - mean y)^2 - mean y (1 - mean y) / (n_b - 1)],    rms = sqrt(max(l2_squared, 0))

    Parameters
    ----------
    bins : int
        How many bins; those of a single sample count 0.
    rule : {"mass", "width", "auto"}
        As in `Binned`. "auto": every predicted value is a bin where there are fewer than n / 4 of them (the output of a model
        that was recalibrated by bins), else "mass".

    Notes
    -----
    A point, and no confidence bound. l2_squared is unbiased, but for bins of one sample, for sum_b P(b) (E[p given b] - E[y given
    b])^2, at most the l2_squared of the model (Proposition 3.3: binning can only lower the error), with equality where every
    value is a bin: a lower bound in expectation. rms is no bound, not even in expectation: the cut at 0 raises it near
    calibration, and the root lowers it elsewhere. O(n), "auto" O(n log n).

    References
    ----------
    Kumar, Liang and Ma (2019), NeurIPS, Proposition 3.3 and Definition 5.1; `lower_bound_scaling_ce` and, for "auto",
    `get_calibration_error` of their package uncertainty-calibration.

    Examples
    --------
    >>> found = ScalingBinning(bins=1)([0.9, 0.9, 0.9, 0.9], [0, 0, 1, 0])
    >>> round(found["l2_squared"].value, 6), round(found["rms"].value, 6)
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
        if self.rule not in RULES:
            raise BadInputError(f"rule is {self.rule!r}; allowed are {', '.join(RULES)}.")
        check_bins(self.bins)

    def __call__(
        self, p: np.ndarray, y: np.ndarray, rng: np.random.Generator | None = None
    ) -> dict[str, Estimate]:
        p, y = checked(p, y)
        squared = self._of_values(p, y) if self.rule == "auto" else None
        if squared is None:
            rule = "mass" if self.rule == "auto" else self.rule
            squared = Debiased(self.bins, rule)(p, y, rng)["l2_squared"].value
        return {"rms": Estimate(max(squared, 0.0) ** 0.5), "l2_squared": Estimate(squared)}

    @staticmethod
    def _of_values(p: np.ndarray, y: np.ndarray) -> float | None:
        """The debiased squared error with a bin per value, None where there are too many."""
        values, index, sizes = np.unique(p, return_inverse=True, return_counts=True)
        if len(values) >= len(p) / 4.0:
            return None
        mean = np.bincount(index, y) / sizes
        noise = mean * (1.0 - mean) / np.maximum(sizes - 1, 1)
        return float(sizes / len(p) @ np.where(sizes > 1, (values - mean) ** 2 - noise, 0.0))
