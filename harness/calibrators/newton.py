"""Damped Newton steps for convex log-losses, and one-versus-rest: what the parametric calibrators share."""

from __future__ import annotations

import numpy as np
from scipy.special import expit

RIDGE = 1e-6  # on the distance from the identity map: keeps separable samples finite, and moves the log-loss by as little
STEPS = 200
LAST = 1e-12  # the decrement below which one more full step is exact to rounding
ARMIJO = 1e-4
SMALLEST_STEP = 1e-9


def newton(value, hessian, start):
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


def logistic(x, y, centre, penalty=None):
    """w (d,) of least mean log-loss of sigma(x w) + (w - centre)' penalty (w - centre) / 2.

    x: features (n, d); y: labels (n,) in {0, 1}; centre: (d,); penalty: (d, d), RIDGE times the unit matrix if None. The steps
    start at w = 0, where the loss is most curved, so that saturated predictions do no harm."""
    n = len(y)
    penalty = RIDGE * np.eye(len(centre)) if penalty is None else penalty
    target = x.T @ y / n

    last = {}  # the steps ask for the Hessian where they asked for the value last

    def value(w):
        t = x @ w
        pull = penalty @ (w - centre)
        loss = np.logaddexp(0.0, t).mean() - float(target @ w) + 0.5 * float((w - centre) @ pull)
        last["w"], last["s"] = w, expit(t)
        return loss, x.T @ last["s"] / n - target + pull

    def hessian(w):
        s = last["s"] if np.array_equal(last.get("w"), w) else expit(x @ w)
        return (x * (s * (1.0 - s))[:, None]).T @ x / n + penalty

    return newton(value, hessian, np.zeros(x.shape[1]))


def one_versus_rest(fit_one, p, y):
    """The map of vectors from maps of scalars: q_j of p_j against 1{y = j}, divided by the row's sum (1/k where all are 0).

    fit_one(p (n,), hit (n,)) returns a map of (m,) to (m,)."""
    maps = [fit_one(p[:, j], (y == j).astype(np.int64)) for j in range(p.shape[1])]

    def q(x):
        scores = np.column_stack([one(x[:, j]) for j, one in enumerate(maps)])
        total = scores.sum(axis=1, keepdims=True)
        return np.divide(scores, total, out=np.full_like(scores, 1.0 / scores.shape[1]), where=total > 0)

    return q
