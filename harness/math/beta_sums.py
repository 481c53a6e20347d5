"""Sums of Beta kernels at many points in nearly linear time, with a computed error bound.

With theta = log z - log(1 - z), the kernel (`kernels.dirichlet_sums`) is, up to a factor of z
alone, an exponential:

    log k_b(z; t) = c(t) + theta t / b + log(1 - z) / b,
    c(t) = log Gamma(1/b + 2) - log Gamma(t/b + 1) - log Gamma((1-t)/b + 1)

For centres t in [t0 - h, t0 + h] and any theta0, sum_j w_j k_b(z; t_j) is therefore a sum of
exp(c_j + theta0 t_j / b) times exp(kappa x_j), kappa = (theta - theta0) h / b and x_j = (t_j - t0)
/ h. Interpolation of exp(kappa x) on [-1, 1] at q Chebyshev nodes is off by at most 4 sum_{i >= q}
I_i(|kappa|) (Trefethen, Approximation Theory and Practice, theorem 4.2; I_i, modified Bessel
functions, are half its Chebyshev coefficients).

This is used twice. The centres of an interval are replaced by q nodes with weights of their own,
and the sums at the points of an interval are interpolated from those at q nodes in theta. As
weights and kernels are positive, log sum_j w_j exp(theta a_j) is convex in theta. A sum over an
interval is therefore bounded from below by its values at the nodes, and the errors become relative
ones.

An interval is about 1.75 standard deviations of the kernel wide, so that there are pi / (1.75
sqrt(b)). Cost: O(n q) per bandwidth and weight, and about 25 q^2 / sqrt(b) exponentials. Where the
bound exceeds TOLERANCE, narrower intervals are tried; if few points are left, they get direct sums.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

import numpy as np
from scipy.special import digamma

from harness.math.beta_blocks import Sums, sums_by_intervals
from harness.math.beta_intervals import WIDTH, Centres, distinct, group_centres

TOLERANCE = 4e-11  # largest relative error accepted for a sum of weights; twice that for a ratio
MAX_NARROWING = 8.0  # intervals are narrowed at most by this factor to satisfy the bound
MAX_DIRECT_POINTS = 64  # up to so many points, direct sums are cheaper than narrower intervals
SMALLEST_SUM = 1e-250  # smaller sums, relative to the largest group, lost digits to underflow
FAR = 60.0  # centres below exp(-60) of the largest are dropped from direct sums
SMALLEST_BANDWIDTH = 5e-6  # below it, rounding of exponents of size 1 / b dominates the error


def applies(
    points: np.ndarray, centres: np.ndarray, hits: np.ndarray, bandwidths: Sequence[float]
) -> bool:
    """Return True for two columns that sum to 1, hits in [0, 1] and no tiny bandwidth."""
    if centres.shape[1] != 2 or min(bandwidths) < SMALLEST_BANDWIDTH:
        return False
    off = max(np.abs(x.sum(axis=1) - 1.0).max(initial=0.0) for x in (points, centres))
    return bool(
        off <= 4.0 * np.finfo(float).eps
        and hits.min(initial=0.0) >= 0.0
        and hits.max(initial=0.0) <= 1.0
    )


def cheaper(m: int, n: int, b: float) -> bool:
    """Return True if the sums of this module cost less than m n kernels."""
    return m * n > 1e6 + 6e4 / np.sqrt(b)


def regressions(
    points: np.ndarray,
    centres: np.ndarray,
    hits: np.ndarray,
    b: float,
    leave_out: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return ratios (m, c) and log density (m,) as `kernels.dirichlet_sums`, for one bandwidth."""
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
    values, left_out = sums.values[index, 0], sums.own_term[index]
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
    """Return the sums at m sorted points theta = log z - log(1 - z), (m,).

    leave_out: (m,), the centres of which one count is left out. Their terms are in `Sums.own_term`;
    where such a term would be nearly all of the sum, the values exclude it instead. Errors are at
    most TOLERANCE of the remaining counts of a group.
    """
    constants = centres.constants(b)
    intervals = group_centres(centres, constants, b, width)
    sums = sums_by_intervals(theta, intervals, b, leave_out, width, TOLERANCE)
    remaining = sums.values[:, :, 0] - sums.own_term[:, None]
    worst = np.flatnonzero(
        ~((sums.error < TOLERANCE * remaining) & (remaining > SMALLEST_SUM)).all(axis=1)
    )
    left_out_centre = None if leave_out is None else leave_out[worst]
    if len(worst) > MAX_DIRECT_POINTS and width > WIDTH / MAX_NARROWING:
        better = beta_sums(theta[worst], centres, b, left_out_centre, width / 2.0)
    else:
        better = _direct_sums(theta[worst], centres, constants, b, left_out_centre)
    for name in ("values", "log_scale", "error", "own_term"):
        getattr(sums, name)[worst] = getattr(better, name)
    return sums


def _direct_sums(
    theta: np.ndarray,
    centres: Centres,
    constants: np.ndarray,
    b: float,
    leave_out: np.ndarray | None,
) -> Sums:
    """Return the sums at each point over the centres that matter to it, group by group.

    The nearest centres may belong to a single group.
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
                sums.own_term[i] = np.exp(
                    sample_constants[position]
                    + theta[i] * sample.t[position, 1] / b
                    - sums.log_scale[i, d]
                )
    return sums


def _direct(
    theta: float, centres: Centres, constants: np.ndarray, b: float, without: int | None
) -> tuple[np.ndarray, float]:
    """Return values (c,) and log_scale at one point, without the centre `without`; weights (n, c).

    The exponent is concave in t, so that bisection finds the centres that matter.
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
