"""Confidence interval for the difference of the calibration errors of two models."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
from numpy.typing import ArrayLike

from harness.common.seeds import as_seed
from harness.errors import BadInputError
from harness.estimators.base import Estimate, check_level, generator
from harness.estimators.variational import Variational, cross_fit, split_sd
from harness.math import fold_confidence
from harness.math.folds import assign_folds
from harness.math.notions import reduce


def paired_difference(
    p_first: ArrayLike,
    p_second: ArrayLike,
    y: ArrayLike,
    rng: np.random.Generator | int,
    estimator: Variational | None = None,
    notion: str = "binary",
    level: float = 0.95,
) -> dict[str, Estimate]:
    """Return the variational error of one model minus that of another, with an interval.

        value = mean over held-out samples of  contribution(first) - contribution(second)

    The contribution of a sample is the loss of its prediction minus the loss of its recalibrated
    prediction, as in `Variational`.

    Parameters
    ----------
    p_first, p_second : array_like of shape (n,) or (n, k)
        Predictions of the two models for the same samples.
    y : array_like of shape (n,)
        Labels of the samples.
    rng : numpy.random.Generator or int
        Source of the folds. Both models are cross-fitted on the same folds.
    estimator : Variational, optional
        The estimator that is applied to both models. It must have several folds that are not
        stratified. None takes `Variational()`.
    notion : {"binary", "top_label", "canonical"}
        The notion under which both models are judged.
    level : float
        Confidence level of the interval.

    Returns
    -------
    dict of str to Estimate
        One estimate per estimand. It has `low` and `high`, unless a loss is infinite or a fold has
        too few samples.

    Raises
    ------
    BadInputError
        If the predictions of the models have different shapes, or if the notion or the estimator
        allows no paired interval.

    Notes
    -----
    The interval is that for a mean of paired differences (`fold_confidence.half_width`). It is
    asymptotic in the size of a fold.

    The interval covers the difference of the expected contributions. The expected contribution of a
    model is a lower bound of its calibration error. A difference of two lower bounds is no bound of
    the difference of the errors.

    Examples
    --------
    >>> import harness
    >>> p, y = harness.load_problem("beta_calibrated").sample(2000, np.random.default_rng(0))
    >>> worse = p**2 / (p**2 + (1 - p) ** 2)
    >>> paired_difference(worse, p, y, np.random.default_rng(1))["l1"].low > 0.0
    True
    """
    estimator = estimator or Variational()
    if not isinstance(estimator, Variational):
        raise BadInputError(
            f"estimator is a {type(estimator).__name__}; give a harness.estimators.Variational."
        )
    check_level(level)
    first, y_first = reduce(p_first, y, notion)
    second, y_second = reduce(p_second, y, notion)
    if first.shape != second.shape:
        raise BadInputError(
            f"p_second reduces to shape {second.shape}, but p_first to {first.shape}; give "
            "predictions of equal shape."
        )
    obstacles = {
        "the class-wise notion": notion == "classwise",
        "a single fold": estimator.folds == 1,
        "stratified folds": estimator.stratified,
    }
    for obstacle, present in obstacles.items():
        if present:
            raise BadInputError(
                f"there is no paired interval for {obstacle}; give several random folds and "
                "the notion binary, top_label or canonical."
            )
    estimates = {}
    differences: dict[str, list[tuple[np.ndarray, np.ndarray]]] = {}
    stream = generator(rng)
    for _ in range(estimator.repeats):
        fold = assign_folds(y_first, estimator.folds, False, stream)
        seed = as_seed(stream)
        sides = []
        for p, labels in ((first, y_first), (second, y_second)):
            # The fits of both models draw the same random numbers.
            q = cross_fit(estimator.calibrator, p, labels, fold, np.random.default_rng(seed))
            sides.append(estimator.contributions(p, labels, q, notion))
        with np.errstate(invalid="ignore"):  # two infinite losses have no difference
            for name, contributions in sides[0].items():
                difference = contributions - sides[1][name]
                differences.setdefault(name, []).append((difference, fold))
    for name, terms in differences.items():
        values = [float(x.mean()) for x, _ in terms]
        e = Estimate(float(np.mean(values)), diagnostics=split_sd(values))
        # A loss is infinite if an outcome had probability 0.
        if all(np.isfinite(x).all() for x, _ in terms):
            half = float(np.mean([fold_confidence.half_width(x, fold, level) for x, fold in terms]))
            if not math.isnan(half):
                e = dataclasses.replace(e, low=e.value - half, high=e.value + half, level=level)
        estimates[name] = e
    return estimates
