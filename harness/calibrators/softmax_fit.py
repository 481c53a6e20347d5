"""Softmax regression with a quadratic penalty, for matrix-like scalings of the logits.

    w minimises   mean of -log softmax(w x)_y + sum of penalty (w - identity)^2

w (k, d) are the coefficients, x (d, n) the features of n samples, and y (n,) the labels of k
classes. Matrix scaling, Dirichlet calibration and structured matrix scaling use this fit.

The folds of a cross-fit share most of their samples. Each fit therefore starts at the previous
minimum, in coordinates in which the Hessian there is close to the identity.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from scipy.linalg import solve_triangular
from scipy.optimize import minimize

from harness.calibrators.newton import Hessian, Objective, newton
from harness.math.softmax import softmax

DENSE_CLASSES = 30  # up to this many classes, the full Hessian of k d coefficients is computed
HESSIAN_ROWS = 4096  # most samples from which the full Hessian is estimated
# With more classes, the Hessian's blocks of single classes are estimated from about this many
# samples.
BLOCK_ROWS = 512
NEWTON_PRODUCTS = 4_000_000  # if n (k d)^2 is at most this, Newton steps are cheaper than L-BFGS
REFRESH = 40  # number of steps after which the Hessian is computed again
ROUNDS = 12  # after this many rounds of REFRESH steps, the Hessian is computed in every step
QUASI_NEWTON = {
    "maxiter": REFRESH,
    "maxfun": 4 * REFRESH,
    "maxcor": 20,
    "ftol": 1e-15,
    "gtol": 1e-9,
}
Step: TypeAlias = Callable[[np.ndarray], np.ndarray]
# (function from coordinates to a step of w, function from a gradient in w to one in coordinates)
Scaling: TypeAlias = tuple[Step, Step]


class SoftmaxFit:
    """Fits softmax regressions to similar samples, one after the other.

    A call takes features x (d, n), labels y (n,), a positive penalty (k, d) and the start (k, d) of
    the first fit. It returns the coefficients (k, d).
    """

    def __init__(self) -> None:
        self.w: np.ndarray | None = None
        self.scaling: Scaling | None = None

    def __call__(
        self, x: np.ndarray, y: np.ndarray, penalty: np.ndarray, start: np.ndarray
    ) -> np.ndarray:
        """Return the coefficients (k, d) for one sample."""
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
                lambda v: _scaling(x, v.reshape(k, d), penalty, hessian),
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
        """Return the flat coefficients w that minimise the loss, by L-BFGS from the given w.

        value(w) returns the loss and its gradient, and hessian(w) the Hessian. scaling(w) returns
        coordinates in which the Hessian is close to the identity. With `dense`, the coordinates are
        computed again after every REFRESH steps.
        """
        options = QUASI_NEWTON if dense else {**QUASI_NEWTON, "maxiter": 2000, "maxfun": 4000}
        for _ in range(ROUNDS):
            if self.scaling is None:
                self.scaling = scaling(w)
            down, up = self.scaling

            def objective(
                v: np.ndarray, origin: np.ndarray = w, down: Step = down, up: Step = up
            ) -> tuple[float, np.ndarray]:
                loss, gradient = value(origin + down(v))
                return loss, up(gradient)

            minimum = minimize(
                objective, np.zeros(w.size), jac=True, method="L-BFGS-B", options=options
            )
            w = w + down(minimum.x)
            if minimum.status == 0 or not dense:
                return w
            self.scaling = None
            if minimum.status == 2:  # no step along the direction is an improvement
                break
        # With few samples of many classes, the Hessian changes in every step.
        return newton(value, hessian, w)


def _objective(x: np.ndarray, y: np.ndarray, penalty: np.ndarray) -> tuple[Objective, Hessian]:
    """Return the functions value(w) -> (loss, gradient) and hessian(w) of flat coefficients w."""
    k, (d, n) = len(penalty), x.shape
    identity = np.eye(k, d)
    outcome = y * n + np.arange(n)  # positions of the labels in a flat (k, n) array
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
    """Return the Hessian (k d, k d) at coefficients w, from at most 4,096 evenly spaced samples."""
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
    """Return coordinates v in which the Hessian at w is close to the identity.

    The result is a pair of functions: down(v) is a step of w, and up(g) is the gradient in v of a
    gradient g in w. With more than DENSE_CLASSES classes, entries of the Hessian that couple two
    classes are ignored.
    """
    k, d = penalty.shape
    if k <= DENSE_CLASSES:
        inverse = solve_triangular(
            np.linalg.cholesky(hessian(w.ravel())), np.eye(k * d), lower=True, check_finite=False
        )
        back = np.ascontiguousarray(inverse.T)
        return (lambda v: back @ v), (lambda g: inverse @ g)
    part = x[:, :: -(-x.shape[1] // BLOCK_ROWS)]
    s = softmax(w @ part, axis=0)
    blocks = np.stack([(part * (q * (1.0 - q) / part.shape[1])) @ part.T for q in s])
    blocks[:, np.arange(d), np.arange(d)] += 2.0 * penalty
    inverse = np.linalg.inv(np.linalg.cholesky(blocks))

    def down(v: np.ndarray) -> np.ndarray:
        return (v.reshape(k, 1, d) @ inverse).ravel()

    def up(g: np.ndarray) -> np.ndarray:
        return (inverse @ g.reshape(k, d, 1)).ravel()

    return down, up
