"""Smooth calibration error: the largest covariance of the residual with a Lipschitz function."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from harness.estimators.base import Estimate
from harness.math.notions import checked_scalars


@dataclass(frozen=True)
class SmoothCalibration:
    """Smooth calibration error (smCE): a lower distance from calibration, up to a factor of 2.

        smooth_ce = max over w of 1/n sum_i w(p_i) (y_i - p_i)

    p_i is one of n predictions and y_i its outcome. The functions w have |w| <= 1 and
    |w(u) - w(v)| <= |u - v|.

    Notes
    -----
    **Estimand.** smooth_ce of the population. Let d be the distance from calibration: the smallest
    E|p - q| over the functions q of the features with E[y given q] = q. Let d_low be the smallest
    E|p - q| over all random variables q on the law of (p, y) with E[y given q] = q. Then

        d_low / 2 <= smooth_ce <= 2 d_low,   d_low <= d

    and d is at most of the order of sqrt(d_low). So smooth_ce / 2 is a lower bound of d.
    `IntervalCE` estimates an upper bound. smooth_ce is at most l1, and 0 only for calibrated
    predictions. The similar name `smooth_ece` belongs to `SmoothECE`, which smooths with a kernel.

    **Bias.** Upwards, because w is fitted to the same samples. Under calibration the mean is of
    order sqrt(mean C (1 - C) / n), with C = E[Y given p]. The value is no confidence bound.

    **Computation.** Exact. The linear program is solved by dynamic programming over the sorted
    predictions. Cost: O(n log n) for the sort, and O(k) per sample if the maximum moves over k
    kinks. The worst case is O(n^2). With n = 20,000, k was about 23 on calibrated predictions.

    References
    ----------
    Blasiok, Gopalan, Hu and Nakkiran (2023), A unifying theory of distance from calibration, STOC
    (definition of smooth calibration and its theorem on the lower distance). Hu, Jambulapati, Tian
    and Yang (2024), Testing calibration in nearly-linear time, NeurIPS, solve the same program by
    dynamic programming. The definition is that of Kakade and Foster (2008).

    Examples
    --------
    >>> round(SmoothCalibration()([0.4, 0.6], [1, 0])["smooth_ce"].value, 6)
    0.06
    """

    notions = ("binary", "top_label", "classwise")
    estimands = ("smooth_ce",)
    determinism = "rounding"
    revision = 1
    null_bias = 0.03
    seconds = 0.003

    def __call__(self, p: np.ndarray, y: np.ndarray, rng: object = None) -> dict[str, Estimate]:
        """Return the smooth calibration error of predictions p (n,), for outcomes y (n,)."""
        p, y = checked_scalars(p, y)
        values, index, counts = np.unique(p, return_inverse=True, return_counts=True)
        residuals = np.bincount(index, y, len(values)) - counts * values
        return {"smooth_ce": Estimate(largest_sum(values, residuals) / len(p))}


@njit(cache=True)
def largest_sum(x: np.ndarray, r: np.ndarray) -> float:
    """Return max sum_j w_j r_j subject to |w_j| <= 1 and |w_j - w_(j-1)| <= x_j - x_(j-1).

    `x` (m,) increases, and r is (m,). F_j(w) is the largest sum of the first j terms with w_j = w.
    It is concave and piecewise linear on [-1, 1]. Its kinks are in two stacks, 0 below and 1 above
    the maximum. The top of a stack is next to the maximum. `place` is the distance of a kink from 0
    in the direction of its stack, minus `shift`. `drop` is the drop of the slope at the kink.
    """
    place, drop = np.empty((2, len(x) + 1)), np.empty((2, len(x) + 1))
    size = np.zeros(2, dtype=np.int64)
    largest, shift = 0.0, 0.0
    for j in range(len(x)):
        # F_j(w) is the largest F_(j-1) within the gap around w, plus r_j w. The first part moves
        # all kinks away from the maximum by the gap.
        if j > 0:
            shift += x[j] - x[j - 1]
        side = 1 if r[j] > 0.0 else 0
        rest = abs(r[j])
        # The second part moves the maximum over kinks, until their drops have used up the slope.
        # The largest value rises by used slope times distance. Kinks beyond the end of [-1, 1] are
        # at this end, where any slope ends.
        while rest > 0.0:
            top = size[side] - 1
            distance, used = 1.0, rest
            if top >= 0 and place[side, top] + shift < 1.0:
                distance, used = place[side, top] + shift, min(rest, drop[side, top])
                drop[side, top] -= used
                if drop[side, top] == 0.0:
                    size[side] = top
            else:
                size[side] = 0
            largest += used * distance
            rest -= used
            other = 1 - side
            place[other, size[other]], drop[other, size[other]] = -distance - shift, used
            size[other] += 1
    return largest
