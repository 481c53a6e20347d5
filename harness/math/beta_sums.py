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
from dataclasses import dataclass, fields

import numpy as np
from numpy.polynomial.chebyshev import chebvander
from scipy.special import digamma, gammaln

from harness.math.near_pairs import log_normaliser

ORDER = 17  # q; odd, so that the middle of an interval is a node
WIDTH = 1.75  # width of an interval, in standard deviations of the kernel
MAX_NARROWING = 8.0  # intervals are narrowed at most by this factor to satisfy the bound
MAX_DIRECT_POINTS = 64  # up to so many points, direct sums are cheaper than narrower intervals
# The kernel is no Gaussian near 0 and 1: 3 intervals at either end are cut into 4 parts each.
EDGE_INTERVALS, EDGE_PARTS = 3, 4
TOLERANCE = 4e-11  # largest relative error accepted for a sum of weights; twice that for a ratio
ROUNDING = 2.0**-50
SMALLEST_SUM = 1e-250  # smaller sums, relative to the largest group, lost digits to underflow
NEGLIGIBLE = 34.0  # intervals below exp(-34) of the largest are dropped; the bound includes them
FAR = 60.0  # centres below exp(-60) of the largest are dropped from direct sums
SMALLEST_BANDWIDTH = 5e-6  # below it, rounding of exponents of size 1 / b dominates the error
TABLE = 4096  # points at which the density of intervals is tabulated
CHUNK = 1 << 13  # samples, or exponentials in units of 2^5, at a time: they fit into the cache

NODES = np.cos(np.pi * (np.arange(ORDER) + 0.5) / ORDER)  # nodes for centres
# Maps moments sum_j w_j T_i(x_j) to weights of the nodes.
TO_NODES = np.linalg.inv(chebvander(NODES, ORDER - 1)).T
POINT_NODES = np.cos(np.pi * np.arange(ORDER) / (ORDER - 1))  # nodes for points, ends included
# Maps values at the nodes to a Chebyshev series.
TO_SERIES = np.linalg.inv(chebvander(POINT_NODES, ORDER - 1))
LEBESGUE = 4.0  # exceeds both Lebesgue constants, 2 / pi log(q + 1) + 1


@dataclass(frozen=True)
class Sums:
    """Kernel sums at m points.

    Parameters
    ----------
    values : ndarray of shape (m, d, c)
        Times exp(log_scale) and (1 - z)^(1/b) these are the sums of d groups of weights.
    log_scale : ndarray of shape (m, d)
    error : ndarray of shape (m, d)
        Bound of the error of each value of a group, on the scale of `values`.
    own_term : ndarray of shape (m,)
        Term of the centre that a point leaves out, on the same scale. 0 if there is none, or if the
        values exclude it already.
    """

    values: np.ndarray
    log_scale: np.ndarray
    error: np.ndarray
    own_term: np.ndarray


@dataclass(frozen=True)
class Centres:
    """Sorted distinct centres.

    Parameters
    ----------
    t : ndarray of shape (n, 2)
        Columns 1 - t and t.
    weights : ndarray of shape (n, d, c)
        Nonnegative weights of d groups. The first of a group is its counts; the others (the hits)
        nowhere exceed it. A centre can be left out only with d = 1.
    """

    t: np.ndarray
    weights: np.ndarray

    def constants(self, b: float) -> np.ndarray:
        """Return c(t), computed as in the direct sums."""
        return log_normaliser(self.t, b)


def distinct(t: np.ndarray, weights: np.ndarray) -> tuple[Centres, np.ndarray]:
    """Merge equal rows of t (n, 2), adding weights (n, d, c); return Centres and row indices."""
    _, first, index = np.unique(t[:, 1], return_index=True, return_inverse=True)
    if len(first) == len(t):
        order = np.argsort(t[:, 1], kind="stable")
        return Centres(t[order], weights[order]), index
    flat = weights.reshape(len(t), -1)
    total = np.column_stack([np.bincount(index, column) for column in flat.T])
    return Centres(t[first], total.reshape(len(first), *weights.shape[1:])), index


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
    own = None if leave_out is None else centre_index[leave_out]
    order = np.lexsort((theta,) if own is None else (own, theta))
    is_first = np.diff(theta[order], prepend=np.nan) != 0.0
    if own is not None:
        is_first |= np.diff(own[order], prepend=-1) != 0
    index = np.empty(len(order), dtype=np.int64)
    index[order] = np.cumsum(is_first) - 1
    first = order[is_first]
    sums = beta_sums(theta[first], sample, b, None if own is None else own[first])
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
    intervals = _intervals(centres, constants, b, width)
    sums = _by_intervals(theta, intervals, b, leave_out, width)
    remaining = sums.values[:, :, 0] - sums.own_term[:, None]
    worst = np.flatnonzero(
        ~((sums.error < TOLERANCE * remaining) & (remaining > SMALLEST_SUM)).all(axis=1)
    )
    own = None if leave_out is None else leave_out[worst]
    if len(worst) > MAX_DIRECT_POINTS and width > WIDTH / MAX_NARROWING:
        better = beta_sums(theta[worst], centres, b, own, width / 2.0)
    else:
        better = _direct_sums(theta[worst], centres, constants, b, own)
    for name in ("values", "log_scale", "error", "own_term"):
        getattr(sums, name)[worst] = getattr(better, name)
    return sums


@dataclass(frozen=True)
class _Intervals:
    """Intervals of centres.

    `middle`, `half` (half the width), `tilt` (theta0) and `top` (largest exponent) of each, (k,);
    `mass` (k, d) and node weights `nodes` (k, q, d c) of exp(exponent - top). For every centre:
    `number` of its interval, its position `x` in it, and that exponent.
    """

    middle: np.ndarray
    half: np.ndarray
    tilt: np.ndarray
    top: np.ndarray
    mass: np.ndarray
    nodes: np.ndarray
    number: np.ndarray
    x: np.ndarray
    exponent: np.ndarray


def _chebyshev(x: np.ndarray) -> np.ndarray:
    """Return the first ORDER Chebyshev polynomials at x, (ORDER, len(x))."""
    polynomials = np.empty((ORDER, len(x)))
    polynomials[0], polynomials[1] = 1.0, x
    twice = 2.0 * x
    for i in range(2, ORDER):
        np.multiply(twice, polynomials[i - 1], out=polynomials[i])
        polynomials[i] -= polynomials[i - 2]
    return polynomials


def _edges(b: float, width: float) -> np.ndarray:
    """Return interval edges in t, even in arcsin sqrt t, in which the kernel is sqrt(b) / 2 wide.

    Intervals next to 0 and 1 are finer.
    """
    count = int(np.ceil(np.pi / (width * np.sqrt(b))))
    edge = min(EDGE_INTERVALS, count)
    fine = np.arange(0, edge * EDGE_PARTS) / EDGE_PARTS
    positions = np.unique(np.concatenate([fine, np.arange(edge, count - edge + 1), count - fine]))
    return np.sin(positions * (np.pi / 2.0 / count)) ** 2


def _intervals(centres: Centres, constants: np.ndarray, b: float, width: float) -> _Intervals:
    """Group the sorted centres into intervals and compute their node weights."""
    t, n = centres.t[:, 1], len(centres.t)
    index = np.searchsorted(_edges(b, width)[1:-1], t, side="right")
    first = np.flatnonzero(np.diff(index, prepend=-1))
    last = np.append(first[1:], n)
    number = np.repeat(np.arange(len(first)), last - first)
    low, high = t[first], t[last - 1]
    middle, half = (low + high) / 2.0, np.maximum((high - low) / 2.0, 1e-9 * b)
    tilt = digamma(middle / b + 1.0) - digamma((1.0 - middle) / b + 1.0)
    exponent = constants + tilt[number] * t / b
    top = np.maximum.reduceat(exponent, first)
    exponent -= top[number]
    x = (t - middle[number]) / half[number]
    d, c = centres.weights.shape[1:]
    flat = centres.weights.reshape(n, d * c)
    moments = np.zeros((len(first), ORDER, d * c))
    for start in range(0, n, CHUNK):
        stop = min(start + CHUNK, n)
        series = _chebyshev(x[start:stop])
        weights = np.exp(exponent[start:stop])[:, None] * flat[start:stop]
        for k in range(number[start], number[stop - 1] + 1):
            rows = slice(max(first[k], start) - start, min(last[k], stop) - start)
            moments[k] += series[:, rows] @ weights[rows]
    return _Intervals(
        middle, half, tilt, top, moments[:, 0, ::c], TO_NODES @ moments, number, x, exponent
    )


@dataclass(frozen=True)
class _Blocks:
    """Blocks of points.

    `theta`: the middle (B,). `around`: the t around which sums are taken. `scale`: the logarithm of
    their scale. `near`: the numbers of the relevant intervals (B, L). `exponent`: theirs, relative
    to the scale, -inf for none. `outside`: a bound of the sum over all other intervals (B,).
    """

    theta: np.ndarray
    around: np.ndarray
    scale: np.ndarray
    near: np.ndarray
    exponent: np.ndarray
    outside: np.ndarray

    def part(self, rows: slice | np.ndarray) -> _Blocks:
        """Return the selected blocks."""
        return _Blocks(*(getattr(self, field.name)[rows] for field in fields(self)))


def _blocks(low: np.ndarray, high: np.ndarray, intervals: _Intervals, b: float) -> _Blocks:
    """Find for each block, of points between low and high, the intervals that matter to it."""
    theta, half, count = (low + high) / 2.0, ((high - low) / 2.0)[:, None], len(intervals.middle)
    away = theta[:, None] - intervals.tilt
    share = away * (intervals.middle / b)
    share += intervals.top + np.log(intervals.mass.max(axis=1))
    peak, scale = intervals.middle[share.argmax(axis=1)], share.max(axis=1)
    # Upper bound anywhere in the block, relative to exp((theta - theta0) peak / b).
    most = share - scale[:, None]
    most += np.abs(away) * (intervals.half / b)
    most += np.abs(intervals.middle - peak[:, None]) * (half / b)
    most += intervals.half * (half / b)
    keep = most > -NEGLIGIBLE
    first, stop = keep.argmax(axis=1), count - keep[:, ::-1].argmax(axis=1)
    number = np.arange(count)
    most[(number >= first[:, None]) & (number < stop[:, None])] = -np.inf
    near = first[:, None] + np.arange((stop - first).max())
    there, near = near < stop[:, None], np.minimum(near, count - 1)
    exponent = (
        intervals.top[near]
        + (theta[:, None] - intervals.tilt[near]) * (intervals.middle / b)[near]
        - scale[:, None]
    )
    exponent[~there] = -np.inf
    share = np.exp(exponent) * intervals.mass[near].max(axis=2)
    around = np.einsum("bl,bl->b", share, intervals.middle[near]) / share.sum(axis=1)
    outside = count * np.exp(most.max(axis=1) + np.abs(around - peak) * half[:, 0] / b)
    return _Blocks(theta, around, scale, near, exponent, outside)


def _bound(kappa: np.ndarray) -> np.ndarray:
    """Return a bound of 4 sum_{i >= q} I_i(kappa), plus rounding.

    It uses I_i <= (kappa / 2)^i / i! exp(kappa^2 / (4 (i + 1))) and I_{i+1} <= I_i kappa / (2 (i +
    1)); for a large kappa, a bound that holds for any interpolant.
    """
    kappa = np.minimum(np.abs(kappa), 600.0)
    small = np.minimum(kappa, ORDER + 1.0)
    logs = ORDER * np.log(np.maximum(small, 1e-12) / 2.0) - gammaln(ORDER + 1.0)
    series = 8.0 * np.exp(logs + small * small / (4.0 * (ORDER + 1.0)))
    return np.where(
        kappa <= ORDER + 1.0, series, (1.0 + LEBESGUE) * np.exp(kappa)
    ) + ROUNDING * np.exp(kappa)


def _evaluate(
    theta: np.ndarray, blocks: _Blocks, intervals: _Intervals, b: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return sums (B, m, d c) over the near intervals at points theta (B, m), and error bounds."""
    count, m = theta.shape
    values, error = (
        np.empty((count, m, intervals.nodes.shape[2])),
        np.empty((count, m, intervals.mass.shape[1])),
    )
    step = max(1, 16 * CHUNK // (m * blocks.near.shape[1] * ORDER))
    for start in range(0, count, step):
        rows = slice(start, start + step)
        part, points = blocks.part(rows), theta[rows]
        near = part.near
        kappa = (points[:, :, None] - intervals.tilt[near][:, None]) * (intervals.half[near] / b)[
            :, None
        ]
        shift = (points - part.theta[:, None])[:, :, None] * (
            (intervals.middle[near] - part.around[:, None]) / b
        )[:, None]
        base = part.exponent[:, None] + shift
        kernel = kappa[..., None] * NODES
        kernel += base[..., None]
        np.exp(kernel, out=kernel)
        values[rows] = kernel.reshape(len(points), m, -1) @ intervals.nodes[near].reshape(
            len(points), -1, values.shape[2]
        )
        error[rows] = (np.exp(base) * _bound(kappa)) @ intervals.mass[near] + part.outside[
            :, None, None
        ]
    return values, error


def _by_intervals(
    theta: np.ndarray, intervals: _Intervals, b: float, leave_out: np.ndarray | None, width: float
) -> Sums:
    """Return the sums, interpolated where that pays, with their bounds; none is direct."""
    m, (d, c) = (
        len(theta),
        (intervals.mass.shape[1], intervals.nodes.shape[2] // intervals.mass.shape[1]),
    )
    index = _point_intervals(theta, b, width)
    first = np.flatnonzero(np.diff(index, prepend=-1))
    last = np.append(first[1:], m)
    blocks = _blocks(theta[first], theta[last - 1], intervals, b)
    block_of = np.repeat(np.arange(len(first)), last - first)
    values, error = np.empty((m, d * c)), np.empty((m, d))
    crowded = np.flatnonzero(last - first > ORDER)
    todo = last - first <= ORDER
    if len(crowded):
        half = (theta[last - 1] - theta[first])[crowded] / 2.0
        part = blocks.part(crowded)
        node_values, node_errors = _evaluate(
            part.theta[:, None] + half[:, None] * POINT_NODES, part, intervals, b
        )
        series = TO_SERIES @ node_values
        bounds = _between_nodes(node_values[:, :, ::c], node_errors, half, part, intervals, b)
        accurate = (bounds[0] <= TOLERANCE * bounds[1]).all(axis=1)
        todo[crowded[~accurate]] = True
        # Evaluate the polynomials of many blocks at once.
        begin, end, width_of = (
            first[crowded[accurate]],
            last[crowded[accurate]],
            np.maximum(half[accurate], 1e-300),
        )
        series, middle, bound = series[accurate], part.theta[accurate], bounds[0][accurate]
        for batch in np.split(
            np.arange(len(begin)), np.flatnonzero(np.diff(np.cumsum(end - begin) // CHUNK)) + 1
        ):
            if not len(batch):
                continue
            size = (end - begin)[batch]
            stop = np.cumsum(size)
            rows = np.repeat(begin[batch] - stop + size, size) + np.arange(stop[-1])
            owner = np.repeat(batch, size)
            polynomials = _chebyshev((theta[rows] - middle[owner]) / width_of[owner])
            error[rows] = bound[owner]
            for i, start, end_row in zip(batch, stop - size, stop):
                values[begin[i] : end[i]] = polynomials[:, start:end_row].T @ series[i]
    # Evaluate the other points one by one, blocks of similar size together.
    pieces = np.array(
        [(k, s) for k in np.flatnonzero(todo) for s in range(first[k], last[k], ORDER)],
        dtype=np.int64,
    )
    block, start = pieces.reshape(-1, 2).T
    size = np.minimum(last[block] - start, ORDER)
    for smallest, largest in ((1, 3), (4, 8), (9, ORDER)):
        alike = (size >= smallest) & (size <= largest)
        rows = np.minimum(
            start[alike][:, None] + np.arange(largest), last[block[alike]][:, None] - 1
        )
        values[rows], error[rows] = _evaluate(theta[rows], blocks.part(block[alike]), intervals, b)
    off = (theta - blocks.theta[block_of]) / b
    own = np.zeros(m)
    if leave_out is not None:
        # Same arithmetic as in the sums, so that subtracting it cancels exactly.
        j = intervals.number[leave_out]
        exponent = (
            intervals.top[j]
            + (blocks.theta[block_of] - intervals.tilt[j]) * (intervals.middle[j] / b)
            - blocks.scale[block_of]
        )
        kappa = (theta - intervals.tilt[j]) * (intervals.half[j] / b)
        own = np.exp(
            exponent
            + off * (intervals.middle[j] - blocks.around[block_of])
            + kappa * intervals.x[leave_out]
            + intervals.exponent[leave_out]
        )
    log_scale = np.repeat(
        (blocks.scale[block_of] + off * blocks.around[block_of])[:, None], d, axis=1
    )
    return Sums(values.reshape(m, d, c), log_scale, error, own)


def _point_intervals(theta: np.ndarray, b: float, width: float) -> np.ndarray:
    """Return an interval number for every point.

    Intervals are about 0.8 width sqrt(b / (z (1 - z) + b)) wide in theta, and narrower where the
    kernel is skew.
    """
    grid = np.linspace(theta[0], theta[-1], TABLE)
    z = 1.0 / (1.0 + np.exp(-np.abs(grid)))
    variance = z * (1.0 - z) / b
    density = 1.2 * np.sqrt(variance + 1.0) * (1.0 + 0.3 / np.sqrt(variance / 20.0 + 1.0)) / width
    total = np.concatenate([[0.0], np.cumsum((density[1:] + density[:-1]) / 2.0 * np.diff(grid))])
    return np.floor(np.interp(theta, grid, total)).astype(np.int64)


def _between_nodes(
    counts: np.ndarray,
    error: np.ndarray,
    half: np.ndarray,
    blocks: _Blocks,
    intervals: _Intervals,
    b: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Return error bounds and lower bounds (B, d) of sums interpolated between nodes of blocks."""
    with np.errstate(divide="ignore", invalid="ignore"):
        log_sum = np.log(counts)
        # A convex function lies above the extension of its secants. It is below the node values by
        # at most the largest difference between neighbouring nodes.
        least = np.exp(log_sum.min(axis=1) - np.abs(np.diff(log_sum, axis=1)).max(axis=1))
    near = blocks.near
    # Contribution of each interval in the middle, but at least the error of its own nodes.
    kappa = (blocks.theta[:, None] - intervals.tilt[near]) * intervals.half[near] / b
    share = np.exp(blocks.exponent[..., None] + kappa[..., None] * NODES)
    contribution = np.einsum(
        "blq,blqd->bld",
        share,
        intervals.nodes[near][..., :: intervals.nodes.shape[2] // intervals.mass.shape[1]],
    )
    contribution = (
        np.maximum(contribution, 0.0)
        + (np.exp(blocks.exponent) * _bound(kappa))[..., None] * intervals.mass[near]
    )
    wide = (
        half[:, None]
        * (np.abs(intervals.middle[near] - blocks.around[:, None]) + intervals.half[near])
        / b
    )
    interpolation = np.einsum("bl,bld->bd", _bound(wide), contribution)
    return interpolation + LEBESGUE * error.max(axis=1), np.where(np.isfinite(least), least, 0.0)


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
