"""Ingredients of the learned estimate `Best` for scalar predictions.

A member is a method of fitting a recalibration map. In this module `training` (K + 1, n) holds a
mask of the samples outside each of K folds, and a last mask of all samples. `held_out` holds a mask
of the samples of each fold, followed by None.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from harness.estimators.ingredient_kernels import isotonic_folds
from harness.estimators.ingredient_members import (
    FLOOR,
    NEWTON,
    Ingredients,
    assemble_predictions,
    combine_ingredients,
    evaluate_members,
    normal_equations,
    training_masks,
)

CONVERGED = 1e-10  # after a smaller step of the coefficients, the next step is below rounding
LARGEST_LOGIT = 700.0  # exp overflows above 709
SCALAR_BINS = (5, 15, 40)


class Scalars:
    """Statistics of scalar predictions p (n,) and labels y (n,) that do not depend on the folds.

    They are the samples in ascending order, cosines of the rank and of p, binned errors, and the
    range of the cumulative residual.
    """

    def __init__(self, p: np.ndarray, y: np.ndarray) -> None:
        self.order = np.argsort(p, kind="stable")
        self.p = p = p[self.order]
        self.hits = y[self.order].astype(np.int64)
        self.y = y = self.hits.astype(np.float64)
        n = len(p)
        first, last = np.searchsorted(p, p, "left"), np.searchsorted(p, p, "right")
        rank = (first + last) / (2.0 * n)
        self.of_rank = np.cos(np.pi * np.outer(rank, np.arange(25.0)))
        self.of_p = np.cos(np.pi * np.outer(p, np.arange(13.0)))
        self.bins = [mass_binned(p, y, first, bins) for bins in SCALAR_BINS]
        self.bins.append(_binned((15 * p).astype(int).clip(0, 14), p, y))
        walk = np.concatenate([[0.0], np.cumsum(y - p)[np.append(p[1:] != p[:-1], True)]]) / n
        self.kuiper, self.mean = float(np.ptp(walk)), abs(float(walk[-1]))
        spread = p * (1.0 - p)
        distinct, sure = np.unique(p).size / n, (spread < 1e-3).mean()
        self.law = [spread.mean(), spread.std(), p.mean() * (1 - p.mean()), distinct, sure]


def ingredients_of_scalars(
    p: np.ndarray, y: np.ndarray, fold: np.ndarray, shared: Scalars
) -> Ingredients:
    """Return the ingredients of scalar predictions p (n,) for one partition into folds.

    `fold` (n,) numbers the folds from 0. `shared` holds the statistics that do not depend on the
    folds.
    """
    p, y, fold = shared.p, shared.y, fold[shared.order]
    training = training_masks(fold)
    held_out = [*(~training[:-1]), None]
    members = [
        *_logistic(p, y, training, held_out),
        isotonic_folds(p, shared.hits, fold, len(held_out) - 1),
        *_linear(shared.of_rank, p, y, training, held_out, (0.3, 3.0, 30.0)),
        *_linear(shared.of_p, p, y, training, held_out, (3.0,)),
    ]
    stats, limits, v = evaluate_members(members, p, y)
    l1 = np.concatenate(
        [[0.0], stats["l1"], *[b[:2] for b in shared.bins], [shared.kuiper, shared.mean]]
    )
    l2_squared = np.concatenate(
        [[0.0], stats["l2_squared"], *[b[2:] for b in shared.bins], [shared.mean**2]]
    )
    return combine_ingredients(
        {"l1": l1, "l2_squared": l2_squared}, limits, v, len(p), [v, *shared.law]
    )


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


def _logistic(
    p: np.ndarray, y: np.ndarray, training: np.ndarray, held_out: Sequence[Any]
) -> list[np.ndarray]:
    """Return the predictions of two logistic members, each held-out and in-sample, (2, n).

    The members are sigma(b logit p) and sigma(a log p - b log(1 - p) + c). They are fitted to the
    samples outside each fold and to all samples. Newton steps compute all these fits together, with
    a weak ridge towards the identity map.
    """
    low, high = np.log(np.maximum(p, FLOOR)), np.log(np.maximum(1.0 - p, FLOOR))
    predictions = []
    for x in ((low - high)[:, None], np.column_stack([low, -high, np.ones_like(p)])):
        scale = np.sqrt((x * x).mean(axis=0)) + 1e-6
        start = np.ones(x.shape[1])
        start[2:] = 0.0
        z, start = x / scale, start * scale
        w = np.tile(start, (len(training), 1))
        products = (z[:, :, None] * z[:, None, :]).reshape(len(z), -1)
        ridge = 0.3 * np.eye(len(start))
        transposed = np.ascontiguousarray(z.T)
        for _ in range(NEWTON):
            q = _sigmoid(w @ transposed)
            residual = y - q
            residual *= training
            q *= 1.0 - q
            q *= training
            slope = residual @ z - 0.3 * (w - start)
            curve = (q @ products).reshape(len(w), *ridge.shape) + ridge
            step = np.linalg.solve(curve, slope[:, :, None])[:, :, 0]
            size = np.abs(step / scale).max(axis=1, keepdims=True)
            w = w + step * np.minimum(1.0, 1.0 / np.maximum(size, 1e-12))
            if size.max() < CONVERGED:
                break
        predictions.append(assemble_predictions(_sigmoid(w @ transposed), held_out))
    return predictions


def _sigmoid(t: np.ndarray) -> np.ndarray:
    """Return 1 / (1 + exp(-t)), computed in place. This is three times as fast as scipy's expit."""
    np.clip(t, -LARGEST_LOGIT, LARGEST_LOGIT, out=t)
    np.negative(t, out=t)
    np.exp(t, out=t)
    t += 1.0
    return np.reciprocal(t, out=t)


def _linear(
    basis: np.ndarray,
    p: np.ndarray,
    y: np.ndarray,
    training: np.ndarray,
    held_out: Sequence[Any],
    ridges: Sequence[float],
) -> list[np.ndarray]:
    """Return the predictions of one linear member per ridge, each held-out and in-sample, (2, n).

    A member is p + basis @ b, clipped to [0, 1], for functions `basis` (n, functions). The penalty
    of function j grows as j^4. It is measured in units of the variance of an outcome.
    """
    j = np.arange(basis.shape[1])
    rough = 1.0 + j**4.0 / 10.0
    v = max(float(((y - p) ** 2).mean()), 1e-9)
    penalty = np.diag(rough) / 10.0
    gram, side, _, _ = normal_equations(basis, y - p, held_out)
    predictions = []
    for ridge in ridges:
        b = np.linalg.solve(gram + (ridge * max(v, 0.01) * 10.0) * penalty, side[:, :, None])[
            :, :, 0
        ]
        predictions.append(assemble_predictions(np.clip(p + b @ basis.T, 0.0, 1.0), held_out))
    return predictions
