"""Application of calibration tests to scalar predictions, or to every class of vectors."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from harness.errors import UndefinedError
from harness.estimators.base import Estimate
from harness.math.notions import checked_by_class

Test = Callable[[np.ndarray, np.ndarray], dict[str, Estimate]]


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
        Function of p and y, both (n,), that returns {estimand: Estimate}, including `p_value`.

    Raises
    ------
    UndefinedError
        If the test is undefined for the scalars, or for all classes.

    Examples
    --------
    >>> p, y = np.full((4, 2), 0.5), np.eye(2)[[0, 1, 0, 1]]
    >>> apply_test(p, y, lambda p, y: {"p_value": Estimate(0.3)})["p_value"].value
    0.6
    """
    columns, classes = list(checked_by_class(p, y)), []
    for column in columns:
        try:
            classes.append(test(*column))
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
