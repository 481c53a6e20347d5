"""Sums of Beta kernels at blocks of neighbouring points (see `beta_sums`)."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.polynomial.chebyshev import chebvander

from harness.math.beta_intervals import (
    CHUNK,
    LEBESGUE,
    NODES,
    ORDER,
    Intervals,
    chebyshev,
    interpolation_bound,
)

NEGLIGIBLE = 34.0  # intervals below exp(-34) of the largest are dropped; the bound includes them
TABLE = 4096  # points at which the density of intervals is tabulated
POINT_NODES = np.cos(np.pi * np.arange(ORDER) / (ORDER - 1))  # nodes for points, ends included
# Maps values at the nodes to a Chebyshev series.
TO_SERIES = np.linalg.inv(chebvander(POINT_NODES, ORDER - 1))


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
class Blocks:
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

    def part(self, rows: slice | np.ndarray) -> Blocks:
        """Return the selected blocks."""
        return Blocks(*(getattr(self, field.name)[rows] for field in fields(self)))


def _blocks(low: np.ndarray, high: np.ndarray, intervals: Intervals, b: float) -> Blocks:
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
    return Blocks(theta, around, scale, near, exponent, outside)


def _evaluate(
    theta: np.ndarray, blocks: Blocks, intervals: Intervals, b: float
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
        error[rows] = (np.exp(base) * interpolation_bound(kappa)) @ intervals.mass[
            near
        ] + part.outside[:, None, None]
    return values, error


def sums_by_intervals(
    theta: np.ndarray,
    intervals: Intervals,
    b: float,
    leave_out: np.ndarray | None,
    width: float,
    tolerance: float,
) -> Sums:
    """Return the sums with their error bounds, from intervals only.

    In crowded blocks of points the sums are interpolated, if their bound is at most `tolerance`
    relative to the sum.
    """
    m, (d, c) = (
        len(theta),
        (intervals.mass.shape[1], intervals.nodes.shape[2] // intervals.mass.shape[1]),
    )
    index = _point_intervals(theta, b, width)
    first = np.flatnonzero(np.diff(index, prepend=-1))
    last = np.append(first[1:], m)
    blocks = _blocks(theta[first], theta[last - 1], intervals, b)
    block_index = np.repeat(np.arange(len(first)), last - first)
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
        accurate = (bounds[0] <= tolerance * bounds[1]).all(axis=1)
        todo[crowded[~accurate]] = True
        # Evaluate the polynomials of many blocks at once.
        begin, end, parse_width = (
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
            polynomials = chebyshev((theta[rows] - middle[owner]) / parse_width[owner])
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
    off = (theta - blocks.theta[block_index]) / b
    own_term = np.zeros(m)
    if leave_out is not None:
        # Same arithmetic as in the sums, so that subtracting it cancels exactly.
        j = intervals.number[leave_out]
        exponent = (
            intervals.top[j]
            + (blocks.theta[block_index] - intervals.tilt[j]) * (intervals.middle[j] / b)
            - blocks.scale[block_index]
        )
        kappa = (theta - intervals.tilt[j]) * (intervals.half[j] / b)
        own_term = np.exp(
            exponent
            + off * (intervals.middle[j] - blocks.around[block_index])
            + kappa * intervals.x[leave_out]
            + intervals.exponent[leave_out]
        )
    log_scale = np.repeat(
        (blocks.scale[block_index] + off * blocks.around[block_index])[:, None], d, axis=1
    )
    return Sums(values.reshape(m, d, c), log_scale, error, own_term)


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
    blocks: Blocks,
    intervals: Intervals,
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
        + (np.exp(blocks.exponent) * interpolation_bound(kappa))[..., None] * intervals.mass[near]
    )
    wide = (
        half[:, None]
        * (np.abs(intervals.middle[near] - blocks.around[:, None]) + intervals.half[near])
        / b
    )
    interpolation = np.einsum("bl,bld->bd", interpolation_bound(wide), contribution)
    return interpolation + LEBESGUE * error.max(axis=1), np.where(np.isfinite(least), least, 0.0)
