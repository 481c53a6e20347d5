"""Published estimators that may be the best on a user's own problem.

There is no family to average over. The estimators are compared in each setting, and only the
replications are random.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import stdtr

from harness.evaluation.arena.better_or_worse import RATE
from harness.evaluation.arena.rules import BOUND_KINDS, floors, is_published

Array: TypeAlias = NDArray[np.float64]

LEAST_REPS = 4  # replications that two estimators must have in common
# Factor for the degrees of freedom of a comparison over replications. Squared errors have long
# tails, so that their variance is known less well than that of normal numbers. Measured with 20
# replications of normal, biased or t5 errors: the probability of p <= 0.001 is 0.0007 to 0.001 with
# the factor 0.5, and 0.002 to 0.003 with the factor 1.
FREEDOM_SHARE = 0.5


def find_best_candidates(settings: pd.DataFrame, level: float = 1.0 - RATE) -> pd.DataFrame:
    """Find the published estimators that may be the best in each setting.

    An estimator is ruled out if another one is significantly more accurate, with Bonferroni's
    correction for the number of others. The truly best one is ruled out with a probability of at
    most 1 - level. Only the replications are random. This serves to compare estimators on a user's
    own problem.

    Returns
    -------
    DataFrame
        The rows of `settings` that have an RMSE and are of published estimators, sorted by setting
        and RMSE, with the boolean column `may_be_best`.
    """
    published = settings["estimator"].map(is_published).astype(bool)
    is_point = ~settings["kind"].isin(BOUND_KINDS)
    judged = settings[settings["rmse"].notna() & is_point & published]
    parts = []
    for _, part in judged.groupby(["problem", "notion", "n", "estimand"], sort=True):
        part = part.sort_values("rmse", kind="stable").reset_index(drop=True)
        squared = np.stack(part["errors"].to_list()) ** 2
        p_worse = _p_values_worse(squared, float(floors(part)[0]))
        others = max(len(part) - 1, 1)
        parts.append(part.assign(may_be_best=others * p_worse.min(axis=1) > 1.0 - level))
    return pd.concat(parts, ignore_index=True) if parts else judged.assign(may_be_best=False)


def _p_values_worse(squared: Array, least: float) -> Array:
    """Return the p-values that one estimator is less accurate than another, as an array (E, E).

    Entry (i, j) is that of the one-sided t test of log(RMSE_i / RMSE_j) > 0, whose standard error
    comes from the jackknife over the replications that both have. It is 1 if these are fewer than
    LEAST_REPS, or if the errors are equal. `squared` (E, replications) holds squared errors, and
    `least` is the smallest RMSE that counts.
    """
    result = np.ones((len(squared), len(squared)))
    for i, mine in enumerate(squared):
        have = ~np.isnan(squared) & ~np.isnan(mine)
        count = have.sum(axis=1).astype(float)
        theirs = _log_rmse(squared, have, least)
        ours = _log_rmse(np.broadcast_to(mine, squared.shape), have, least)
        with np.errstate(invalid="ignore", divide="ignore"):
            log, without = ours[0] - theirs[0], np.where(have, ours[1] - theirs[1], 0.0)
            mean = without.sum(axis=1) / count
            squares = np.where(have, (without - mean[:, None]) ** 2, 0.0).sum(axis=1)
            error = np.sqrt((count - 1.0) / count * squares)
            t = np.where(log == 0.0, 0.0, log / error)
            p_value = stdtr(np.maximum(FREEDOM_SHARE * (count - 1.0), 1.0), -t)
        known = (count >= LEAST_REPS) & (log != 0.0)
        result[i] = np.where(known, p_value, 1.0)
    return result


def _log_rmse(squared: Array, have: Any, least: float) -> tuple[Array, Array]:
    """Return the log RMSE of each row, and the log RMSEs with each replication left out."""
    filled = np.where(have, squared, 0.0)
    total, count = filled.sum(axis=1, keepdims=True), have.sum(axis=1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        whole = 0.5 * np.log(np.maximum(total / count, least**2))[:, 0]
        return whole, 0.5 * np.log(np.maximum((total - filled) / (count - 1.0), least**2))
