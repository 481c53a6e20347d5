"""Model confidence set: the estimators that are not worse than another one, as far as data show."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from harness.evaluation.arena.better_or_worse import LEAST_FAMILIES
from harness.evaluation.arena.resampling import Floats, draw_weights, mean_and_error


def confidence_set(
    losses: pd.DataFrame, level: float = 0.95, resamples: int = 1000, seed: int = 0
) -> list[str]:
    """Return a set of estimators that contains the best one with probability `level`.

    Start with all estimators. As long as the hypothesis that all have the same expected loss is
    rejected, remove the one with the largest t_i:

        d_i = mean loss of i over families - mean of this over the remaining estimators
        t_i = d_i / (standard error of d_i over families)
        T   = max over i of t_i

    The law of T under the hypothesis comes from a bootstrap of families: d_i in a resample minus
    d_i in the sample, times sqrt(F / (F - 1)) for F families, takes the place of d_i.

    Parameters
    ----------
    losses : DataFrame
        Losses, such as mean log regrets, by family (rows) and estimator (columns), without NaN.
    level : float
        Probability with which the set contains the best estimator.
    resamples, seed : int
        Number of resamples, and seed of the bootstrap.

    Returns
    -------
    list of str
        Estimators that are not removed, the smallest mean loss first. With fewer than five
        families, none is removed.

    References
    ----------
    Hansen, Lunde and Nason (2011), The model confidence set, Econometrica 79:453, Section 3.1.2
    (T_max). The factor sqrt(F / (F - 1)) is ours: the families of a resample vary too little.

    Examples
    --------
    >>> confidence_set(pd.DataFrame({"a": [0.1, 0.2] * 4, "b": [1.1, 1.3] * 4}))
    ['a']
    """
    names = list(losses.mean().sort_values(kind="stable").index)
    if len(losses) < LEAST_FAMILIES:
        return names
    families = len(losses)
    weights = draw_weights(families, resamples, seed) / families
    while len(names) > 1:
        values = losses[names].to_numpy(float)
        values = values - values.mean(axis=1, keepdims=True)
        mean, error, _ = mean_and_error(values)
        drawn = (weights @ values - mean) * math.sqrt(families / (families - 1))
        t, largest = _ratio(mean, error), _ratio(drawn, error).max(axis=1)
        if np.mean(largest >= t.max()) > 1.0 - level:
            break
        del names[int(t.argmax())]
    return names


def _ratio(mean: Floats, error: Floats) -> Floats:
    """Return mean / error. It is 0 where the mean is 0 up to rounding, as for equal estimators."""
    scale = np.maximum(error, 1e-12)
    return np.where(np.abs(mean) < 1e-12, 0.0, mean / scale)
