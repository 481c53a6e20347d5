"""Sums of Beta kernels at many points in nearly linear time, with a computed error bound.

Let t be a centre, z a point, b the bandwidth, and theta = log z - log(1 - z). Up to a factor that
depends on z alone, the kernel of `kernels.dirichlet_sums` is an exponential:

    log k_b(z; t) = c(t) + theta t / b + log(1 - z) / b,
    c(t) = log Gamma(1/b + 2) - log Gamma(t/b + 1) - log Gamma((1-t)/b + 1)

Take centres t_j in an interval [t0 - h, t0 + h] with weights w_j, c_j = c(t_j), and any theta0.
Then sum_j w_j k_b(z; t_j) is a sum of products of two exponentials:

    exp(c_j + theta0 t_j / b)    does not depend on the point
    exp(kappa x_j)               kappa = (theta - theta0) h / b,  x_j = (t_j - t0) / h

Interpolation of exp(kappa x) on [-1, 1] at q Chebyshev nodes has an error of at most 4 sum_{i >= q}
I_i(|kappa|). The modified Bessel functions I_i are half the Chebyshev coefficients (Trefethen,
Approximation Theory and Practice, theorem 4.2).

Interpolation is used twice:

1. The centres of an interval are replaced by q nodes with weights.
2. The sums at the points of an interval are interpolated from the sums at q nodes in theta.

Weights and kernels are positive, so log sum_j w_j exp(theta a_j) is convex in theta for any numbers
a_j. The values at the nodes therefore bound a sum from below, which turns absolute errors into
relative ones.

An interval is about 1.75 standard deviations of the kernel wide, which gives pi / (1.75 sqrt(b))
intervals. Cost per bandwidth: O(n q) for each weight, and about 25 q^2 / sqrt(b) exponentials. If
the bound exceeds TOLERANCE, narrower intervals are tried. If few points remain, their sums are
computed directly.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

import numpy as np
from scipy.special import digamma

from harness.math.beta_blocks import Sums, sums_by_intervals
from harness.math.beta_intervals import WIDTH, Centres, distinct, group_centres

# Largest accepted relative error of a sum of weights. A ratio has at most twice this error.
TOLERANCE = 4e-11
MAX_NARROWING = 8.0  # intervals are narrowed at most by this factor to satisfy the bound
MAX_DIRECT_POINTS = 64  # up to this many points, direct sums are cheaper than narrower intervals
# Smaller sums, relative to the largest group, have lost digits to underflow.
SMALLEST_SUM = 1e-250
FAR = 60.0  # direct sums drop terms that are smaller than exp(-60) times the largest term
# With smaller bandwidths b, the rounding of exponents of size 1 / b dominates the error.
SMALLEST_BANDWIDTH = 5e-6


def applies(
    points: np.ndarray, centres: np.ndarray, hits: np.ndarray, bandwidths: Sequence[float]
) -> bool:
    """Return True if the fast sums of this module can handle the input.

    Points and centres need two columns that sum to 1. `hits`, the values at the centres that are
    averaged, must lie in [0, 1]. No bandwidth may be below 5e-6.
    """
    if centres.shape[1] != 2 or min(bandwidths) < SMALLEST_BANDWIDTH:
        return False
    off = max(np.abs(x.sum(axis=1) - 1.0).max(initial=0.0) for x in (points, centres))
    return bool(
        off <= 4.0 * np.finfo(float).eps
        and hits.min(initial=0.0) >= 0.0
        and hits.max(initial=0.0) <= 1.0
    )


def cheaper(m: int, n: int, b: float) -> bool:
    """Return True if the fast sums cost less than m n direct kernel evaluations.

    `m` is the number of points, `n` the number of centres and `b` the bandwidth.
    """
    return m * n > 1e6 + 6e4 / np.sqrt(b)  # both constants were measured


def regressions(
    points: np.ndarray,
    centres: np.ndarray,
    hits: np.ndarray,
    b: float,
    leave_out: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the kernel regressions (m, c) and log densities (m,) at m points, for bandwidth `b`.

    `hits` (n, c) holds the values at n centres that are averaged. The function computes the results
    of `kernels.dirichlet_sums` for points and centres with two columns.
    """
    sample, centre_index = distinct(centres, np.column_stack([np.ones(len(hits)), hits])[:, None])
    theta = np.log(points[:, 1]) - np.log(points[:, 0])
    left_out_centre = None if leave_out is None else centre_index[leave_out]
    order = np.lexsort((theta,) if left_out_centre is None else (left_out_centre, theta))
    is_first = np.diff(theta[order], prepend=np.nan) != 0.0
    if left_out_centre is not None:
        is_first |= np.diff(left_out_centre[order], prepend=-1) != 0
    index = np.empty(len(order), dtype=np.int64)
    index[order] = np.cumsum(is_first) - 1
    first = order[is_first]
    sums = beta_sums(
        theta[first], sample, b, None if left_out_centre is None else left_out_centre[first]
    )
    values, left_out = sums.values[index, 0], sums.left_out_term[index]
    total, hit_sums = values[:, 0] - left_out, values[:, 1:]
    if leave_out is not None:
        hit_sums = hit_sums - left_out[:, None] * hits[leave_out]
    density = (
        np.log(total)
        + sums.log_scale[index, 0]
        + np.log(points[:, 0]) / b
        - np.log(len(hits) - (leave_out is not None))
    )
    return np.clip(hit_sums / total[:, None], 0.0, 1.0), density


def beta_sums(
    theta: np.ndarray,
    centres: Centres,
    b: float,
    leave_out: np.ndarray | None = None,
    width: float = WIDTH,
) -> Sums:
    """Return the sums of Beta kernels at m sorted points theta = log z - log(1 - z).

    `leave_out` (m,) holds for each point the index of the centre that loses one sample. The term of
    this sample is in `Sums.left_out_term`, and the caller must subtract it. If the term is nearly
    all of the sum, `Sums.values` excludes it already and `Sums.left_out_term` is 0.

    `width` is the width of an interval in standard deviations of the kernel. The error of a sum is
    at most TOLERANCE times the sum of column 0 (the counts) without the left-out sample.
    """
    constants = centres.constants(b)
    intervals = group_centres(centres, constants, b, width)
    sums = sums_by_intervals(theta, intervals, b, leave_out, width, TOLERANCE)
    remaining = sums.values[:, :, 0] - sums.left_out_term[:, None]
    worst = np.flatnonzero(
        ~((sums.error < TOLERANCE * remaining) & (remaining > SMALLEST_SUM)).all(axis=1)
    )
    left_out_centre = None if leave_out is None else leave_out[worst]
    if len(worst) > MAX_DIRECT_POINTS and width > WIDTH / MAX_NARROWING:
        better = beta_sums(theta[worst], centres, b, left_out_centre, width / 2.0)
    else:
        better = _direct_sums(theta[worst], centres, constants, b, left_out_centre)
    for name in ("values", "log_scale", "error", "left_out_term"):
        getattr(sums, name)[worst] = getattr(better, name)
    return sums


def _direct_sums(
    theta: np.ndarray,
    centres: Centres,
    constants: np.ndarray,
    b: float,
    leave_out: np.ndarray | None,
) -> Sums:
    """Return the sums at m points, computed directly from the centres near each point.

    The sums of each group of weights use the centres that have samples of this group.
    """
    m, (groups, columns) = len(theta), centres.weights.shape[1:]
    sums = Sums(
        np.empty((m, groups, columns)), np.empty((m, groups)), np.zeros((m, groups)), np.zeros(m)
    )
    for d in range(groups if m else 0):
        present = np.flatnonzero(centres.weights[:, d, 0] > 0.0)
        sample, sample_constants = (
            Centres(centres.t[present], centres.weights[present, d]),
            constants[present],
        )
        for i in range(m):
            position = None if leave_out is None else int(np.searchsorted(present, leave_out[i]))
            alone = position is not None and sample.weights[position, 0] <= 1.0
            sums.values[i, d], sums.log_scale[i, d] = _direct(
                theta[i], sample, sample_constants, b, position if alone else None
            )
            if position is not None and not alone:
                sums.left_out_term[i] = np.exp(
                    sample_constants[position]
                    + theta[i] * sample.t[position, 1] / b
                    - sums.log_scale[i, d]
                )
    return sums


def _direct(
    theta: float, centres: Centres, constants: np.ndarray, b: float, without: int | None
) -> tuple[np.ndarray, float]:
    """Return the kernel sums (c,) of weights (n, c) at a single point, and the log of their scale.

    The centre with index `without` is left out. The exponent is concave in the position of the
    centre, so bisection finds the centres whose terms are not negligible.
    """
    t, n = centres.t[:, 1], len(constants)

    def exponent(j: int) -> float:
        return constants[j] + theta * t[j] / b

    peak = bisect_left(
        range(n), theta, key=lambda j: digamma(t[j] / b + 1.0) - digamma(centres.t[j, 0] / b + 1.0)
    )
    candidates = [j for j in range(max(0, peak - 2), min(n, peak + 3)) if j != without]
    largest = max(exponent(j) for j in candidates)
    first = bisect_left(range(peak), largest - FAR, key=exponent)
    last = peak + bisect_left(range(peak, n), FAR - largest, key=lambda j: -exponent(j))
    kernel = constants[first:last] + theta * t[first:last] / b - largest
    if without is not None and first <= without < last:
        kernel[without - first] = -np.inf
    return np.exp(kernel) @ centres.weights[first:last], largest
