"""Scalings of the logits: quadratic (binary) and structured matrix scaling (more classes)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from harness.calibrators.temperature import Temperature, _log_odds, _logs, _softmax
from harness.errors import BadInputError

RIDGE = 1e-6  # on the distance from the identity map: keeps separable samples finite
DENSE_CLASSES = 30  # up to here a Hessian of k (k + 1) coordinates is formed
HESSIAN_ROWS = 4096  # samples that it is estimated from


def smoothed(q, n):
    """(1 - 1/(n + 1)) q + 1/(n + 1) uniform, for a map fitted on n samples: no class is ever impossible (the mixture that
    berta2026's library adds to fitted calibrators)."""
    k = 2 if q.ndim == 1 else q.shape[1]
    return q * (n / (n + 1.0)) + 1.0 / ((n + 1.0) * k)


@dataclass(frozen=True)
class QuadraticScaling:
    """q = sigma(a + b l + c l^2), l = logit p with each log floored at -87.336, (a, b, c) of least log-loss, then mixed with
    1/(n + 1) of the uniform (unless `mixture` is false). berta2026's binary recalibration after boosted trees (QS).

    Newton steps with the analytic Hessian to the exact minimum, a ridge of 1e-6 to (0, 1, 0) keeping separable samples finite.
    `scikit_learn` takes the authors' call instead: float32 logits, lbfgs in float64 with its default tolerance, no ridge: so do
    all published runs come back (scikit-learn of today, given float32 logits, also fits in float32, and turns some signs of
    q - f). O(n) per step.
    """

    mixture: bool = True
    scikit_learn: bool = False

    determinism = "exact"
    max_classes = 2

    def fit(self, p, y, rng=None):
        if p.ndim == 2:
            if p.shape[1] != 2:
                raise BadInputError(f"p has {p.shape[1]} columns; quadratic scaling is of two classes.")
            return on_columns(self, p, y, rng)
        w = self._by_scikit_learn(p, y) if self.scikit_learn else _quadratic(self._features(p), y)
        n = len(p)

        def q(x):
            value = expit(self._features(x) @ w)
            return smoothed(value, n) if self.mixture else value

        return q

    def _features(self, p):
        if self.scikit_learn:
            p = p.astype(np.float32)  # before 1 - p: what rounds to 1 is as far out as a float32 can be
            both = np.log(np.maximum(np.stack([1.0 - p, p]), _TINY))
            logits = (both[1] - both[0]).astype(np.float64)
        else:
            logits = _log_odds(p)
        return np.column_stack([np.ones_like(logits), logits, logits**2])

    def _by_scikit_learn(self, p, y):
        from sklearn.linear_model import LogisticRegression

        if len(np.unique(y)) < 2:
            return np.array([np.inf if y[0] else -np.inf, 0.0, 0.0])
        model = LogisticRegression(C=np.inf, fit_intercept=False)
        return model.fit(self._features(p), y).coef_[0]


@dataclass(frozen=True)
class StructuredMatrixScaling:
    """q = softmax(z + D z + b), z = log of temperature-scaled p, D (k, k) and b (k,) minimising

        mean log-loss + (k/n) |b|^2 + (k/n) |diag D|^2 + (k (k-1)/n) |offdiag D|^2

    (ridge towards temperature scaling, weaker on the diagonal). `mixture` mixes the result with 1/(n + 1) of the uniform; the
    temperature-scaled input is mixed in any case. Strictly convex: L-BFGS with the analytic gradient, in coordinates in which
    the Hessian at the start is the identity (for k <= 30). For two classes it is quadratic scaling. berta2026, Section 5 (SMS).
    O(n k^2) per gradient.
    """

    mixture: bool = False

    determinism = "exact"

    def fit(self, p, y, rng=None):
        if p.ndim == 1 or p.shape[1] == 2:
            return QuadraticScaling(mixture=self.mixture).fit(p, y, rng)
        n, k = p.shape
        temperature = Temperature().fit(p, y)
        w = _structured(_logs(smoothed(temperature(p), n)), y)

        def q(x):
            z = _logs(smoothed(temperature(x), n))
            value = _softmax(z + z @ w[:, :k].T + w[:, k])
            return smoothed(value, n) if self.mixture else value

        return q


def on_columns(calibrator, p, y, rng):
    """Fit a calibrator of scalars on the second of two columns; the map is of two columns again."""
    q = calibrator.fit(p[:, 1], y, rng)

    def both(x):
        value = q(x[:, 1])
        return np.column_stack([1.0 - value, value])

    return both


def _quadratic(features, y):
    """Minimiser of mean log-loss + RIDGE/2 |w - (0, 1, 0)|^2."""
    from scipy.optimize import minimize

    n, identity = len(y), np.array([0.0, 1.0, 0.0])
    scale = np.maximum(np.abs(features).max(axis=0), 1.0)  # so that the three coordinates are alike to the trust region
    x = features / scale

    def value(v):
        t = x @ v
        away = v / scale - identity
        loss = np.logaddexp(0.0, t).mean() - t @ y / n + 0.5 * RIDGE * away @ away
        return loss, x.T @ (expit(t) - y) / n + RIDGE * away / scale

    def hessian(v):
        s = expit(x @ v)
        return (x * (s * (1.0 - s))[:, None]).T @ x / n + np.diag(RIDGE / scale**2)

    found = minimize(value, identity * scale, jac=True, hess=hessian, method="trust-exact", options=_PRECISE)
    return found.x / scale


def _structured(z, y):
    """(k, k + 1) matrix [D, b] of the minimum."""
    from scipy.linalg import solve_triangular
    from scipy.optimize import minimize

    n, k = z.shape
    x = np.column_stack([z, np.ones(n)])
    penalty = np.full((k, k + 1), k * (k - 1) / n)
    penalty[np.arange(k), np.arange(k)] = penalty[:, k] = k / n
    cell = np.arange(n) * k + y

    def value(w):
        t = z + x @ w.T
        t -= t.max(axis=1, keepdims=True)
        of_outcome = t.ravel()[cell].mean()
        np.exp(t, out=t)
        total = t.sum(axis=1)
        loss = np.log(total).mean() - of_outcome + (penalty * w * w).sum()
        t /= total[:, None]
        t.ravel()[cell] -= 1.0
        return loss, t.T @ x / n + 2.0 * penalty * w

    factor = np.linalg.cholesky(_hessian(z, x, penalty)) if k <= DENSE_CLASSES else None

    def to_w(v):
        return (v if factor is None else solve_triangular(factor, v, lower=True, trans="T")).reshape(k, k + 1)

    def objective(v):
        loss, gradient = value(to_w(v))
        gradient = gradient.ravel()
        return loss, gradient if factor is None else solve_triangular(factor, gradient, lower=True)

    options = {"maxiter": 2000, "maxcor": 20, "ftol": 1e-13, "gtol": 1e-6}
    return to_w(minimize(objective, np.zeros(k * (k + 1)), jac=True, method="L-BFGS-B", options=options).x)


def _hessian(z, x, penalty):
    """Of the objective at D = 0, b = 0, its sum over samples estimated from at most HESSIAN_ROWS of them, evenly spaced."""
    n, k = z.shape
    rows = slice(None, None, -(-n // HESSIAN_ROWS))
    s, part = _softmax(z[rows]), x[rows]
    outer = (s[:, :, None] * part[:, None, :]).reshape(len(part), -1)
    hessian = np.diag(2.0 * penalty.ravel()) - outer.T @ outer / len(part)
    blocks = hessian.reshape(k, k + 1, k, k + 1)
    blocks[np.arange(k), :, np.arange(k), :] += (outer.T @ part / len(part)).reshape(k, k + 1, k + 1)
    return hessian


_TINY = np.finfo(np.float32).tiny
_PRECISE = {"gtol": 1e-8, "maxiter": 200}
