"""Interval calibration error: a binned error over random bins plus the width of the bins."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harness.errors import BadInputError
from harness.estimators import dyadic_kernels
from harness.estimators.base import Estimate, is_positive
from harness.math.notions import checked_scalars


@dataclass(frozen=True)
class IntervalCE:
    """Interval calibration error: binned error over randomly placed bins, plus their width.

        interval_ce = min_w [ w + E_u sum_j |1/n sum over p_i in bin j of (p_i - y_i)| ]

    p_i are the n predictions and y_i their outcomes. The width w is 1, 1/2, 1/4, ... Bin j is
    [j w - u, (j + 1) w - u), with a shift u that is uniform on [0, w).

    Parameters
    ----------
    smallest : float
        Only widths above this number are tried.

    Notes
    -----
    The estimand is an upper bound of the distance from calibration, the smallest E|p - q| over
    calibrated predictions q. It is no distance between p and C = E[Y given p].

    Biased upwards by the width and the noise of the bins. For calibrated predictions the value is
    about w + sqrt(2 / (pi n w)) s at the best w, where s^2 is the mean of C (1 - C). This is of
    order n^(-1/3).

    The expectation over u is exact: it is an integral over the position of a window. The package
    relplot averages 100 random shifts. The diagnostic `width` is the best w. Cost: O(n) per width,
    after a sort.

    References
    ----------
    Blasiok, Gopalan, Hu and Nakkiran (2023), A unifying theory of distance from calibration, STOC
    (randomised and surrogate interval calibration error); `intCE_rand` of their package relplot.

    Examples
    --------
    >>> round(IntervalCE()([0.25, 0.75], [0, 1])["interval_ce"].value, 6)
    0.251953
    """

    smallest: float = 0.001

    notions = ("binary", "top_label", "classwise")
    estimands = ("interval_ce",)
    determinism = "rounding"
    revision = 1
    null_bias = 0.12
    seconds = 0.003

    def __post_init__(self) -> None:
        if not (is_positive(self.smallest) and 1e-9 <= self.smallest < 1.0):
            raise BadInputError(
                f"smallest is {self.smallest!r}; give a width of at least 1e-9 and below 1."
            )

    def __call__(
        self, p: np.ndarray, y: np.ndarray, rng: np.random.Generator | None = None
    ) -> dict[str, Estimate]:
        p, y = checked_scalars(p, y)
        order = np.argsort(p)  # equal p enter and leave a window together, in any order
        p, sums = p[order], np.append(0.0, np.cumsum((p - y)[order])) / len(p)
        best, width, w = np.inf, 1.0, 1.0
        while w > self.smallest:
            value = w + shifted_error(p, sums, w)
            if value < best:
                best, width = value, w
            w /= 2.0
        return {"interval_ce": Estimate(float(best), diagnostics={"width": width})}


def shifted_error(p: np.ndarray, sums: np.ndarray, width: float) -> float:
    """Return the binned error sum_b |sum of residuals in bin b|, averaged over a uniform shift.

    p (n,) is sorted, and sums[i] is the sum of the first i residuals, for i = 0, ..., n. The
    average is the integral over t of |sum of the residuals of the p in [t, t + width)|, divided by
    the width.
    """
    return dyadic_kernels.shifted_error(p, sums, width) / width
