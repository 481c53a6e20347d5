"""Ingredients of the learned estimate `Best` for vector predictions.

A member is a method of fitting a recalibration map. In this module samples are sorted by fold, so
that `held_out` are slices of the samples of each fold, followed by None. `hot` (n, k) are the
one-hot labels. Every member returns its held-out and its in-sample predictions, (2, n, k).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.spatial import cKDTree

from harness.estimators.ingredient_kernels import isotonic_columns
from harness.estimators.ingredient_members import (
    FLOOR,
    NEWTON,
    Ingredients,
    combine_ingredients,
    evaluate_members,
    normal_equations,
    sum_other_folds,
    training_masks,
)
from harness.estimators.scalar_ingredients import histogram_bins, mass_binned
from harness.math.notions import one_hot
from harness.math.softmax import softmax

CENTRES = 40  # largest number of predictions around which the member `_local` has a bump
RIDGES = (1.0, 10.0, 100.0, 1e3, 1e4)  # ridges of the linear members, in numbers of samples
NEIGHBOURS = (3, 8)  # numbers of nearest neighbours in `neighbour_products`
# Most rows and most entries of p from which `neighbour_products` are computed.
NEIGHBOUR_ROWS, NEIGHBOUR_ENTRIES = 5_000, 50_000


class Vectors:
    """Statistics of predictions p (n, k) and labels y (n,) that do not depend on the folds.

    They are the logarithms of p, the order of the samples by each column, a basis of functions of
    p_ij, binned errors of the classes, and features of the distribution of the predictions.
    """

    def __init__(self, p: np.ndarray, y: np.ndarray) -> None:
        n, k = p.shape
        self.hot = hot = one_hot(y, k)
        # The shape (k, n) makes sums over classes fast.
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
            _, _, plain, debiased = mass_binned(x, hits, first, 15)
            self.by_class += [plain, debiased, mass_binned(x, hits, first, 5)[3]]
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
        counts = n - top.sum(), np.count_nonzero(p.argmax(axis=1) != y), p.sum(axis=0).min()
        self.top = [top.mean(), (top > 0.999).mean(), *np.log1p(counts)]
        self.events = float(max(counts[:2]))


def neighbour_products(p: np.ndarray, residual: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Return l2_squared from products of the residuals of neighbours, for each m in NEIGHBOURS.

        mean over rows i of mean over the m rows j nearest to i of <r_i, r_j>

    p and the residuals r (n, k) are of the same rows. Neighbours have independent labels, so that
    the mean has no noise of its own added, and it sees errors that change as fast as p from row to
    row. `order` (n,) is a random order of the rows. It decides between equal rows, and only its
    first NEIGHBOUR_ROWS rows are used. One row has no neighbour and gives 0.

    Examples
    --------
    >>> p, residual = np.array([[0.5, 0.5], [0.5, 0.5]]), np.array([[0.5, -0.5]] * 2)
    >>> neighbour_products(p, residual, np.arange(2))
    array([0.5, 0.5])
    """
    rows = order[: min(NEIGHBOUR_ROWS, NEIGHBOUR_ENTRIES // p.shape[1])]
    count = min(NEIGHBOURS[-1], len(rows) - 1)
    if count < 1:
        return np.zeros(len(NEIGHBOURS))
    x, r = p[rows], residual[rows]
    found = cKDTree(x, balanced_tree=False).query(x, count + 1)[1]
    # Among equal rows, the row itself need not be among those found. Then the last one goes.
    others = found != np.arange(len(x))[:, None]
    others &= np.cumsum(others, axis=1) <= count
    products = np.einsum("ij,imj->im", r, r[found[others].reshape(len(x), count)])
    return np.array([products[:, :m].mean() for m in NEIGHBOURS])


def ingredients_of_vectors(
    p: np.ndarray, y: np.ndarray, fold: np.ndarray, rng: np.random.Generator, shared: Vectors
) -> Ingredients:
    """Return the ingredients of vector predictions p (n, k) for one partition into folds.

    `fold` (n,) numbers the folds from 0. rng draws the centres of the member `_local` and the order
    of the rows in `neighbour_products`. `shared` holds the statistics that do not depend on the
    folds.
    """
    n, shares = len(p), shared.shares
    order = np.argsort(fold, kind="stable")  # the samples of a fold become a slice, without a copy
    ends = np.searchsorted(fold[order], np.arange(1, int(fold.max()) + 2))
    held_out = [*(slice(*part) for part in zip([0, *ends[:-1]], ends)), None]
    drawn = rng.permutation(n)
    centres, products = p[drawn[:CENTRES]], neighbour_products(p, shared.hot - p, drawn)
    one_versus_rest = isotonic_columns(p, shared.y, fold, len(ends), shared.orders)[:, order]
    p, hot = p[order], shared.hot[order]
    tempered, log_beta = _tempered(
        shared.logs[:, order], shared.outcome_logs[order], training_masks(fold[order]), held_out
    )
    members = [
        tempered,
        _matrix(p, hot, held_out),
        _pooled(p, hot, held_out, shared.basis[order]),
        _local(p, hot, held_out, centres),
        one_versus_rest,
        _shifted(tempered, hot, held_out),
        _top(p, hot, held_out),
    ]
    evaluated = evaluate_members(lambda: [(members, p, hot)], n)
    stats, v = evaluated.candidates, evaluated.v
    # A fine error has the root of the products as its root mean square. That its norms are in the
    # same proportion to it as those of the stack's in-sample movement q - p is an assumption.
    root = np.sqrt(max(products[-1], 0.0) / max(stats["l2_squared"][-2], FLOOR**2))
    l1, norm = (
        np.concatenate([[0.0], stats[name], [total, stats[name][-2] * root]])
        for name, total in (("l1", np.abs(shares).sum()), ("l2", np.sqrt((shares**2).sum())))
    )
    others = [*shared.by_class, (shares**2).sum(), *products]
    l2_squared = np.concatenate([[0.0], stats["l2_squared"], others])
    deviations = np.log(max(shared.deviation, 1e-6) / np.sqrt(v))
    law = [v, *shared.law, deviations, *shared.top, np.tanh(log_beta), shared.distinct / n]
    candidates = {"l1": l1, "l2_squared": l2_squared, "l2": norm}
    return combine_ingredients(candidates, evaluated, n, law, shared.events, p.shape[1])


def _tempered(
    z: np.ndarray, outcome_logs: np.ndarray, training: np.ndarray, held_out: Sequence[Any]
) -> tuple[np.ndarray, float]:
    """Return the predictions softmax(b log p), and log b of the fit to all samples.

    z (k, n) is log p, and outcome_logs (n,) its entries at the labels. `training` (K + 1, n) are
    masks of the samples outside each fold, and at last of all samples. Newton steps fit log b for
    all of them together.
    """
    largest = z.max(axis=0)
    z = z - largest
    squares = z * z
    target = training @ (outcome_logs - largest)
    t = np.zeros(len(training))
    for _ in range(NEWTON):
        b = np.exp(t)
        slope, curve = np.empty(len(training)), np.empty(len(training))
        for i, mask in enumerate(training):
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
    """Return the softmax of the columns of z, computed in place. Their largest entry must be 0."""
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
    """Return the predictions base + x B of a ridge regression, moved to the simplex, (2, n, k).

    B is fitted to the residuals (n, k): for held-out predictions to the samples outside each fold,
    and for in-sample predictions to all samples. x (n, d) are features. `penalties` are candidate
    ridges, arrays (d,). The ridge with the smallest held-out squared error is used.
    """
    gram, side, grams, sums = normal_equations(x, residual, held_out)
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


def _on_simplex(q: np.ndarray) -> np.ndarray:
    """Return q with negative entries set to 0 and rows divided by their sum, computed in place."""
    np.maximum(q, 0.0, out=q)
    q /= np.maximum(q.sum(axis=-1, keepdims=True), 1e-12)
    return q


def _matrix(p: np.ndarray, hot: np.ndarray, held_out: Sequence[Any]) -> np.ndarray:
    """Return the predictions p + B p + b with a matrix B and a vector b, by ridge regression."""
    x = np.column_stack([np.ones(len(p)), p * np.sqrt(p.shape[1])])
    return _ridge(x, hot - p, held_out, [np.full(x.shape[1], ridge) for ridge in RIDGES], p)


def _basis(p: np.ndarray) -> np.ndarray:
    """Return twelve functions of the entries p_ij, (n, k, 12), whose sums over the classes are 0.

    Functions 0 to 5 are cosines of the rank of p_ij if it is the largest entry of its row, else 0.
    Functions 6 to 11 are cosines of the rank of the other entries. Ranks are among the entries of
    the same kind.
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
    """Return the predictions p_ij + g(p_ij) with one function g for all classes.

    g is a combination of the functions in `basis` (n, k, 12), which differ for the largest entry of
    a row and for the others. The ridge with the smallest held-out squared error is used.
    """
    residual = hot - p
    flat = [(basis[h].reshape(-1, basis.shape[2]), residual[h].ravel()) for h in held_out[:-1]]
    grams, sums = np.array([x.T @ x for x, _ in flat]), np.array([r @ x for x, r in flat])
    gram, side = sum_other_folds(grams, sums)
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
    """Return the predictions p plus a smooth residual, a combination of bumps around centres.

    `centre` (centres, k) are predictions drawn from the sample. The bumps are a softmax of the
    negative squared distances to the centres.
    """
    distance = np.maximum(
        (p**2).sum(axis=1)[:, None] + (centre**2).sum(axis=1) - 2.0 * p @ centre.T, 0.0
    )
    third = min(3, len(centre) - 1)
    width = np.partition(distance, third, axis=1)[:, third].mean() + 1e-6
    x = softmax(-distance / (2.0 * width))
    return _ridge(x, hot - p, held_out, [np.full(x.shape[1], ridge) for ridge in RIDGES], p)


def _top(p: np.ndarray, hot: np.ndarray, held_out: Sequence[Any]) -> np.ndarray:
    """Return p with its largest entry moved by a mean residual, (2, n, k).

    The mean of the residuals of the largest entry is taken in bins of equal mass of that entry. The
    other entries are scaled. A bin counts as one row more than it has.
    """
    rows = np.arange(len(p))
    label = p.argmax(axis=1)
    top = p[rows, label]
    residual = hot[rows, label] - top
    bins = histogram_bins(len(p))
    index = np.searchsorted(np.sort(top), top) * bins // len(p)
    parts = [(index[h], residual[h]) for h in held_out[:-1]]
    size = np.array([np.bincount(i, minlength=bins) for i, _ in parts], dtype=float)
    total = np.array([np.bincount(i, r, minlength=bins) for i, r in parts])
    sizes, totals = sum_other_folds(size, total)
    means = totals / (sizes + 1.0)
    moved = np.tile(top, (2, 1))
    moved[1] += means[-1][index]
    for mean, h in zip(means, held_out[:-1]):
        moved[0, h] += mean[index[h]]
    np.clip(moved, 0.0, 1.0, out=moved)
    rest = np.maximum(1.0 - top, FLOOR)
    out = p * ((1.0 - moved) / rest)[:, :, None]
    out[:, rows, label] = moved
    return _on_simplex(out)


def _shifted(tempered: np.ndarray, hot: np.ndarray, held_out: Sequence[Any]) -> np.ndarray:
    """Return the tempered predictions plus a constant for every class, by ridge regression.

    `tempered` (2, n, k) are the held-out and in-sample predictions of `_tempered`.
    """
    out = np.empty_like(tempered)
    ones, penalties = np.ones((len(hot), 1)), [np.array([ridge]) for ridge in RIDGES]
    for part, q in enumerate(tempered):
        out[part] = _ridge(ones, hot - q, held_out, penalties, q)[part]
    return out
