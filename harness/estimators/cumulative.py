"""Calibration error and test from cumulative residuals, without bins and without a bandwidth."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from harness.estimators.base import Estimate, check_choice
from harness.estimators.significance import (
    apply_test,
    certain_rows,
    for_rare_events,
    kurtosis,
)

STATISTICS = ("ks", "kuiper")


@dataclass(frozen=True)
class Cumulative:
    """Largest excursion of the cumulative residual, and its p-value under calibration.

        c(t)    = 1/n sum_{p_i <= t} (y_i - p_i)
        ks      = max_t |c(t)|
        kuiper  = max_t c(t) - min_t c(t), where c also has the value 0
        p_value = P(X >= statistic / sigma),   sigma^2 = 1/n^2 sum_i p_i (1 - p_i)

    p_i are the n predictions and y_i their outcomes. The statistic is ks or kuiper. With a Brownian
    motion B on [0, 1], X is the maximum of |B| for ks, and the range of B for kuiper.

    Parameters
    ----------
    statistic : {"ks", "kuiper"}
        "ks" is the KS calibration error of Gupta et al. and the ECCE-MAD of Arrieta-Ibarra et al.
        "kuiper" is the ECCE-R of Arrieta-Ibarra et al.

    Notes
    -----
    **Estimands.** `ks` and `kuiper` are the statistics of the limit of c. They satisfy ks <= l1,
    kuiper <= l1 and ks <= kuiper <= 2 ks. `p_value` is combined over classes by Bonferroni.

    **Bias.** Upwards by noise. Under calibration the mean of ks is 1.2533 sigma, and that of kuiper
    1.5958 sigma; sigma is at most 1 / (2 sqrt(n)).

    **Size of the test.** Samples of equal p are added together, so that their order does not
    matter. This and the discrete steps make the p-value slightly too large. Measured share of
    p-values of at most 0.05, for n = 200 and n = 1,000 with 3,000 samples each:

        predictions without ties   0.036 to 0.048
        11 different predictions   0.019 to 0.033

    The law of X is a limit for many events. With fewer than about two expected events or non-events
    (2k for k classes), the p-value is at least that of the number of improbable outcomes
    (`harness.estimators.significance.count_p_value`), which is valid for every n.
    benchmarks/test_levels.csv has the measured levels.

    The p-value is 0 if a prediction of 0 or 1 did not come true. If all p are 0 or 1 and all
    outcomes are as predicted, it is 1.

    **Diagnostics.** `sigma`; `scaled`, the statistic divided by sigma. **Cost.** O(n log n).

    References
    ----------
    Gupta et al. (2021), Calibration of neural networks using splines, ICLR; Arrieta-Ibarra et al.
    (2022), Metrics of calibration for probabilistic predictions, JMLR 23(351); the law of the
    range: Feller (1951), Ann. Math. Statist. 22, 427-432.

    Examples
    --------
    >>> estimates = Cumulative("kuiper")([0.2, 0.4, 0.8], [1, 0, 0])
    >>> round(estimates["kuiper"].value, 6), round(estimates["p_value"].value, 3)
    (0.4, 0.425)
    """

    statistic: str = "ks"

    notions = ("binary", "top_label", "classwise")
    determinism = "exact"
    revision = 2
    null_bias = 0.03
    takes_classwise = True

    def __post_init__(self) -> None:
        check_choice("statistic", self.statistic, STATISTICS)

    @property
    def estimands(self) -> tuple[str, ...]:
        return (self.statistic, "p_value")

    def __call__(self, p: np.ndarray, y: np.ndarray, rng: object = None) -> dict[str, Estimate]:
        """Return statistic and p-value of p for y: both (n,), or both (n, k) class-wise."""
        return apply_test(p, y, self._evaluate)

    def _evaluate(self, p: np.ndarray, y: np.ndarray, largest: float) -> dict[str, Estimate]:
        """Return the estimates of p for outcomes y, both (n,); see `apply_test`."""
        n = len(p)
        values, index, counts = np.unique(p, return_inverse=True, return_counts=True)
        c = np.concatenate([[0.0], np.cumsum(np.bincount(index, y) - counts * values)]) / n
        statistic = float(np.abs(c).max() if self.statistic == "ks" else c.max() - c.min())
        sigma = math.sqrt(float(counts @ (values * (1.0 - values)))) / n
        if sigma > 0.0:
            scaled = statistic / sigma
        else:
            scaled = math.inf if statistic > 0.0 else 0.0
        tail = largest_tail if self.statistic == "ks" else range_tail
        p_value = 0.0
        if not certain_rows(p, y)[1]:
            p_value = for_rare_events(tail(scaled), p, y, kurtosis(p), largest)
        diagnostics = {"sigma": sigma, "scaled": scaled}
        return {
            self.statistic: Estimate(statistic, diagnostics=diagnostics),
            "p_value": Estimate(p_value, diagnostics=diagnostics),
        }


def largest_tail(x: float) -> float:
    """Return P(max |B| >= x) of a Brownian motion B on [0, 1], to about 1e-15.

    With sums over k = 0, 1, 2, ... and a standard normal N, the probability is

        x < 1:    1 - 4/pi sum_k (-1)^k / (2k+1) exp(-(2k+1)^2 pi^2 / (8 x^2))
        x >= 1:   4 sum_k (-1)^k P(N >= (2k+1) x)

    The second series, by reflection, has no cancellation for small probabilities.

    Examples
    --------
    >>> round(largest_tail(2.2414), 4), largest_tail(0.0)
    (0.05, 1.0)
    """
    odd = np.arange(1, 80, 2)
    sign = 1.0 - 2.0 * (odd // 2 % 2)
    if x <= 0.0:
        return 1.0
    if x < 1.0:
        series = np.sum(sign / odd * np.exp(-((odd * np.pi / x) ** 2) / 8.0))
        return float(1.0 - 4.0 / np.pi * series)
    return float(min(1.0, 4.0 * np.sum(sign * ndtr(-odd * x))))


def range_tail(x: float) -> float:
    """Return P(max B - min B >= x) of a Brownian motion B on [0, 1], to about 1e-15.

    With a standard normal N, the probability is

        x < 1.5:    1 - sum_{k>=0} (8/x^2 + 8 / ((2k+1) pi)^2) exp(-(2k+1)^2 pi^2 / (2 x^2))
        x >= 1.5:   8 sum_{k>=1} (-1)^(k-1) k P(N >= k x)

    The second series, by reflection, has no cancellation for small probabilities.

    Examples
    --------
    >>> round(range_tail(2.4977), 4), range_tail(0.0)
    (0.05, 1.0)
    """
    if x <= 0.0:
        return 1.0
    if x < 1.5:
        odd = np.arange(1, 80, 2) * np.pi
        return float(1.0 - np.sum((8.0 / x**2 + 8.0 / odd**2) * np.exp(-((odd / x) ** 2) / 2.0)))
    k = np.arange(1, 60)
    return float(min(1.0, 8.0 * np.sum((1.0 - 2.0 * (k % 2 == 0)) * k * ndtr(-k * x))))
