"""Binned L1 error, minus the excess that is expected from noise of the mean outcomes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import erf

from harness.estimators.base import Estimate
from harness.estimators.binned import bin_means, check_binning, weighted_bin_means
from harness.math.notions import checked_scalars
from harness.math.weights import weighted_rows


@dataclass(frozen=True)
class NormalDebiased:
    """Binned L1 error, minus its expected excess under normal noise of the mean outcomes.

        l1  = 2 e - sum_b w_b E|N(g_b, s_b^2)|
        e   = sum_b w_b |g_b|
        g_b = mean y - mean p,   s_b^2 = mean y (1 - mean y) / n_b

    e is the plug-in error. n_b of the n samples are in bin b, w_b = n_b / n, and means are over the
    samples of bin b. N(g, s^2) is a normal variable with the mean g and the variance s^2, for which

        E|N(g, s^2)| = s sqrt(2 / pi) exp(-g^2 / (2 s^2)) + g erf(g / (s sqrt 2))

    Parameters
    ----------
    bins : int
        Number of bins.
    rule : {"width", "mass", "kmeans"}
        How the bins are formed, as in `Binned`. The authors use equal mass.

    Notes
    -----
    The bias upwards is smaller than that of the plug-in error. If the true gap of a bin is 0, a
    share 2 - sqrt 2 = 0.59 of the excess remains, because the noise is simulated around the
    observed gap. Gaps that cancel in a bin are a bias downwards. The value lies between
    e - sum_b w_b s_b sqrt(2 / pi) and e, so that it may be negative.

    The authors average 1,000 normal resamples instead of using the closed form. They refuse bins of
    one sample, which are accepted here, with s_b = 0. Cost: O(n log B) for B bins.

    References
    ----------
    Kumar, Liang and Ma (2019), NeurIPS; `normal_debiased_ce` of their package
    uncertainty-calibration.

    Examples
    --------
    >>> round(NormalDebiased(bins=1)([0.5, 0.5, 0.5, 0.5], [0, 1, 1, 1])["l1"].value, 6)
    0.223362
    """

    bins: int = 15
    rule: str = "mass"

    notions = ("binary", "top_label", "classwise")
    estimands = ("l1",)
    revision = 1
    null_bias = 0.05

    def __post_init__(self) -> None:
        check_binning(self.bins, self.rule)

    @property
    def determinism(self) -> str:
        return "statistical" if self.rule == "kmeans" else "rounding"

    def __call__(
        self,
        p: np.ndarray,
        y: np.ndarray,
        rng: np.random.Generator | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> dict[str, Estimate]:
        """Return the estimate.

        With `sample_weight` (n,), w_b and the means are weighted, and n_b in s_b^2 is the effective
        number of samples of the bin, (sum w)^2 / sum w^2.
        """
        p, y = checked_scalars(p, y)
        p, y, w = weighted_rows(p, y, sample_weight)
        if w is None:
            return self.of_bins(*bin_means(p, y, self.bins, self.rule, rng))
        return self.of_bins(*weighted_bin_means(p, y, w, self.bins, self.rule))

    def of_bins(
        self,
        sizes: np.ndarray,
        mean_p: np.ndarray,
        mean_y: np.ndarray,
        counts: np.ndarray | None = None,
    ) -> dict[str, Estimate]:
        """Return the estimate from the bins that are not empty, as `Debiased.of_bins` does."""
        counts = sizes if counts is None else counts
        gap, noise = np.abs(mean_y - mean_p), np.sqrt(mean_y * (1.0 - mean_y) / counts)
        value = sizes / sizes.sum() @ (2.0 * gap - folded_mean(gap, noise))
        return {"l1": Estimate(float(value))}


def folded_mean(mean: np.ndarray, deviation: np.ndarray) -> np.ndarray:
    """Return E|X| for normal variables X of given means and standard deviations, elementwise.

    A deviation of 0 gives |mean|.
    """
    ratio = np.divide(mean, deviation, out=np.zeros_like(mean), where=deviation > 0.0)
    normal = deviation * np.sqrt(2.0 / np.pi) * np.exp(-(ratio**2) / 2.0) + mean * erf(
        ratio / np.sqrt(2.0)
    )
    return np.where(deviation > 0.0, normal, np.abs(mean))
