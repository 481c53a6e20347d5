"""Calibrator by a natural cubic spline of the logit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from harness.calibrators.base import CalibrationMap, refuse_masked_sample
from harness.calibrators.logits import log_odds, on_columns
from harness.calibrators.newton import RIDGE, logistic
from harness.errors import BadInputError

ENDS = (0.05, 0.95)  # quantiles of the first and the last knot


@dataclass(frozen=True)
class Spline:
    """Natural cubic spline of the logit, fitted by the log-loss; two classes only.

        q(p) = sigma(s(l)),   l = logit p

    sigma is the logistic function. s is cubic between knots and linear outside them, with
    continuous s' and s''. It minimises

        mean log-loss + ridge / n * integral of s''(u)^2 du,

    where n is the number of samples, and u runs from 0 at the first knot to 1 at the last.

    Parameters
    ----------
    knots : int
        Number of knots, at least 3. They lie at equally spaced quantiles of l from 5 % to 95 %, and
        equal knots count once. With fewer than 3 distinct knots, s is a line, as in `Platt`.
    ridge : float
        Weight of the penalty. With the default, n times the penalty is 2 nats if s is one full wave
        of amplitude 1/2 between the outer knots. A second ridge of 1e-6 keeps the fit finite if a
        threshold separates the classes.

    Raises
    ------
    BadInputError
        For more than two classes.

    Notes
    -----
    There are as many coefficients as knots. s can follow one or two waves of E[Y given p], but
    misses steps and finer waves. A variational estimate is therefore biased downwards. The noise of
    the fit lowers a variational estimate of the squared error by up to knots / (4 n). Logs are
    floored at -87.336. Newton steps find the exact minimum. Determinism: exact. Cost: O(n knots^2)
    per step, about eight steps.

    References
    ----------
    Lucena (2018), Spline-based probability calibration, Section 3 (there with many knots and a
    ridge chosen by cross-validation). Hastie, Tibshirani and Friedman (2009), The Elements of
    Statistical Learning, eq. 5.4 and 5.5.

    Examples
    --------
    >>> import numpy as np
    >>> from harness.calibrators import Platt
    >>> p = np.linspace(0.01, 0.99, 2000)
    >>> c = np.where(np.abs(p - 0.5) < 0.25, 0.5, p)  # flat in the middle
    >>> y = (np.arange(2000) * 0.618 % 1 < c).astype(int)
    >>> [float(np.abs(each.fit(p, y)(p) - c).mean().round(2)) for each in (Spline(), Platt())]
    [0.04, 0.07]
    """

    knots: int = 6
    ridge: float = 0.01

    determinism = "exact"
    max_classes = 2
    seconds = 1e-3

    def __post_init__(self) -> None:
        if int(self.knots) != self.knots or self.knots < 3:
            raise BadInputError(f"knots is {self.knots}; an integer of at least 3 is needed.")
        if not 0.0 <= self.ridge < np.inf:
            raise BadInputError(f"ridge is {self.ridge}; a number of at least 0 is needed.")

    def fit(
        self, p: np.ndarray, y: np.ndarray, rng: np.random.Generator | int | None = None
    ) -> CalibrationMap:
        refuse_masked_sample(p, y)
        if p.ndim == 2:
            if p.shape[1] != 2:
                raise BadInputError(f"p has {p.shape[1]} columns; Spline needs two classes.")
            return on_columns(self, p, y, rng)
        l = log_odds(p)  # noqa: E741
        knots = np.unique(np.quantile(l, np.linspace(*ENDS, self.knots)))
        features = natural_basis(l, knots)
        centre = np.zeros(features.shape[1])
        centre[1] = 1.0
        penalty = (RIDGE + 2.0 * self.ridge / len(p)) * roughness(knots)
        penalty[[0, 1], [0, 1]] = RIDGE
        w = logistic(features, y, centre, penalty)
        return lambda x: expit(natural_basis(log_odds(x), knots) @ w)


def natural_basis(x: np.ndarray, knots: np.ndarray) -> np.ndarray:
    """Return a basis of the natural cubic splines with K knots, evaluated at x (n,).

    The result has shape (n, max(K, 2)). The first two columns are 1 and x. The other K - 2 columns
    are cubic functions that are 0 at the first and the last knot. Cubes are in units of the
    distance between these two knots.
    """
    line = [np.ones_like(x), x]
    if len(knots) < 3:
        return np.column_stack(line)
    span = knots[-1] - knots[0]
    u, v = (x - knots[0]) / span, (knots - knots[0]) / span

    def cubes(i: int) -> np.ndarray:
        return (np.maximum(u - v[i], 0.0) ** 3 - np.maximum(u - v[-1], 0.0) ** 3) / (v[-1] - v[i])

    last = cubes(-2)
    at_last_knot = [(1.0 - v[i]) ** 2 - (1.0 - v[-2]) ** 2 for i in range(len(knots) - 2)]
    return np.column_stack(
        [*line, *(cubes(i) - last - end * u for i, end in enumerate(at_last_knot))]
    )


def roughness(knots: np.ndarray) -> np.ndarray:
    """Return the matrix (d, d) of the integrals of b_i'' b_j'' over the span of the knots.

    b_i are the d functions of `natural_basis`. Lengths are in units of the span.
    """
    size = max(len(knots), 2)
    if len(knots) < 3:
        return np.zeros((size, size))
    v = (knots - knots[0]) / (knots[-1] - knots[0])

    def second(i: int) -> np.ndarray:
        return 6.0 * (np.maximum(v - v[i], 0.0) - np.maximum(v - v[-1], 0.0)) / (v[-1] - v[i])

    last = second(-2)
    # Second derivatives at the knots. They are linear between knots.
    curves = np.column_stack([np.zeros((size, 2)), *(second(i) - last for i in range(size - 2))])
    left, right, width = curves[:-1], curves[1:], np.diff(v)[:, None] / 6.0
    return left.T @ (width * (2.0 * left + right)) + right.T @ (width * (left + 2.0 * right))
