"""Sums of Beta kernels at many points in nearly linear time, each with a bound on its error that is computed beside it.

With theta = log z - log(1 - z), the kernel (`kernels.dirichlet_sums`) is, up to a factor of z alone, an exponential:

    log k_b(z; t) = c(t) + theta t / b + log(1 - z) / b,   c(t) = log Gamma(1/b + 2) - log Gamma(t/b + 1) - log Gamma((1-t)/b + 1)

so that, of centres t in [t0 - h, t0 + h] and any theta0, sum_j w_j k_b(z; t_j) is a sum of exp(c_j + theta0 t_j / b) times
exp(kappa x_j), kappa = (theta - theta0) h / b and x_j = (t_j - t0) / h. Interpolation of exp(kappa x) on [-1, 1] at q Chebyshev
nodes is off by at most 4 sum_{i >= q} I_i(|kappa|) (Trefethen, Approximation Theory and Practice, theorem 4.2; I_i, modified
Bessel functions, are half its Chebyshev coefficients). This is used twice: the centres of a cell go to q nodes with weights
of their own, and the sums at the points of a cell come from those at q nodes in theta. As weights and kernels are positive, so
that log sum_j w_j exp(theta a_j) is convex in theta, a sum over a cell is bounded from below by its values at the nodes, and the
errors become relative ones.

A cell is some 1.75 standard deviations of the kernel wide, so that there are pi / (1.75 sqrt(b)). O(n q) per bandwidth and
weight, and some 25 q^2 / sqrt(b) exponentials. Where the bound is above TOLERANCE, narrower cells are tried, and few
points get direct sums.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.polynomial.chebyshev import chebvander
from scipy.special import digamma, gammaln

from harness.math.near_pairs import log_normaliser

ORDER = 17  # q, odd: the middle of a cell is then a node
WIDTH = 1.75  # of a cell, in standard deviations of the kernel
FINEST = 8.0  # by how much cells are narrower at most where the bound asks for it
FEW_POINTS = 64  # so many points are summed directly rather than once more with narrower cells
EDGE_CELLS, EDGE_PARTS = (
    3,
    4,
)  # so many cells beside 0 and 1, where the kernel is no Gaussian, are cut in so many
TOLERANCE = 4e-11  # largest error of a sum of weights, relative to it, that is let through; that of a ratio is twice as large
ROUNDING = 2.0**-50
LEAST = 1e-250  # sums of less, beside the largest of all groups, have lost digits to underflow
NEGLIGIBLE = 34.0  # cells of less than exp(-34) of the largest are left out, which the bound counts
FAR = 60.0  # centres of less than exp(-60) of the largest are left out of direct sums
SMALLEST_BANDWIDTH = (
    5e-6  # below, rounding of exponents of 1 / b is the larger error, in the direct sums also
)
TABLE = 4096  # points at which the density of cells is tabulated
CHUNK = 1 << 13  # samples, or exponentials in units of 2^5, at a time: they stay in the cache

NODES = np.cos(np.pi * (np.arange(ORDER) + 0.5) / ORDER)  # of centres
TO_NODES = np.linalg.inv(
    chebvander(NODES, ORDER - 1)
).T  # from moments sum_j w_j T_i(x_j) to weights of the nodes
POINT_NODES = np.cos(
    np.pi * np.arange(ORDER) / (ORDER - 1)
)  # of points: with both ends and the middle
TO_SERIES = np.linalg.inv(
    chebvander(POINT_NODES, ORDER - 1)
)  # from values at the nodes to a Chebyshev series
LEBESGUE = 4.0  # above the Lebesgue constants 2 / pi log(q + 1) + 1 of both


@dataclass(frozen=True)
class Sums:
    """Kernel sums at m points. values: (m, d, c), times exp(log_scale) (m, d) and (1 - z)^(1/b) the sums of d groups of weights;
    error: (m, d), the bound on the error of each of a group's values, on their scale. own: (m,), the term of the centre that the
    point leaves out, on that scale; 0 where there is none, or it is not among the values."""

    values: np.ndarray
    log_scale: np.ndarray
    error: np.ndarray
    own: np.ndarray


@dataclass(frozen=True)
class Centres:
    """Sorted distinct centres. t: (n, 2), columns 1 - t and t; weights: (n, d, c), nonnegative, of d groups: the first of a
    group, its counts, is nowhere exceeded by its others (the hits). Only with one group is a centre left out."""

    t: np.ndarray
    weights: np.ndarray

    def constants(self, b: float) -> np.ndarray:
        """c(t), as the direct sums have it."""
        return log_normaliser(self.t, b)


def distinct(t: np.ndarray, weights: np.ndarray) -> tuple[Centres, np.ndarray]:
    """(Centres, index): rows of t (n, 2) that are equal become one, of the sum of their weights (n, d, c)."""
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
    """Whether these are the sums of this module: two columns that sum to 1, shares of hits between 0 and 1."""
    if centres.shape[1] != 2 or min(bandwidths) < SMALLEST_BANDWIDTH:
        return False
    off = max(np.abs(x.sum(axis=1) - 1.0).max(initial=0.0) for x in (points, centres))
    return bool(
        off <= 4.0 * np.finfo(float).eps
        and hits.min(initial=0.0) >= 0.0
        and hits.max(initial=0.0) <= 1.0
    )


def cheaper(m: int, n: int, b: float) -> bool:
    """Whether they cost less than m n kernels."""
    return m * n > 1e6 + 6e4 / np.sqrt(b)


def regressions(
    points: np.ndarray,
    centres: np.ndarray,
    hits: np.ndarray,
    b: float,
    leave_out: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """(ratios (m, c), log_density (m,)) of `kernels.dirichlet_sums` for two columns and one bandwidth."""
    sample, of_centre = distinct(centres, np.column_stack([np.ones(len(hits)), hits])[:, None])
    theta = np.log(points[:, 1]) - np.log(points[:, 0])
    own = None if leave_out is None else of_centre[leave_out]
    order = np.lexsort((theta,) if own is None else (own, theta))
    other = np.diff(theta[order], prepend=np.nan) != 0.0
    if own is not None:
        other |= np.diff(own[order], prepend=-1) != 0
    index = np.empty(len(order), dtype=np.int64)
    index[order] = np.cumsum(other) - 1
    first = order[other]
    found = beta_sums(theta[first], sample, b, None if own is None else own[first])
    values, without = found.values[index, 0], found.own[index]
    total, of_hits = values[:, 0] - without, values[:, 1:]
    if leave_out is not None:
        of_hits = of_hits - without[:, None] * hits[leave_out]
    density = (
        np.log(total)
        + found.log_scale[index, 0]
        + np.log(points[:, 0]) / b
        - np.log(len(hits) - (leave_out is not None))
    )
    return np.clip(of_hits / total[:, None], 0.0, 1.0), density


def beta_sums(
    theta: np.ndarray,
    centres: Centres,
    b: float,
    leave_out: np.ndarray | None = None,
    width: float = WIDTH,
) -> Sums:
    """The sums at m sorted points, log z - log(1 - z) = theta (m,). leave_out: (m,), the centres of which one count is to be left
    out: their terms are given (`Sums.own`), and where one would be nearly all of the sum it is not in it. Errors are at most
    TOLERANCE of what is left of a group's counts."""
    constants = centres.constants(b)
    cells = _cells(centres, constants, b, width)
    found = _by_cells(theta, cells, b, leave_out, width)
    left = found.values[:, :, 0] - found.own[:, None]
    worst = np.flatnonzero(~((found.error < TOLERANCE * left) & (left > LEAST)).all(axis=1))
    own = None if leave_out is None else leave_out[worst]
    if len(worst) > FEW_POINTS and width > WIDTH / FINEST:
        again = beta_sums(theta[worst], centres, b, own, width / 2.0)
    else:
        again = _direct_sums(theta[worst], centres, constants, b, own)
    for name in ("values", "log_scale", "error", "own"):
        getattr(found, name)[worst] = getattr(again, name)
    return found


@dataclass(frozen=True)
class _Cells:
    """Cells of centres: middle, half their width, theta0 (tilt) and largest exponent `top` in each (k,); mass (k, d) and node
    weights (k, q, d c) of exp(exponent - top); of every centre, its cell, x in it and that exponent."""

    middle: np.ndarray
    half: np.ndarray
    tilt: np.ndarray
    top: np.ndarray
    mass: np.ndarray
    nodes: np.ndarray
    of: np.ndarray
    x: np.ndarray
    exponent: np.ndarray


def _chebyshev(x: np.ndarray) -> np.ndarray:
    """The first ORDER Chebyshev polynomials at x, (ORDER, len(x))."""
    found = np.empty((ORDER, len(x)))
    found[0], found[1] = 1.0, x
    twice = 2.0 * x
    for i in range(2, ORDER):
        np.multiply(twice, found[i - 1], out=found[i])
        found[i] -= found[i - 2]
    return found


def _edges(b: float, width: float) -> np.ndarray:
    """Cell edges in t: even in arcsin sqrt t, in which the kernel's width is sqrt(b) / 2; finer beside 0 and 1."""
    count = int(np.ceil(np.pi / (width * np.sqrt(b))))
    edge = min(EDGE_CELLS, count)
    fine = np.arange(0, edge * EDGE_PARTS) / EDGE_PARTS
    at = np.unique(np.concatenate([fine, np.arange(edge, count - edge + 1), count - fine]))
    return np.sin(at * (np.pi / 2.0 / count)) ** 2


def _cells(centres: Centres, constants: np.ndarray, b: float, width: float) -> _Cells:
    t, n = centres.t[:, 1], len(centres.t)
    index = np.searchsorted(_edges(b, width)[1:-1], t, side="right")
    first = np.flatnonzero(np.diff(index, prepend=-1))
    last = np.append(first[1:], n)
    of = np.repeat(np.arange(len(first)), last - first)
    low, high = t[first], t[last - 1]
    middle, half = (low + high) / 2.0, np.maximum((high - low) / 2.0, 1e-9 * b)
    tilt = digamma(middle / b + 1.0) - digamma((1.0 - middle) / b + 1.0)
    exponent = constants + tilt[of] * t / b
    top = np.maximum.reduceat(exponent, first)
    exponent -= top[of]
    x = (t - middle[of]) / half[of]
    d, c = centres.weights.shape[1:]
    flat = centres.weights.reshape(n, d * c)
    moments = np.zeros((len(first), ORDER, d * c))
    for start in range(0, n, CHUNK):
        stop = min(start + CHUNK, n)
        series = _chebyshev(x[start:stop])
        weights = np.exp(exponent[start:stop])[:, None] * flat[start:stop]
        for k in range(of[start], of[stop - 1] + 1):
            rows = slice(max(first[k], start) - start, min(last[k], stop) - start)
            moments[k] += series[:, rows] @ weights[rows]
    return _Cells(middle, half, tilt, top, moments[:, 0, ::c], TO_NODES @ moments, of, x, exponent)


@dataclass(frozen=True)
class _Blocks:
    """Blocks of points: their middle theta0 (B,), the t around which the sums are taken, the logarithm of their scale; the cells
    `near` (B, L), with the exponent of each relative to the scale, -inf for none; and what the others sum to at most (B,)."""

    theta: np.ndarray
    around: np.ndarray
    scale: np.ndarray
    near: np.ndarray
    exponent: np.ndarray
    outside: np.ndarray

    def part(self, rows: slice | np.ndarray) -> _Blocks:
        return _Blocks(
            *(
                getattr(self, name)[rows]
                for name in ("theta", "around", "scale", "near", "exponent", "outside")
            )
        )


def _blocks(low: np.ndarray, high: np.ndarray, cells: _Cells, b: float) -> _Blocks:
    theta, half, count = (low + high) / 2.0, ((high - low) / 2.0)[:, None], len(cells.middle)
    away = theta[:, None] - cells.tilt
    share = away * (cells.middle / b)
    share += cells.top + np.log(cells.mass.max(axis=1))
    peak, scale = cells.middle[share.argmax(axis=1)], share.max(axis=1)
    # at most, anywhere in the block: beside exp((theta - theta0) peak / b)
    most = share - scale[:, None]
    most += np.abs(away) * (cells.half / b)
    most += np.abs(cells.middle - peak[:, None]) * (half / b)
    most += cells.half * (half / b)
    keep = most > -NEGLIGIBLE
    first, stop = keep.argmax(axis=1), count - keep[:, ::-1].argmax(axis=1)
    at = np.arange(count)
    most[(at >= first[:, None]) & (at < stop[:, None])] = -np.inf
    near = first[:, None] + np.arange((stop - first).max())
    there, near = near < stop[:, None], np.minimum(near, count - 1)
    exponent = (
        cells.top[near]
        + (theta[:, None] - cells.tilt[near]) * (cells.middle / b)[near]
        - scale[:, None]
    )
    exponent[~there] = -np.inf
    share = np.exp(exponent) * cells.mass[near].max(axis=2)
    around = np.einsum("bl,bl->b", share, cells.middle[near]) / share.sum(axis=1)
    outside = count * np.exp(most.max(axis=1) + np.abs(around - peak) * half[:, 0] / b)
    return _Blocks(theta, around, scale, near, exponent, outside)


def _bound(kappa: np.ndarray) -> np.ndarray:
    """At least 4 sum_{i >= q} I_i(kappa), as I_i <= (kappa / 2)^i / i! exp(kappa^2 / (4 (i + 1))) and I_{i+1} <= I_i kappa /
    (2 (i + 1)), and rounding; for a large kappa what any interpolant obeys."""
    kappa = np.minimum(np.abs(kappa), 600.0)
    small = np.minimum(kappa, ORDER + 1.0)
    logs = ORDER * np.log(np.maximum(small, 1e-12) / 2.0) - gammaln(ORDER + 1.0)
    series = 8.0 * np.exp(logs + small * small / (4.0 * (ORDER + 1.0)))
    return np.where(
        kappa <= ORDER + 1.0, series, (1.0 + LEBESGUE) * np.exp(kappa)
    ) + ROUNDING * np.exp(kappa)


def _at(
    theta: np.ndarray, blocks: _Blocks, cells: _Cells, b: float
) -> tuple[np.ndarray, np.ndarray]:
    """(values (B, m, d c), error (B, m, d)) at the points theta (B, m) of blocks: the sums over the cells near, and bounds."""
    count, m = theta.shape
    values, error = (
        np.empty((count, m, cells.nodes.shape[2])),
        np.empty((count, m, cells.mass.shape[1])),
    )
    step = max(1, 16 * CHUNK // (m * blocks.near.shape[1] * ORDER))
    for start in range(0, count, step):
        rows = slice(start, start + step)
        part, at = blocks.part(rows), theta[rows]
        near = part.near
        kappa = (at[:, :, None] - cells.tilt[near][:, None]) * (cells.half[near] / b)[:, None]
        off = (at - part.theta[:, None])[:, :, None] * (
            (cells.middle[near] - part.around[:, None]) / b
        )[:, None]
        base = part.exponent[:, None] + off
        kernel = kappa[..., None] * NODES
        kernel += base[..., None]
        np.exp(kernel, out=kernel)
        values[rows] = kernel.reshape(len(at), m, -1) @ cells.nodes[near].reshape(
            len(at), -1, values.shape[2]
        )
        error[rows] = (np.exp(base) * _bound(kappa)) @ cells.mass[near] + part.outside[
            :, None, None
        ]
    return values, error


def _by_cells(
    theta: np.ndarray, cells: _Cells, b: float, leave_out: np.ndarray | None, width: float
) -> Sums:
    """Sums with their bounds; none is direct."""
    m, (d, c) = len(theta), (cells.mass.shape[1], cells.nodes.shape[2] // cells.mass.shape[1])
    index = _point_cells(theta, b, width)
    first = np.flatnonzero(np.diff(index, prepend=-1))
    last = np.append(first[1:], m)
    blocks = _blocks(theta[first], theta[last - 1], cells, b)
    of = np.repeat(np.arange(len(first)), last - first)
    values, error = np.empty((m, d * c)), np.empty((m, d))
    crowded = np.flatnonzero(last - first > ORDER)
    todo = last - first <= ORDER
    if len(crowded):
        half = (theta[last - 1] - theta[first])[crowded] / 2.0
        part = blocks.part(crowded)
        at_nodes, of_nodes = _at(part.theta[:, None] + half[:, None] * POINT_NODES, part, cells, b)
        series = TO_SERIES @ at_nodes
        bounds = _between_nodes(at_nodes[:, :, ::c], of_nodes, half, part, cells, b)
        fine = (bounds[0] <= TOLERANCE * bounds[1]).all(axis=1)
        todo[crowded[~fine]] = True
        # the polynomials of many blocks at once
        begin, end, width_of = (
            first[crowded[fine]],
            last[crowded[fine]],
            np.maximum(half[fine], 1e-300),
        )
        series, middle, bound = series[fine], part.theta[fine], bounds[0][fine]
        for some in np.split(
            np.arange(len(begin)), np.flatnonzero(np.diff(np.cumsum(end - begin) // CHUNK)) + 1
        ):
            if not len(some):
                continue
            size = (end - begin)[some]
            stop = np.cumsum(size)
            at = np.repeat(begin[some] - stop + size, size) + np.arange(stop[-1])
            which = np.repeat(some, size)
            polynomials = _chebyshev((theta[at] - middle[which]) / width_of[which])
            error[at] = bound[which]
            for i, start, one in zip(some, stop - size, stop):
                values[begin[i] : end[i]] = polynomials[:, start:one].T @ series[i]
    # the others one by one, those of cells with about as many together
    pieces = np.array(
        [(k, s) for k in np.flatnonzero(todo) for s in range(first[k], last[k], ORDER)],
        dtype=np.int64,
    )
    block, start = pieces.reshape(-1, 2).T
    size = np.minimum(last[block] - start, ORDER)
    for least, most in ((1, 3), (4, 8), (9, ORDER)):
        alike = (size >= least) & (size <= most)
        at = np.minimum(start[alike][:, None] + np.arange(most), last[block[alike]][:, None] - 1)
        values[at], error[at] = _at(theta[at], blocks.part(block[alike]), cells, b)
    off = (theta - blocks.theta[of]) / b
    own = np.zeros(m)
    if leave_out is not None:
        # exactly the numbers that its sum is made of
        j = cells.of[leave_out]
        exponent = (
            cells.top[j]
            + (blocks.theta[of] - cells.tilt[j]) * (cells.middle[j] / b)
            - blocks.scale[of]
        )
        kappa = (theta - cells.tilt[j]) * (cells.half[j] / b)
        own = np.exp(
            exponent
            + off * (cells.middle[j] - blocks.around[of])
            + kappa * cells.x[leave_out]
            + cells.exponent[leave_out]
        )
    log_scale = np.repeat((blocks.scale[of] + off * blocks.around[of])[:, None], d, axis=1)
    return Sums(values.reshape(m, d, c), log_scale, error, own)


def _point_cells(theta: np.ndarray, b: float, width: float) -> np.ndarray:
    """A number for every point, the same within a cell: some 0.8 width sqrt(b / (z (1 - z) + b)) wide in theta, and less where
    the kernel is skew."""
    at = np.linspace(theta[0], theta[-1], TABLE)
    z = 1.0 / (1.0 + np.exp(-np.abs(at)))
    variance = z * (1.0 - z) / b
    density = 1.2 * np.sqrt(variance + 1.0) * (1.0 + 0.3 / np.sqrt(variance / 20.0 + 1.0)) / width
    total = np.concatenate([[0.0], np.cumsum((density[1:] + density[:-1]) / 2.0 * np.diff(at))])
    return np.floor(np.interp(theta, at, total)).astype(np.int64)


def _between_nodes(
    counts: np.ndarray,
    error: np.ndarray,
    half: np.ndarray,
    blocks: _Blocks,
    cells: _Cells,
    b: float,
) -> tuple[np.ndarray, np.ndarray]:
    """(error, least sum), (B, d), of the sums interpolated between the nodes of blocks."""
    with np.errstate(divide="ignore", invalid="ignore"):
        log_sum = np.log(counts)
        # a convex function is above each of its secants, drawn on: below the values by no more than between neighbouring nodes
        least = np.exp(log_sum.min(axis=1) - np.abs(np.diff(log_sum, axis=1)).max(axis=1))
    near = blocks.near
    # what each cell contributes in the middle; where it is below the error of its own nodes, that error
    kappa = (blocks.theta[:, None] - cells.tilt[near]) * cells.half[near] / b
    share = np.exp(blocks.exponent[..., None] + kappa[..., None] * NODES)
    of_cells = np.einsum(
        "blq,blqd->bld",
        share,
        cells.nodes[near][..., :: cells.nodes.shape[2] // cells.mass.shape[1]],
    )
    of_cells = (
        np.maximum(of_cells, 0.0)
        + (np.exp(blocks.exponent) * _bound(kappa))[..., None] * cells.mass[near]
    )
    wide = (
        half[:, None] * (np.abs(cells.middle[near] - blocks.around[:, None]) + cells.half[near]) / b
    )
    interpolation = np.einsum("bl,bld->bd", _bound(wide), of_cells)
    return interpolation + LEBESGUE * error.max(axis=1), np.where(np.isfinite(least), least, 0.0)


def _direct_sums(
    theta: np.ndarray,
    centres: Centres,
    constants: np.ndarray,
    b: float,
    leave_out: np.ndarray | None,
) -> Sums:
    """The sums at each point over the centres that matter to it, by group: what is near may be of other groups alone."""
    m, (groups, columns) = len(theta), centres.weights.shape[1:]
    found = Sums(
        np.empty((m, groups, columns)), np.empty((m, groups)), np.zeros((m, groups)), np.zeros(m)
    )
    for d in range(groups if m else 0):
        there = np.flatnonzero(centres.weights[:, d, 0] > 0.0)
        sample, of_sample = Centres(centres.t[there], centres.weights[there, d]), constants[there]
        for i in range(m):
            own = None if leave_out is None else int(np.searchsorted(there, leave_out[i]))
            alone = own is not None and sample.weights[own, 0] <= 1.0
            found.values[i, d], found.log_scale[i, d] = _direct(
                theta[i], sample, of_sample, b, own if alone else None
            )
            if own is not None and not alone:
                found.own[i] = np.exp(
                    of_sample[own] + theta[i] * sample.t[own, 1] / b - found.log_scale[i, d]
                )
    return found


def _direct(
    theta: float, centres: Centres, constants: np.ndarray, b: float, without: int | None
) -> tuple[np.ndarray, float]:
    """(values (c,), log_scale) at one point, but for the centre `without`; weights (n, c). The exponent is concave in t, so that
    bisection finds the centres that matter."""
    t, n = centres.t[:, 1], len(constants)

    def exponent(j: int) -> float:
        return constants[j] + theta * t[j] / b

    peak = bisect_left(
        range(n), theta, key=lambda j: digamma(t[j] / b + 1.0) - digamma(centres.t[j, 0] / b + 1.0)
    )
    beside = [j for j in range(max(0, peak - 2), min(n, peak + 3)) if j != without]
    largest = max(exponent(j) for j in beside)
    first = bisect_left(range(peak), largest - FAR, key=exponent)
    last = peak + bisect_left(range(peak, n), FAR - largest, key=lambda j: -exponent(j))
    kernel = constants[first:last] + theta * t[first:last] / b - largest
    if without is not None and first <= without < last:
        kernel[without - first] = -np.inf
    return np.exp(kernel) @ centres.weights[first:last], largest
