"""Calibrators by quadratic scaling (two classes) and structured matrix scaling of the logits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from harness.calibrators.base import CalibrationMap, FitEach, refuse_masked_sample
from harness.calibrators.logits import floored_log, log_odds, on_columns
from harness.calibrators.newton import RIDGE
from harness.calibrators.softmax_fit import SoftmaxFit
from harness.calibrators.temperature import Temperature
from harness.errors import BadInputError
from harness.math.softmax import softmax

TRUST_REGION = {"gtol": 1e-8, "maxiter": 200}


def smoothed(q: np.ndarray, n: float) -> np.ndarray:
    """Return q mixed with the uniform distribution: (n q + 1/k) / (n + 1).

    q holds probabilities of k classes from a map that was fitted on n samples. Afterwards no class
    has probability 0. The library of berta2026 adds this mixture to fitted calibrators.
    """
    k = 2 if q.ndim == 1 else q.shape[1]
    return q * (n / (n + 1.0)) + 1.0 / ((n + 1.0) * k)


@dataclass(frozen=True)
class QuadraticScaling:
    """Quadratic function of the logit, fitted by the log-loss; two classes only.

        q(p) = sigma(a + b l + c l^2),   l = logit p

    sigma is the logistic function, and (a, b, c) minimise the mean log-loss. Logs are floored at
    -87.336. By default, the result is mixed with the uniform distribution.

    Parameters
    ----------
    mixture : bool
        If True, q becomes (n q + 1/2) / (n + 1) with n the number of fitted samples, so that no
        class has probability 0.

    Raises
    ------
    BadInputError
        For more than two classes.

    Notes
    -----
    Newton steps with the analytic Hessian find the exact minimum. A ridge of 1e-6 towards the
    identity (0, 1, 0) keeps the fit finite if a threshold separates the classes. Determinism:
    exact. Cost: O(n) per step.

    References
    ----------
    berta2026, Section 5 (QS): the recalibration after boosted trees.

    Examples
    --------
    Three distinct predictions and three coefficients: each prediction gets its share of ones.

    >>> import numpy as np
    >>> p = np.repeat([0.1, 0.4, 0.8], [4, 5, 10])
    >>> y = np.r_[1, 0, 0, 0, 1, 1, 0, 0, 0, np.ones(7), np.zeros(3)].astype(int)
    >>> QuadraticScaling(mixture=False).fit(p, y)(np.array([0.1, 0.4, 0.8])).round(3)
    array([0.25, 0.4 , 0.7 ])
    """

    mixture: bool = True

    determinism = "exact"
    max_classes = 2

    def fit(
        self, p: np.ndarray, y: np.ndarray, rng: np.random.Generator | int | None = None
    ) -> CalibrationMap:
        refuse_masked_sample(p, y)
        if p.ndim == 2:
            if p.shape[1] != 2:
                raise BadInputError(
                    f"p has {p.shape[1]} columns; QuadraticScaling needs two classes."
                )
            return on_columns(self, p, y, rng)
        w, n = self.coefficients(p, y), len(p)

        def q(x: np.ndarray) -> np.ndarray:
            value = expit(powers(self.logits(x)) @ w)
            return smoothed(value, n) if self.mixture else value

        return q

    def logits(self, p: np.ndarray) -> np.ndarray:
        """Return the logits l of the predictions, (n,)."""
        return log_odds(p)

    def coefficients(self, p: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return the fitted (a, b, c), shape (3,), of a + b l + c l^2 with l the logit."""
        return _quadratic(powers(self.logits(p)), y)


@dataclass(frozen=True)
class StructuredMatrixScaling(FitEach):
    """Linear map of the logits, with a ridge towards temperature scaling.

        q(p) = softmax(z + D z + b),   z = log of temperature-scaled p

    The matrix D (k, k) and the shift b (k,) minimise, for n samples of k classes,

        mean log-loss + (k/n) |b|^2 + (k/n) |diag D|^2 + (k (k-1)/n) |offdiag D|^2

    For two classes it is `QuadraticScaling`.

    Parameters
    ----------
    mixture : bool
        If True, q becomes (n q + 1/k) / (n + 1), so that no class has probability 0. The
        temperature-scaled input is always mixed in this way.

    Notes
    -----
    The objective is strictly convex. Its minimum is found as in `MatrixScaling`. Determinism:
    exact. Cost: O(n k^2) per gradient.

    References
    ----------
    berta2026, Section 5 (SMS).

    Examples
    --------
    >>> import numpy as np
    >>> p = np.tile([0.5, 0.3, 0.2], (3000, 1))  # constant p: q is near the class shares
    >>> y = np.repeat([0, 1, 2], [600, 900, 1500])
    >>> StructuredMatrixScaling().fit(p, y)(p[:1]).round(1)
    array([[0.2, 0.3, 0.5]])
    """

    mixture: bool = False

    determinism = "exact"
    revision = 1  # since revision 1, the fit runs until convergence

    def fit_each(
        self,
        p: np.ndarray,
        y: np.ndarray,
        seen: np.ndarray,
        rng: np.random.Generator | int | None = None,
    ) -> Iterator[CalibrationMap]:
        if p.ndim == 1 or p.shape[1] == 2:
            quadratic = QuadraticScaling(mixture=self.mixture)
            return (quadratic.fit(p[mask], y[mask], rng) for mask in seen)
        return self._fits(p, y, seen)

    def _fits(
        self, p: np.ndarray, y: np.ndarray, seen: Iterable[np.ndarray]
    ) -> Iterator[CalibrationMap]:
        """Yield the map for the samples in each row of `seen`, for more than two classes."""
        fit = SoftmaxFit()
        for mask in seen:
            labels = y[mask]
            n, k = len(labels), p.shape[1]
            temperature = Temperature().fit(p[mask], labels)
            z = floored_log(smoothed(temperature(p[mask]), n))
            w = fit(np.vstack([z.T, np.ones(n)]), labels, penalty(n, k), np.eye(k, k + 1))
            yield self._map(temperature, w, n)

    def _map(self, temperature: CalibrationMap, w: np.ndarray, n: int) -> CalibrationMap:
        """Return the map q with fitted temperature and coefficients w = [D + identity, b]."""

        def q(x: np.ndarray) -> np.ndarray:
            z = floored_log(smoothed(temperature(x), n))
            value = softmax(z @ w[:, :-1].T + w[:, -1])
            return smoothed(value, n) if self.mixture else value

        return q


def penalty(n: int, k: int) -> np.ndarray:
    """Return the penalty of each coefficient of [D, b], (k, k + 1), for n samples and k classes."""
    weights = np.full((k, k + 1), k * (k - 1) / n)
    weights[np.arange(k), np.arange(k)] = weights[:, k] = k / n
    return weights


def powers(logits: np.ndarray) -> np.ndarray:
    """Return the columns 1, l, l^2 of the logits l (n,), shape (n, 3)."""
    return np.column_stack([np.ones_like(logits), logits, logits**2])


def _quadratic(features: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return w (3,) that minimises the mean log-loss + RIDGE/2 |w - (0, 1, 0)|^2.

    `features` (n, 3) holds the powers of the logits.
    """
    n, identity = len(y), np.array([0.0, 1.0, 0.0])
    # The trust region is a ball, so all coordinates need a similar scale.
    scale = np.maximum(np.abs(features).max(axis=0), 1.0)
    x = features / scale

    def value(v: np.ndarray) -> tuple[float, np.ndarray]:
        t = x @ v
        away = v / scale - identity
        loss = np.logaddexp(0.0, t).mean() - t @ y / n + 0.5 * RIDGE * away @ away
        return loss, x.T @ (expit(t) - y) / n + RIDGE * away / scale

    def hessian(v: np.ndarray) -> np.ndarray:
        s = expit(x @ v)
        return (x * (s * (1.0 - s))[:, None]).T @ x / n + np.diag(RIDGE / scale**2)

    minimum = minimize(
        value, identity * scale, jac=True, hess=hessian, method="trust-exact", options=TRUST_REGION
    )
    return minimum.x / scale
