"""Binned squared error from pairs of residuals, with an asymptotic confidence interval."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from harness.estimators.base import Estimate, check_level
from harness.estimators.binned import check_binning, partition
from harness.math.notions import checked_scalars


@dataclass(frozen=True)
class DebiasedInterval:
    """Binned squared error from pairs of samples, with an asymptotic confidence interval.

        l2_squared = t = 1/n sum_b sum_{i != j in b} r_i r_j / (n_b - 1),   r_i = y_i - p_i

    n_b of the n samples are in bin b. The interval for the level 1 - a is, with t+ = max(t, 0),

        high = t+ + z_{a/2} s
        low  = 0                     if t < z_a s_0
               t+ - z_{a/2} s        else if t+ >= 2 z_{a/2} s
               t+ / 2                else if t+ >= 2 z_a s
               max(t+ - z_a s, 0)    else

    where

        z_a   = quantile of the standard normal law at 1 - a
        s     = sqrt(v / n), the standard error of t
        v     = sum_b w_b (4 m_b^2 q_b - 3 m_b^4) - (sum_b w_b m_b^2)^2
        w_b   = n_b / n; m_b and q_b are the means of r and r^2 in bin b
        s_0^2 = 2 / n^2 sum_b sum_{i != j in b} c_i c_j / (n_b - 1)^2,   c_i = p_i (1 - p_i)

    s_0 is the standard deviation of t under calibration, given the predictions. Under calibration
    t is of order 1 / n, and its law is not normal with the deviation s.

    Parameters
    ----------
    bins : int
        Number of bins. A bin with a single sample counts as 0.
    rule : {"width", "mass", "kmeans"}
        How the bins are formed, as in `Binned`. The paper uses equal widths.
    level : float
        Asymptotic coverage 1 - a of the interval.

    Notes
    -----
    The interval is for the quantity sum_b P(b) E[r given b]^2, which is at most l2_squared. A bin
    counts 0 unless it has two samples. With fixed bins (rule "width"), the mean of t is therefore
    sum_b P(b) [1 - (1 - P(b))^(n - 1)] E[r given b]^2. With few bins, the interval's coverage of
    l2_squared falls as n grows. A negative value lies below its interval.

    There are two differences from the paper. The paper uses the limit of s_0 for uniformly filled
    bins. In the authors' code no bin contains p = 1; here the last bin does. Cost: O(n log B) for B
    bins.

    References
    ----------
    Sun, Chaudhari, Barnett and Dobriban (2024), A confidence interval for the l2 expected
    calibration error, arXiv 2408.08998.

    Examples
    --------
    >>> e = DebiasedInterval(bins=1)([0.2, 0.4], [1, 1])["l2_squared"]
    >>> round(e.value, 6), round(e.low, 3), round(e.high, 3)
    (0.48, 0.286, 0.674)
    """

    bins: int = 15
    rule: str = "width"
    level: float = 0.95

    notions = ("binary", "top_label", "classwise")
    estimands = ("l2_squared",)
    revision = 1
    null_bias = 0.005

    def __post_init__(self) -> None:
        check_binning(self.bins, self.rule)
        check_level(self.level)

    @property
    def determinism(self) -> str:
        return "statistical" if self.rule == "kmeans" else "rounding"

    def __call__(
        self, p: np.ndarray, y: np.ndarray, rng: np.random.Generator | None = None
    ) -> dict[str, Estimate]:
        p, y = checked_scalars(p, y)
        n = len(p)
        assign_bins, count = partition(p, self.bins, self.rule, rng)
        index, r, c = assign_bins(p), y - p, p * (1.0 - p)
        sizes, sums, squares, variances, squared_variances = (
            np.bincount(index, x, minlength=count) for x in (np.ones(n), r, r * r, c, c * c)
        )
        value = pair_mean(sizes, sums, squares, n)
        s = np.sqrt(variance(sizes, sums, squares) / n)
        s_0 = null_deviation(sizes, variances, squared_variances, n)
        one_sided, two_sided = ndtri(self.level), ndtri(0.5 + self.level / 2.0)
        positive = max(value, 0.0)
        if value < one_sided * s_0:
            low = 0.0
        elif positive >= 2.0 * two_sided * s:
            low = positive - two_sided * s
        elif positive >= 2.0 * one_sided * s:
            low = positive / 2.0
        else:
            low = max(positive - one_sided * s, 0.0)
        high = float(positive + two_sided * s)
        return {
            "l2_squared": Estimate(
                value, float(low), high, self.level, diagnostics={"null_sd": s_0}
            )
        }


def pair_mean(sizes: np.ndarray, sums: np.ndarray, squares: np.ndarray, n: int) -> float:
    """Return 1/n sum_b (S_b^2 - Q_b) / (n_b - 1), the estimate of `DebiasedInterval`.

    The arguments (bins,) are the number of samples in each bin, n_b, the sum of their residuals,
    S_b, and the sum of the squared residuals, Q_b. Bins with fewer than two samples count as 0.
    """
    used = sizes > 1
    return float(((sums[used] ** 2 - squares[used]) / (sizes[used] - 1)).sum() / n)


def variance(sizes: np.ndarray, sums: np.ndarray, squares: np.ndarray) -> float:
    """Return n times the asymptotic variance of `pair_mean` for miscalibrated predictions.

    The arguments (bins,) are the number of samples, the sum of residuals and the sum of squared
    residuals in each bin.
    """
    used = sizes > 0
    w, m, q = sizes[used] / sizes.sum(), sums[used] / sizes[used], squares[used] / sizes[used]
    return max(float(w @ (4.0 * m**2 * q - 3.0 * m**4) - (w @ m**2) ** 2), 0.0)


def null_deviation(sizes: np.ndarray, variances: np.ndarray, squares: np.ndarray, n: int) -> float:
    """Return the standard deviation of `pair_mean` under calibration, given the predictions.

    `sizes` (bins,) are the numbers of samples in the bins. `variances` and `squares` (bins,) are
    the sums of c = p (1 - p) and of c^2 in the bins.
    """
    used = sizes > 1
    products = np.maximum(variances[used] ** 2 - squares[used], 0.0)
    return float(np.sqrt((2.0 * products / (sizes[used] - 1) ** 2).sum()) / n)
