"""Tests of calibration by one standardised sum, or by one sum per bin."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import chdtrc, erfc

from harness.estimators.base import Estimate
from harness.estimators.binned import check_bins, partition
from harness.estimators.significance import tested


@dataclass(frozen=True)
class Spiegelhalter:
    """Spiegelhalter's Z test: the Brier score compared with its law under calibration.

        Z = sum_i (y_i - p_i)(1 - 2 p_i) / sqrt(sum_i (1 - 2 p_i)^2 p_i (1 - p_i))
        p_value = P(|N(0, 1)| >= |Z|)

    Notes
    -----
    Estimand: `p_value`, of the hypothesis E[Y given p] = p; class-wise by Bonferroni. Two-sided.
    Its level holds asymptotically; the normal law is a poor approximation if few samples carry the
    variance (saturated p). It only sees E (y - p)(1 - 2p): errors that cancel there, such as a
    shift symmetric about 1/2, are not detected. If the variance is 0 (all p are 0, 1/2 or 1),
    p_value is 1 if the numerator is 0, else 0. The diagnostic `z` is Z. O(n).

    References
    ----------
    Spiegelhalter (1986), Probabilistic prediction in patient management and clinical trials,
    Statistics in Medicine 5, 421-433.

    Examples
    --------
    >>> e = Spiegelhalter()([0.1, 0.2, 0.9], [1, 0, 1])["p_value"]
    >>> round(e.diagnostics["z"], 6), round(e.value, 6)
    (1.250926, 0.210962)
    """

    notions = ("binary", "top_label", "classwise")
    estimands = ("p_value",)
    determinism = "rounding"
    revision = 1
    takes_classwise = True

    def __call__(self, p: np.ndarray, y: np.ndarray, rng: object = None) -> dict[str, Estimate]:
        """Return the p-value of p for outcomes y, both (n,), or (n, k) for indicators (n, k)."""
        return tested(p, y, _spiegelhalter)


def _spiegelhalter(p: np.ndarray, y: np.ndarray) -> dict[str, Estimate]:
    """Return the p-value of one column."""
    total = math.fsum((y - p) * (1.0 - 2.0 * p))
    variance = math.fsum((1.0 - 2.0 * p) ** 2 * p * (1.0 - p))
    z = 0.0
    if variance > 0.0:
        z = total / math.sqrt(variance)
    elif total:
        z = math.copysign(math.inf, total)
    return {"p_value": Estimate(float(erfc(abs(z) / math.sqrt(2.0))), diagnostics={"z": z})}


@dataclass(frozen=True)
class ChiSquare:
    """Chi-square test over bins of equal mass, of the kind of Hosmer and Lemeshow.

        X = sum_b (sum_{i in b} (y_i - p_i))^2 / sum_{i in b} p_i (1 - p_i)
        p_value = P(chi^2_B >= X)

    with B the number of bins of positive variance.

    Parameters
    ----------
    bins : int
        Of equal counts; equal p are never separated.

    Notes
    -----
    Estimand: `p_value`, of the hypothesis E[Y given p] = p; class-wise by Bonferroni. There are B
    degrees of freedom, because the predictions were not fitted on these rows (a model on its
    training rows has B - 2). The variance is the exact one given p; Hosmer and Lemeshow use n_b
    mean p (1 - mean p), which is larger, and so reject less. X has mean B under calibration. Its
    law approaches chi^2 as the bins' variances grow, but small p-values are too frequent if a bin's
    variance is below about 1: at most 0.05 for 0.077 of the samples of n = 200 from p ~ Beta(1/2,
    1/2) and 0.106 from Beta(1, 20), 0.055 and 0.068 at n = 1,000 (3,000 samples each). A bin of
    variance 0 whose outcomes are as predicted does not count; one with another outcome makes
    p_value 0. The diagnostics are `chi_square` and `degrees`. O(n).

    References
    ----------
    Hosmer and Lemeshow (1980), Goodness of fit tests for the multiple logistic regression model,
    Comm. Statist. A 9, 1043-1069.

    Examples
    --------
    >>> e = ChiSquare(bins=2)([0.2, 0.2, 0.5, 0.5], [1, 0, 1, 1])["p_value"]
    >>> round(e.diagnostics["chi_square"], 6), round(e.value, 6)
    (3.125, 0.209611)
    """

    bins: int = 10

    notions = ("binary", "top_label", "classwise")
    estimands = ("p_value",)
    determinism = "rounding"
    revision = 2
    takes_classwise = True

    def __post_init__(self) -> None:
        check_bins(self.bins)

    def __call__(self, p: np.ndarray, y: np.ndarray, rng: object = None) -> dict[str, Estimate]:
        """Return the p-value of p for outcomes y, both (n,), or (n, k) for indicators (n, k)."""
        return tested(p, y, self._evaluate)

    def _evaluate(self, p: np.ndarray, y: np.ndarray) -> dict[str, Estimate]:
        """Return the p-value of one column."""
        assign_bins, count = partition(p, self.bins, "mass")
        index = assign_bins(p)
        residual, variance = (np.bincount(index, x, count) for x in (y - p, p * (1.0 - p)))
        varies = variance > 0.0
        # Checked sample by sample: in a bin of zeros and ones the residuals may cancel.
        impossible = np.any((y != p) & ~varies[index])
        x = math.inf if impossible else float(np.sum(residual[varies] ** 2 / variance[varies]))
        degrees = float(varies.sum())
        p_value = float(chdtrc(degrees, x)) if degrees and math.isfinite(x) else float(x == 0.0)
        return {"p_value": Estimate(p_value, diagnostics={"chi_square": x, "degrees": degrees})}
