"""CORP: decomposition of proper scores by isotonic regression."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import isotonic_regression
from scipy.special import xlogy

from harness.estimators.base import Estimate
from harness.math.notions import checked_scalars
from harness.math.weights import weighted_rows


@dataclass(frozen=True)
class Corp:
    """Miscalibration, discrimination and uncertainty: the three parts of a mean score (CORP).

        mean S(p, y) = MCB - DSC + UNC
        MCB = mean S(p, y) - mean S(q, y)     miscalibration: the gain by recalibration
        DSC = UNC - mean S(q, y)              discrimination
        UNC = mean S(mean y, y)               uncertainty: the score of the mean outcome

    q is the isotonic regression of the outcomes y on the predictions p, by pooling adjacent
    violators. The score S is the Brier score (p - y)^2 or the log-loss.

    Notes
    -----
    Estimands, the log-loss in nats:

        part   Brier score              log-loss
        MCB    l2_squared               kl
        DSC    sharpness_l2_squared     sharpness_kl
        UNC    uncertainty_l2_squared   uncertainty_kl

    MCB and DSC are biased upwards, because q is fitted to the rows on which it is evaluated. The
    bias is of order n^(-2/3) where E[Y given p] rises. Where E[Y given p] falls, MCB and DSC are
    too small, because q is monotone.

    No part is negative. kl is infinite, and recorded as undefined, if an outcome occurred whose
    predicted probability was 0. Cost: O(n log n).

    References
    ----------
    Dimitriadis, Gneiting and Jordan (2021), Stable reliability diagrams for probabilistic
    classifiers, PNAS 118(8), e2016191118. popordanoska2024, Section 3, defines the estimands of DSC
    and UNC.

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

    def __call__(
        self,
        p: np.ndarray,
        y: np.ndarray,
        rng: object = None,
        sample_weight: ArrayLike | None = None,
    ) -> dict[str, Estimate]:
        """Return the parts of both scores, for predictions p (n,) and outcomes y (n,).

        With `sample_weight` (n,), the scores and the isotonic regression are weighted.
        """
        p, y = checked_scalars(p, y)
        p, y, w = weighted_rows(p, y, sample_weight)
        values, index, counts = np.unique(p, return_inverse=True, return_counts=True)
        hits = np.bincount(index, y, len(values))
        if w is not None:
            hits, counts = np.bincount(index, w * y), np.bincount(index, w)
        total = len(p) if w is None else counts.sum()
        fit = isotonic_regression(hits / counts, weights=counts).x
        constant = np.full(len(values), hits.sum() / total)
        estimates: dict[str, Estimate] = {}
        for name, score in (("l2_squared", _brier), ("kl", _logloss)):
            original, recalibrated, unc = (
                float(score(x, hits, counts).sum() / total) for x in (values, fit, constant)
            )
            # q is optimal among non-decreasing functions of p, and p itself and the constant are
            # such functions. So only rounding could make a part negative.
            parts = max(original - recalibrated, 0.0), max(unc - recalibrated, 0.0), unc
            estimates |= dict(
                zip((name, f"sharpness_{name}", f"uncertainty_{name}"), map(Estimate, parts))
            )
        return estimates


def _brier(x: np.ndarray, hits: np.ndarray, counts: np.ndarray) -> np.ndarray:
    return hits * (1.0 - x) ** 2 + (counts - hits) * x**2


def _logloss(x: np.ndarray, hits: np.ndarray, counts: np.ndarray) -> np.ndarray:
    return -xlogy(hits, x) - xlogy(counts - hits, 1.0 - x)
