"""Tests of calibration of Spiegelhalter, and of Hosmer and Lemeshow."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import chdtrc, erfc

from harness.errors import UndefinedError
from harness.estimators.base import Estimate
from harness.estimators.binned import check_bins, partition
from harness.estimators.significance import (
    apply_test,
    certain_rows,
    for_rare_events,
    kurtosis,
)


@dataclass(frozen=True)
class Spiegelhalter:
    """Spiegelhalter's Z test: the Brier score compared with its law under calibration.

        Z = sum_i (y_i - p_i)(1 - 2 p_i) / sqrt(sum_i (1 - 2 p_i)^2 p_i (1 - p_i))
        p_value = P(|N(0, 1)| >= |Z|)

    p_i is one of n predictions, y_i its outcome, and N(0, 1) a standard normal variable.

    Notes
    -----
    The hypothesis is E[Y given p] = p. The test is two-sided. Class-wise p-values are combined by
    Bonferroni. The level holds asymptotically. With fewer than about two expected events or
    non-events, the p-value is at least that of the number of improbable outcomes
    (`harness.estimators.significance.count_p_value`), which is valid for every n. The exact
    condition is that the excess kurtosis of Z under calibration is above 1/2, or 1 / (2k) with k
    classes.

    The test can only detect errors that change E (y - p)(1 - 2p). It does not detect errors that
    cancel in this mean, such as a shift that is symmetric about 1/2.

    If the variance is 0 because all p are 0, 1/2 or 1, the p-value is 1 if the numerator of Z is 0,
    else 0. The diagnostic `z` is Z. Cost: O(n).

    References
    ----------
    Spiegelhalter (1986), Probabilistic prediction in patient management and clinical trials,
    Statistics in Medicine 5, 421-433.

    Examples
    --------
    >>> p, y = np.repeat([0.1, 0.2, 0.9], 3), np.repeat([0, 1, 0, 1], [2, 2, 3, 2])
    >>> e = Spiegelhalter()(p, y)["p_value"]
    >>> round(e.diagnostics["z"], 6), round(e.value, 6)
    (1.888889, 0.058907)
    """

    notions = ("binary", "top_label", "classwise")
    estimands = ("p_value",)
    determinism = "rounding"
    revision = 2
    takes_classwise = True

    def __call__(self, p: np.ndarray, y: np.ndarray, rng: object = None) -> dict[str, Estimate]:
        """Return the p-value of p for outcomes y, both (n,), or both (n, k) class-wise."""
        return apply_test(p, y, _spiegelhalter)


def _spiegelhalter(p: np.ndarray, y: np.ndarray, largest: float) -> dict[str, Estimate]:
    """Return the p-value of predictions p (n,) for outcomes y (n,); see `apply_test`."""
    total = math.fsum((y - p) * (1.0 - 2.0 * p))
    variance = math.fsum((1.0 - 2.0 * p) ** 2 * p * (1.0 - p))
    z = 0.0
    if variance > 0.0:
        z = total / math.sqrt(variance)
    elif total:
        z = math.copysign(math.inf, total)
    p_value = float(erfc(abs(z) / math.sqrt(2.0)))
    p_value = for_rare_events(p_value, p, y, kurtosis(p, 1.0 - 2.0 * p), largest)
    return {"p_value": Estimate(p_value, diagnostics={"z": z})}


@dataclass(frozen=True)
class ChiSquare:
    """Chi-square test of calibration over bins of equal mass, as that of Hosmer and Lemeshow.

        X = sum_b [sum_{i in b} (y_i - p_i)]^2 / sum_{i in b} p_i (1 - p_i)
        p_value = P(chi^2_B >= X)

    p_i is one of n predictions and y_i its outcome. B is the number of bins whose variance, the
    denominator, is positive, after bins with few expected events were merged.

    Parameters
    ----------
    bins : int
        Number of bins, which have equal counts. Equal p are never separated.

    Notes
    -----
    The hypothesis is E[Y given p] = p. Class-wise p-values are combined by Bonferroni. There are B
    degrees of freedom, because the predictions are not fitted to these samples.

    The variance is exact, given p. `HosmerLemeshow` has the published variance, which is larger.

    Under calibration X has the mean B. Its law tends to chi^2 as the variances of the bins grow.
    Small p-values are too frequent if expected events or non-events are few. Therefore the bin of
    the smallest variance is merged with the neighbour of the smaller variance, until the mean over
    bins of the excess kurtosis of their standardised residuals is at most 1/2:

        1/B sum_b sum_{i in b} v_i (1 - 6 v_i) / V_b^2 <= 1/2,   v_i = p_i (1 - p_i)

    V_b is the sum of v_i over bin b. For rare events, the kurtosis of a bin is 1 / (their expected
    number). With k classes the limit is 1 / (2k), because Bonferroni needs the law at smaller
    levels. If a single bin is left and exceeds it (fewer than about two expected events or
    non-events), the p-value is at least that of the number of improbable outcomes
    (`harness.estimators.significance.count_p_value`), which is valid for every n.
    benchmarks/test_levels.csv has the measured levels.

    The p-value is 0 if a prediction of 0 or 1 did not come true. Otherwise, a bin of variance 0
    does not count. Diagnostics: `chi_square`, which is X, and `degrees`, which is B. Cost: O(n).

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
    revision = 4
    takes_classwise = True

    def __post_init__(self) -> None:
        check_bins(self.bins)

    def __call__(self, p: np.ndarray, y: np.ndarray, rng: object = None) -> dict[str, Estimate]:
        """Return the p-value of p for outcomes y, both (n,), or both (n, k) class-wise."""
        return apply_test(p, y, self._evaluate)

    def _evaluate(self, p: np.ndarray, y: np.ndarray, largest: float) -> dict[str, Estimate]:
        """Return the p-value of predictions p (n,) for outcomes y (n,); see `apply_test`."""
        assign_bins, count = partition(p, self.bins, "mass")
        index = assign_bins(p)
        varies = self._variances(p, index, count) > 0.0
        if certain_rows(p, y)[1] or np.any((abs(y - p) > 0.5) & ~varies[index]):
            degrees = self._degrees(int(varies.sum()))
            return _result(0.0, math.inf, degrees)
        inside = varies[index]
        p, y, index = p[inside], y[inside], np.cumsum(varies)[index[inside]] - 1
        v = p * (1.0 - p)
        merged = _merge_bins(
            np.bincount(index, v), np.bincount(index, v * (1.0 - 6.0 * v)), largest
        )
        count = int(merged.max(initial=-1)) + 1
        index = merged[index]
        residual, variance = np.bincount(index, y - p, count), self._variances(p, index, count)
        with np.errstate(over="ignore"):  # infinite for events with probabilities near 0
            x = float(np.sum(residual**2 / variance))
        degrees = self._degrees(count)
        p_value = float(chdtrc(degrees, x)) if degrees and math.isfinite(x) else float(x == 0.0)
        if count == 1:
            p_value = for_rare_events(p_value, p, y, kurtosis(p), largest)
        return _result(p_value, x, degrees)

    def _variances(self, p: np.ndarray, index: np.ndarray, count: int) -> np.ndarray:
        """Return the denominators of the `count` bins. `index` (n,) is the bin of each p (n,)."""
        return np.bincount(index, p * (1.0 - p), count)

    def _degrees(self, bins: int) -> float:
        """Return the degrees of freedom of X, a sum over `bins` bins."""
        return float(bins)


def _merge_bins(variance: np.ndarray, fourth: np.ndarray, largest: float) -> np.ndarray:
    """Return the number 0, 1, ... of the merged bin of each bin, as `ChiSquare` defines it.

    `variance` and `fourth` (bins,) are the variances and fourth cumulants of the residuals of bins.
    `largest` is the largest mean kurtosis.

    Examples
    --------
    >>> _merge_bins(np.array([0.5, 1.5, 4.0, 5.0]), np.array([0.5, 1.5, 4.0, 5.0]), 0.5)
    array([0, 0, 1, 2])
    """
    sizes, v, k = [1] * len(variance), variance.tolist(), fourth.tolist()
    while len(v) > 1 and sum(b / a / a for a, b in zip(v, k) if a) > largest * len(v):
        j = v.index(min(v))
        if j == len(v) - 1 or (j > 0 and v[j - 1] < v[j + 1]):
            j -= 1
        for values in (sizes, v, k):
            values[j] += values.pop(j + 1)
    return np.repeat(np.arange(len(sizes)), sizes)


def _result(p_value: float, chi_square: float, degrees: float) -> dict[str, Estimate]:
    diagnostics = {"chi_square": chi_square, "degrees": degrees}
    return {"p_value": Estimate(p_value, diagnostics=diagnostics)}


@dataclass(frozen=True)
class HosmerLemeshow(ChiSquare):
    """Hosmer-Lemeshow test: chi-square test of calibration over bins of equal mass.

        X = sum_b [sum_{i in b} (y_i - p_i)]^2 / [n_b m_b (1 - m_b)]
        p_value = P(chi^2_D >= X)

    p_i is one of n predictions and y_i its outcome. n_b is the number of samples in bin b, and m_b
    is their mean prediction. D is the number of bins with 0 < m_b < 1 after bins with few expected
    events were merged, or that number minus 2.

    Parameters
    ----------
    bins : int
        Number of bins, which have equal counts. Equal p are never separated.
    in_sample : bool
        True: the predictions are those of a logistic regression that was fitted to these samples.
        The test then loses 2 degrees of freedom. False: it loses none.

    Notes
    -----
    `ChiSquare` is the same test with the exact variance of the bins, and describes hypothesis,
    merging, level and edge cases. The denominator here is larger, so that X is smaller by a few
    percent at most. UndefinedError if no degree of freedom is left. Diagnostics: `chi_square`,
    which is X, and `degrees`, which is D. Cost: O(n).

    References
    ----------
    Hosmer and Lemeshow (1980), Goodness of fit tests for the multiple logistic regression model,
    Comm. Statist. A 9, 1043-1069.

    Examples
    --------
    >>> e = HosmerLemeshow(bins=2)([0.1, 0.3, 0.6, 0.8], [1, 0, 1, 1])["p_value"]
    >>> round(e.diagnostics["chi_square"], 6), round(e.value, 6)
    (1.982143, 0.371179)
    """

    in_sample: bool = False

    revision = 3

    def _variances(self, p: np.ndarray, index: np.ndarray, count: int) -> np.ndarray:
        sizes, sums = np.bincount(index, minlength=count), np.bincount(index, p, count)
        return sums * (1.0 - sums / np.maximum(sizes, 1))

    def _degrees(self, bins: int) -> float:
        if self.in_sample and bins <= 2:
            raise UndefinedError(
                f"{bins} bins leave no degree of freedom for a model that was fitted to the samples"
            )
        return bins - 2.0 if self.in_sample else float(bins)
