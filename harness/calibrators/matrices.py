"""Calibrators by vector scaling, matrix scaling and Dirichlet calibration."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from harness.calibrators.base import CalibrationMap, FitEach
from harness.calibrators.logits import centred_logits, floored_log
from harness.calibrators.newton import RIDGE, newton
from harness.calibrators.sigmoids import Platt
from harness.calibrators.softmax_fit import HESSIAN_ROWS, SoftmaxFit
from harness.calibrators.temperature import Temperature
from harness.errors import BadInputError
from harness.math.softmax import softmax

LARGEST_SLOPE = 20.0  # largest slope of the logits at which an optimisation starts


@dataclass(frozen=True)
class VectorScaling(FitEach):
    """Vector scaling: one slope and one shift per logit.

        q(p) = softmax(w * z + b),   z = log p - mean over the classes of log p

    w and b (k,) minimise the mean log-loss. Logs are floored at -87.336. For two classes it is
    `Platt`.

    Notes
    -----
    Newton steps use the analytic Hessian. For k > 100 classes it is estimated from at most 4,096
    samples. A ridge of 1e-6 towards the identity keeps the fit finite if the classes are separable.

    No class uses the logit of another class, so confusions of two classes stay undetected. The
    variational estimate may then be far below the error. The noise of w and b lowers the estimate
    of kl by about k / n. Determinism: exact. Cost: O(n k^2) per step, about eight steps.

    References
    ----------
    Guo et al. (2017), On calibration of modern neural networks, Section 4.2. There z are the logits
    of a network. Probabilities determine the logits up to a constant, which is chosen here so that
    their mean is 0.

    Examples
    --------
    >>> import numpy as np
    >>> p = np.tile([0.5, 0.3, 0.2], (10, 1))  # constant p: q is the class shares
    >>> y = np.repeat([0, 1, 2], [2, 3, 5])
    >>> VectorScaling().fit(p, y)(p[:1]).round(3)
    array([[0.2, 0.3, 0.5]])
    """

    determinism = "exact"
    seconds = 3e-3

    def fit_each(
        self,
        p: np.ndarray,
        y: np.ndarray,
        seen: np.ndarray,
        rng: np.random.Generator | int | None = None,
        sample_weight: np.ndarray | None = None,
    ) -> Iterator[CalibrationMap]:
        if p.ndim == 1 or p.shape[1] == 2:
            return Platt().fit_each(p, y, seen, rng, sample_weight)
        return (_vector_map(w, b) for w, b in self._vectors(p, y, seen, RIDGE, sample_weight))

    def coefficients(
        self,
        p: np.ndarray,
        y: np.ndarray,
        ridge: float = RIDGE,
        sample_weight: np.ndarray | None = None,
    ) -> np.ndarray:
        """Return the fitted slopes and shifts of the logits as two rows, (2, k), for k > 2.

        They minimise the mean log-loss + ridge / 2 times their squared distance from the identity.
        The mean is weighted if there are weights (n,).
        """
        return next(self._vectors(p, y, [slice(None)], ridge, sample_weight))

    def _vectors(
        self,
        p: np.ndarray,
        y: np.ndarray,
        seen: Iterable[np.ndarray | slice],
        ridge: float,
        weights: np.ndarray | None,
    ) -> Iterator[np.ndarray]:
        """Yield slopes and shifts of the logits as two rows, (2, k), for each row of `seen`.

        A row of `seen` is a mask of the samples to fit on.
        """
        z, k, w = centred_logits(p), p.shape[1], None
        for mask in seen:
            labels, part = y[mask], None if weights is None else weights[mask]
            # Later fits start at the previous minimum.
            start = np.repeat([_start(p[mask], labels), 0.0], k) if w is None else w.ravel()
            w = _vector(z[mask], labels, start, ridge, part)
            yield w


@dataclass(frozen=True)
class MatrixScaling(FitEach):
    """Matrix scaling: every class uses all logits.

        q(p) = softmax(W z + b),   z = log p - mean over the classes of log p

    W (k, k) and b (k,) minimise, for n samples,

        mean log-loss + (ridge / n) (sum of the squares of W off its diagonal and of b)

    Logs are floored at -87.336. For two classes it is `Platt`.

    Parameters
    ----------
    ridge : float
        Weight of the penalty. It corresponds to a normal prior of variance 1 / (2 ridge) on each
        penalised coefficient. Its influence vanishes as n grows.

    Notes
    -----
    The noise of the k (k + 1) coefficients lowers a variational estimate of kl by about
    k^2 / (2 n). With few samples the estimate falls far below the error, even below 0. With many
    samples it is the tightest of the linear scalings. A second ridge of 1e-6 draws [W, b] to the
    identity.

    The optimiser takes Newton steps if n k^4 is below about 4e6. Otherwise it is L-BFGS with the
    analytic gradient, in coordinates in which the Hessian is close to the identity. For k > 30,
    these coordinates ignore entries of the Hessian that couple two classes. The Hessian is computed
    again after 40 steps. Each fold starts at the minimum of the previous fold. Determinism: exact.
    Cost: O(n k^2) per gradient.

    References
    ----------
    Guo et al. (2017), Section 4.2, without a penalty. The penalty is ODIR (off-diagonal and
    intercept regularisation) of Kull et al. (2019), eq. 8, with a different weight.

    Examples
    --------
    When class 2 is predicted, class 1 occurs as often as class 2.

    >>> import numpy as np
    >>> p = np.repeat([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]], 1000, axis=0)
    >>> y = np.repeat([0, 1, 2, 0, 1, 0, 1, 2], [800, 100, 100, 100, 900, 100, 450, 450])
    >>> MatrixScaling().fit(p, y)(p[[0, 2000]]).round(2)
    array([[0.8 , 0.1 , 0.1 ],
           [0.1 , 0.45, 0.45]])
    """

    ridge: float = 1.0

    determinism = "exact"
    revision = 1  # since revision 1, the fit runs until convergence
    null_bias = 0.1
    seconds = 1e-2

    def __post_init__(self) -> None:
        if not 0.0 <= self.ridge < np.inf:
            raise BadInputError(f"ridge is {self.ridge}; a number of at least 0 is needed.")

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

    def coefficients(self, p: np.ndarray, y: np.ndarray, ridge: float = RIDGE) -> np.ndarray:
        """Return the fitted matrix and shift of the logits as [W, b], (k, k + 1), for k > 2.

        Besides the penalty of the class, the mean log-loss has the penalty ridge / 2 times the
        squared distance of [W, b] from the identity.
        """
        return next(self._matrices(p, y, [slice(None)], ridge))

    def _matrices(
        self,
        p: np.ndarray,
        y: np.ndarray,
        seen: Iterable[np.ndarray | slice],
        ridge: float = RIDGE,
    ) -> Iterator[np.ndarray]:
        """Yield matrix and shift of the logits as [W, b], (k, k + 1), for each row of `seen`.

        A row of `seen` is a mask of the samples to fit on.
        """
        own = self.ridge
        return _matrices(centred_logits(p), p, y, seen, lambda n: (own / n, own / n), ridge)


@dataclass(frozen=True)
class DirichletCalibration(FitEach):
    """Dirichlet calibration: a linear map of the log-probabilities, with the ODIR penalty.

        q(p) = softmax(W log p + b)

    W (k, k) and b (k,) minimise

        mean log-loss + lambda / (k (k - 1)) sum_{i != j} W_ij^2 + mu / k sum_j b_j^2

    Logs are floored at -87.336. Scalars are treated as two columns 1 - p and p. ODIR stands for
    off-diagonal and intercept regularisation.

    Parameters
    ----------
    off_diagonal : float
        The weight lambda.
    intercept : float or None
        The weight mu; None uses the value of lambda.

    Notes
    -----
    This is the calibration map of predictions that are Dirichlet distributed within each class. For
    two classes it is beta calibration with slopes that may be negative. In contrast to
    `MatrixScaling`, the mean of log p is a feature too. It tells how near p is to the boundary.

    The penalty does not vanish as n grows. At the default it is weak (1e-4 per squared coefficient
    for k = 10), so noise is fitted as in `MatrixScaling`. Kull et al. choose lambda and mu by
    cross-validation. Here they are fixed, because every fit is already part of a cross-validation.
    The variational estimate is biased downwards. Optimiser, determinism and cost are those of
    `MatrixScaling`.

    References
    ----------
    Kull et al. (2019), Beyond temperature scaling: obtaining well-calibrated multiclass
    probabilities with Dirichlet calibration, Sections 2 (linear parametrisation) and 3, ODIR.

    Examples
    --------
    >>> import numpy as np
    >>> p = np.array([[0.7, 0.2, 0.1], [0.2, 0.7, 0.1], [0.1, 0.2, 0.7]] * 100)
    >>> y = np.tile([0, 1, 2], 100)  # the predicted class is always right
    >>> DirichletCalibration().fit(p, y)(p[:3]).argmax(axis=1)
    array([0, 1, 2])
    """

    off_diagonal: float = 1e-2
    intercept: float | None = None

    determinism = "exact"
    revision = 1  # since revision 1, the fit runs until convergence
    null_bias = 0.1
    seconds = 1e-2

    def __post_init__(self) -> None:
        for name in ("off_diagonal", "intercept"):
            value = getattr(self, name)
            if value is not None and not 0.0 <= value < np.inf:
                raise BadInputError(f"{name} is {value}; a number of at least 0 is needed.")

    def fit_each(
        self,
        p: np.ndarray,
        y: np.ndarray,
        seen: np.ndarray,
        rng: np.random.Generator | int | None = None,
    ) -> Iterator[CalibrationMap]:
        if p.ndim == 1:
            maps = self.fit_each(np.column_stack([1.0 - p, p]), y, seen, rng)
            return (_second_column(q) for q in maps)
        k = p.shape[1]
        mu = self.off_diagonal if self.intercept is None else self.intercept
        penalties = self.off_diagonal / (k * (k - 1)), mu / k
        return (
            _map(w, floored_log) for w in _matrices(floored_log(p), p, y, seen, lambda n: penalties)
        )


def _vector_map(w: np.ndarray, b: np.ndarray) -> CalibrationMap:
    """Return the map softmax(w * z + b) of probabilities, with z their centred logits."""
    return lambda x: softmax(centred_logits(x) * w + b)


def _second_column(q: CalibrationMap) -> CalibrationMap:
    """Return the map of scalars that follows from a map q of two columns."""
    return lambda x: q(np.column_stack([1.0 - x, x]))[:, 1]


def _start(p: np.ndarray, y: np.ndarray) -> float:
    """Return the slope of the logits at which an optimisation starts.

    It is the inverse temperature of temperature scaling, at most 20.
    """
    row = np.full((1, p.shape[1]), 1.0)
    row[0, 0] = np.e
    log_q = floored_log(Temperature().fit(p, y)(row / row.sum()))[0]
    return float(min(log_q[0] - log_q[1], LARGEST_SLOPE))


def _loss_and_residual(
    t: np.ndarray, y: np.ndarray, weights: np.ndarray | None
) -> tuple[float, np.ndarray]:
    """Return the mean log-loss of q = softmax(t), and the residual q - one-hot y, (n, k).

    `t` (n, k) is overwritten. `weights` (n,) have mean 1 or are None. The rows of the residual are
    multiplied by them.
    """
    t -= t.max(axis=1, keepdims=True)
    outcome = np.arange(len(y)), y
    right = t[outcome].mean() if weights is None else weights @ t[outcome] / len(y)
    np.exp(t, out=t)
    total = t.sum(axis=1)
    t /= total[:, None]
    t[outcome] -= 1.0
    if weights is None:
        return float(np.log(total).mean() - right), t
    t *= weights[:, None]
    return float(weights @ np.log(total) / len(y) - right), t


def _vector(
    z: np.ndarray, y: np.ndarray, start: np.ndarray, ridge: float, weights: np.ndarray | None
) -> np.ndarray:
    """Return (w, b), (2, k), that minimise log-loss + ridge / 2 (|w - 1|^2 + |b|^2).

    `z` (n, k) holds the centred logits, and `start` (2 k,) the first w and b. `weights` (n,) are
    those of the mean log-loss, or None.
    """
    n, k = z.shape
    if weights is not None:
        weights = weights * (n / weights.sum())  # with mean 1
    rows = slice(None, None, 1 if k <= 100 else -(-n // HESSIAN_ROWS))
    few = z[rows]
    identity = np.concatenate([np.ones(k), np.zeros(k)])

    def value(v: np.ndarray) -> tuple[float, np.ndarray]:
        loss, residual = _loss_and_residual(z * v[:k] + v[k:], y, weights)
        gradient = np.concatenate([(residual * z).sum(axis=0), residual.sum(axis=0)]) / n
        away = v - identity
        return loss + 0.5 * ridge * float((away**2).sum()), gradient + ridge * away

    def hessian(v: np.ndarray) -> np.ndarray:
        s = softmax(few * v[:k] + v[k:])
        weighted = s * few
        both = np.concatenate([weighted, s], axis=1)
        if weights is None:
            matrix = both.T @ both / -len(few)
        else:
            part = weights[rows, None]
            matrix = both.T @ (part * both) / -len(few)
            s, weighted = part * s, part * weighted
        i = np.arange(k)
        matrix[i, i] += (weighted * few).mean(axis=0)
        cross = weighted.mean(axis=0)
        matrix[i, i + k] += cross
        matrix[i + k, i] += cross
        matrix[i + k, i + k] += s.mean(axis=0)
        matrix[np.diag_indices(2 * k)] += ridge
        return matrix

    return newton(value, hessian, start).reshape(2, k)


def _matrices(
    z: np.ndarray,
    p: np.ndarray,
    y: np.ndarray,
    seen: Iterable[np.ndarray | slice],
    penalties: Callable[[int], tuple[float, float]],
    ridge: float = RIDGE,
) -> Iterator[np.ndarray]:
    """Yield [W, b], (k, k + 1), for the samples in each row of `seen`.

    They minimise

        mean log-loss + off_diagonal |W off its diagonal|^2 + intercept |b|^2
                      + ridge / 2 |[W, b] - identity|^2

    `z` (n, k) holds the logits. penalties(n) returns (off_diagonal, intercept).
    """
    k, fit, x = z.shape[1], SoftmaxFit(), np.vstack([z.T, np.ones(len(z))])
    start = None
    for mask in seen:
        labels = y[mask]
        penalty = np.empty((k, k + 1))
        penalty[:, :k], penalty[:, k] = penalties(len(labels))
        penalty[np.arange(k), np.arange(k)] = 0.0
        start = _start(p[mask], labels) * np.eye(k, k + 1) if start is None else start
        yield fit(x[:, mask], labels, penalty + 0.5 * ridge, start)


def _map(w: np.ndarray, logits: Callable[[np.ndarray], np.ndarray]) -> CalibrationMap:
    """Return the map softmax(W z + b) of probabilities, with z = logits(p) and w = [W, b]."""
    return lambda x: softmax(logits(x) @ w[:, :-1].T + w[:, -1])
