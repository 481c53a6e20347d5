"""Problems whose predictions and posteriors are powers of the same Dirichlet vector."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from harness.errors import BadInputError
from harness.math import estimands
from harness.math.softmax import softmax
from harness.problems.base import Generated, Truth, draw_labels
from harness.problems.tempered_truths import (
    SMOOTH,
    PowerLaw,
    mean_of_sets,
    sums_over_classes,
    truth_of_two_classes,
    truths_of_classes,
)


@dataclass(frozen=True)
class TemperedDirichlet(Generated):
    """Predictions f and posteriors C that are powers of the same Dirichlet vector s.

        s ~ Dir(alpha 1_k),  C proportional to s^truth_power,  f proportional to s^prediction_power

    C = E[one-hot Y given f] is then proportional to f^(truth_power / prediction_power). Predictions
    are overconfident if prediction_power is above truth_power.

    Parameters
    ----------
    classes : int
        Number k of classes, at least 2.
    alpha : float
        Concentration, positive. Computations use logarithms, because s underflows for alpha = 0.04.
    truth_power, prediction_power : float
        Inverse temperatures, positive.
    default_notions : tuple of str
        Notions that a run judges by default. They are not part of the problem's identity.

    Examples
    --------
    >>> import numpy as np
    >>> problem = TemperedDirichlet(2, alpha=1.0, truth_power=1.0, prediction_power=2.0)
    >>> p, y = problem.sample(500, np.random.default_rng(0))
    >>> p.shape, y.shape
    ((500, 2), (500,))
    >>> round(problem.truth("l1", "binary").value, 9)
    0.09657359

    Notes
    -----
    Two classes: truths come from quadrature over log(s_2 / s_1), with an error of about 1e-13.

    More classes: let f_1 = t, let u ~ Dir(alpha 1_(k-1)) be the direction of the other coordinates
    of s, and let b be the prediction_power. The ratio of s_1 and the sum of the other coordinates
    is

        rho = (t / (1 - t) sum_j u_j^b)^(1 / b).

    rho has a beta-prime distribution and is independent of u. A mean given f_1 = t is therefore a
    mean over u, weighted by the density of rho. It is computed with 16 scrambled Sobol sets inside
    a quadrature over logit t. The truths use it as follows:

    * Class-wise truths use E[C_1 given f_1 = t].
    * Top-label truths use only those u for which f_1 is the largest entry.
    * Canonical truths that are sums over classes are k times the term of one class.
    * Other canonical truths (norms, top_class_*) use 16 scrambled Sobol sets of 2^15 points.

    The error is the standard error over the 16 sets. For conditional means, it also includes the
    difference from a computation with half as many points and fewer nodes.

    References
    ----------
    popordanoska2024, Section 7.1; their code has alpha 1 and powers 1 / 0.9 and 1 / 0.54.
    gruber2025, Section 5: alpha 0.04, powers 1 and 0.3.
    """

    classes: int = 2
    alpha: float = 1.0
    truth_power: float = 1.0
    prediction_power: float = 1.0
    default_notions: tuple[str, ...] = ("canonical",)

    def __post_init__(self) -> None:
        if self.classes < 2 or not (
            self.alpha > 0 and self.truth_power > 0 and self.prediction_power > 0
        ):
            raise BadInputError(
                f"TemperedDirichlet parameters are classes={self.classes}, alpha={self.alpha}, "
                f"truth_power={self.truth_power}, prediction_power={self.prediction_power}; "
                "classes >= 2 and positive numbers are needed."
            )
        unknown = [name for name in self.default_notions if name not in self.notions]
        if unknown or not self.default_notions:
            raise BadInputError(
                f"default_notions is {self.default_notions!r}; "
                f"some of {', '.join(self.notions)} are needed."
            )

    @property
    def notions(self) -> tuple[str, ...]:
        return (*(("binary",) if self.classes == 2 else ()), "canonical", "top_label", "classwise")

    @property
    def fingerprint(self) -> dict[str, Any]:
        names = ("classes", "alpha", "truth_power", "prediction_power")
        return {name: getattr(self, name) for name in names}

    def sample(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Draw predictions p (n, k) and labels y (n,).

        A gamma variate of shape alpha is drawn as a gamma variate of shape alpha + 1 times U^(1 /
        alpha), with U uniform. The product is computed in logarithms.
        """
        rng_g, rng_u, rng_y = rng.spawn(3)
        shape = (n, self.classes)
        log_s = (
            np.log(rng_g.standard_gamma(self.alpha + 1.0, shape))
            - rng_u.standard_exponential(shape) / self.alpha
        )
        p = softmax(self.prediction_power * log_s)
        return p, draw_labels(self.posterior(p), rng_y)

    def posterior(self, p: np.ndarray) -> np.ndarray:
        """Return C = E[one-hot Y given p] for p (n, k).

        For p (n,) of two classes, return P(Y = 1 given p).
        """
        if p.ndim == 1:
            return self.posterior(np.column_stack([1.0 - p, p]))[:, 1]
        with np.errstate(divide="ignore"):
            return softmax(self.truth_power / self.prediction_power * np.log(p))

    @property
    def calibrated(self) -> bool:
        return self.truth_power == self.prediction_power

    def compute_truth(self, estimand: str, notion: str) -> Truth | None:
        if self.classes == 2:
            return truth_of_two_classes(self.law, estimand, notion)
        extra = () if estimand in estimands.names(notion) else (estimand,)
        return truths_of_classes(self.law, notion, extra)[estimand]

    def truth_of_vector(self, estimand: str) -> Truth | None:
        """Return the mean over classes of E d(f_j, C_j), with C_j = P(Y = j given all of f).

        In contrast, the class-wise notion conditions on f_j alone.

        Parameters
        ----------
        estimand : {"l2_squared", "kl"}
            The estimand whose distance d is applied to each column.

        Raises
        ------
        BadInputError
            If the estimand is not one of these.

        References
        ----------
        popordanoska2024, Section 7.1, where this is the class-wise ground truth.
        """
        if estimand not in ("l2_squared", "kl"):
            raise BadInputError(f"estimand is {estimand!r}; allowed are l2_squared, kl.")
        if self.classes == 2 or self.calibrated:
            return self.truth(estimand, "classwise")
        parts = sums_over_classes(self.law)
        per_set = (parts[estimand] + (parts["kl_rest"] if estimand == "kl" else 0.0)) / self.classes
        return mean_of_sets(per_set, SMOOTH)

    @property
    def law(self) -> PowerLaw:
        """Parameters that determine the truths. They are the key of the cache of truths."""
        return PowerLaw(self.classes, self.alpha, self.truth_power, self.prediction_power)
