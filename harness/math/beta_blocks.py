"""Sums of Beta kernels at blocks of neighbouring points.

`beta_sums` explains the method.
"""

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

# Intervals that contribute less than exp(-34) of the largest are dropped. The error bound includes
# them.
NEGLIGIBLE = 34.0
TABLE = 4096  # number of points at which the density of intervals is tabulated
# Nodes for points; they include both ends of a block.
POINT_NODES = np.cos(np.pi * np.arange(ORDER) / (ORDER - 1))
# Maps values at the nodes to a Chebyshev series.
TO_SERIES = np.linalg.inv(chebvander(POINT_NODES, ORDER - 1))


@dataclass(frozen=True)
class Sums:
    """Weighted sums of Beta kernels at m points z in [0, 1], with their error bounds.

    The weights have d groups with c columns each, and every column gives one sum per point. b is
    the bandwidth of the kernel.

    Parameters
    ----------
    values : ndarray of shape (m, d, c)
        The sums, divided by exp(log_scale) and by (1 - z)^(1/b).
    log_scale : ndarray of shape (m, d)
        Logarithm of the scale of each sum.
    error : ndarray of shape (m, d)
        Bound of the absolute error of `values` in each group.
    left_out_term : ndarray of shape (m,)
        Term of the sample that the caller must subtract, on the scale of `values`. It is 0 if no
        sample is left out at the point, or if `values` excludes the term already.
    """

    values: np.ndarray
    log_scale: np.ndarray
    error: np.ndarray
    left_out_term: np.ndarray


@dataclass(frozen=True)
class Blocks:
    """Blocks of neighbouring points, with the intervals of centres that matter to each block.

    B is the number of blocks and L the largest number of relevant intervals. Points z have the
    coordinate theta = log z - log(1 - z), centres the position t in [0, 1].

    Parameters
    ----------
    theta : ndarray of shape (B,)
        Middle of each block.
    around : ndarray of shape (B,)
        Weighted mean of the positions t of the centres that matter to each block.
    scale : ndarray of shape (B,)
        Logarithm of the scale of the sums of each block.
    near : ndarray of shape (B, L)
        Indices of the relevant intervals.
    exponent : ndarray of shape (B, L)
        Exponent of each relevant interval, minus `scale`. It is -inf in unused entries.
    outside : ndarray of shape (B,)
        Bound of the sum over the intervals that are not in `near`.
    """

    theta: np.ndarray
    around: np.ndarray
    scale: np.ndarray
    near: np.ndarray
    exponent: np.ndarray
    outside: np.ndarray

    def part(self, rows: slice | np.ndarray) -> Blocks:
        """Return the blocks that `rows` selects."""
        return Blocks(*(getattr(self, field.name)[rows] for field in fields(self)))


def _blocks(low: np.ndarray, high: np.ndarray, intervals: Intervals, b: float) -> Blocks:
    """Return the blocks of points with the intervals of centres that matter to each block.

    `low` and `high` (B,) are the smallest and largest theta in each block. `b` is the bandwidth.
    """
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
    """Return kernel sums (B, m, d c) at points theta (B, m), and their error bounds (B, m, d).

    Row i of `theta` holds m points of block i. The sums run over the intervals near the block. The
    weights have d groups with c columns each; `b` is the bandwidth.
    """
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
    """Return the kernel sums at sorted points `theta` (m,), with error bounds.

    `intervals` holds the centres of the kernels, and `b` is the bandwidth. Points are grouped into
    blocks, whose width grows with `width`. In a block of more than 17 points, the sums are
    interpolated from 17 nodes if the error bound is at most `tolerance` times the sum. `leave_out`
    (m,) holds for each point the index of the centre that loses one sample.
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
        begin, end, half_width = (
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
            polynomials = chebyshev((theta[rows] - middle[owner]) / half_width[owner])
            error[rows] = bound[owner]
            for i, start, end_row in zip(batch, stop - size, stop):
                values[begin[i] : end[i]] = polynomials[:, start:end_row].T @ series[i]
    # Evaluate the remaining points directly. Blocks of similar size are computed together.
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
    left_out_term = np.zeros(m)
    if leave_out is not None:
        # The arithmetic is that of the sums, so that subtracting the term cancels exactly.
        j = intervals.number[leave_out]
        exponent = (
            intervals.top[j]
            + (blocks.theta[block_index] - intervals.tilt[j]) * (intervals.middle[j] / b)
            - blocks.scale[block_index]
        )
        kappa = (theta - intervals.tilt[j]) * (intervals.half[j] / b)
        left_out_term = np.exp(
            exponent
            + off * (intervals.middle[j] - blocks.around[block_index])
            + kappa * intervals.x[leave_out]
            + intervals.exponent[leave_out]
        )
    log_scale = np.repeat(
        (blocks.scale[block_index] + off * blocks.around[block_index])[:, None], d, axis=1
    )
    return Sums(values.reshape(m, d, c), log_scale, error, left_out_term)


def _point_intervals(theta: np.ndarray, b: float, width: float) -> np.ndarray:
    """Return the block number of each point, for sorted points `theta` (m,) and bandwidth `b`.

    With z = 1 / (1 + exp(-theta)), a block is about 0.8 width sqrt(b / (z (1 - z) + b)) wide in
    theta. Blocks are narrower where the kernel is skew.
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
    """Return bounds for sums that are interpolated between the nodes of a block.

    There are B blocks, q nodes per block and d groups of weights. `counts` (B, q, d) holds the sums
    at the nodes, and `error` (B, q, d) their error bounds. `half` (B,) is half the width of each
    block in theta. Return an upper bound (B, d) of the error, and a lower bound (B, d) of the sums.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        log_sum = np.log(counts)
        # The logarithm of a sum is convex in theta, so it lies above the extension of its secants.
        # Its minimum is therefore below the smallest node value by at most the largest difference
        # between neighbouring nodes.
        least = np.exp(log_sum.min(axis=1) - np.abs(np.diff(log_sum, axis=1)).max(axis=1))
    near = blocks.near
    # Contribution of each interval at the middle of the block, plus the error of its nodes.
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
