"""Interval calibration error."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harness.errors import BadInputError
from harness.estimators import dyadic_kernels
from harness.estimators.base import Estimate, is_positive
from harness.math.notions import checked


@dataclass(frozen=True)
class IntervalCE:
    """Interval calibration error: binned error over randomly placed bins plus their width.

        interval_ce = min over w = 1, 1/2, 1/4 ... > smallest of
                      w + E_u sum_j |1/n sum over p_i in bin j of (p_i - y_i)|

    with the bins [j w - u, (j + 1) w - u) and u uniform on [0, w).

    Parameters
    ----------
    smallest : float
        Widths stop above it.

    Notes
    -----
    Estimates an upper bound of the distance to the nearest calibrated prediction, E|p - q| over
    calibrated q; no distance of p and C. Biased upwards by the width and the noise of the bins: w +
    about sqrt(2 / (pi n w)) s at the best w for calibrated predictions, of order n^(-1/3), s^2 the
    mean of C (1 - C). The expectation over u is exact, computed as the integral of the window sums'
    absolute values over the place of the window (relplot draws 100 places). The diagnostic `width`
    is the best w. O(n log n) per width.

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
                f"smallest is {self.smallest!r}; a width of at least 1e-9 and below 1 is needed."
            )

    def __call__(
        self, p: np.ndarray, y: np.ndarray, rng: np.random.Generator | None = None
    ) -> dict[str, Estimate]:
        p, y = checked(p, y)
        order = np.argsort(p)  # the order of ties does not matter: they enter and leave together
        p, sums = p[order], np.append(0.0, np.cumsum((p - y)[order])) / len(p)
        best, width, w = np.inf, 1.0, 1.0
        while w > self.smallest:
            value = w + shifted_error(p, sums, w)
            if value < best:
                best, width = value, w
            w /= 2.0
        return {"interval_ce": Estimate(float(best), diagnostics={"width": width})}


def shifted_error(p: np.ndarray, sums: np.ndarray, width: float) -> float:
    """Return E over a uniform shift of sum_bins |sum of residuals in the bin|.

    p: (n,), sorted; sums: (n + 1,) of the first residuals. It is the integral over t of |sum over p
    in [t, t + width)| divided by the width. The integrand is constant between the places p and p -
    width.
    """
    return dyadic_kernels.shifted_error(p, sums, width) / width
