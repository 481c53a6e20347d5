"""Softmax regression on logits with a weak quadratic penalty: the fit behind matrix scaling, Dirichlet calibration and structured
matrix scaling.

    w minimises   mean of -log softmax(w x)_y + sum over coefficients of penalty (w - identity)^2,   w (k, d), x (d, n)

The folds of a cross-fit share four fifths of their samples: each fit starts where the last one ended, in coordinates in which the
Hessian there is nearly the identity.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from scipy.linalg import solve_triangular

from harness.calibrators.newton import Hessian, Objective, newton
from harness.math.softmax import softmax

DENSE_CLASSES = 30  # up to here a Hessian of k d coefficients is formed
HESSIAN_ROWS = 4096  # samples that it is estimated from
BLOCK_ROWS = 512  # for more classes: those that the blocks of single classes are estimated from
NEWTON_PRODUCTS = (
    4_000_000  # samples times squared coefficients: up to here Newton's steps are cheap
)
REFRESH = 40  # steps after which the Hessian is formed again
ROUNDS = 12  # of these, before it is formed for every step
QUASI_NEWTON = {
    "maxiter": REFRESH,
    "maxfun": 4 * REFRESH,
    "maxcor": 20,
    "ftol": 1e-15,
    "gtol": 1e-9,
}
Step: TypeAlias = Callable[[np.ndarray], np.ndarray]
Scaling: TypeAlias = tuple[Step, Step]  # from coordinates to a step of w, from a gradient to theirs


class SoftmaxFit:
    """Fits of similar samples, one after the other: x (d, n), y (n,), penalty (k, d) positive, start (k, d) of the first fit."""

    def __init__(self) -> None:
        self.w: np.ndarray | None = None
        self.scaling: Scaling | None = None

    def __call__(
        self, x: np.ndarray, y: np.ndarray, penalty: np.ndarray, start: np.ndarray
    ) -> np.ndarray:
        first = self.w is None
        value, hessian = _objective(x, y, penalty)
        k, d = penalty.shape
        w = (start if self.w is None else self.w).ravel()
        if x.shape[1] * (k * d) ** 2 <= NEWTON_PRODUCTS:
            w = newton(value, hessian, w)
        else:
            w = self._quasi_newton(
                value,
                hessian,
                lambda at: _scaling(x, at.reshape(k, d), penalty, hessian),
                w,
                k <= DENSE_CLASSES,
            )
            if first and k <= DENSE_CLASSES:
                self.scaling = _scaling(x, w.reshape(k, d), penalty, hessian)
        self.w = w.reshape(k, d)
        return self.w

    def _quasi_newton(
        self,
        value: Objective,
        hessian: Hessian,
        scaling: Callable[[np.ndarray], Scaling],
        w: np.ndarray,
        dense: bool,
    ) -> np.ndarray:
        from scipy.optimize import minimize  # slow to import

        options = QUASI_NEWTON if dense else {**QUASI_NEWTON, "maxiter": 2000, "maxfun": 4000}
        for _ in range(ROUNDS):
            if self.scaling is None:
                self.scaling = scaling(w)
            down, up = self.scaling

            def objective(
                v: np.ndarray, at: np.ndarray = w, down: Step = down, up: Step = up
            ) -> tuple[float, np.ndarray]:
                loss, gradient = value(at + down(v))
                return loss, up(gradient)

            found = minimize(
                objective, np.zeros(w.size), jac=True, method="L-BFGS-B", options=options
            )
            w = w + down(found.x)
            if found.status == 0 or not dense:
                return w
            self.scaling = None
            if found.status == 2:  # no step along the direction is an improvement
                break
        return newton(
            value, hessian, w
        )  # few samples of many classes: the Hessian changes with every step


def _objective(x: np.ndarray, y: np.ndarray, penalty: np.ndarray) -> tuple[Objective, Hessian]:
    """(value(w) -> (loss, gradient), hessian(w)), of flat w."""
    k, (d, n) = len(penalty), x.shape
    identity = np.eye(k, d)
    outcome = y * n + np.arange(n)  # positions in a flat (k, n) array
    transposed = np.ascontiguousarray(x.T)

    def value(w: np.ndarray) -> tuple[float, np.ndarray]:
        w = w.reshape(k, d)
        t = w @ x
        t -= t.max(axis=0)
        right = t.ravel()[outcome].sum()
        np.exp(t, out=t)
        total = t.sum(axis=0)
        away = w - identity
        pull = penalty * away
        loss = (np.log(total).sum() - right) / n + (pull * away).sum()
        t /= total
        t.ravel()[outcome] -= 1.0
        return float(loss), (t @ transposed / n + 2.0 * pull).ravel()

    def hessian(w: np.ndarray) -> np.ndarray:
        return softmax_hessian(w.reshape(k, d), x, penalty)

    return value, hessian


def softmax_hessian(w: np.ndarray, x: np.ndarray, penalty: np.ndarray) -> np.ndarray:
    """The Hessian (k d, k d) at w. Its mean over samples is of at most HESSIAN_ROWS of them, evenly spaced."""
    k, d = penalty.shape
    part = np.ascontiguousarray(x[:, :: -(-x.shape[1] // HESSIAN_ROWS)])
    n = part.shape[1]
    s = softmax(w @ part, axis=0)
    outer = (s[:, None, :] * part).reshape(k * d, n)
    hessian = outer @ outer.T
    hessian /= -n
    blocks = hessian.reshape(k, d, k, d)
    blocks[np.arange(k), :, np.arange(k), :] += (outer @ part.T / n).reshape(k, d, d)
    hessian[np.arange(k * d), np.arange(k * d)] += 2.0 * penalty.ravel()
    return hessian


def _scaling(x: np.ndarray, w: np.ndarray, penalty: np.ndarray, hessian: Hessian) -> Scaling:
    """(down(v) -> a step of w, up(gradient) -> that of v): coordinates v in which the Hessian at w is about the identity; for
    more than DENSE_CLASSES classes but for what couples them."""
    k, d = penalty.shape
    if k <= DENSE_CLASSES:
        inverse = solve_triangular(
            np.linalg.cholesky(hessian(w.ravel())), np.eye(k * d), lower=True, check_finite=False
        )
        back = np.ascontiguousarray(inverse.T)
        return (lambda v: back @ v), (lambda g: inverse @ g)
    part = x[:, :: -(-x.shape[1] // BLOCK_ROWS)]
    s = softmax(w @ part, axis=0)
    spread = np.stack([(part * (one * (1.0 - one) / part.shape[1])) @ part.T for one in s])
    spread[:, np.arange(d), np.arange(d)] += 2.0 * penalty
    inverse = np.linalg.inv(np.linalg.cholesky(spread))

    def down(v: np.ndarray) -> np.ndarray:
        return (v.reshape(k, 1, d) @ inverse).ravel()

    def up(g: np.ndarray) -> np.ndarray:
        return (inverse @ g.reshape(k, d, 1)).ravel()

    return down, up
