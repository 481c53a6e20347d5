"""CORP: the score split by isotonic regression into miscalibration, discrimination, uncertainty."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import isotonic_regression
from scipy.special import xlogy

from harness.estimators.base import Estimate
from harness.math.notions import checked


@dataclass(frozen=True)
class Corp:
    """Gain in mean score by isotonic recalibration, and the other two parts of the score (CORP).

        mean S(p, y) = MCB - DSC + UNC
        MCB = mean S(p, y) - mean S(q, y),   DSC = UNC - mean S(q, y),   UNC = mean S(mean y, y)

    with q the isotonic regression of y on p (pool adjacent violators), for the Brier score S(p, y)
    = (p - y)^2 and the log-loss.

    Notes
    -----
    Estimands: MCB is l2_squared (Brier score) and kl (log-loss, in nats); DSC is
    sharpness_l2_squared and sharpness_kl, UNC uncertainty_l2_squared and uncertainty_kl, the score
    of the constant E Y. q is fitted on the rows that it judges, so that MCB and DSC are biased
    upwards, by a term of order n^(-2/3) where E[Y given p] rises. Where it is not monotone, both
    miss the gain of non-monotone functions. All but kl are finite: kl is infinite (undefined) if an
    outcome occurred whose prediction was 0. No part is negative. O(n log n).

    References
    ----------
    Dimitriadis, Gneiting and Jordan (2021), Stable reliability diagrams for probabilistic
    classifiers, PNAS 118(8), e2016191118; the estimands of DSC and UNC: popordanoska2024, Section
    3.

    Examples
    --------
    >>> names = ("l2_squared", "sharpness_l2_squared", "uncertainty_l2_squared")
    >>> estimates = Corp()([0.1, 0.1, 0.6, 0.8], [0, 0, 1, 0])
    >>> [round(estimates[name].value, 4) for name in names]
    [0.08, 0.0625, 0.1875]
    """

    notions = ("binary", "top_label", "classwise")
    estimands = (
        "l2_squared", "kl", "sharpness_l2_squared", "sharpness_kl",
        "uncertainty_l2_squared", "uncertainty_kl",
    )  # fmt: skip
    determinism = "exact"
    revision = 1
    null_bias = 0.03

    def __call__(self, p: np.ndarray, y: np.ndarray, rng: object = None) -> dict[str, Estimate]:
        """Return the parts of the scores of predictions p (n,) for outcomes y (n,)."""
        p, y = checked(p, y)
        values, index, counts = np.unique(p, return_inverse=True, return_counts=True)
        hits = np.bincount(index, y, len(values))
        fit = isotonic_regression(hits / counts, weights=counts).x
        constant = np.full(len(values), hits.sum() / len(p))
        estimates: dict[str, Estimate] = {}
        for name, score in (("l2_squared", _brier), ("kl", _logloss)):
            original, recalibrated, unc = (
                float(score(x, hits, counts).sum() / len(p)) for x in (values, fit, constant)
            )
            # q is optimal among non-decreasing functions of p, which include p and the constant.
            # Only rounding could make a part negative.
            parts = max(original - recalibrated, 0.0), max(unc - recalibrated, 0.0), unc
            estimates |= dict(
                zip((name, f"sharpness_{name}", f"uncertainty_{name}"), map(Estimate, parts))
            )
        return estimates


def _brier(x: np.ndarray, hits: np.ndarray, counts: np.ndarray) -> np.ndarray:
    return hits * (1.0 - x) ** 2 + (counts - hits) * x**2


def _logloss(x: np.ndarray, hits: np.ndarray, counts: np.ndarray) -> np.ndarray:
    return -xlogy(hits, x) - xlogy(counts - hits, 1.0 - x)
