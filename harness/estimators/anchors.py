"""Anchors: scores that are no calibration error, and an oracle that knows the truth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from harness.errors import UndefinedError
from harness.estimators.base import Estimate, posterior
from harness.math import estimands
from harness.math.notions import checked, one_hot


@dataclass(frozen=True)
class Brier:
    """Brier score: mean squared distance of the predictions from the outcomes.

        brier = 1/n sum_i ||p_i - y_i||^2

    One column for the scalar notions, the sum over the classes for canonical, where y_i is one-hot.

    Notes
    -----
    No calibration error: its expectation is l2_squared plus the refinement, and so an upper bound
    of l2_squared. Unbiased for that expectation, between 0 and 1 (scalar) or 2 (canonical). O(n k).

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
        self, p: np.ndarray, y: np.ndarray, rng: np.random.Generator | None = None
    ) -> dict[str, Estimate]:
        p, y = checked(p, y)
        d = p - (y if p.ndim == 1 else one_hot(y, p.shape[1]))
        return {"brier": Estimate(float((d * d).sum() / len(p)))}


@dataclass(frozen=True)
class LogLossScore:
    """Log-loss: mean negative logarithm of the probability predicted for the outcome.

        logloss = -1/n sum_i log p_i(y_i)

    Notes
    -----
    No calibration error: its expectation is kl plus the refinement, and so an upper bound of kl.
    Unbiased for that expectation, in nats. An outcome of predicted probability 0 makes it infinite,
    which is recorded as undefined. O(n).

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
        self, p: np.ndarray, y: np.ndarray, rng: np.random.Generator | None = None
    ) -> dict[str, Estimate]:
        p, y = checked(p, y)
        probability = np.where(y == 1, p, 1.0 - p) if p.ndim == 1 else p[np.arange(len(y)), y]
        with np.errstate(divide="ignore"):
            return {"logloss": Estimate(float(-np.log(probability).mean()))}


@dataclass(frozen=True)
class Oracle:
    """Oracle that knows the true C = E[Y given p]; only the sampling error of p remains.

        value = 1/n sum_i d(p_i, C(p_i)),   d the distance of the estimand

    Notes
    -----
    Gives every estimand of the notion except the scores. Unbiased; rms and sharpness are slightly
    low, linf of scalars is from below. Needs a problem that knows its posterior. There is no
    class-wise notion: the posterior given a whole vector does not determine the one given a single
    coordinate. O(n k).

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
                "the oracle knows E[Y given the whole vector], not given one coordinate"
            )
        notion = notion or ("binary" if p.ndim == 1 else "canonical")
        c = posterior(problem, p)
        wanted = [name for name in estimands.names(notion) if name in self.estimands]
        return {name: Estimate(estimands.value(name, p, c, notion)) for name in wanted}
