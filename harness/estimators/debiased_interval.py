"""The squared error over bins from pairs of residuals, with an asymptotic confidence interval."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from harness.errors import BadInputError
from harness.estimators.base import Estimate
from harness.estimators.binned import check_binning, partition
from harness.math.notions import checked


@dataclass(frozen=True)
class DebiasedInterval:
    """The squared error over bins, from pairs of different samples of a bin, with an asymptotic confidence interval.

        l2_squared = t = 1/n sum_b sum_{i != j in b} r_i r_j / (n_b - 1),   r = y - p

    With m_b, q_b the means of r and r^2 in bin b and w_b = n_b / n, the standard error is s = sqrt(v / n), v = sum_b w_b (4 m_b^2
    q_b - 3 m_b^4) - (sum_b w_b m_b^2)^2, and z_a the normal quantile of 1 - a. For t+ = max(t, 0), a = 1 - level, the interval is

        high = t+ + z_{a/2} s
        low = t+ - z_{a/2} s  where t+ >= 2 z_{a/2} s,   t+ / 2  where t+ is between 2 z_a s and that,   else max(t+ - z_a s, 0)

    and low = 0 where t < z_a s_0, s_0 the standard deviation of t if calibrated: then t is of order 1 / n and not normal about 0
    with the deviation s. Given the predictions s_0^2 = 2 / n^2 sum_b sum_{i != j in b} c_i c_j / (n_b - 1)^2, c = p (1 - p).

    Parameters
    ----------
    bins : int
        How many bins; those of a single sample count 0.
    rule : {"width", "mass", "kmeans"}
        As in `Binned`; the paper's bins are of equal width.
    level : float
        Asymptotic coverage 1 - a of the interval.

    Notes
    -----
    Unbiased, but for bins of one sample, for sum_b P(b) E[r given b]^2, which is at most l2_squared, and the interval is for that
    quantity, too: with few bins its coverage of l2_squared falls as n grows. May be negative, and then lies below its interval.
    The paper takes for s_0 its limit for uniformly filled bins. The last bin is closed (a p of 1 is in no bin of the authors').
    O(n).

    References
    ----------
    Sun, Chaudhari, Barnett and Dobriban (2024), A confidence interval for the l2 expected calibration error, arXiv 2408.08998.

    Examples
    --------
    >>> found = DebiasedInterval(bins=1)([0.2, 0.4], [1, 1])["l2_squared"]
    >>> round(found.value, 6), round(found.low, 3), round(found.high, 3)
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
        if not 0.0 < self.level < 1.0:
            raise BadInputError(
                f"level is {self.level}; a number between 0 and 1 is needed, such as 0.95."
            )

    @property
    def determinism(self) -> str:
        return "statistical" if self.rule == "kmeans" else "rounding"

    def __call__(
        self, p: np.ndarray, y: np.ndarray, rng: np.random.Generator | None = None
    ) -> dict[str, Estimate]:
        p, y = checked(p, y)
        n = len(p)
        bin_of, count = partition(p, self.bins, self.rule, rng)
        index, r, c = bin_of(p), y - p, p * (1.0 - p)
        sizes, sums, squares = (
            np.bincount(index, x, minlength=count) for x in (np.ones(n), r, r * r)
        )
        value = pair_mean(sizes, sums, squares, n)
        s, s_0 = (
            np.sqrt(variance(sizes, sums, squares) / n),
            null_deviation(sizes, *_sums(index, count, c), n),
        )
        one, two = (
            ndtri(self.level),
            ndtri(0.5 + self.level / 2.0),
        )  # quantiles of the one- and the two-sided interval
        top = max(value, 0.0)
        if top >= 2.0 * two * s:
            low = top - two * s
        else:
            low = top / 2.0 if top >= 2.0 * one * s else max(top - one * s, 0.0)
        if value < one * s_0:
            low = 0.0
        return {
            "l2_squared": Estimate(
                value, float(low), float(top + two * s), self.level, diagnostics={"null_sd": s_0}
            )
        }


def _sums(index: np.ndarray, count: int, c: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return np.bincount(index, c, minlength=count), np.bincount(index, c * c, minlength=count)


def pair_mean(sizes: np.ndarray, sums: np.ndarray, squares: np.ndarray, n: int) -> float:
    """1/n sum_b (S_b^2 - Q_b) / (n_b - 1) from the sums S and the sums of squares Q of the residuals in the bins; bins of fewer
    than two samples count 0."""
    used = sizes > 1
    return float(((sums[used] ** 2 - squares[used]) / (sizes[used] - 1)).sum() / n)


def variance(sizes: np.ndarray, sums: np.ndarray, squares: np.ndarray) -> float:
    """n times the asymptotic variance of `pair_mean` where the bins' errors are not all 0."""
    used = sizes > 0
    w, m, q = sizes[used] / sizes.sum(), sums[used] / sizes[used], squares[used] / sizes[used]
    return max(float(w @ (4.0 * m**2 * q - 3.0 * m**4) - (w @ m**2) ** 2), 0.0)


def null_deviation(sizes: np.ndarray, variances: np.ndarray, squares: np.ndarray, n: int) -> float:
    """The standard deviation of `pair_mean`, given the predictions, if they are calibrated; from the sums in the bins of c = p
    (1 - p) and of c^2."""
    used = sizes > 1
    return float(
        np.sqrt(
            (
                2.0 * np.maximum(variances[used] ** 2 - squares[used], 0.0) / (sizes[used] - 1) ** 2
            ).sum()
        )
        / n
    )
