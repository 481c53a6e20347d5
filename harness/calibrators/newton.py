"""Damped Newton steps for convex log-losses, and one-versus-rest: what the parametric calibrators share."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from scipy.special import expit

from harness.calibrators.base import CalibrationMap

RIDGE = 1e-6  # on the distance from the identity map: keeps separable samples finite, and moves the log-loss by as little
STEPS = 200
LAST = 1e-12  # the decrement below which one more full step is exact to rounding
ARMIJO = 1e-4
SMALLEST_STEP = 1e-9
SMALLEST_WARM_STEP = 1e-2
BLOCK = 32768  # samples times rows


Objective: TypeAlias = Callable[[np.ndarray], tuple[float, np.ndarray]]  # w -> (value, gradient)
Hessian: TypeAlias = Callable[[np.ndarray], np.ndarray]  # w -> matrix of second derivatives


def newton(value: Objective, hessian: Hessian, start: np.ndarray) -> np.ndarray:
    """Minimiser of a strictly convex function.

    value(w) returns (value, gradient), hessian(w) its positive definite matrix of second derivatives, or an approximation. Steps
    are halved until the value decreases by a part of what the gradient promises."""
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
            if size < SMALLEST_STEP:  # rounding: nothing is left to gain
                return w
        w = w - size * step
        loss, gradient = trial
    return w


def logistic(
    x: np.ndarray, y: np.ndarray, centre: np.ndarray, penalty: np.ndarray | None = None
) -> np.ndarray:
    """w (d,) of least mean log-loss of sigma(x w) + (w - centre)' penalty (w - centre) / 2.

    x: features (n, d); y: labels (n,) in {0, 1}; centre: (d,); penalty: (d, d), RIDGE times the unit matrix if None. The steps
    start at w = 0, where the loss is most curved, so that saturated predictions do no harm."""
    n = len(y)
    penalty = RIDGE * np.eye(len(centre)) if penalty is None else penalty
    target = x.T @ y / n

    last: dict[
        str, np.ndarray
    ] = {}  # the steps ask for the Hessian where they asked for the value last

    def value(w: np.ndarray) -> tuple[float, np.ndarray]:
        t = x @ w
        pull = penalty @ (w - centre)
        loss = np.logaddexp(0.0, t).mean() - float(target @ w) + 0.5 * float((w - centre) @ pull)
        last["w"], last["s"] = w, expit(t)
        return loss, x.T @ last["s"] / n - target + pull

    def hessian(w: np.ndarray) -> np.ndarray:
        s = last["s"] if "w" in last and np.array_equal(last["w"], w) else expit(x @ w)
        return (x * (s * (1.0 - s))[:, None]).T @ x / n + penalty

    return newton(value, hessian, np.zeros(x.shape[1]))


def logistics(
    x: np.ndarray, hit: np.ndarray, centre: np.ndarray, start: np.ndarray | None = None
) -> np.ndarray:
    """Rows w (r, d) of `logistic` for r problems of the same size at once, with its default penalty.

    x: features (r, d, n); hit: labels (r, n), as 0.0 and 1.0; centre: (d,); start: (r, d), where the steps begin, 0 if None. A
    fit on almost the same samples is a few steps away; rows that make no way from there begin again at 0."""
    return np.concatenate([
        _logistics(x[rows], hit[rows], centre, None if start is None else start[rows])
        for rows in _blocks(len(hit), hit.shape[1])
    ])  # fmt: skip


def _blocks(rows: int, n: int) -> list[slice]:
    """Slices of rows whose arrays stay in the cache."""
    size = max(1, BLOCK // max(n, 1))
    return [slice(at, at + size) for at in range(0, rows, size)]


def _logistics(
    x: np.ndarray, hit: np.ndarray, centre: np.ndarray, start: np.ndarray | None
) -> np.ndarray:
    r, d, n = x.shape
    pairs = np.triu_indices(d)
    products = x[:, pairs[0]] * x[:, pairs[1]]
    target = _rows_times(x, hit) / n

    def value(rows: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(loss, gradient, Hessian) of some rows."""
        of, of_pairs = (x, products) if len(rows) == r else (x[rows], products[rows])
        t = (w[:, None, :] @ of)[:, 0]
        e = np.exp(-np.abs(t))
        away = w - centre
        loss = (np.maximum(t, 0.0) + np.log1p(e)).sum(axis=1) / n - (target[rows] * w).sum(axis=1)
        loss += 0.5 * RIDGE * (away * away).sum(axis=1)
        larger = 1.0 / (1.0 + e)
        e *= larger
        gradient = _rows_times(of, np.where(t >= 0.0, larger, e)) / n - target[rows] + RIDGE * away
        e *= larger
        hessian = np.empty((len(w), d, d))
        hessian[:, pairs[0], pairs[1]] = hessian[:, pairs[1], pairs[0]] = (
            _rows_times(of_pairs, e) / n
        )
        hessian[:, np.arange(d), np.arange(d)] += RIDGE
        return loss, gradient, hessian

    found = np.zeros((r, d)) if start is None else start.copy()
    rows, w = np.arange(r), found.copy()
    held = value(rows, w)
    for _ in range(STEPS):
        step = np.linalg.solve(held[2], held[1][:, :, None])[:, :, 0]
        decrement = (held[1] * step).sum(axis=1)
        going = decrement > LAST
        found[rows] = np.where((decrement >= 0.0)[:, None], w - step, w)  # of those that are done
        if not going.any():
            return found
        rows, w, step, decrement = rows[going], w[going], step[going], decrement[going]
        held = held[0][going], held[1][going], held[2][going]
        size, stuck = np.ones(len(rows)), np.zeros(len(rows), dtype=bool)
        least = SMALLEST_STEP if start is None else SMALLEST_WARM_STEP
        trial = value(rows, w - step)
        while (short := ~stuck & ~(trial[0] <= held[0] - ARMIJO * size * decrement)).any():
            size[short] /= 2.0
            stuck |= short & (size < least)
            at = np.flatnonzero(short & ~stuck)
            for part, again in zip(trial, value(rows[at], w[at] - size[at, None] * step[at])):
                part[at] = again
        w = w - size[:, None] * step
        if (
            stuck.any()
        ):  # rounding: nothing is left to gain; or far from the minimum, where all is flat
            at = rows[stuck]
            w[stuck] += size[stuck, None] * step[stuck]
            found[at] = w[stuck] if start is None else _logistics(x[at], hit[at], centre, None)
            rows, w = rows[~stuck], w[~stuck]
            trial = trial[0][~stuck], trial[1][~stuck], trial[2][~stuck]
            if not len(rows):
                return found
        held = trial
    found[rows] = w
    return found


def _rows_times(x: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Sums of x (r, d, n) times v (r, n) over n, (r, d)."""
    return (x @ v[:, :, None])[:, :, 0]


def one_versus_rest(
    fit_one: Callable[[np.ndarray, np.ndarray], CalibrationMap], p: np.ndarray, y: np.ndarray
) -> CalibrationMap:
    """The map of vectors from maps of scalars: q_j of p_j against 1{y = j}, divided by the row's sum (1/k where all are 0).

    fit_one(p (n,), hit (n,)) returns a map of (m,) to (m,)."""
    maps = [fit_one(p[:, j], (y == j).astype(np.int64)) for j in range(p.shape[1])]

    return lambda x: normalised(np.column_stack([one(x[:, j]) for j, one in enumerate(maps)]))


def normalised(scores: np.ndarray) -> np.ndarray:
    """Rows of scores divided by their sum, 1/k where all are 0."""
    total = scores.sum(axis=1, keepdims=True)
    return np.divide(
        scores, total, out=np.full_like(scores, 1.0 / scores.shape[1]), where=total > 0
    )
