"""Scalings of the logits of more than two classes: vector scaling, matrix scaling and Dirichlet calibration."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from harness.calibrators.base import CalibrationMap, fit_all
from harness.calibrators.logits import floored_log
from harness.calibrators.newton import RIDGE, newton
from harness.calibrators.sigmoids import Platt
from harness.calibrators.softmax_fit import HESSIAN_ROWS, SoftmaxFit
from harness.calibrators.temperature import Temperature
from harness.errors import BadInputError
from harness.math.softmax import softmax

LARGEST_SLOPE = 20.0  # at the start


@dataclass(frozen=True)
class VectorScaling:
    """Vector scaling: each logit gets a slope and a shift of its own.

        q(p) = softmax(w * z + b),   z = log p - its mean over the classes,   w, b (k,) of least mean log-loss

    For two classes it is `Platt`. Logs are floored at -87.336.

    Notes
    -----
    Newton steps with the analytic Hessian, for k > 100 that of at most 4,096 samples; a ridge of 1e-6 to the identity keeps
    separable samples finite. No class looks at another class's logit: confusions of two classes stay undetected, so that a
    variational estimate with it is a lower bound that may be far from tight; its noise costs about k / n in kl. Determinism:
    exact. Cost: O(n k^2) per step, about eight of them.

    References
    ----------
    Guo et al. (2017), On calibration of modern neural networks, Section 4.2. There z are a network's own logits; from
    probabilities they are known up to a constant, which is chosen so that their mean is 0.

    Examples
    --------
    >>> import numpy as np
    >>> p, y = np.tile([0.5, 0.3, 0.2], (10, 1)), np.repeat([0, 1, 2], [2, 3, 5])  # constant: the shares
    >>> VectorScaling().fit(p, y)(p[:1]).round(3)
    array([[0.2, 0.3, 0.5]])
    """

    determinism = "exact"
    seconds = 3e-3

    def fit(
        self, p: np.ndarray, y: np.ndarray, rng: np.random.Generator | int | None = None
    ) -> CalibrationMap:
        return fit_all(self, p, y)

    def fit_each(
        self,
        p: np.ndarray,
        y: np.ndarray,
        seen: np.ndarray,
        rng: np.random.Generator | int | None = None,
    ) -> Iterator[CalibrationMap]:
        if p.ndim == 1 or p.shape[1] == 2:
            return Platt().fit_each(p, y, seen, rng)
        return (_vector_map(w, b) for w, b in self._vectors(p, y, seen))

    def coefficients(self, p: np.ndarray, y: np.ndarray) -> np.ndarray:
        """w and b as rows, (2, k), of more than two classes."""
        return next(self._vectors(p, y, [slice(None)]))

    def _vectors(
        self, p: np.ndarray, y: np.ndarray, seen: Iterable[np.ndarray | slice]
    ) -> Iterator[np.ndarray]:
        z, w = centred_logits(p), None
        for own in seen:
            labels = y[own]
            k = p.shape[1]
            start = (
                np.repeat([_start(p[own], labels), 0.0], k) if w is None else w.ravel()
            )  # else next to the last minimum
            w = _vector(z[own], labels, start)
            yield w


@dataclass(frozen=True)
class MatrixScaling:
    """Matrix scaling: every class looks at all logits.

        q(p) = softmax(W z + b),   z = log p - its mean over the classes

    W (k, k) and b (k,) minimise   mean log-loss + (ridge / n) (sum of the squares of W off its diagonal and of b).
    For two classes it is `Platt`. Logs are floored at -87.336.

    Parameters
    ----------
    ridge : float
        That of a normal prior of variance 1 / (2 ridge) on each of these coefficients; it vanishes with n.

    Notes
    -----
    k (k + 1) coefficients, whose noise costs a variational estimate about k^2 / (2 n) in kl: with few samples it falls far below
    the error, below 0 as well; with many it is the tightest of the linear scalings. A further ridge of 1e-6 draws
    to the identity. Newton steps where n k^4 is below some 4e6, else L-BFGS with the analytic gradient in coordinates in
    which the Hessian (for k > 30 its blocks of single classes) is about the identity; where that takes more than 40 steps, the
    Hessian is formed again. Folds begin at each other's minimum. Determinism: exact. Cost: O(n k^2) per gradient.

    References
    ----------
    Guo et al. (2017), Section 4.2, without a penalty; that of W off the diagonal and of b is the ODIR of Kull et al. (2019),
    eq. 8, with another weight.

    Examples
    --------
    Class 2 is taken for class 1 half of the time, wherever it is predicted.

    >>> import numpy as np
    >>> p = np.repeat([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]], 1000, axis=0)
    >>> y = np.repeat([0, 1, 2, 0, 1, 0, 1, 2], [800, 100, 100, 100, 900, 100, 450, 450])
    >>> MatrixScaling().fit(p, y)(p[[0, 2000]]).round(2)
    array([[0.8 , 0.1 , 0.1 ],
           [0.1 , 0.45, 0.45]])
    """

    ridge: float = 1.0

    determinism = "exact"
    revision = 1  # minimised to the end
    null_bias = 0.1
    seconds = 1e-2

    def __post_init__(self) -> None:
        if not 0.0 <= self.ridge < np.inf:
            raise BadInputError(f"ridge is {self.ridge}; a number of at least 0 is needed.")

    def fit(
        self, p: np.ndarray, y: np.ndarray, rng: np.random.Generator | int | None = None
    ) -> CalibrationMap:
        return fit_all(self, p, y)

    def fit_each(
        self,
        p: np.ndarray,
        y: np.ndarray,
        seen: np.ndarray,
        rng: np.random.Generator | int | None = None,
    ) -> Iterator[CalibrationMap]:
        if p.ndim == 1 or p.shape[1] == 2:
            return Platt().fit_each(p, y, seen, rng)
        return (_map(w, centred_logits) for w in self._matrices(p, y, seen))

    def coefficients(self, p: np.ndarray, y: np.ndarray) -> np.ndarray:
        """[W, b], (k, k + 1), of more than two classes."""
        return next(self._matrices(p, y, [slice(None)]))

    def _matrices(
        self, p: np.ndarray, y: np.ndarray, seen: Iterable[np.ndarray | slice]
    ) -> Iterator[np.ndarray]:
        return _matrices(centred_logits(p), p, y, seen, lambda n: (self.ridge / n, self.ridge / n))


@dataclass(frozen=True)
class DirichletCalibration:
    """Dirichlet calibration: a matrix and a shift of the log-probabilities, with the ODIR penalty.

        q(p) = softmax(W log p + b)

    W (k, k) and b (k,) minimise

        mean log-loss + lambda / (k (k - 1)) sum_{i != j} W_ij^2 + mu / k sum_j b_j^2

    Logs are floored at -87.336. Scalars are the two columns 1 - p, p.

    Parameters
    ----------
    off_diagonal : float
        lambda.
    intercept : float or None
        mu; None is lambda.

    Notes
    -----
    The map of predictions that are Dirichlet distributed within each class; for two classes beta calibration, but that slopes may
    be negative. In contrast to `MatrixScaling` the mean of log p, how near p is to the boundary, is a feature too. The penalty
    does not vanish with n: at the default it is weak (k = 10: 1e-4 per coefficient and nat), and noise is fitted as in
    `MatrixScaling`. Kull et al. choose lambda and mu by cross-validation; here they are fixed, as every fit is inside one. A
    variational estimate with it is biased downwards. Optimiser, determinism and cost: as `MatrixScaling`.

    References
    ----------
    Kull et al. (2019), Beyond temperature scaling: obtaining well-calibrated multiclass probabilities with Dirichlet calibration,
    Sections 2 (linear parametrisation) and 3, ODIR.

    Examples
    --------
    >>> import numpy as np
    >>> p, y = np.array([[0.7, 0.2, 0.1], [0.2, 0.7, 0.1], [0.1, 0.2, 0.7]] * 100), np.tile([0, 1, 2], 100)  # always right
    >>> DirichletCalibration().fit(p, y)(p[:3]).argmax(axis=1)
    array([0, 1, 2])
    """

    off_diagonal: float = 1e-2
    intercept: float | None = None

    determinism = "exact"
    revision = 1  # minimised to the end
    null_bias = 0.1
    seconds = 1e-2

    def __post_init__(self) -> None:
        for name in ("off_diagonal", "intercept"):
            value = getattr(self, name)
            if value is not None and not 0.0 <= value < np.inf:
                raise BadInputError(f"{name} is {value}; a number of at least 0 is needed.")

    def fit(
        self, p: np.ndarray, y: np.ndarray, rng: np.random.Generator | int | None = None
    ) -> CalibrationMap:
        return fit_all(self, p, y)

    def fit_each(
        self,
        p: np.ndarray,
        y: np.ndarray,
        seen: np.ndarray,
        rng: np.random.Generator | int | None = None,
    ) -> Iterator[CalibrationMap]:
        if p.ndim == 1:
            maps = self.fit_each(np.column_stack([1.0 - p, p]), y, seen, rng)
            return (_second_column(both) for both in maps)
        k = p.shape[1]
        mu = self.off_diagonal if self.intercept is None else self.intercept
        penalties = self.off_diagonal / (k * (k - 1)), mu / k
        return (
            _map(w, floored_log) for w in _matrices(floored_log(p), p, y, seen, lambda n: penalties)
        )


def _vector_map(w: np.ndarray, b: np.ndarray) -> CalibrationMap:
    return lambda x: softmax(centred_logits(x) * w + b)


def _second_column(both: CalibrationMap) -> CalibrationMap:
    return lambda x: both(np.column_stack([1.0 - x, x]))[:, 1]


def centred_logits(p: np.ndarray) -> np.ndarray:
    """log p minus its mean over the classes, (n, k)."""
    z = floored_log(p)
    return z - z.mean(axis=1, keepdims=True)


def _start(p: np.ndarray, y: np.ndarray) -> float:
    """beta of temperature scaling, at most 20: where the steps begin."""
    row = np.full((1, p.shape[1]), 1.0)
    row[0, 0] = np.e
    found = floored_log(Temperature().fit(p, y)(row / row.sum()))[0]
    return float(min(found[0] - found[1], LARGEST_SLOPE))


def _of_outcome(t: np.ndarray, y: np.ndarray) -> tuple[float, np.ndarray]:
    """(mean log-loss of softmax(t), q - one-hot y), (n, k); t is written to."""
    t -= t.max(axis=1, keepdims=True)
    outcome = np.arange(len(y)), y
    right = t[outcome].mean()
    np.exp(t, out=t)
    total = t.sum(axis=1)
    t /= total[:, None]
    t[outcome] -= 1.0
    return float(np.log(total).mean() - right), t


def _vector(z: np.ndarray, y: np.ndarray, start: np.ndarray) -> np.ndarray:
    """(w, b), (2, k), of least mean log-loss + RIDGE / 2 (|w - 1|^2 + |b|^2)."""
    n, k = z.shape
    rows = slice(None, None, 1 if k <= 100 else -(-n // HESSIAN_ROWS))
    few = z[rows]
    identity = np.concatenate([np.ones(k), np.zeros(k)])

    def value(v: np.ndarray) -> tuple[float, np.ndarray]:
        loss, residual = _of_outcome(z * v[:k] + v[k:], y)
        gradient = np.concatenate([(residual * z).sum(axis=0), residual.sum(axis=0)]) / n
        return loss + 0.5 * RIDGE * float(((v - identity) ** 2).sum()), gradient + RIDGE * (
            v - identity
        )

    def hessian(v: np.ndarray) -> np.ndarray:
        s = softmax(few * v[:k] + v[k:])
        weighted = s * few
        both = np.concatenate([weighted, s], axis=1)
        found = both.T @ both / -len(few)
        i = np.arange(k)
        found[i, i] += (weighted * few).mean(axis=0)
        cross = weighted.mean(axis=0)
        found[i, i + k] += cross
        found[i + k, i] += cross
        found[i + k, i + k] += s.mean(axis=0)
        i = np.arange(2 * k)
        found[i, i] += RIDGE
        return found

    return newton(value, hessian, start).reshape(2, k)


def _matrices(
    z: np.ndarray,
    p: np.ndarray,
    y: np.ndarray,
    seen: Iterable[np.ndarray | slice],
    penalties: Callable[[int], tuple[float, float]],
) -> Iterator[np.ndarray]:
    """Yield [W, b], (k, k + 1), of the samples in each row of `seen`; penalties(n) are (off_diagonal, intercept). They
    are of least

    mean log-loss + off_diagonal |W off its diagonal|^2 + intercept |b|^2 + RIDGE / 2 |[W, b] - identity|^2."""
    k, fit, x = z.shape[1], SoftmaxFit(), np.vstack([z.T, np.ones(len(z))])
    start = None
    for own in seen:
        labels = y[own]
        penalty = np.empty((k, k + 1))
        penalty[:, :k], penalty[:, k] = penalties(len(labels))
        penalty[np.arange(k), np.arange(k)] = 0.0
        start = _start(p[own], labels) * np.eye(k, k + 1) if start is None else start
        yield fit(x[:, own], labels, penalty + 0.5 * RIDGE, start)


def _map(w: np.ndarray, logits: Callable[[np.ndarray], np.ndarray]) -> CalibrationMap:
    return lambda x: softmax(logits(x) @ w[:, :-1].T + w[:, -1])
