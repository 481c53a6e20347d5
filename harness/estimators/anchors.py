"""Anchors: scores that are no calibration error, and the oracle that knows g*."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harness.errors import BadInputError, UndefinedError
from harness.estimators.base import Estimate
from harness.math import estimands
from harness.math.notions import checked, one_hot


@dataclass(frozen=True)
class Brier:
    """mean ||p - y||^2, one column for scalars, summed over classes for vectors (Brier, 1950). Unbiased for its own
    expectation, which bounds l2_squared from above. O(n k)."""

    notions = ("binary", "top_label", "classwise", "canonical")
    estimands = ("brier",)
    determinism = "exact"
    revision = 1
    null_bias = 1.0

    def __call__(self, p, y, rng=None):
        p, y = checked(p, y)
        d = p - (y if p.ndim == 1 else one_hot(y, p.shape[1]))
        return {"brier": Estimate(float((d * d).sum() / len(p)))}


@dataclass(frozen=True)
class LogLossScore:
    """mean -log p_y. Unbiased for its own expectation, which bounds kl from above; an outcome of predicted probability 0 makes
    it infinite, which is recorded as undefined. O(n)."""

    notions = ("binary", "top_label", "classwise", "canonical")
    estimands = ("logloss",)
    determinism = "exact"
    revision = 1
    null_bias = 10.0

    def __call__(self, p, y, rng=None):
        p, y = checked(p, y)
        of_outcome = np.where(y == 1, p, 1.0 - p) if p.ndim == 1 else p[np.arange(len(y)), y]
        with np.errstate(divide="ignore"):
            return {"logloss": Estimate(float(-np.log(of_outcome).mean()))}


@dataclass(frozen=True)
class Oracle:
    """mean d(p, C) with the true C = g*(p): what is left is the sampling error of p. Unbiased (rms and sharpness: slightly low;
    linf: from below). Needs a problem whose posterior is known; it knows no class of a vector by itself, so no classwise.
    O(n k)."""

    notions = ("binary", "canonical")
    determinism = "exact"
    revision = 1
    null_bias = 1e-12
    wants = ("notion", "problem")
    needs_posterior = True
    estimands = tuple(dict.fromkeys(n for n in estimands.SCALAR + estimands.CANONICAL if n not in ("brier", "logloss")))

    def __call__(self, p, y, rng=None, notion=None, problem=None):
        p, y = checked(p, y)
        if not hasattr(problem, "posterior"):
            raise BadInputError("problem is missing or has no known posterior; the oracle needs problem=, one with posterior(p).")
        if p.ndim == 1 and problem.classes > 2:
            raise UndefinedError("the oracle knows E[Y given the whole vector], not given one coordinate")
        notion = notion or ("binary" if p.ndim == 1 else "canonical")
        c = problem.posterior(p)
        wanted = [name for name in estimands.names(notion) if name in self.estimands]
        return {name: Estimate(estimands.value(name, p, c, notion)) for name in wanted}
