"""Application of calibration tests to scalar predictions, or to every class of vectors."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import gammainc, gammaincc

from harness.errors import UndefinedError
from harness.estimators.base import Estimate
from harness.math.notions import checked_by_class

Test = Callable[[np.ndarray, np.ndarray, float], dict[str, Estimate]]

# Largest excess kurtosis of a standardised sum of residuals, or mean of several, for which an
# asymptotic law is used as it is. For rare events the kurtosis is 1 / (their expected number). With
# it, no level of benchmarks/test_levels.csv exceeds 7 % beyond Monte Carlo error. The largest ones,
# repeated with up to 8,000 draws, are at most 6.9 %. Without it, the chi-square tests rejected up
# to 17 % of calibrated samples, and Spiegelhalter's, ks and kuiper up to 10 %.
# Of k classes it is divided by k, because Bonferroni needs the law at level / k: with 1/2, up to
# 16 % of samples of ten classes were rejected.
LARGEST_KURTOSIS = 0.5


def apply_test(p: np.ndarray, y: np.ndarray, test: Test) -> dict[str, Estimate]:
    """Return the result of a test of scalar predictions, or the combination of k class-wise tests.

    The combined p-value is that of Bonferroni, min(1, k min_j p_value_j), because a mean of
    p-values is no p-value. For every other estimand it is the mean over the classes. Classes for
    which the test is undefined, such as one that never occurs, are left out of the minimum and of
    the means, but count in k.

    Parameters
    ----------
    p, y : array (n,) or (n, k)
        Predictions and outcomes of scalars, or the probability and the indicator of every class.
    test : callable
        Function of p and y, both (n,), and of the largest excess kurtosis for which it may use an
        asymptotic law. It returns {estimand: Estimate}, including `p_value`.

    Raises
    ------
    UndefinedError
        If the test is undefined for the scalars, or for all classes.

    Examples
    --------
    >>> p, y = np.full((4, 2), 0.5), np.eye(2)[[0, 1, 0, 1]]
    >>> apply_test(p, y, lambda p, y, largest: {"p_value": Estimate(0.3)})["p_value"].value
    0.6
    """
    columns, classes = list(checked_by_class(p, y)), []
    for column in columns:
        try:
            classes.append(test(*column, LARGEST_KURTOSIS / len(columns)))
        except UndefinedError:
            if column is columns[-1] and not classes:
                raise
    if np.ndim(p) == 1:
        return classes[0]
    means = {
        name: Estimate(float(np.mean([e[name].value for e in classes]))) for name in classes[0]
    }
    smallest = min(e["p_value"].value for e in classes)
    return {**means, "p_value": Estimate(min(1.0, len(columns) * smallest))}


def certain_rows(p: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, bool]:
    """Return the mask (n,) of the predictions of 0 and 1, and True if one did not come true.

    Under calibration such an outcome is impossible.

    Examples
    --------
    >>> certain_rows(np.array([0.0, 0.5, 1.0]), np.array([0, 1, 1]))
    (array([ True, False,  True]), False)
    """
    certain = (p == 0.0) | (p == 1.0)
    return certain, bool(np.any(certain & (p != y)))


def kurtosis(p: np.ndarray, weights: np.ndarray | float = 1.0) -> float:
    """Return the excess kurtosis of sum_i w_i (y_i - p_i) under calibration, given p (n,).

        sum_i w_i^4 v_i (1 - 6 v_i) / [sum_i w_i^2 v_i]^2,   v_i = p_i (1 - p_i)

    It is 0 if the variance is 0.

    Examples
    --------
    >>> round(kurtosis(np.full(10_000, 1e-4)), 3), kurtosis(np.full(4, 0.5))
    (1.0, -0.5)
    """
    v = p * (1.0 - p)
    variance = float(np.sum(weights**2 * v))
    if variance == 0.0:
        return 0.0
    return float(np.sum(weights**4 * v * (1.0 - 6.0 * v))) / variance / variance


def count_p_value(p: np.ndarray, y: np.ndarray) -> float:
    """Return a two-sided p-value of the number of improbable outcomes, valid for every n and p.

        p_value = min(1, 2 P(N >= d), 2 P(M <= d)),   e_i = min(p_i, 1 - p_i)
        N ~ Poisson(-sum_i log(1 - e_i)),   M ~ Poisson(sum_i e_i)

    d is the number of rows of which the less probable outcome occurred. An outcome of probability e
    is at most as frequent as a Poisson variable with the mean -log(1 - e). The lower tail of d is
    at most that of M for d <= sum_i e_i - 1. Therefore P(p_value <= u) <= u under calibration, for
    u below 1/2.

    References
    ----------
    Anderson and Samuels (1967), Some inequalities among binomial and Poisson probabilities,
    Proc. Fifth Berkeley Symposium 1, 1-12 (the lower tail).

    Examples
    --------
    >>> p = np.full(100, 0.01)
    >>> [round(count_p_value(p, np.arange(100) < d), 4) for d in (0, 1, 5)]
    [0.7358, 1.0, 0.0075]
    """
    improbable = int(np.sum(np.where(p <= 0.5, y == 1, y == 0)))
    e = np.minimum(p, 1.0 - p)
    most = gammainc(improbable, -np.sum(np.log1p(-e))) if improbable else 1.0
    least = gammaincc(improbable + 1, np.sum(e))
    return float(min(1.0, 2.0 * most, 2.0 * least))


def for_rare_events(
    p_value: float, p: np.ndarray, y: np.ndarray, excess: float, largest: float
) -> float:
    """Return the p-value of an asymptotic test, raised if expected events are too few for it.

    If the kurtosis `excess` under calibration is above `largest`, the result is at least
    `count_p_value`. It is then valid for every n and for levels below 1/2.

    Examples
    --------
    >>> p, y = np.full(100, 0.002), np.arange(100) < 1
    >>> round(for_rare_events(1e-4, p, y, 5.0, 0.5), 3), for_rare_events(1e-4, p, y, 0.4, 0.5)
    (0.363, 0.0001)
    """
    return max(p_value, count_p_value(p, y)) if excess > largest else p_value
