"""Ingredients of the learned estimate `Best` for scalar predictions.

A member is a method of fitting a recalibration map. In this module, a fitted member is a function
that returns the held-out and in-sample predictions of a block of samples.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from harness.estimators import segment_ingredients as segments
from harness.estimators.ingredient_kernels import isotonic_folds
from harness.estimators.ingredient_members import (
    FLOOR,
    NEWTON,
    Ingredients,
    Predictions,
    combine_ingredients,
    evaluate_members,
    normal_equations,
    sum_other_folds,
)
from harness.math.blocks import row_blocks

CONVERGED = 1e-10  # after a smaller step of the coefficients, the next step is below rounding
LARGEST_LOGIT = 700.0  # exp overflows above 709
SCALAR_BINS = (5, 15, 40)
# Bins of the members that average residuals: rows per bin, and limits of their number.
BIN_ROWS, SMALLEST_BINS, LARGEST_BINS = 20, 5, 100
# Rows of fine bins, whose products of residuals find errors that change quickly.
FINE_ROWS = (3, 8, 20)


class Scalars:
    """Statistics of scalar predictions p (n,) and labels y (n,) that do not depend on the folds.

    They are the samples in ascending order, ranks, binned errors, and cumulative residuals.
    """

    def __init__(self, p: np.ndarray, y: np.ndarray) -> None:
        self.order = np.argsort(p, kind="stable")
        self.p = p = p[self.order]
        self.hits = hits = y.astype(np.int8)[self.order]
        n = len(p)
        starts = np.flatnonzero(np.append(True, p[1:] > p[:-1]))
        sizes = np.diff(starts, append=n)
        first = np.repeat(starts, sizes)  # rank of the first sample with an equal p
        self.bins = [mass_binned(p, hits, first, bins) for bins in SCALAR_BINS]
        self.bins.append(_binned((15 * p).astype(int).clip(0, 14), p, hits))
        self.fine = fine_squares(p, hits, first)
        self.rank = (first + np.repeat(starts + sizes, sizes)) / (2.0 * n)
        walk = np.append(0.0, np.cumsum(hits - p)[starts + sizes - 1]) / n
        self.kuiper, self.mean = float(np.ptp(walk)), abs(float(walk[-1]))
        spread = p * (1.0 - p)
        self.segment = segments.bin_edges(p, first)
        excess, self.scan = segments.scan(
            np.bincount(self.segment, hits - p), np.bincount(self.segment, spread)
        )
        self.scan /= n
        distinct, sure = len(starts) / n, (spread < 1e-3).mean()
        counts = np.array([p.sum(), n - p.sum(), hits.sum(), n - hits.sum()])
        self.events = float(min(max(counts[0], counts[2]), max(counts[1], counts[3])))
        self.law = [
            spread.mean(), spread.std(), p.mean() * (1 - p.mean()), distinct, sure,
            p.mean(), np.arcsinh(excess), *np.log1p(counts),
        ]  # fmt: skip


@dataclass(frozen=True)
class Block:
    """A block of m samples, sorted by fold.

    Parameters
    ----------
    rows : slice
        The rows of the block in the partition.
    p, y, rank : arrays (m,)
        Predictions, outcomes as 0.0 and 1.0, and ranks of the predictions from 0 to 1.
    held_out : list of slices
        The samples of each of K folds.
    """

    rows: slice
    p: np.ndarray
    y: np.ndarray
    rank: np.ndarray
    held_out: list[slice]


class Partition:
    """Samples with their folds, in blocks whose arrays fit into the processor's cache.

    `shared` holds the samples in ascending order, and `fold` (n,) their folds from 0 to K - 1. The
    samples of a block are sorted by fold, so that those of a fold are a slice.
    """

    def __init__(self, shared: Scalars, fold: np.ndarray, folds: int) -> None:
        self.folds = folds
        self.order = np.concatenate([
            rows.start + np.argsort(fold[rows], kind="stable") for rows in row_blocks(len(fold))
        ])  # fmt: skip
        self.fold, self.hits = fold[self.order], shared.hits[self.order]
        self.p, self.rank = shared.p[self.order], shared.rank[self.order]

    def __len__(self) -> int:
        return len(self.p)

    def blocks(self) -> Iterator[Block]:
        for rows in row_blocks(len(self)):
            ends = np.searchsorted(self.fold[rows], np.arange(self.folds + 1)).tolist()
            held_out = [slice(*pair) for pair in zip(ends, ends[1:])]
            y = self.hits[rows].astype(np.float64)
            yield Block(rows, self.p[rows], y, self.rank[rows], held_out)


Features: TypeAlias = Callable[[Block], np.ndarray]  # (functions, m)
Members: TypeAlias = Callable[[Block], list[np.ndarray]]  # held-out and in-sample, each (2, m)


def ingredients_of_scalars(
    p: np.ndarray, y: np.ndarray, fold: np.ndarray, shared: Scalars
) -> Ingredients:
    """Return the ingredients of scalar predictions p (n,) for one partition into folds.

    `fold` (n,) numbers the folds from 0. `shared` holds the statistics that do not depend on the
    folds. The members predict a block when it is needed, because the predictions of 10^7 samples
    take 1 GB.
    """
    n, folds = len(shared.p), int(fold.max()) + 1
    fold = fold.astype(np.min_scalar_type(folds))[shared.order]
    isotonic = isotonic_folds(shared.p, shared.hits, fold, folds)
    partition = Partition(shared, fold, folds)
    fits: list[Members] = [
        _logistic(partition, _log_odds),
        _logistic(partition, _logs),
        lambda block: [isotonic[:, partition.order[block.rows]]],
        _histogram(partition),
        _segments(partition, shared.segment),
        _linear(partition, lambda block: _cosines(block.rank, 25), (0.3, 3.0, 30.0)),
        _linear(partition, lambda block: _cosines(block.p, 13), (3.0,)),
    ]

    def predictions() -> Iterator[Predictions]:
        for block in partition.blocks():
            yield [q for fit in fits for q in fit(block)], block.p, block.y

    members = evaluate_members(predictions, n)
    fine = shared.fine
    l1 = np.concatenate([
        [0.0], members.candidates["l1"], *[b[:2] for b in shared.bins],
        np.maximum(fine, 0.0) ** 0.5, [shared.kuiper, shared.mean, shared.scan],
    ])  # fmt: skip
    l2_squared = np.concatenate([
        [0.0], members.candidates["l2_squared"], *[b[2:] for b in shared.bins],
        fine, [shared.mean**2],
    ])  # fmt: skip
    candidates = {"l1": l1, "l2_squared": l2_squared}
    law = [members.v, *shared.law]
    return combine_ingredients(candidates, members, n, law, shared.events, 2)


def _histogram(partition: Partition) -> Members:
    """Fit the mean residual in bins of equal mass, and return the function that predicts a block.

    The member is p plus the mean of y - p in the bin of p, clipped to [0, 1]. A bin counts as one
    row more than it has, which shrinks its mean. The number of bins grows with the sample, up to
    LARGEST_BINS.
    """
    bins = histogram_bins(len(partition))

    def place(block: Block) -> np.ndarray:
        return np.minimum((block.rank * bins).astype(np.int64), bins - 1)

    size, total = np.zeros((2, partition.folds, bins))
    for block in partition.blocks():
        for v, part in enumerate(block.held_out):
            index = place(block)[part]
            size[v] += np.bincount(index, minlength=bins)
            total[v] += np.bincount(index, (block.y - block.p)[part], minlength=bins)
    sizes, totals = sum_other_folds(size, total)
    means = totals / (sizes + 1.0)

    def predict(block: Block) -> list[np.ndarray]:
        return [np.clip(block.p + _moved(means, place(block), block.held_out), 0.0, 1.0)]

    return predict


def _segments(partition: Partition, segment: np.ndarray) -> Members:
    """Fit the members that see an error in few rows, and return the function that predicts a block.

    They are p plus moves, clipped to [0, 1]. `segment` (n,) is the bin of each ordered sample.
    """
    bins = int(segment[-1]) + 1
    sums, squares = np.zeros((3, partition.folds, bins)), 0.0
    for block in partition.blocks():
        index, residual = segment[partition.order[block.rows]], block.y - block.p
        squares += float(residual @ residual)
        for v, part in enumerate(block.held_out):
            for total, x in zip(sums, (residual, None, block.p * (1.0 - block.p))):
                x = None if x is None else x[part]
                total[v] += np.bincount(index[part], x, minlength=bins)
    n = len(partition)
    moves = segments.fitted_moves(sums[0], sums[1], sums[2], n, squares / n)

    def predict(block: Block) -> list[np.ndarray]:
        index = segment[partition.order[block.rows]]
        return [np.clip(block.p + _moved(move, index, block.held_out), 0.0, 1.0) for move in moves]

    return predict


def _moved(moves: np.ndarray, index: np.ndarray, held_out: Sequence[slice]) -> np.ndarray:
    """Return the held-out and in-sample moves of a block, (2, m), from moves (K + 1, bins)."""
    out = np.empty((2, len(index)))
    out[1] = moves[-1][index]
    for move, part in zip(moves, held_out):
        out[0, part] = move[index[part]]
    return out


def histogram_bins(n: int) -> int:
    """Return the number of bins of equal mass for the members that average residuals in bins."""
    return int(np.clip(n // BIN_ROWS, SMALLEST_BINS, LARGEST_BINS))


def fine_squares(p: np.ndarray, y: np.ndarray, first: np.ndarray) -> np.ndarray:
    """Return `fine_square` for each number of rows in FINE_ROWS."""
    return np.array([fine_square(p, y, first, rows) for rows in FINE_ROWS])


def fine_square(p: np.ndarray, y: np.ndarray, first: np.ndarray, rows: int) -> float:
    """Return the squared error from products of the residuals of neighbours, without bias.

        sum over bins b of (m_b / n) (S_b^2 - Q_b) / (m_b (m_b - 1))

    S_b and Q_b are the sum and the sum of squares of the m_b residuals y - p of a bin of about
    `rows` neighbours. p must ascend. `first` (n,) is the rank of the first sample with an equal p.
    """
    n = len(p)
    index = first * max(n // rows, 1) // n
    residual = y - p
    size = np.bincount(index)
    total, square = np.bincount(index, residual), np.bincount(index, residual**2)
    several = size > 1
    products = (total**2 - square)[several] / (size[several] - 1.0)
    return float(products.sum() / n)


def mass_binned(p: np.ndarray, y: np.ndarray, first: np.ndarray, bins: int) -> np.ndarray:
    """Return four binned errors on bins of equal mass, as `_binned`.

    p must ascend. `first` (n,) is the rank of the first sample with an equal p, so that equal p are
    in one bin.
    """
    n = len(p)
    return _binned((first * min(bins, n)) // n, p, y)


def _binned(index: np.ndarray, p: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return four binned errors: l1, debiased l1, l2_squared and debiased l2_squared.

    `index` (n,) is the bin number of each sample.
    """
    size = np.bincount(index)
    used = size > 0
    size = size[used].astype(np.float64)
    mean_p, mean_y = np.bincount(index, p)[used] / size, np.bincount(index, y)[used] / size
    gap, weight = mean_p - mean_y, size / len(p)
    noise = (mean_y * (1.0 - mean_y) + 0.25 / size) / np.maximum(size - 1.0, 1.0)
    l1 = weight @ np.abs(gap)
    bias = weight @ np.sqrt(noise * 2.0 / np.pi)
    return np.array(
        [l1, np.sqrt(max(l1**2 - bias**2, 0.0)), weight @ gap**2, weight @ (gap**2 - noise)]
    )


def _log_odds(block: Block) -> np.ndarray:
    """Return the feature logit p, (1, m)."""
    return (_floored_log(block.p) - _floored_log(1.0 - block.p))[None]


def _logs(block: Block) -> np.ndarray:
    """Return the features log p, -log(1 - p) and 1, (3, m)."""
    low, high = _floored_log(block.p), _floored_log(1.0 - block.p)
    return np.array([low, -high, np.ones_like(low)])


def _floored_log(p: np.ndarray) -> np.ndarray:
    return np.log(np.maximum(p, FLOOR))


def _cosines(t: np.ndarray, count: int) -> np.ndarray:
    """Return cos(pi j t) for j = 0, ..., count - 1, shape (count, m).

    The recurrence of Chebyshev's polynomials is ten times as fast as `np.cos`. Its largest measured
    error is 4e-14 for j up to 24.
    """
    out = np.ones((count, len(t)))
    out[1] = np.cos(np.pi * t)
    double = 2.0 * out[1]
    for j in range(2, count):
        np.multiply(double, out[j - 1], out=out[j])
        out[j] -= out[j - 2]
    return out


def _logistic(partition: Partition, features: Features) -> Members:
    """Fit a logistic member, and return the function that predicts a block.

    The member is sigma(w x) with features x (d, m) of a block. With `_log_odds` it is
    sigma(b logit p), with `_logs` sigma(a log p - b log(1 - p) + c). It is fitted to the samples
    outside each fold and to all samples. Newton steps compute all these fits together, with a weak
    ridge towards the identity map.
    """
    squares = sum((features(block) ** 2).sum(axis=1) for block in partition.blocks())
    scale = np.sqrt(squares / len(partition)) + 1e-6
    start = np.ones(len(scale))
    start[2:] = 0.0
    start = start * scale
    ridge = 0.3 * np.eye(len(start))
    w = np.tile(start, (partition.folds + 1, 1))
    for _ in range(NEWTON):
        slope, curve = np.zeros(w.shape), np.zeros((len(w), ridge.size))
        for block in partition.blocks():
            z = features(block) / scale[:, None]
            q = _sigmoid(w @ z)
            residual = block.y - q
            q *= 1.0 - q
            for v, part in enumerate(block.held_out):
                residual[v, part] = q[v, part] = 0.0
            slope += residual @ z.T
            curve += q @ (z[:, None] * z).reshape(ridge.size, -1).T
        slope -= 0.3 * (w - start)
        matrices = curve.reshape(len(w), *ridge.shape) + ridge
        step = np.linalg.solve(matrices, slope[:, :, None])[:, :, 0]
        size = np.abs(step / scale).max(axis=1, keepdims=True)
        w = w + step * np.minimum(1.0, 1.0 / np.maximum(size, 1e-12))
        if size.max() < CONVERGED:
            break

    def predict(block: Block) -> list[np.ndarray]:
        x = features(block) / scale[:, None]
        return [_sigmoid(_combine(w, x, block.held_out))]

    return predict


def _sigmoid(t: np.ndarray) -> np.ndarray:
    """Return 1 / (1 + exp(-t)), computed in place. This is three times as fast as scipy's expit."""
    np.clip(t, -LARGEST_LOGIT, LARGEST_LOGIT, out=t)
    np.negative(t, out=t)
    np.exp(t, out=t)
    t += 1.0
    return np.reciprocal(t, out=t)


def _linear(partition: Partition, basis: Features, ridges: Sequence[float]) -> Members:
    """Fit one linear member per ridge, and return the function that predicts a block.

    A member is p + b @ basis, clipped to [0, 1], for functions `basis` (functions, m). The penalty
    of function j grows as j^4. It is measured in units of the variance of an outcome.
    """
    grams, sums, squares = np.zeros(1), np.zeros(1), 0.0
    for block in partition.blocks():
        x, residual = basis(block).T, block.y - block.p
        _, _, block_grams, block_sums = normal_equations(x, residual, [*block.held_out, None])
        grams, sums = grams + block_grams, sums + block_sums
        squares += float((residual**2).sum())
    gram, side = sum_other_folds(grams, sums)
    v = max(squares / len(partition), 1e-9)
    penalty = np.diag(1.0 + np.arange(gram.shape[1]) ** 4.0 / 10.0) / 10.0
    coefficients = [
        np.linalg.solve(gram + (ridge * max(v, 0.01) * 10.0) * penalty, side[:, :, None])[:, :, 0]
        for ridge in ridges
    ]

    def predict(block: Block) -> list[np.ndarray]:
        x = basis(block)
        moves = (_combine(b, x, block.held_out) for b in coefficients)
        return [np.clip(block.p + move, 0.0, 1.0) for move in moves]

    return predict


def _combine(b: np.ndarray, x: np.ndarray, held_out: Sequence[slice]) -> np.ndarray:
    """Return combinations of features x (d, m): held-out and in-sample, (2, m).

    The coefficients b (K + 1, d) are those of the fits without each of K folds, and at last of the
    fit to all samples. `held_out` are the samples of each fold.
    """
    out = np.empty((2, x.shape[1]))
    out[1] = b[-1] @ x
    for fit, part in zip(b, held_out):
        out[0, part] = fit @ x[:, part]
    return out
