"""Calibration errors in one call: the plain binned error ("ECE"), and any other estimator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from harness.errors import BadInputError
from harness.estimators.application import apply
from harness.estimators.base import Estimate, Estimator, EstimatorSpec
from harness.estimators.binned import Binned
from harness.judging.clusters import GroupBootstrap, PointsOnly
from harness.judging.data import checked_row_groups
from harness.math.notions import reduce
from harness.plan.components import load


def ece(
    p: ArrayLike,
    y: ArrayLike,
    notion: str = "top_label",
    bins: int = 15,
    classes: Sequence[Any] | None = None,
) -> float:
    """Return the L1 calibration error in bins of equal width, which most papers call ECE.

        sum_b n_b / n |mean y in b - mean p in b|

    n_b is the number of rows in bin b, and n the number of all rows.

    Parameters
    ----------
    p : array_like, (n,) or (n, k)
        Probabilities, as for `harness.estimate`.
    y : array_like, (n,)
        Labels.
    notion : {"top_label", "binary", "classwise"}
        The reduction of (p, y) that is judged. classwise is the mean over the classes.
    bins : int
        Number of bins of equal width in [0, 1].
    classes : sequence, optional
        Names of the classes, as for `harness.estimate`.

    Returns
    -------
    float
        A number in [0, 1], not in percent. At small n it is biased upwards by the noise in the
        bins. It is biased downwards if errors cancel within a bin. `harness.judge` returns
        estimates with intervals.

    Raises
    ------
    BadInputError
        If p, y, notion or bins cannot be used.

    References
    ----------
    Naeini, Cooper and Hauskrecht (2015), AAAI; Guo, Pleiss, Sun and Weinberger (2017), ICML, eq.
    3.

    Examples
    --------
    >>> round(ece([0.9, 0.8, 0.3, 0.6], [1, 1, 0, 0], notion="binary", bins=2), 6)
    0.15
    """
    return float(estimate(Binned(bins=bins), p, y, notion, classes=classes)["l1"].value)


def estimate(
    estimator: str | Estimator,
    p: ArrayLike,
    y: ArrayLike,
    notion: str = "top_label",
    rng: np.random.Generator | int | None = None,
    classes: Sequence[Any] | None = None,
    group_rows: ArrayLike | None = None,
) -> dict[str, Estimate]:
    """Estimate the calibration errors of predictions with one estimator.

    Parameters
    ----------
    estimator : str or callable
        An id in `list_estimators()`, an estimator, or a function (p, y) -> float, whose value is
        taken as l1.
    p : array_like of shape (n,) or (n, k)
        Predicted probabilities: of class 1, or of k classes with rows that sum to 1. With shape
        (n,) and the notion "top_label", p holds confidences, and y tells which predictions were
        right.
    y : array_like of shape (n,)
        Labels: integers in {0, 1} or in 0..k-1, or names of classes.
    notion : {"top_label", "binary", "classwise", "canonical"}
        The reduction of (p, y) that is judged: the confidence in the predicted class, the
        probability of class 1, each class by itself (the mean over the classes is returned), or
        the whole vector.
    rng : numpy.random.Generator or int, optional
        Random generator, or its seed, for an estimator that draws random numbers. The default seed
        is 0, so that the same call gives the same numbers.
    classes : sequence, optional
        Names of the k classes. Label j and column j of an array belong to the j-th name. Columns
        of a data frame that are named by class (cat, p_cat, prob_cat) are matched by name.
    group_rows : array_like (n,), optional
        Group of each row, such as its patient. Rows of a group may depend on one another. Every
        point estimate then gets a 95 % interval from 200 random halves of the groups, in place of
        its own (a cluster bootstrap). With fewer than 20 groups it has none.

    Returns
    -------
    dict of str to Estimate
        {estimand: estimate}, in the unit of the estimand, not in percent.

    Raises
    ------
    BadInputError
        If p, y or notion cannot be used, or the estimator does not accept them.
    UndefinedError
        If the estimator has no value for this sample.

    Notes
    -----
    `calharness info ID` shows bias, cost and source of an estimator. The value does not depend on
    `group_rows`, even if the estimator holds out single rows of a group.

    Examples
    --------
    >>> import harness
    >>> p, y = [0.9, 0.8, 0.3, 0.6], [1, 1, 0, 0]
    >>> round(harness.estimate("binned15", p, y, notion="binary")["l1"].value, 3)
    0.3
    >>> def gap_of_means(p, y):
    ...     return abs(p.mean() - y.mean())
    >>> round(harness.estimate(gap_of_means, p, y, notion="binary")["l1"].value, 3)
    0.15
    """
    function: Any = load("estimator", estimator, {}) if isinstance(estimator, str) else estimator
    if not callable(function) or isinstance(function, type):
        raise BadInputError(
            f"estimator is {function!r}; pass an id, a function (p, y), or an object that can be "
            "called with (p, y, rng)."
        )
    p, y = reduce(p, y, notion, classes)
    if group_rows is not None:
        groups = checked_row_groups(group_rows, len(y))
        function = GroupBootstrap(PointsOnly(function), groups=groups)
    spec = EstimatorSpec.of(function)
    k = p.shape[1] if p.ndim == 2 else 2
    reason = spec.out_of_range(notion, len(p), k) or spec.unavailable
    if spec.needs_posterior:
        reason = "the estimator needs the true posterior, which only a problem knows"
    if reason:
        raise BadInputError(f"estimator {estimator!r} cannot be applied: {reason}.")
    if spec.replication_rng is None:
        return apply(function, p, y, notion, np.random.default_rng(0 if rng is None else rng))
    if isinstance(rng, np.random.Generator):
        raise BadInputError(
            f"rng is a Generator, but estimator {estimator!r} makes its own; pass an integer seed."
        )
    return apply(function, p, y, notion, spec.replication_rng(rng or 0))
