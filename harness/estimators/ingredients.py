"""Cheap statistics of a sample from one cross-fit of simple recalibration maps, for `Best`.

A member is a method of fitting a map q. Every member is fitted without each fold, and on all
samples. Its held-out and in-sample predictions give

    gain1 = mean <sign(q - p), y - p>      plug1 = mean |q - p|_1
    gain2 = mean |p - y|^2 - |q - y|^2     plug2 = mean |q - p|^2      (vectors: also the 2-norm)

A held-out gain is a lower bound in expectation. An in-sample gain is too high by about as much, so
that their mean is nearly free of the member's own noise. All linear members share one Gram matrix
per fold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from harness.estimators.ingredient_kernels import isotonic_columns, isotonic_folds, moved
from harness.estimators.stacking import convex_weights
from harness.math.notions import one_hot
from harness.math.softmax import softmax

FLOOR = 1e-7  # floor of probabilities in logarithms: float32 resolves no finer near 1
NEWTON = 7  # at most so many Newton steps
CONVERGED = 1e-10  # after so small a step of the coefficients, the next is below rounding
LARGEST_LOGIT = 700.0  # exp overflows above 709
SCALAR_BINS = (5, 15, 40)
CENTRES = 40
RIDGES = (1.0, 10.0, 100.0, 1e3, 1e4)  # ridges of the linear members of vectors, in outcomes


@dataclass(frozen=True)
class Ingredients:
    """Ingredients of the learned estimate.

    Parameters
    ----------
    candidates : dict of str to ndarray
        Candidate values of each estimand, in the same order for all samples of one kind.
    limits : dict of str to float
        Estimate of each estimand for large samples: the stack's, between its held-out lower bound
        and its own claim.
    units : dict of str to float
        Unit of noise of each estimand.
    features : ndarray
        Features without unit.
    """

    candidates: dict[str, np.ndarray]
    limits: dict[str, float]
    units: dict[str, float]
    features: np.ndarray


def compute_ingredients(
    p: np.ndarray,
    y: np.ndarray,
    fold: np.ndarray,
    rng: np.random.Generator,
    shared: Scalars | Vectors | None = None,
) -> Ingredients:
    """Return the ingredients of a sample: p (n,) with y in {0, 1}, or p (n, k) with y in 0..k-1.

    `fold` runs from 0 to K - 1. `shared` is the result of `fold_independent(p, y)`, computed once
    for several partitions of one sample.
    """
    shared = fold_independent(p, y) if shared is None else shared
    if isinstance(shared, Scalars):
        return _from_scalars(p, y, fold, shared)
    return _from_vectors(p, y, fold, rng, shared)


def fold_independent(p: np.ndarray, y: np.ndarray) -> Scalars | Vectors:
    """Return what no partition into folds changes: orders, bases of functions, statistics."""
    return Scalars(p, y) if p.ndim == 1 else Vectors(p, y)


# Scalars


class Scalars:
    """Statistics of scalar predictions p (n,) that do not depend on the folds.

    The samples in order, cosines of rank and of p, and statistics of bins and of the cumulative
    residual.
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
        self.bins = [_mass_binned(p, y, first, bins) for bins in SCALAR_BINS]
        self.bins.append(_binned((15 * p).astype(int).clip(0, 14), p, y))
        walk = np.concatenate([[0.0], np.cumsum(y - p)[np.append(p[1:] != p[:-1], True)]]) / n
        self.kuiper, self.mean = float(np.ptp(walk)), abs(float(walk[-1]))
        spread = p * (1.0 - p)
        distinct, sure = np.unique(p).size / n, (spread < 1e-3).mean()
        self.law = [spread.mean(), spread.std(), p.mean() * (1 - p.mean()), distinct, sure]


def _from_scalars(p: np.ndarray, y: np.ndarray, fold: np.ndarray, shared: Scalars) -> Ingredients:
    """Return the ingredients of scalar predictions for one partition."""
    p, y, fold = shared.p, shared.y, fold[shared.order]
    seen = _training(fold)  # (K + 1, n), the last one all
    held_out = [*(~seen[:-1]), None]
    members = [
        *_logistic(p, y, seen, held_out),
        isotonic_folds(p, shared.hits, fold, len(held_out) - 1),
        *_linear(shared.of_rank, p, y, seen, held_out, (0.3, 3.0, 30.0)),
        *_linear(shared.of_p, p, y, seen, held_out, (3.0,)),
    ]
    stats, limits, v = _evaluate_members(members, p, y)
    l1 = np.concatenate(
        [[0.0], stats["l1"], *[b[:2] for b in shared.bins], [shared.kuiper, shared.mean]]
    )
    l2_squared = np.concatenate(
        [[0.0], stats["l2_squared"], *[b[2:] for b in shared.bins], [shared.mean**2]]
    )
    return _ingredients({"l1": l1, "l2_squared": l2_squared}, limits, v, len(p), [v, *shared.law])


def _mass_binned(p: np.ndarray, y: np.ndarray, first: np.ndarray, bins: int) -> np.ndarray:
    """Return `_binned` of bins of equal mass; `first` (n,): rank of the first equal sample."""
    n = len(p)
    return _binned((first * min(bins, n)) // n, p, y)


def _binned(index: np.ndarray, p: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return l1, l1 without its noise, l2_squared, and l2_squared without its noise of bins."""
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
    p: np.ndarray, y: np.ndarray, seen: np.ndarray, held_out: Sequence[Any]
) -> list[np.ndarray]:
    """Fit sigma(b logit p), and sigma(a log p - b log(1 - p) + c), by Newton steps.

    All folds are fitted at once, with a weak ridge towards the identity.
    """
    low, high = np.log(np.maximum(p, FLOOR)), np.log(np.maximum(1.0 - p, FLOOR))
    predictions = []
    for x in ((low - high)[:, None], np.column_stack([low, -high, np.ones_like(p)])):
        scale = np.sqrt((x * x).mean(axis=0)) + 1e-6
        start = np.ones(x.shape[1])
        start[2:] = 0.0
        z, start = x / scale, start * scale
        w = np.tile(start, (len(seen), 1))
        products = (z[:, :, None] * z[:, None, :]).reshape(len(z), -1)
        ridge = 0.3 * np.eye(len(start))
        transposed = np.ascontiguousarray(z.T)
        for _ in range(NEWTON):
            q = _sigmoid(w @ transposed)
            residual = y - q
            residual *= seen
            q *= 1.0 - q
            q *= seen
            slope = residual @ z - 0.3 * (w - start)
            curve = (q @ products).reshape(len(w), *ridge.shape) + ridge
            step = np.linalg.solve(curve, slope[:, :, None])[:, :, 0]
            size = np.abs(step / scale).max(axis=1, keepdims=True)
            w = w + step * np.minimum(1.0, 1.0 / np.maximum(size, 1e-12))
            if size.max() < CONVERGED:
                break
        predictions.append(_assembled(_sigmoid(w @ transposed), held_out))
    return predictions


def _sigmoid(t: np.ndarray) -> np.ndarray:
    """Return 1 / (1 + exp(-t)), in place: three times as fast as scipy.special.expit."""
    np.clip(t, -LARGEST_LOGIT, LARGEST_LOGIT, out=t)
    np.negative(t, out=t)
    np.exp(t, out=t)
    t += 1.0
    return np.reciprocal(t, out=t)


def _linear(
    basis: np.ndarray,
    p: np.ndarray,
    y: np.ndarray,
    seen: np.ndarray,
    held_out: Sequence[Any],
    ridges: Sequence[float],
) -> list[np.ndarray]:
    """Fit p + basis b for each ridge.

    The penalty of the j-th function grows with j^4; its unit is the variance of an outcome.
    """
    j = np.arange(basis.shape[1])
    rough = 1.0 + j**4.0 / 10.0
    v = max(float(((y - p) ** 2).mean()), 1e-9)
    penalty = np.diag(rough) / 10.0
    gram, side, _, _ = _normal_equations(basis, y - p, held_out)
    predictions = []
    for ridge in ridges:
        b = np.linalg.solve(gram + (ridge * max(v, 0.01) * 10.0) * penalty, side[:, :, None])[
            :, :, 0
        ]
        predictions.append(_assembled(np.clip(p + b @ basis.T, 0.0, 1.0), held_out))
    return predictions


# Vectors


class Vectors:
    """Statistics of predictions p (n, k) that do not depend on the folds.

    Logarithms, an order of the samples for every class, a basis of functions of p_ij, and
    statistics of the classes and of the predictions alone.
    """

    def __init__(self, p: np.ndarray, y: np.ndarray) -> None:
        n, k = p.shape
        self.hot = hot = one_hot(y, k)
        # Shape (k, n): sums over classes then run down columns, which is fast.
        self.logs = np.log(np.maximum(p.T, FLOOR))
        self.outcome_logs = self.logs[y, np.arange(n)]
        self.y = y.astype(np.int64)
        self.orders = np.argsort(p.T, axis=1, kind="stable")
        self.basis = _basis(p)
        self.by_class, self.distinct = np.zeros(3), 0.0
        for j, order in enumerate(self.orders):
            x, hits = p[order, j], hot[order, j]
            first = np.searchsorted(x, x, "left")
            self.distinct += (1.0 + np.count_nonzero(x[1:] > x[:-1])) / k
            _, _, plain, debiased = _mass_binned(x, hits, first, 15)
            self.by_class += [plain, debiased, _mass_binned(x, hits, first, 5)[3]]
        self.shares = (hot - p).mean(axis=0)
        entropy = -(p * np.log(np.maximum(p, FLOOR))).sum(axis=1)
        spread, top = p * (1.0 - p), p.max(axis=1)
        self.deviation = np.sqrt(spread.mean(axis=0)).sum()
        self.law = [
            spread.sum(axis=1).mean(),
            entropy.mean() / np.log(k),
            entropy.std(),
            np.log(k) / 4.6,
        ]
        self.top = [top.mean(), (top > 0.999).mean()]


def _from_vectors(
    p: np.ndarray, y: np.ndarray, fold: np.ndarray, rng: np.random.Generator, shared: Vectors
) -> Ingredients:
    """Return the ingredients of vector predictions for one partition."""
    n, shares = len(p), shared.shares
    order = np.argsort(fold, kind="stable")  # a fold becomes a slice, which needs no copy
    ends = np.searchsorted(fold[order], np.arange(1, int(fold.max()) + 2))
    held_out = [*(slice(*part) for part in zip([0, *ends[:-1]], ends)), None]
    centres = p[rng.permutation(n)[: min(CENTRES, n)]]
    one_versus_rest = isotonic_columns(p, shared.y, fold, len(ends), shared.orders)[:, order]
    p, hot = p[order], shared.hot[order]
    tempered, log_beta = _tempered(
        shared.logs[:, order], shared.outcome_logs[order], _training(fold[order]), held_out
    )
    members = [
        tempered,
        _matrix(p, hot, held_out),
        _pooled(p, hot, held_out, shared.basis[order]),
        _local(p, hot, held_out, centres),
        one_versus_rest,
        _shifted(tempered, hot, held_out),
    ]
    stats, limits, v = _evaluate_members(members, p, hot)
    l1 = np.concatenate([[0.0], stats["l1"], [np.abs(shares).sum()]])
    l2_squared = np.concatenate([[0.0], stats["l2_squared"], shared.by_class, [(shares**2).sum()]])
    norm = np.concatenate([[0.0], stats["l2"], [np.sqrt((shares**2).sum())]])
    deviations = np.log(max(shared.deviation, 1e-6) / np.sqrt(v))
    law = [v, *shared.law, deviations, *shared.top, np.tanh(log_beta), shared.distinct / n]
    return _ingredients({"l1": l1, "l2_squared": l2_squared, "l2": norm}, limits, v, n, law)


def _tempered(
    z: np.ndarray, outcome_logs: np.ndarray, seen: np.ndarray, held_out: Sequence[Any]
) -> tuple[np.ndarray, float]:
    """Fit softmax(b z), z = log p as (k, n), and return its predictions and log b of all samples.

    Newton steps in log b for all folds at once. outcome_logs (n,): z of the outcomes.
    """
    largest = z.max(axis=0)
    z = z - largest
    squares = z * z
    target = seen @ (outcome_logs - largest)
    t = np.zeros(len(seen))
    for _ in range(NEWTON):
        b = np.exp(t)
        slope, curve = np.empty(len(seen)), np.empty(len(seen))
        for i, mask in enumerate(seen):
            e = np.exp(b[i] * z)
            total = e.sum(axis=0)
            mean = np.einsum("ij,ij->j", e, z) / total
            slope[i] = mask @ mean - target[i]
            curve[i] = mask @ (np.einsum("ij,ij->j", e, squares) / total - mean**2)
        # The terms 2 are a weak ridge towards b = 1.
        step = (slope * b + 2.0 * t) / (curve * b * b + np.abs(slope * b) + 2.0)
        t = t - np.clip(step, -1.0, 1.0)
        if np.abs(step).max() < 1e-4:
            break
    scale = np.repeat(np.exp(t[:-1]), [part.stop - part.start for part in held_out[:-1]])
    return np.array([_softmax_down(scale * z).T, _softmax_down(np.exp(t[-1]) * z).T]), float(t[-1])


def _softmax_down(z: np.ndarray) -> np.ndarray:
    """Return the softmax of columns whose largest entry is 0, in place."""
    np.exp(z, out=z)
    z /= z.sum(axis=0)
    return z


def _ridge(
    x: np.ndarray,
    residual: np.ndarray,
    held_out: Sequence[Any],
    penalties: Sequence[np.ndarray],
    base: np.ndarray,
) -> np.ndarray:
    """Return base + x B, fitted to the residuals without each fold and on all.

    Of the penalties (diagonals over features) the one of least held-out squared error is used.
    """
    gram, side, grams, sums = _normal_equations(x, residual, held_out)
    least = np.inf
    for penalty in penalties:
        b = np.linalg.solve(gram + np.diag(penalty), side)
        loss = sum(np.einsum("ij,ij", c, g @ c - 2.0 * s) for c, g, s in zip(b, grams, sums))
        if loss < least:
            least, best = loss, b
    out = np.empty((2, *base.shape))
    out[1] = base + x @ best[-1]
    for h, coefficients in zip(held_out[:-1], best):
        out[0, h] = base[h] + x[h] @ coefficients
    return _on_simplex(out)


def _normal_equations(
    x: np.ndarray, residual: np.ndarray, held_out: Sequence[Any]
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return grams x'x and sides x'r without each fold and of all, and those of each fold."""
    grams = np.array([x[h].T @ x[h] for h in held_out[:-1]])
    sums = np.array([x[h].T @ residual[h] for h in held_out[:-1]])
    return *_without_each(grams, sums), grams, sums


def _without_each(grams: np.ndarray, sums: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the sums over all folds but one, followed by those over all."""
    gram, side = (np.concatenate([a.sum(axis=0) - a, a.sum(axis=0)[None]]) for a in (grams, sums))
    return gram, side


def _on_simplex(q: np.ndarray) -> np.ndarray:
    """Return the rows of q on the simplex, in place: negative entries become 0, sums become 1."""
    np.maximum(q, 0.0, out=q)
    q /= np.maximum(q.sum(axis=-1, keepdims=True), 1e-12)
    return q


def _matrix(p: np.ndarray, hot: np.ndarray, held_out: Sequence[Any]) -> np.ndarray:
    """Fit p + (a row of) B p + b."""
    x = np.column_stack([np.ones(len(p)), p * np.sqrt(p.shape[1])])
    return _ridge(x, hot - p, held_out, [np.full(x.shape[1], ridge) for ridge in RIDGES], p)


def _basis(p: np.ndarray) -> np.ndarray:
    """Return the basis (n, k, 12): six cosines of the rank of p_ij for top entries, six for others.

    Ranks are taken among the largest entries of their rows, or among the others; the sum over
    classes is 0.
    """
    n, k = p.shape
    top = np.arange(k) == p.argmax(axis=1)[:, None]
    basis = np.empty((n, k, 12))
    for part, offset in ((top, 0), (~top, 6)):
        values = p[part]
        grid = np.quantile(values, np.linspace(0.0, 1.0, 65))
        grid = np.maximum.accumulate(grid + 1e-12 * np.arange(65))
        rank = np.interp(values, grid, np.linspace(0.0, 1.0, 65))
        cosines = np.zeros((n, k, 6))
        cosines[part] = np.cos(np.pi * np.outer(rank, np.arange(6.0)))
        basis[..., offset : offset + 6] = cosines
    basis -= basis.mean(axis=1, keepdims=True)
    return basis


def _pooled(
    p: np.ndarray, hot: np.ndarray, held_out: Sequence[Any], basis: np.ndarray
) -> np.ndarray:
    """Fit one function of p_ij for all classes, separate for the largest entry and the others."""
    residual = hot - p
    flat = [(basis[h].reshape(-1, basis.shape[2]), residual[h].ravel()) for h in held_out[:-1]]
    grams, sums = np.array([x.T @ x for x, _ in flat]), np.array([r @ x for x, r in flat])
    gram, side = _without_each(grams, sums)
    rough = np.diag(np.tile(1.0 + np.arange(6.0) ** 4 / 10.0, 2))
    least = np.inf
    for ridge in RIDGES[:4]:
        b = np.linalg.solve(gram + ridge * rough, side[:, :, None])[:, :, 0]
        loss = sum(c @ (g @ c - 2.0 * s) for c, g, s in zip(b, grams, sums))
        if loss < least:
            least, best = loss, b
    out = np.empty((2, *p.shape))
    np.matmul(basis, best[-1], out=out[1])
    for h, coefficients in zip(held_out[:-1], best):
        np.matmul(basis[h], coefficients, out=out[0, h])
    out += p
    return _on_simplex(out)


def _local(
    p: np.ndarray, hot: np.ndarray, held_out: Sequence[Any], centre: np.ndarray
) -> np.ndarray:
    """Fit means of the residual around the rows of `centre`, predictions drawn from the sample."""
    distance = np.maximum(
        (p**2).sum(axis=1)[:, None] + (centre**2).sum(axis=1) - 2.0 * p @ centre.T, 0.0
    )
    third = min(3, len(centre) - 1)
    width = np.partition(distance, third, axis=1)[:, third].mean() + 1e-6
    x = softmax(-distance / (2.0 * width))
    return _ridge(x, hot - p, held_out, [np.full(x.shape[1], ridge) for ridge in RIDGES], p)


def _shifted(tempered: np.ndarray, hot: np.ndarray, held_out: Sequence[Any]) -> np.ndarray:
    """Return the tempered predictions plus the mean residual of every class."""
    out = np.empty_like(tempered)
    ones, penalties = np.ones((len(hot), 1)), [np.array([ridge]) for ridge in RIDGES]
    for part, q in enumerate(tempered):
        out[part] = _ridge(ones, hot - q, held_out, penalties, q)[part]
    return out


# Both


def _training(fold: np.ndarray) -> np.ndarray:
    """Return masks (K + 1, n): the training samples of the map of each fold, and all samples."""
    return np.array([*(fold != v for v in range(int(fold.max()) + 1)), np.ones(len(fold), bool)])


def _assembled(fitted: np.ndarray, held_out: Sequence[Any]) -> np.ndarray:
    """Return held-out and in-sample predictions (2, n, ...) of a member from those of each fit."""
    out = np.array([fitted[-1], fitted[-1]])
    for h, q in zip(held_out[:-1], fitted):
        out[0, h] = q[h]
    return out


def _evaluate_members(
    members: Sequence[np.ndarray], p: np.ndarray, y: np.ndarray
) -> tuple[dict[str, np.ndarray], dict[str, float], float]:
    """Return candidates and limits by estimand, and the mean squared residual of the stack."""
    members = list(members)
    weights = convex_weights(p, y, np.array([m[0] for m in members]))
    stack = sum(w * (m - p) for w, m in zip(weights, members)) + p
    members.append(stack)
    r = y - p
    values: dict[str, list[float]] = {"l1": [], "l2_squared": [], "l2": []}
    for m in members:
        for q in m:
            if p.ndim == 1:
                d = q - p
                plug1, gain1 = np.abs(d).mean(), (np.sign(d) * r).mean()
                plug2, cross = (d * d).mean(), (d * r).mean()
            else:
                sums = moved(np.ascontiguousarray(q), p, r)
                plug1, gain1, plug2, cross, norm, gain = sums / len(p)
                values["l2"] += [norm, gain]
            values["l1"] += [plug1, gain1]
            values["l2_squared"] += [plug2, 2.0 * cross - plug2]
    squares = (y - members[-1][0]) ** 2
    v = (squares.sum() + 0.5) / (len(p) + 1.0)
    candidates = {name: np.array(x) for name, x in values.items() if x}
    return candidates, {name: float(x[-4:-2].mean()) for name, x in candidates.items()}, float(v)


def _ingredients(
    candidates: dict[str, np.ndarray],
    limits: dict[str, float],
    v: float,
    n: int,
    law: Sequence[float],
) -> Ingredients:
    """Combine candidates, units and features into `Ingredients`."""
    units = {"l1": np.sqrt(v / n), "l2": np.sqrt(v / n)}
    typical = np.median(candidates["l2_squared"])
    units["l2_squared"] = v / n + 2.0 * np.sqrt(max(typical, 0.0) * v / n)
    scaled1 = candidates["l1"] / units["l1"]
    scaled2 = candidates["l2_squared"] / (v / n)
    middle1, middle2 = np.median(scaled1), np.median(scaled2)
    features = np.concatenate([
        [np.log(n) / 2.0 - 3.4],
        law,
        [np.arcsinh(middle1), np.arcsinh(middle2), np.sign(middle2) * np.sqrt(abs(middle2)) / 10.0],
        np.arcsinh(scaled1[1:] - middle1),
        np.arcsinh((scaled2[1:] - middle2) / (1.0 + 2.0 * np.sqrt(max(middle2, 0.0)))),
    ])  # fmt: skip
    return Ingredients(candidates, limits, units, np.clip(features, -8.0, 8.0))
