"""Reference values: proper scores, which are no calibration errors, and an oracle."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from harness.errors import UndefinedError
from harness.estimators.base import Estimate, posterior
from harness.math import estimands
from harness.math.notions import checked, one_hot
from harness.math.weights import mean, weighted_rows


@dataclass(frozen=True)
class Brier:
    """Brier score: mean squared distance of the predictions from the outcomes.

        brier = 1/n sum_i ||p_i - y_i||^2

    p_i is a prediction and y_i its outcome. For the scalar notions both are numbers. For the
    canonical notion both are vectors, and y_i is one-hot.

    Notes
    -----
    The Brier score is no calibration error. Its expectation is l2_squared plus the refinement, and
    so an upper bound of l2_squared. The estimate of this expectation is unbiased. It lies between 0
    and 1 for scalars, and between 0 and 2 for vectors. Cost: O(n k).

    References
    ----------
    Brier (1950), Monthly Weather Review 78, 1-3.

    Examples
    --------
    >>> round(Brier()([0.1, 0.4, 0.8, 0.9], [0, 1, 1, 1])["brier"].value, 6)
    0.105
    """

    notions = ("binary", "top_label", "classwise", "canonical")
    estimands = ("brier",)
    determinism = "exact"
    revision = 1
    null_bias = 1.0

    def __call__(
        self,
        p: np.ndarray,
        y: np.ndarray,
        rng: np.random.Generator | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> dict[str, Estimate]:
        """Return the score. With `sample_weight` (n,) it is a weighted mean."""
        p, y = checked(p, y)
        p, y, w = weighted_rows(p, y, sample_weight)
        d = p - (y if p.ndim == 1 else one_hot(y, p.shape[1]))
        if w is not None:
            return {"brier": Estimate(mean((d * d).reshape(len(p), -1).sum(axis=1), w))}
        return {"brier": Estimate(float((d * d).sum() / len(p)))}


@dataclass(frozen=True)
class LogLossScore:
    """Log-loss: mean negative logarithm of the probability predicted for the outcome.

        logloss = -1/n sum_i log p_i(y_i)

    p_i(y_i) is the probability that prediction i gives to its outcome y_i.

    Notes
    -----
    The log-loss is no calibration error. Its expectation is kl plus the refinement, and so an upper
    bound of kl. The estimate of this expectation is unbiased, in nats. It is infinite if an outcome
    had probability 0, which is recorded as undefined. Cost: O(n).

    Examples
    --------
    >>> round(LogLossScore()([0.1, 0.4, 0.8, 0.9], [0, 1, 1, 1])["logloss"].value, 6)
    0.337539
    """

    notions = ("binary", "top_label", "classwise", "canonical")
    estimands = ("logloss",)
    determinism = "exact"
    revision = 1
    null_bias = 10.0

    def __call__(
        self,
        p: np.ndarray,
        y: np.ndarray,
        rng: np.random.Generator | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> dict[str, Estimate]:
        """Return the score. With `sample_weight` (n,) it is a weighted mean."""
        p, y = checked(p, y)
        p, y, w = weighted_rows(p, y, sample_weight)
        probability = np.where(y == 1, p, 1.0 - p) if p.ndim == 1 else p[np.arange(len(y)), y]
        with np.errstate(divide="ignore"):
            return {"logloss": Estimate(-mean(np.log(probability), w))}


@dataclass(frozen=True)
class Oracle:
    """Oracle that knows the true C = E[Y given p], so that its only error is the sampling of p.

        value = 1/n sum_i d(p_i, C(p_i))

    d is the distance that defines the estimand.

    Notes
    -----
    The oracle returns every estimand of the notion except the proper scores. The values are
    unbiased, with these exceptions: rms and sharpness are slightly too small, and linf of scalars
    is a lower bound.

    The problem must know its posterior. The class-wise notion is absent, because E[Y given p] of
    a whole vector p does not determine E[Y given one coordinate]. Cost: O(n k).

    Examples
    --------
    >>> import harness
    >>> problem = harness.load_problem("beta_overconfident")
    >>> p, y = problem.sample(1000, np.random.default_rng(0))
    >>> round(Oracle()(p, y, problem=problem)["l1"].value, 2)
    0.14
    """

    notions = ("binary", "canonical")
    determinism = "exact"
    revision = 1
    null_bias = 1e-12
    wants = ("notion", "problem")
    needs_posterior = True
    estimands = tuple(
        dict.fromkeys(
            n for n in estimands.SCALAR + estimands.CANONICAL if n not in ("brier", "logloss")
        )
    )

    def __call__(
        self,
        p: np.ndarray,
        y: np.ndarray,
        rng: np.random.Generator | None = None,
        notion: str | None = None,
        problem: Any = None,
    ) -> dict[str, Estimate]:
        p, y = checked(p, y)
        if p.ndim == 1 and getattr(problem, "classes", 2) > 2:
            raise UndefinedError(
                "the oracle knows E[Y given the whole vector], but not E[Y given one coordinate]"
            )
        notion = notion or ("binary" if p.ndim == 1 else "canonical")
        c = posterior(problem, p)
        wanted = [name for name in estimands.names(notion) if name in self.estimands]
        return {name: Estimate(estimands.value(name, p, c, notion)) for name in wanted}
