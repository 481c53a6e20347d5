"""Cheap statistics of a sample from one cross-fit of simple recalibration maps: what `Best` combines.

A member is a way of fitting a map q. Every member is fitted without each fold, and on all samples; from its held-out and its
in-sample predictions come

    gain1 = mean <sign(q - p), y - p>      plug1 = mean |q - p|_1
    gain2 = mean |p - y|^2 - |q - y|^2     plug2 = mean |q - p|^2          (vectors: gain, plug of the 2-norm besides)

Held out, a gain is a lower bound in expectation; in sample it is too high by about as much, so that their mean is nearly free of
the member's own noise. All linear members share one Gram matrix per fold.
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

FLOOR = 1e-7  # of probabilities in logarithms: float32 resolves no finer near 1
NEWTON = 7
CONVERGED = 1e-10  # steps of coefficients: the next would be below rounding
LARGEST_LOGIT = 700.0
SCALAR_BINS = (5, 15, 40)
CENTRES = 40
RIDGES = (1.0, 10.0, 100.0, 1e3, 1e4)  # of vectors' linear members, in outcomes


@dataclass(frozen=True)
class Ingredients:
    """Candidates of each estimand (arrays of equal length over samples of one kind), their limit for large samples (the stack's,
    between its held-out lower bound and what it claims itself), units of noise, and features without unit."""

    candidates: dict[str, np.ndarray]
    limits: dict[str, float]
    units: dict[str, float]
    features: np.ndarray


def of_sample(
    p: np.ndarray,
    y: np.ndarray,
    fold: np.ndarray,
    rng: np.random.Generator,
    shared: Scalars | Vectors | None = None,
) -> Ingredients:
    """The ingredients of a sample: p (n,) with y in {0, 1}, or p (n, k) with y in 0..k-1; `fold` from 0 to K - 1. `shared` is
    what `whatever_the_folds(p, y)` gave, for several partitions of one sample."""
    shared = whatever_the_folds(p, y) if shared is None else shared
    if isinstance(shared, Scalars):
        return _of_scalars(p, y, fold, shared)
    return _of_vectors(p, y, fold, rng, shared)


def whatever_the_folds(p: np.ndarray, y: np.ndarray) -> Scalars | Vectors:
    """What the ingredients need of a sample that no partition into folds changes: orders, bases of functions, statistics."""
    return Scalars(p, y) if p.ndim == 1 else Vectors(p, y)


# Scalars


class Scalars:
    """Of p (n,): the samples in order, cosines of rank and p, and statistics of bins and of the walk of residuals."""

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
        self.bins = [_of_bins(p, y, first, bins) for bins in SCALAR_BINS]
        self.bins.append(_binned((15 * p).astype(int).clip(0, 14), p, y))
        walk = np.concatenate([[0.0], np.cumsum(y - p)[np.append(p[1:] != p[:-1], True)]]) / n
        self.kuiper, self.mean = float(np.ptp(walk)), abs(float(walk[-1]))
        spread = p * (1.0 - p)
        distinct, sure = np.unique(p).size / n, (spread < 1e-3).mean()
        self.law = [spread.mean(), spread.std(), p.mean() * (1 - p.mean()), distinct, sure]


def _of_scalars(p: np.ndarray, y: np.ndarray, fold: np.ndarray, shared: Scalars) -> Ingredients:
    p, y, fold = shared.p, shared.y, fold[shared.order]
    seen = _training(fold)  # (K + 1, n), the last one all
    held = [*(~seen[:-1]), None]
    members = [
        *_logistic(p, y, seen, held),
        isotonic_folds(p, shared.hits, fold, len(held) - 1),
        *_linear(shared.of_rank, p, y, seen, held, (0.3, 3.0, 30.0)),
        *_linear(shared.of_p, p, y, seen, held, (3.0,)),
    ]
    stats, limits, v = _of_members(members, p, y)
    one = np.concatenate(
        [[0.0], stats["l1"], *[b[:2] for b in shared.bins], [shared.kuiper, shared.mean]]
    )
    two = np.concatenate(
        [[0.0], stats["l2_squared"], *[b[2:] for b in shared.bins], [shared.mean**2]]
    )
    return _ingredients({"l1": one, "l2_squared": two}, limits, v, len(p), [v, *shared.law])


def _of_bins(p: np.ndarray, y: np.ndarray, first: np.ndarray, bins: int) -> np.ndarray:
    n = len(p)
    return _binned((first * min(bins, n)) // n, p, y)


def _binned(index: np.ndarray, p: np.ndarray, y: np.ndarray) -> np.ndarray:
    """(l1, l1 without its noise, l2_squared, the same without its noise) of bins."""
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
    p: np.ndarray, y: np.ndarray, seen: np.ndarray, held: Sequence[Any]
) -> list[np.ndarray]:
    """sigma(b logit p), and sigma(a log p - b log(1 - p) + c): Newton steps for all folds at once, a weak ridge to the
    identity."""
    low, high = np.log(np.maximum(p, FLOOR)), np.log(np.maximum(1.0 - p, FLOOR))
    found = []
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
            off = y - q
            off *= seen
            q *= 1.0 - q
            q *= seen
            slope = off @ z - 0.3 * (w - start)
            curve = (q @ products).reshape(len(w), *ridge.shape) + ridge
            step = np.linalg.solve(curve, slope[:, :, None])[:, :, 0]
            size = np.abs(step / scale).max(axis=1, keepdims=True)
            w = w + step * np.minimum(1.0, 1.0 / np.maximum(size, 1e-12))
            if size.max() < CONVERGED:
                break
        found.append(_assembled(_sigmoid(w @ transposed), held))
    return found


def _sigmoid(t: np.ndarray) -> np.ndarray:
    """1 / (1 + exp(-t)), in place: three times as fast as scipy.special.expit."""
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
    held: Sequence[Any],
    ridges: Sequence[float],
) -> list[np.ndarray]:
    """p + basis b, for each ridge; the penalty of the j-th function grows with j^4, its unit the variance of an outcome."""
    j = np.arange(basis.shape[1])
    rough = 1.0 + j**4.0 / 10.0
    v = max(float(((y - p) ** 2).mean()), 1e-9)
    penalty = np.diag(rough) / 10.0
    gram, side, _, _ = _normal_equations(basis, y - p, held)
    found = []
    for ridge in ridges:
        b = np.linalg.solve(gram + (ridge * max(v, 0.01) * 10.0) * penalty, side[:, :, None])[
            :, :, 0
        ]
        found.append(_assembled(np.clip(p + b @ basis.T, 0.0, 1.0), held))
    return found


# Vectors


class Vectors:
    """Of p (n, k): its logarithms, an order of the samples for every class, a basis of functions of p_ij, and statistics of
    classes and of the predictions alone."""

    def __init__(self, p: np.ndarray, y: np.ndarray) -> None:
        n, k = p.shape
        self.hot = hot = one_hot(y, k)
        self.logs = np.log(
            np.maximum(p.T, FLOOR)
        )  # (k, n): sums over classes that run down columns are fast
        self.of_outcome = self.logs[y, np.arange(n)]
        self.y = y.astype(np.int64)
        self.orders = np.argsort(p.T, axis=1, kind="stable")
        self.basis = _basis(p)
        self.by_class, self.distinct = np.zeros(3), 0.0
        for j, order in enumerate(self.orders):
            x, hits = p[order, j], hot[order, j]
            first = np.searchsorted(x, x, "left")
            self.distinct += (1.0 + np.count_nonzero(x[1:] > x[:-1])) / k
            _, _, plain, debiased = _of_bins(x, hits, first, 15)
            self.by_class += [plain, debiased, _of_bins(x, hits, first, 5)[3]]
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


def _of_vectors(
    p: np.ndarray, y: np.ndarray, fold: np.ndarray, rng: np.random.Generator, shared: Vectors
) -> Ingredients:
    n, shares = len(p), shared.shares
    order = np.argsort(fold, kind="stable")  # a fold is then a slice, which needs no copy
    ends = np.searchsorted(fold[order], np.arange(1, int(fold.max()) + 2))
    held = [*(slice(*part) for part in zip([0, *ends[:-1]], ends)), None]
    centres = p[rng.permutation(n)[: min(CENTRES, n)]]
    one_versus_rest = isotonic_columns(p, shared.y, fold, len(ends), shared.orders)[:, order]
    p, hot = p[order], shared.hot[order]
    tempered, log_beta = _tempered(
        shared.logs[:, order], shared.of_outcome[order], _training(fold[order]), held
    )
    members = [
        tempered,
        _matrix(p, hot, held),
        _pooled(p, hot, held, shared.basis[order]),
        _local(p, hot, held, centres),
        one_versus_rest,
        _shifted(tempered, hot, held),
    ]
    stats, limits, v = _of_members(members, p, hot)
    one = np.concatenate([[0.0], stats["l1"], [np.abs(shares).sum()]])
    two = np.concatenate([[0.0], stats["l2_squared"], shared.by_class, [(shares**2).sum()]])
    norm = np.concatenate([[0.0], stats["l2"], [np.sqrt((shares**2).sum())]])
    deviations = np.log(max(shared.deviation, 1e-6) / np.sqrt(v))
    law = [v, *shared.law, deviations, *shared.top, np.tanh(log_beta), shared.distinct / n]
    return _ingredients({"l1": one, "l2_squared": two, "l2": norm}, limits, v, n, law)


def _tempered(
    z: np.ndarray, of_outcome: np.ndarray, seen: np.ndarray, held: Sequence[Any]
) -> tuple[np.ndarray, float]:
    """softmax(b z), z = log p as (k, n), by Newton steps in log b for all folds at once, and log b of all samples. of_outcome
    (n,): z of the outcomes."""
    largest = z.max(axis=0)
    z = z - largest
    squares = z * z
    target = seen @ (of_outcome - largest)
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
        step = (slope * b + 2.0 * t) / (
            curve * b * b + np.abs(slope * b) + 2.0
        )  # a weak ridge to 1
        t = t - np.clip(step, -1.0, 1.0)
        if np.abs(step).max() < 1e-4:
            break
    of_fold = np.repeat(np.exp(t[:-1]), [part.stop - part.start for part in held[:-1]])
    return np.array([_softmax_down(of_fold * z).T, _softmax_down(np.exp(t[-1]) * z).T]), float(
        t[-1]
    )


def _softmax_down(z: np.ndarray) -> np.ndarray:
    """Softmax of columns whose largest entry is 0, in place."""
    np.exp(z, out=z)
    z /= z.sum(axis=0)
    return z


def _ridge(
    x: np.ndarray,
    residual: np.ndarray,
    held: Sequence[Any],
    penalties: Sequence[np.ndarray],
    base: np.ndarray,
) -> np.ndarray:
    """base + x B, fitted to the residuals without each fold and on all, for the penalty (diagonals over features) of least
    held-out squared error."""
    gram, side, grams, sums = _normal_equations(x, residual, held)
    least = np.inf
    for penalty in penalties:
        b = np.linalg.solve(gram + np.diag(penalty), side)
        moved = sum(np.einsum("ij,ij", one, g @ one - 2.0 * s) for one, g, s in zip(b, grams, sums))
        if moved < least:
            least, chosen = moved, b
    out = np.empty((2, *base.shape))
    out[1] = base + x @ chosen[-1]
    for h, one in zip(held[:-1], chosen):
        out[0, h] = base[h] + x[h] @ one
    return _on_simplex(out)


def _normal_equations(
    x: np.ndarray, residual: np.ndarray, held: Sequence[Any]
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """(grams x'x, sides x'r) without each fold and of all samples, and those of each fold."""
    grams = np.array([x[h].T @ x[h] for h in held[:-1]])
    sums = np.array([x[h].T @ residual[h] for h in held[:-1]])
    return *_without_each(grams, sums), grams, sums


def _without_each(grams: np.ndarray, sums: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Those of all folds but one, and of all."""
    gram, side = (np.concatenate([a.sum(axis=0) - a, a.sum(axis=0)[None]]) for a in (grams, sums))
    return gram, side


def _on_simplex(q: np.ndarray) -> np.ndarray:
    """Rows of q, changed in place: what is negative is 0, and the sum 1."""
    np.maximum(q, 0.0, out=q)
    q /= np.maximum(q.sum(axis=-1, keepdims=True), 1e-12)
    return q


def _matrix(p: np.ndarray, hot: np.ndarray, held: Sequence[Any]) -> np.ndarray:
    """p + (a row of) B p + b."""
    x = np.column_stack([np.ones(len(p)), p * np.sqrt(p.shape[1])])
    return _ridge(x, hot - p, held, [np.full(x.shape[1], ridge) for ridge in RIDGES], p)


def _basis(p: np.ndarray) -> np.ndarray:
    """(n, k, 12): six cosines of the rank of p_ij among the largest of their rows, and six among the others; the sum over classes
    is 0."""
    n, k = p.shape
    top = np.arange(k) == p.argmax(axis=1)[:, None]
    basis = np.empty((n, k, 12))
    for part, at in ((top, 0), (~top, 6)):
        values = p[part]
        grid = np.quantile(values, np.linspace(0.0, 1.0, 65))
        grid = np.maximum.accumulate(grid + 1e-12 * np.arange(65))
        rank = np.interp(values, grid, np.linspace(0.0, 1.0, 65))
        own = np.zeros((n, k, 6))
        own[part] = np.cos(np.pi * np.outer(rank, np.arange(6.0)))
        basis[..., at : at + 6] = own
    basis -= basis.mean(axis=1, keepdims=True)
    return basis


def _pooled(p: np.ndarray, hot: np.ndarray, held: Sequence[Any], basis: np.ndarray) -> np.ndarray:
    """One function of p_ij for all classes, one for the largest and one for the others."""
    residual = hot - p
    flat = [(basis[h].reshape(-1, basis.shape[2]), residual[h].ravel()) for h in held[:-1]]
    grams, sums = np.array([x.T @ x for x, _ in flat]), np.array([r @ x for x, r in flat])
    gram, side = _without_each(grams, sums)
    rough = np.diag(np.tile(1.0 + np.arange(6.0) ** 4 / 10.0, 2))
    least = np.inf
    for ridge in RIDGES[:4]:
        b = np.linalg.solve(gram + ridge * rough, side[:, :, None])[:, :, 0]
        moved = sum(one @ (g @ one - 2.0 * s) for one, g, s in zip(b, grams, sums))
        if moved < least:
            least, chosen = moved, b
    out = np.empty((2, *p.shape))
    np.matmul(basis, chosen[-1], out=out[1])
    for h, one in zip(held[:-1], chosen):
        np.matmul(basis[h], one, out=out[0, h])
    out += p
    return _on_simplex(out)


def _local(p: np.ndarray, hot: np.ndarray, held: Sequence[Any], centre: np.ndarray) -> np.ndarray:
    """Means of the residual around the rows of `centre`, which are predictions drawn from the sample."""
    distance = np.maximum(
        (p**2).sum(axis=1)[:, None] + (centre**2).sum(axis=1) - 2.0 * p @ centre.T, 0.0
    )
    width = (
        np.partition(distance, min(3, len(centre) - 1), axis=1)[:, min(3, len(centre) - 1)].mean()
        + 1e-6
    )
    x = softmax(-distance / (2.0 * width))
    return _ridge(x, hot - p, held, [np.full(x.shape[1], ridge) for ridge in RIDGES], p)


def _shifted(tempered: np.ndarray, hot: np.ndarray, held: Sequence[Any]) -> np.ndarray:
    """The tempered predictions plus the mean residual of every class."""
    out = tempered.copy()
    ones = np.ones((len(hot), 1))
    for part in range(2):
        moved = _ridge(
            ones,
            hot - tempered[part],
            held,
            [np.array([ridge]) for ridge in RIDGES],
            tempered[part],
        )
        out[part] = moved[part]
    return out


# Both


def _training(fold: np.ndarray) -> np.ndarray:
    """(K + 1, n): the samples that the map of fold v is fitted on, and all."""
    return np.array([*(fold != v for v in range(int(fold.max()) + 1)), np.ones(len(fold), bool)])


def _assembled(fitted: np.ndarray, held: Sequence[Any]) -> np.ndarray:
    """(2, n, ...): held-out and in-sample predictions of one member, from those of each fit at all samples."""
    out = np.array([fitted[-1], fitted[-1]])
    for h, q in zip(held[:-1], fitted):
        out[0, h] = q[h]
    return out


def _of_members(
    members: Sequence[np.ndarray], p: np.ndarray, y: np.ndarray
) -> tuple[dict[str, np.ndarray], dict[str, float], float]:
    """{estimand: candidates}, {estimand: limit}, and the mean squared residual of the stack."""
    members = list(members)
    outcome = y
    weights = convex_weights(p, outcome, np.array([m[0] for m in members]))
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
                plug1, gain1, plug2, cross, norm, gain = moved(np.ascontiguousarray(q), p, r) / len(
                    p
                )
                values["l2"] += [norm, gain]
            values["l1"] += [plug1, gain1]
            values["l2_squared"] += [plug2, 2.0 * cross - plug2]
    squares = (y - members[-1][0]) ** 2
    v = (squares.sum() + 0.5) / (len(p) + 1.0)
    found = {name: np.array(x) for name, x in values.items() if x}
    return found, {name: float(x[-4:-2].mean()) for name, x in found.items()}, float(v)


def _ingredients(
    candidates: dict[str, np.ndarray],
    limits: dict[str, float],
    v: float,
    n: int,
    law: Sequence[float],
) -> Ingredients:
    units = {"l1": np.sqrt(v / n), "l2": np.sqrt(v / n)}
    typical = np.median(candidates["l2_squared"])
    units["l2_squared"] = v / n + 2.0 * np.sqrt(max(typical, 0.0) * v / n)
    one = candidates["l1"] / units["l1"]
    two = candidates["l2_squared"] / (v / n)
    middle1, middle2 = np.median(one), np.median(two)
    features = np.concatenate([
        [np.log(n) / 2.0 - 3.4],
        law,
        [np.arcsinh(middle1), np.arcsinh(middle2), np.sign(middle2) * np.sqrt(abs(middle2)) / 10.0],
        np.arcsinh(one[1:] - middle1),
        np.arcsinh((two[1:] - middle2) / (1.0 + 2.0 * np.sqrt(max(middle2, 0.0)))),
    ])  # fmt: skip
    return Ingredients(candidates, limits, units, np.clip(features, -8.0, 8.0))
