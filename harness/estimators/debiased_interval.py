"""Squared error over bins from pairs of residuals, with an asymptotic confidence interval."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from harness.estimators.base import Estimate, check_level
from harness.estimators.binned import check_binning, partition
from harness.math.notions import checked


@dataclass(frozen=True)
class DebiasedInterval:
    """Squared error over bins from pairs of samples, with an asymptotic confidence interval.

        l2_squared = t = 1/n sum_b sum_{i != j in b} r_i r_j / (n_b - 1),   r = y - p

    With m_b, q_b the means of r and r^2 in bin b and w_b = n_b / n, the standard error is s =
    sqrt(v / n), v = sum_b w_b (4 m_b^2 q_b - 3 m_b^4) - (sum_b w_b m_b^2)^2, and z_a is the normal
    quantile of 1 - a. For t+ = max(t, 0), a = 1 - level, the interval is

        high = t+ + z_{a/2} s
        low = t+ - z_{a/2} s  if t+ >= 2 z_{a/2} s,   t+ / 2  if t+ is between 2 z_a s and that,
              else max(t+ - z_a s, 0)

    and low = 0 if t < z_a s_0, s_0 the standard deviation of t under calibration: then t is of
    order 1 / n and not normal about 0 with the deviation s. Given the predictions s_0^2 = 2 / n^2
    sum_b sum_{i != j in b} c_i c_j / (n_b - 1)^2, c = p (1 - p).

    Parameters
    ----------
    bins : int
        Number of bins; those of a single sample count 0.
    rule : {"width", "mass", "kmeans"}
        As in `Binned`; the paper's bins are of equal width.
    level : float
        Asymptotic coverage 1 - a of the interval.

    Notes
    -----
    Unbiased, except for bins of one sample, for sum_b P(b) E[r given b]^2, which is at most
    l2_squared. The interval is for that quantity as well: with few bins its coverage of l2_squared
    falls as n grows. The value may be negative, and then lies below its interval. The paper uses
    for s_0 its limit for uniformly filled bins. The last bin is closed (a p of 1 is in no bin of
    the authors'). O(n log B).

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
        p, y = checked(p, y)
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
    """Return 1/n sum_b (S_b^2 - Q_b) / (n_b - 1), the mean product of pairs of residuals.

    S and Q are the sums of residuals and of their squares in the bins; bins of fewer than two
    samples count 0.
    """
    used = sizes > 1
    return float(((sums[used] ** 2 - squares[used]) / (sizes[used] - 1)).sum() / n)


def variance(sizes: np.ndarray, sums: np.ndarray, squares: np.ndarray) -> float:
    """Return n times the asymptotic variance of `pair_mean` if the bins' errors are not all 0."""
    used = sizes > 0
    w, m, q = sizes[used] / sizes.sum(), sums[used] / sizes[used], squares[used] / sizes[used]
    return max(float(w @ (4.0 * m**2 * q - 3.0 * m**4) - (w @ m**2) ** 2), 0.0)


def null_deviation(sizes: np.ndarray, variances: np.ndarray, squares: np.ndarray, n: int) -> float:
    """Return the standard deviation of `pair_mean` under calibration, given the predictions.

    `variances` and `squares` are the sums in the bins of c = p (1 - p) and of c^2.
    """
    used = sizes > 1
    products = np.maximum(variances[used] ** 2 - squares[used], 0.0)
    return float(np.sqrt((2.0 * products / (sizes[used] - 1) ** 2).sum()) / n)
