"""Two groups whose calibration errors cancel."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harness.errors import BadInputError
from harness.math import estimands
from harness.math.kernels import rbf, two_columns
from harness.math.mean_operators import operator_distance
from harness.problems.base import Truth, TwoClasses, draw_labels


@dataclass(frozen=True)
class OpposedGroups(TwoClasses):
    """Predictions that are calibrated, but in neither of two groups.

        p ~ uniform on `predictions`,  A ~ Bernoulli(share), independent of p
        P(Y = 1 given p, A = 1) = p + (1 - share) error
        P(Y = 1 given p, A = 0) = p - share error

    The mean over A is p. So E[Y given p] = p, and every calibration error that ignores the group is
    0. Between the groups, P(Y = 1 given p, A) differs by `error`.

    Parameters
    ----------
    predictions : sequence of float
        Distinct predictions of Y = 1.
    share : float
        P(A = 1), between 0 and 1.
    error : float
        Difference of the two groups. All probabilities above must lie in [0, 1].

    Examples
    --------
    >>> problem = OpposedGroups(predictions=(0.5,), share=0.5, error=0.4)
    >>> problem.truth("l1").value, round(problem.grouped_ckce(), 9)
    (0.0, 0.106666667)
    """

    predictions: tuple[float, ...] = (0.3, 0.5, 0.7)
    share: float = 0.5
    error: float = 0.4

    notions = ("binary", "canonical")
    default_notions = ("canonical",)

    def __post_init__(self) -> None:
        p = np.asarray(self.predictions, dtype=float)
        ends = [p + (1.0 - self.share) * self.error, p - self.share * self.error]
        valid = p.ndim == 1 and len(p) > 0 and len(set(p)) == len(p) and 0.0 < self.share < 1.0
        if not (valid and np.min(ends) >= 0.0 and np.max(ends) <= 1.0):
            raise BadInputError(
                f"OpposedGroups have predictions {self.predictions}, share {self.share} and error "
                f"{self.error}; distinct predictions, a share between 0 and 1, and probabilities "
                "of both groups in [0, 1] are needed."
            )

    @property
    def calibrated(self) -> bool:
        return True

    def sample(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Draw n predictions and labels; `groups` returns the groups of the same rows."""
        rng_p, rng_a, rng_y = rng.spawn(3)
        values = np.asarray(self.predictions, dtype=float)
        p = values[(rng_p.random(n) * len(values)).astype(int)]
        a = rng_a.random(n) < self.share
        return p, draw_labels(p + self._errors()[a.astype(int)], rng_y)

    def groups(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """Return the group 0 or 1 of each row of `sample(n, rng)`, for an equal rng."""
        return (rng.spawn(3)[1].random(n) < self.share).astype(np.int64)

    def curve(self, p: np.ndarray) -> np.ndarray:
        """Return P(Y = 1 given p) = p."""
        return p

    def _errors(self) -> np.ndarray:
        """Return P(Y = 1 given p, A) - p for A = 0 and A = 1."""
        return np.array([-self.share * self.error, (1.0 - self.share) * self.error])

    def truth(self, estimand: str, notion: str | None = None) -> Truth | None:
        """Return the true value of an estimand, or None if it is unknown.

        The error within groups depends on the kernel and the ridge; `grouped_ckce` computes it.
        """
        return None if estimand == "grouped_ckce" else super().truth(estimand, notion)

    def compute_truth(self, estimand: str, notion: str) -> Truth | None:
        if not estimands.has_truth(estimand):
            return None
        p = np.asarray(self.predictions, dtype=float)
        f = two_columns(p) if notion == "canonical" else p
        weights = np.full(len(p), 1.0 / len(p))
        value = estimands.value(estimand, f, f, notion, weights)
        return Truth(value, 0.0, "a sum over the predictions")

    def grouped_ckce(self, gamma: float = 0.3, ridge: float = 0.0) -> float:
        """Return the CKCE of the law within groups, with the kernel of `GroupedCKCE`.

        The law has 2 m pairs of a prediction f_i = (1 - p_i, p_i) and a group a, with weights w and
        gaps d_a = e_a (-1, 1), where e_a = P(Y = 1 given p, A = a) - p. The value is
        tr(A D A K) of `harness.math.mean_operators.operator_distance`, with D = (<d_a, d_a'>).
        K is 0 between groups. So the value is a sum over the groups. With a single prediction f
        and kappa = ||f||^2 + 1 it is

            sum_a w_a^2 kappa / (w_a kappa + ridge)^2 2 e_a^2,

        for any bandwidth gamma.
        """
        p, a = np.tile(self.predictions, 2), np.repeat([0, 1], len(self.predictions))
        f = two_columns(p)
        kernel = (f @ f.T + rbf(f, f, 0.5 / gamma**2)) * (a[:, None] == a)
        d = self._errors()[a][:, None] * np.array([-1.0, 1.0])
        w = np.array([1.0 - self.share, self.share])[a] / len(self.predictions)
        return operator_distance(kernel, d @ d.T, ridge, w)
