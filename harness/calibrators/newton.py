"""Minimise convex log-losses by damped Newton steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from scipy.special import expit

from harness.math.blocks import row_blocks

# Ridge on the distance from the identity map. It keeps the fit finite if the classes are separable,
# and changes the log-loss of other fits by about 1e-6.
RIDGE = 1e-6
STEPS = 200  # most Newton steps; about eight are needed
LAST = 1e-12  # if the decrement is below this, one more full step is exact to rounding
ARMIJO = 1e-4  # accepted share of the decrease that the gradient promises (the usual choice)
SMALLEST_STEP = 1e-9
SMALLEST_WARM_STEP = 1e-2  # a fit that needs shorter steps is started again at 0
BLOCK = 32768  # samples times problems whose arrays fit into the processor's cache


Objective: TypeAlias = Callable[[np.ndarray], tuple[float, np.ndarray]]  # w -> (value, gradient)
Hessian: TypeAlias = Callable[[np.ndarray], np.ndarray]  # w -> matrix of second derivatives


def newton(value: Objective, hessian: Hessian, start: np.ndarray) -> np.ndarray:
    """Return the minimum of a strictly convex function, by Newton steps from `start`.

    value(w) returns (value, gradient). hessian(w) returns the positive definite matrix of second
    derivatives, or an approximation of it. Steps are halved until the value decreases by a share
    ARMIJO of the decrease that the gradient promises.
    """
    w = start
    loss, gradient = value(w)
    for _ in range(STEPS):
        step = np.linalg.solve(hessian(w), gradient)
        decrement = float(gradient @ step)
        if not decrement > LAST:
            return w - step if decrement >= 0.0 else w
        size = 1.0
        while True:
            trial = value(w - size * step)
            if trial[0] <= loss - ARMIJO * size * decrement:
                break
            size /= 2.0
            if size < SMALLEST_STEP:  # only rounding is left
                return w
        w = w - size * step
        loss, gradient = trial
    return w


def logistic(
    x: np.ndarray, y: np.ndarray, centre: np.ndarray, penalty: np.ndarray | None = None
) -> np.ndarray:
    """Return w (d,) that minimises a penalised logistic log-loss.

        mean log-loss(sigma(x w)) + (w - centre)' penalty (w - centre) / 2

    sigma is the logistic function. `x` (n, d) are the features, and `y` (n,) the labels in {0, 1}.
    `centre` has shape (d,). `penalty` has shape (d, d), by default RIDGE times the identity matrix.
    Steps start at w = 0, where the loss is most curved, so saturated predictions do no harm.
    """
    n = len(y)
    penalty = RIDGE * np.eye(len(centre)) if penalty is None else penalty
    target = x.T @ y / n

    def value(w: np.ndarray) -> tuple[float, np.ndarray]:
        t = x @ w
        pull = penalty @ (w - centre)
        loss = np.logaddexp(0.0, t).mean() - float(target @ w) + 0.5 * float((w - centre) @ pull)
        return loss, x.T @ expit(t) / n - target + pull

    def hessian(w: np.ndarray) -> np.ndarray:
        s = expit(x @ w)
        return (x * (s * (1.0 - s))[:, None]).T @ x / n + penalty

    return newton(value, hessian, np.zeros(x.shape[1]))


def logistics(
    x: np.ndarray,
    hit: np.ndarray,
    centre: np.ndarray,
    start: np.ndarray | None = None,
    ridge: float = RIDGE,
    weights: np.ndarray | None = None,
) -> np.ndarray:
    """Return the solutions w (r, d) of r problems of `logistic` with the penalty `ridge` times I.

    `x` (r, d, n) are the features, `hit` (r, n) the labels as 0.0 and 1.0, `centre` is (d,) and
    `start` is (r, d), by default 0. The solution for almost the same samples is a good start.
    Problems that make no progress from their start begin again at 0. `weights` (n,) are those of
    the mean log-loss, or None.
    """
    return np.concatenate([
        _logistics(
            x[rows], hit[rows], centre, None if start is None else start[rows], ridge, weights
        )
        for rows in row_blocks(len(hit), max(1, BLOCK // max(hit.shape[1], 1)))
    ])  # fmt: skip


def _logistics(
    x: np.ndarray,
    hit: np.ndarray,
    centre: np.ndarray,
    start: np.ndarray | None,
    ridge: float,
    weights: np.ndarray | None,
) -> np.ndarray:
    """Return the solutions of `logistics` for problems whose arrays fit into the cache."""
    r, d, n = x.shape
    if weights is not None:
        weights = weights * (n / weights.sum())  # with mean 1
    pairs = np.triu_indices(d)
    products = x[:, pairs[0]] * x[:, pairs[1]]

    def weighted(terms: np.ndarray) -> np.ndarray:
        return terms if weights is None else terms * weights

    target = _rows_times(x, weighted(hit)) / n

    def value(rows: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the loss, gradient and Hessian of the problems `rows` at w."""
        features, pair_features = (x, products) if len(rows) == r else (x[rows], products[rows])
        t = (w[:, None, :] @ features)[:, 0]
        e = np.exp(-np.abs(t))
        away = w - centre
        loss = weighted(np.maximum(t, 0.0) + np.log1p(e)).sum(axis=1) / n
        loss -= (target[rows] * w).sum(axis=1)
        loss += 0.5 * ridge * (away * away).sum(axis=1)
        larger = 1.0 / (1.0 + e)
        e *= larger
        gradient = _rows_times(features, weighted(np.where(t >= 0.0, larger, e))) / n
        gradient = gradient - target[rows] + ridge * away
        e *= larger
        hessian = np.empty((len(w), d, d))
        hessian[:, pairs[0], pairs[1]] = hessian[:, pairs[1], pairs[0]] = (
            _rows_times(pair_features, weighted(e)) / n
        )
        hessian[:, np.arange(d), np.arange(d)] += ridge
        return loss, gradient, hessian

    solution = np.zeros((r, d)) if start is None else start.copy()
    smallest = SMALLEST_STEP if start is None else SMALLEST_WARM_STEP
    rows, w = np.arange(r), solution.copy()  # the problems that are not solved yet
    loss, gradient, hessian = value(rows, w)
    for _ in range(STEPS):
        # Take the last step of the solved problems.
        step = np.linalg.solve(hessian, gradient[:, :, None])[:, :, 0]
        decrement = (gradient * step).sum(axis=1)
        going = decrement > LAST
        solution[rows] = np.where((decrement >= 0.0)[:, None], w - step, w)
        if not going.any():
            return solution
        rows, w, step, decrement, loss = (
            array[going] for array in (rows, w, step, decrement, loss)
        )
        # Halve the steps of the unsolved problems until their losses decrease.
        size, stuck = np.ones(len(rows)), np.zeros(len(rows), dtype=bool)
        trial = value(rows, w - step)
        while (short := ~stuck & ~(trial[0] <= loss - ARMIJO * size * decrement)).any():
            size[short] /= 2.0
            stuck |= short & (size < smallest)
            again = np.flatnonzero(short & ~stuck)
            for part, new in zip(
                trial, value(rows[again], w[again] - size[again, None] * step[again])
            ):
                part[again] = new
        w = w - size[:, None] * step
        # A stuck problem is solved to rounding, or its warm start is in a flat region.
        if stuck.any():
            w[stuck] += size[stuck, None] * step[stuck]
            cold = rows[stuck]
            solution[cold] = (
                w[stuck]
                if start is None
                else _logistics(x[cold], hit[cold], centre, None, ridge, weights)
            )
            rows, w = rows[~stuck], w[~stuck]
            trial = trial[0][~stuck], trial[1][~stuck], trial[2][~stuck]
            if not len(rows):
                return solution
        loss, gradient, hessian = trial
    solution[rows] = w
    return solution


def _rows_times(x: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return the sums over n of x (r, d, n) times v (r, n), shape (r, d)."""
    return (x @ v[:, :, None])[:, :, 0]


def normalised(scores: np.ndarray) -> np.ndarray:
    """Return rows of scores (n, k) divided by their sums; rows of zeros become 1/k."""
    total = scores.sum(axis=1, keepdims=True)
    return np.divide(
        scores, total, out=np.full_like(scores, 1.0 / scores.shape[1]), where=total > 0
    )
